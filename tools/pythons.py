"""Run the demo and the fast tests of the pipelines on every CPython that this machine has.

    python tools/pythons.py              every supported one that is on PATH or below ~/.pyenv
    python tools/pythons.py --only=3.10  these, with commas

Each gets an environment below out/pythons/, kept for the next time, with the wheel of this checkout. The tests run
against the installed wheel: their directory holds no package of ours.
"""

from __future__ import annotations

import argparse
import glob
import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
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
PROBE = """
import platform, sys, unicodedata
print(sys.implementation.name, sys._is_gil_enabled() if hasattr(sys, "_is_gil_enabled") else True)
print(platform.python_version(), unicodedata.unidata_version)
"""


def main() -> int:
    """Return 0 if every Python at hand passes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="versions such as 3.10,3.13 (default: all that are here)")
    only = [version for version in parser.parse_args().only.split(",") if version]
    supported = supported_versions()
    paths = find_pythons(supported)
    wanted = [version for version in supported if version in (only or paths)]
    absent = [version for version in supported if version not in paths]
    print(f"Pythons here: {', '.join(paths) or 'none'}; not here: {', '.join(absent) or 'none'}", flush=True)
    if missing := [version for version in only if version not in paths]:
        print(f"pythons: --only={','.join(only)}: no Python {missing[0]} here", file=sys.stderr)
        return 2
    if not wanted:
        print(f"pythons: no CPython of {', '.join(supported)} on PATH or below ~/.pyenv: install one", file=sys.stderr)
        return 1
    wheel = build_wheel(paths[wanted[-1]], PLACE)
    failed = [version for version in wanted if not passes(version, paths[version], wheel)]
    print(f"passed: {', '.join(version for version in wanted if version not in failed) or 'none'}")
    if failed:
        print(f"pythons: failed: {', '.join(failed)}: see {PLACE}/VERSION/log", file=sys.stderr)
    return 1 if failed else 0


def supported_versions() -> list[str]:
    """Return the versions that the package claims, such as 3.10, in order."""
    text = (ROOT / "pyproject.toml").read_text("utf-8")
    return re.findall(r'"Programming Language :: Python :: (3\.\d+)"', text)


def find_pythons(versions: list[str]) -> dict[str, str]:
    """Return the interpreters of these versions by version: those on PATH first, then those of pyenv.

    A command of pyenv on PATH works only where its version is switched on, so each is run before it counts.
    """
    first = {version: next(filter(partial(is_version, version), candidates(version)), "") for version in versions}
    return {version: path for version, path in first.items() if path}


def is_version(version: str, path: str) -> bool:
    """Return whether a path is a CPython of a version."""
    return (facts := probe(path)) is not None and facts[0] == version


def candidates(version: str) -> Iterator[str]:
    """Yield the paths at which a version may be."""
    for directory in os.get_exec_path():
        for name in (f"python{version}", "python3"):
            yield os.path.join(directory, name)
    root = os.environ.get("PYENV_ROOT", os.path.expanduser("~/.pyenv"))
    yield from sorted(glob.glob(f"{root}/versions/{version}.*/bin/python"))


def probe(path: str) -> tuple[str, str, str] | None:
    """Return minor version, version and Unicode version of a CPython with a GIL; None for anything else."""
    if not os.access(path, os.X_OK):
        return None
    ended = subprocess.run([path, "-c", PROBE], capture_output=True, text=True)
    words = ended.stdout.split()
    if ended.returncode or words[:2] != ["cpython", "True"]:
        return None
    return ".".join(words[2].split(".")[:2]), words[2], words[3]


def build_wheel(python: str, directory: Path) -> Path:
    """Return the wheel of this checkout, in `directory`. Its sources are copied: a build leaves directories behind."""
    source = directory / "source"
    shutil.rmtree(source, ignore_errors=True)
    for name in BUILT_FROM:
        copy(ROOT / name, source / name)
    for old in directory.glob("*.whl"):
        old.unlink()
    run(
        [*pip(python), "wheel", "--no-deps", f"--wheel-dir={directory}", str(source)],
        directory,
        directory / "wheel.log",
    )
    return next(directory.glob("*.whl"))


def passes(version: str, python: str, wheel: Path) -> bool:
    """Install the wheel for a Python, run the demo and the tests with it, and say how that went."""
    directory = PLACE / version
    log = directory / "log"
    directory.mkdir(exist_ok=True)
    log.unlink(missing_ok=True)
    facts, began, step = probe(python), time.monotonic(), "install"
    assert facts is not None
    try:
        installed = install(directory, python, wheel, log)
        for step in ("demo", "tests"):
            {"demo": demo, "tests": test}[step](directory, installed, log)
    except subprocess.CalledProcessError:
        print(f"Python {facts[1]}: {step} failed, the end of {log}:", flush=True)
        print("\n".join(log.read_text("utf-8", "replace").splitlines()[-30:]), flush=True)
        return False
    last = log.read_text("utf-8", "replace").strip().splitlines()[-1]
    print(f"Python {facts[1]}, Unicode {facts[2]}: {last} ({time.monotonic() - began:.0f} s)", flush=True)
    return True


def install(directory: Path, python: str, wheel: Path, log: Path) -> Path:
    """Return the Python of an environment that has the wheel. Its dependencies are installed once, for as long as
    pyproject.toml and the interpreter stay the same."""
    installed = directory / "venv" / "bin" / "python"
    needs = hashlib.sha256((ROOT / "pyproject.toml").read_bytes() + python.encode()).hexdigest()
    mark = directory / "installed"
    if not mark.exists() or mark.read_text() != needs:
        run([python, "-m", "venv", "--clear", str(directory / "venv")], directory, log)
        run([*pip(str(installed)), "install", f"{wheel}[test]"], directory, log)
        mark.write_text(needs)
    run([*pip(str(installed)), "install", "--no-deps", "--force-reinstall", str(wheel)], directory, log)
    return installed


def demo(directory: Path, python: Path, log: Path) -> None:
    """Run `wikianchor demo` and verify what it built, in an empty directory."""
    work = directory / "work"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    command = str(python.with_name("wikianchor"))
    run([command, "demo"], work, log)
    run([command, "verify", "out/demo", "--against=demo/dumps", "--rows=50"], work, log)


def test(directory: Path, python: Path, log: Path) -> None:
    """Run the tests in a directory that holds them without our packages, so that the installed ones are tested."""
    work = directory / "tree"
    shutil.rmtree(work, ignore_errors=True)
    for name in ("tests", *BESIDE):
        copy(ROOT / name, work / name)
    tests = [f"tests/{name}" for name in (*TESTS, TOML)]
    left_out = [f"--ignore=tests/{name}" for name in LEFT_OUT]
    left_out += [f"--deselect=tests/{name}" for name in DESELECTED]
    # The profile makes few examples: what differs between Pythons differs in most of them.
    chosen = ["-m", "not slow and not real and not nightly", "--hypothesis-profile=quick", "-n", "2", *left_out]
    run([str(python), "-m", "pytest", "-p", "no:cacheprovider", *chosen, *tests], work, log)


def pip(python: str) -> list[str]:
    return [python, "-m", "pip", "--quiet", "--disable-pip-version-check"]


def copy(source: Path, target: Path) -> None:
    """Copy a file, or a directory without what Python leaves behind."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__", "*.pyc"))
    else:
        shutil.copy(source, target)


def run(command: list[str], directory: Path, log: Path) -> None:
    """Run a command in a directory; what it prints is added to a log.

    Raises:
        CalledProcessError: it failed.
    """
    # The path of a checkout would hide the installed package.
    surroundings = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
    with open(log, "a", encoding="utf-8") as out:
        print(f"$ {' '.join(command)}", file=out, flush=True)
        subprocess.run(command, cwd=directory, env=surroundings, stdout=out, stderr=out, check=True)


if __name__ == "__main__":
    sys.exit(main())
