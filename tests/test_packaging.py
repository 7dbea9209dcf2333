"""What is published: the wheel, its page on a package index, and the source distribution with its tests."""

import email
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable
from email.message import Message
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.conftest import Ended
from tools.require_core import with_core
from wikianchor.io import version
from wikianchor.io.config_file import tomllib

ROOT = Path(__file__).parent.parent
PACKAGES = ("pipelines", "schemas", "trainer", "wikianchor")
SOURCES = (*PACKAGES, ".ci", ".dockerignore", "benchmarks", "configs", "demo", "docker", "docs", "tests", "tools")
LEFTOVERS = shutil.ignore_patterns("__pycache__", "*.pyc")
REPOSITORY = "https://github.com/wikianchor/wikianchor/blob/main/"
FILES = "https://raw.githubusercontent.com/wikianchor/wikianchor/main/"
# Later Pythons ask for a filter of archives, which the first releases of 3.10 and 3.11 do not know.
FILTER = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
# Tests that need neither a network nor more than a few seconds.
FAST = ("tests/sentences/test_columns.py", "tests/wikimedia/test_titles.py", "tests/schemas/test_schemas.py")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the wheel and the source distribution of this checkout. It is copied first, because a build
    leaves directories behind, and files of an old one would end up in the wheel."""
    pytest.importorskip("setuptools", minversion="77", reason="NO setuptools: pip install '.[dev]'")
    directory = tmp_path_factory.mktemp("build")
    source = directory / "source"
    source.mkdir()
    for path in ROOT.iterdir():
        if path.name in SOURCES and path.is_dir():
            shutil.copytree(path, source / path.name, symlinks=True, ignore=LEFTOVERS)
        elif path.is_file():
            shutil.copy(path, source / path.name)
    build(source, "sdist", "wheel")
    return directory / "dist"


def build(source: Path, *kinds: str) -> None:
    """Build distributions of a source directory into the directory `dist` beside it."""
    code = "import setuptools.build_meta as build; " + "; ".join(f"build.build_{kind}('../dist')" for kind in kinds)
    ended = subprocess.run([sys.executable, "-c", code], cwd=source, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr


def sums(dist: Path) -> dict[str, int]:
    """Return the checksum of every file of a wheel, apart from its metadata, which name the commit."""
    with zipfile.ZipFile(next(dist.glob("*.whl"))) as packed:
        return {info.filename: info.CRC for info in packed.infolist() if ".dist-info/" not in info.filename}


@pytest.fixture(scope="module")
def wheel(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of the wheel."""
    directory = tmp_path_factory.mktemp("wheel")
    with zipfile.ZipFile(next(built.glob("*.whl"))) as packed:
        packed.extractall(directory)
    return directory


@pytest.fixture(scope="module")
def metadata(wheel: Path) -> Message:
    return email.message_from_bytes(next(wheel.glob("*.dist-info/METADATA")).read_bytes())


def test_the_wheel_holds_the_packages_and_the_sample(wheel: Path) -> None:
    assert [path.name for path in wheel.iterdir() if path.suffix != ".dist-info"] == ["wikianchor"]
    assert (wheel / "wikianchor/py.typed").exists()
    sample = wheel / "wikianchor/pipelines/sample"
    names = {str(path.relative_to(sample)) for path in sample.rglob("*") if path.is_file()}
    assert names == {"documents.jsonl", "sts.tsv", *(f"dumps/{path.name}" for path in (ROOT / "demo/dumps").iterdir())}
    assert all((sample / name).read_bytes() == (ROOT / "demo" / name).read_bytes() for name in names)


def test_every_data_file_is_in_the_wheel(wheel: Path) -> None:
    for package in PACKAGES:
        # A checkout has the folders at its top, and links to them in the package.
        source, target = ROOT / package, wheel if package == "wikianchor" else wheel / "wikianchor"
        files = [path for path in source.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
        assert files
        for path in files:
            assert (target / path.relative_to(ROOT)).exists(), path


@pytest.mark.slow
@pytest.mark.parametrize("form", ["zip", "sdist", pytest.param("tar", marks=pytest.mark.nightly)])
def test_every_form_of_the_source_makes_the_same_wheel(built: Path, tmp_path: Path, form: str) -> None:
    """Python unpacks the links of a ZIP as text files. An editable install makes links of them again."""
    if form == "sdist":
        archive = next(built.glob("*.tar.gz"))
    elif shutil.which("git") is None:
        pytest.skip("NO git")
    else:
        git = ["git", f"--git-dir={tmp_path / 'git'}", f"--work-tree={built.parent / 'source'}"]
        subprocess.run([*git, "init", "--quiet"], check=True)
        subprocess.run([*git, "add", "--all"], check=True)
        tree = subprocess.run([*git, "write-tree"], check=True, capture_output=True, text=True).stdout.strip()
        archive = tmp_path / f"source.{form}"
        subprocess.run([*git, "archive", f"--format={form}", f"--output={archive}", tree], check=True)
    source = tmp_path / "source"
    shutil.unpack_archive(archive, source, **({} if form == "zip" else FILTER))
    if form == "sdist":
        source = next(source.iterdir())
    build(source, "wheel")
    assert sums(source.parent / "dist") == sums(built)
    link = source / "wikianchor/pipelines"
    assert link.is_file() == (form == "zip")
    build(source, "editable")
    assert link.is_dir()


@pytest.mark.slow
def test_mypy_checks_a_program_against_an_editable_install(
    built: Path, tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    """A type checker reads the path of the checkout, and runs no import hook. What it knows of Python is kept."""
    pytest.importorskip("mypy", reason="NO mypy: pip install '.[dev]'")
    build(built.parent / "source", "editable")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True)
    (site,) = (tmp_path / "venv").glob("lib/python*/site-packages")
    (wheel,) = built.glob("*editable*.whl")
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(site)
    wheel.unlink()
    program = tmp_path / "program.py"
    text = """from wikianchor.pipelines.text.splitter import make_splitter

ends: list[{}] = make_splitter("rules", "en")("One. Two.")
"""
    cache = getattr(pytestconfig, "cache", None)
    kept = cache.mkdir("mypy") if cache else tmp_path / "cache"
    python = f"--python-executable={tmp_path}/venv/bin/python"
    command = [sys.executable, "-m", "mypy", "--strict", f"--cache-dir={kept}", python, program]
    # Of another length: mypy takes a file of the same second and size for the same file.
    for name, status in (("int", 0), ("bytes", 1)):
        program.write_text(text.format(name))
        surroundings = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "MYPYPATH")}
        ended = subprocess.run(command, cwd=tmp_path, env=surroundings, capture_output=True, text=True)
        assert ended.returncode == status, ended.stdout + ended.stderr
    assert 'expression has type "list[int]", variable has type "list[bytes]"' in ended.stdout


@pytest.mark.parametrize("name", ["pipelines", "schemas", "trainer"])
def test_a_folder_at_the_top_is_no_package(name: str) -> None:
    ended = subprocess.run([sys.executable, "-c", f"import {name}"], cwd=ROOT, capture_output=True, text=True)
    assert ended.returncode == 1
    assert f"ImportError: this package is wikianchor.{name}" in ended.stderr


def test_the_index_knows_what_it_is(metadata: Message) -> None:
    assert (metadata["Name"], metadata["License-Expression"]) == ("wikianchor", "Apache-2.0")
    assert metadata["Requires-Python"] == ">=3.10"
    assert metadata["Author"] or metadata["Author-email"]
    kinds = metadata.get_all("Classifier") or []
    assert {f"Programming Language :: Python :: 3.{minor}" for minor in range(10, 15)} <= set(kinds)
    assert "Typing :: Typed" in kinds
    assert {url.partition(",")[0] for url in metadata.get_all("Project-URL") or []} >= {"Source", "Documentation"}
    assert metadata["Description-Content-Type"] == "text/markdown"


def test_links_and_pictures_work_on_an_index(metadata: Message) -> None:
    text = re.sub(r"```.*?```", "", str(metadata.get_payload()), flags=re.DOTALL)
    pictures = re.findall(r"!\[[^\]]*\]\(([^)]+)\)", text)
    links = re.findall(r"(?<!!)\[[^\]]*\]\(([^)]+)\)", text)
    assert pictures
    assert len(links) > 20
    for target in pictures + links:
        assert target.startswith("https://"), target
    paths = [target.removeprefix(FILES) for target in pictures]
    paths += [target.removeprefix(REPOSITORY) for target in links if target.startswith(REPOSITORY)]
    for path in paths:
        assert (ROOT / path.partition("#")[0]).exists(), path


def test_the_version_is_the_same_everywhere(metadata: Message) -> None:
    """A copy without git has the version that setup.py falls back to. The core has a version of its own."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    assert metadata["Version"] == settings["tool"]["setuptools_scm"]["fallback_version"]
    core = tomllib.loads((ROOT / "core" / "Cargo.toml").read_text("utf-8"))["workspace"]["package"]["version"]
    assert settings["project"]["optional-dependencies"]["core"] == [f"wikianchor-core=={core}"]


def test_the_fuzz_targets_lock_what_the_core_needs() -> None:
    """`core/fuzz` is a workspace of its own, whose lock cargo writes anew without a word."""
    locks = (tomllib.loads((ROOT / "core" / name / "Cargo.lock").read_text("utf-8")) for name in (".", "fuzz"))
    core, fuzz = ({package["name"]: package.get("dependencies") for package in lock["package"]} for lock in locks)
    assert fuzz["wikianchor-engine"] == core["wikianchor-engine"]


def test_an_archive_of_a_commit_names_it(tmp_path: Path) -> None:
    """`git archive` writes the commit into .git_archival.txt, from which setup.py takes it before the first tag."""
    assert (ROOT / ".gitattributes").read_text("utf-8") == ".git_archival.txt export-subst\n"
    for name in ("setup.py", "pyproject.toml", "README.md"):
        shutil.copy(ROOT / name, tmp_path / name)
    command = [sys.executable, "setup.py", "--quiet", "--version"]
    template = (ROOT / ".git_archival.txt").read_text("utf-8")
    versions = []
    for text in (template, template.replace("$Format:%H$", "0898a760d" + 31 * "f")):
        (tmp_path / ".git_archival.txt").write_text(text.replace("$Format:%(describe", "(describe"))
        versions.append(subprocess.run(command, cwd=tmp_path, capture_output=True, text=True).stdout.split()[-1])
    assert versions == ["0.1.dev0", "0.1.dev0+g0898a760d"]


def test_a_checkout_names_its_commit(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    if shutil.which("git") is None:
        pytest.skip("NO git")
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@example.org"]
    subprocess.run([*git, "init", "--quiet"], check=True)
    subprocess.run([*git, "commit", "--quiet", "--allow-empty", "--message=A"], check=True)
    commit = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout[:9]
    monkeypatch.setattr(version, "CHECKOUT", tmp_path)
    named = version.program_version.__wrapped__()
    assert re.fullmatch(rf"\d[\d.]*\.dev0\+g{commit}", named)
    monkeypatch.setattr(version, "CHECKOUT", tmp_path / "none")
    assert version.program_version.__wrapped__() != named


def test_the_demo_works_without_a_checkout(wheel: Path, tmp_path: Path) -> None:
    surroundings = {**os.environ, "PYTHONPATH": str(wheel)}
    command = [sys.executable, "-m", "wikianchor", "demo"]
    ended = subprocess.run(command, cwd=tmp_path, env=surroundings, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    assert "wikianchor build --dumps=demo/dumps --output=out/demo --min_links=2" in ended.stdout
    assert (tmp_path / "out/demo/pairs/manifest.json").exists()
    assert {path.name for path in (tmp_path / "demo").iterdir()} == {"documents.jsonl", "dumps", "sts.tsv"}


def test_the_sample_is_not_written_over_other_files(tmp_path: Path, wikianchor: Callable[..., Ended]) -> None:
    (tmp_path / "sts.tsv").write_text("mine")
    ended = wikianchor("demo", f"--data={tmp_path}", f"--output={tmp_path}/out")
    assert (ended.status, len(ended.said)) == (1, 1)
    assert f"{tmp_path}/sts.tsv: not the file of the sample: remove it, or name another" in ended.said[0]
    assert (tmp_path / "sts.tsv").read_text() == "mine"
    for flag in ("--data=", "--output=/", "--data=gs://bucket/demo"):
        assert wikianchor("demo", flag).status == 2


def test_the_source_distribution_can_be_tested(built: Path, tmp_path: Path) -> None:
    shutil.unpack_archive(next(built.glob("*.tar.gz")), tmp_path, **FILTER)
    source = next(tmp_path.iterdir())
    for name in (*SOURCES, "Makefile", "mkdocs.yml", "CITATION.cff"):
        kept = [path for path in (ROOT / name).rglob("*") if path.is_file() and "__pycache__" not in path.parts]
        missing = [path for path in kept or [ROOT / name] if not (source / path.relative_to(ROOT)).exists()]
        assert missing == []
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *FAST]
    surroundings = {**os.environ, "PYTHONPATH": str(source)}
    ended = subprocess.run(command, cwd=source, env=surroundings, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_a_release_requires_the_core_where_it_has_a_wheel() -> None:
    project = tomllib.loads(with_core((ROOT / "pyproject.toml").read_text("utf-8")))["project"]
    requirement = Requirement(project["dependencies"][0])
    assert [requirement.name, str(requirement.specifier)] == ["wikianchor-core", "==0.1.0"]
    machines = {
        ("linux", "x86_64"): True,
        ("darwin", "arm64"): True,
        ("linux", "riscv64"): False,
        ("win32", "x86_64"): False,
    }
    for (platform, machine), has_wheel in machines.items():
        environment = {"sys_platform": platform, "platform_machine": machine}
        environment["platform_python_implementation"] = "CPython"
        assert requirement.marker is not None
        assert requirement.marker.evaluate(environment) == has_wheel
