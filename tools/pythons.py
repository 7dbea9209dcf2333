"""Run the demo and the fast tests of the pipelines on every supported CPython on PATH or below ~/.pyenv.

Each gets an environment below out/pythons/, kept for the next time, with the wheel of this checkout. The tests run
against the installed wheel: their directory holds no package of ours.
"""

from __future__ import annotations

import glob
import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent
PLACE = ROOT / "out" / "pythons"
# Tests without network and models, about a minute for each Python. Those left out take most of the time and ask nothing
# that differs between Pythons.
TESTS = (
    *("aliases", "arrays", "dataset", "schemas", "sentences/test_columns.py", "text", "titles", "wikimedia"),
    *("pairs/test_decisions.py", "pairs/test_entity_table.py", "pairs/test_negatives.py", "pairs/test_page_links.py"),
    *("pairs/test_steps.py", "pairs/test_table_steps.py"),
    "api/test_api.py",
    *("mentions/test_steps.py", "mewsc16/test_categories.py", "mewsc16/test_lead.py", "japanese/test_noun_spans.py"),
)
# Flags out of a TOML file: Python 3.10 has no reader of its own.
TOML = "commands/test_plan.py::test_flags_typed_in_win"
LEFT_OUT = (
    *("dataset/test_manifest.py", "dataset/test_summary.py", "dataset/test_temporary.py"),
    "wikimedia/test_splitting.py",
)
# They read files of a checkout.
DESELECTED = (
    "api/test_api.py::test_text_is_the_same_without_any_package",
    "api/test_api.py::test_the_home_page_and_the_readme_show_a_row",
)
PACKAGES = ("pipelines", "schemas", "trainer", "wikianchor")
BUILT_FROM = (*PACKAGES, "demo", "LICENSE", "MANIFEST.in", "README.md", "pyproject.toml", "setup.py")
# What tests of these directories read beside their own folder.
BESIDE = ("benchmarks", "configs", "demo", "docs", "pyproject.toml")


def main() -> int:
    """Return 0 if every Python at hand passes, and there is one."""
    supported = supported_versions()
    pythons = find_pythons(supported)
    absent = [version for version in supported if version not in pythons]
    print(f"Pythons here: {', '.join(pythons) or 'none'}; not here: {', '.join(absent) or 'none'}", flush=True)
    if not pythons:
        print(f"pythons: no CPython of {', '.join(supported)} on PATH or below ~/.pyenv: install one", file=sys.stderr)
        return 1
    wheel = build_wheel(next(reversed(pythons.values())), PLACE)
    failed = [version for version, python in pythons.items() if not passes(version, python, wheel)]
    print(f"passed: {', '.join(version for version in pythons if version not in failed) or 'none'}")
    if failed:
        print(f"pythons: failed: {', '.join(failed)}: see above", file=sys.stderr)
    return 1 if failed else 0


def supported_versions() -> list[str]:
    """Return the versions that the package claims, such as 3.10, in order."""
    text = (ROOT / "pyproject.toml").read_text("utf-8")
    return re.findall(r'"Programming Language :: Python :: (3\.\d+)"', text)


def find_pythons(versions: list[str]) -> dict[str, str]:
    """Return the interpreters of these versions by version.

    Those of pyenv come first: its commands on PATH work only where their version is switched on.
    """
    root = os.environ.get("PYENV_ROOT", os.path.expanduser("~/.pyenv"))
    path = os.pathsep.join([*sorted(glob.glob(f"{root}/versions/*/bin")), *os.get_exec_path()])
    paths = {version: shutil.which(f"python{version}", path=path) for version in versions}
    return {version: python for version, python in paths.items() if python}


def build_wheel(python: str, directory: Path) -> Path:
    """Return the wheel of this checkout, in `directory`. Its sources are copied: a build leaves directories behind."""
    source = directory / "source"
    shutil.rmtree(source, ignore_errors=True)
    for name in BUILT_FROM:
        copy(ROOT / name, source / name)
    for old in directory.glob("*.whl"):
        old.unlink()
    run([*pip(python), "wheel", "--no-deps", f"--wheel-dir={directory}", str(source)], directory)
    return next(directory.glob("*.whl"))


def passes(version: str, python: str, wheel: Path) -> bool:
    """Return whether the demo and the tests pass with the wheel on a Python; they print to the terminal."""
    directory, began = PLACE / version, time.monotonic()
    directory.mkdir(exist_ok=True)
    print(f"Python {version}", flush=True)
    try:
        installed = install(directory, python, wheel)
        demo(empty(directory / "work"), installed)
        test(empty(directory / "tree"), installed)
    except subprocess.CalledProcessError as error:
        print(f"Python {version}: failed: {error}", flush=True)
        return False
    print(f"Python {version}: passed ({time.monotonic() - began:.0f} s)", flush=True)
    return True


def install(directory: Path, python: str, wheel: Path) -> Path:
    """Return the Python of an environment that has the wheel. Its dependencies are installed once, for as long as
    pyproject.toml and the interpreter stay the same."""
    installed = directory / "venv" / "bin" / "python"
    needs = hashlib.sha256((ROOT / "pyproject.toml").read_bytes() + python.encode()).hexdigest()
    mark = directory / "installed"
    if not mark.exists() or mark.read_text() != needs:
        run([python, "-m", "venv", "--clear", str(directory / "venv")], directory)
        run([*pip(str(installed)), "install", f"{wheel}[test]"], directory)
        mark.write_text(needs)
    run([*pip(str(installed)), "install", "--no-deps", "--force-reinstall", str(wheel)], directory)
    return installed


def empty(directory: Path) -> Path:
    """Return a directory, with nothing in it."""
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir()
    return directory


def demo(work: Path, python: Path) -> None:
    """Run `wikianchor demo` and verify what it built, in an empty directory."""
    command = str(python.with_name("wikianchor"))
    run([command, "demo"], work)
    run([command, "verify", "out/demo", "--against=demo/dumps", "--rows=50"], work)


def test(work: Path, python: Path) -> None:
    """Run the tests in an empty directory that gets them without our packages, so that the installed ones are
    tested."""
    for name in ("tests", *BESIDE):
        copy(ROOT / name, work / name)
    tests = [f"tests/{name}" for name in (*TESTS, TOML)]
    left_out = [f"--ignore=tests/{name}" for name in LEFT_OUT]
    left_out += [f"--deselect=tests/{name}" for name in DESELECTED]
    # The profile makes few examples: what differs between Pythons differs in most of them.
    chosen = ["-m", "not slow and not real and not nightly", "--hypothesis-profile=quick", "-n", "2", *left_out]
    run([str(python), "-m", "pytest", "--quiet", "-p", "no:cacheprovider", *chosen, *tests], work)


def pip(python: str) -> list[str]:
    return [python, "-m", "pip", "--quiet", "--disable-pip-version-check"]


def copy(source: Path, target: Path) -> None:
    """Copy a file, or a directory without what Python leaves behind."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__", "*.pyc"))
    else:
        shutil.copy(source, target)


def run(command: list[str], directory: Path) -> None:
    """Run a command in a directory.

    Raises:
        CalledProcessError: it failed.
    """
    # The path of a checkout would hide the installed package.
    surroundings = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
    subprocess.run(command, cwd=directory, env=surroundings, check=True)


if __name__ == "__main__":
    sys.exit(main())
