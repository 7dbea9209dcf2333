"""Test that the documentation is right: commands run; flags, messages, paths, names and layers are those of the code.

A block of commands whose first line is `# needs: network` (or gpu, dumps, model, account, packages) is not run; only
its flags are checked. All other blocks of a page are run in order, in one folder.
"""

import argparse
import ast
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest

import wikianchor
from tests.conftest import made_once
from tests.fork_server import start
from tools import gallery
from wikianchor.io.config_file import tomllib
from wikianchor.io.options import add_options, declared, program
from wikianchor.mteb.options import MtebOptions
from wikianchor.pipelines.cli.commands import COMMANDS, TRAINER, command_parser
from wikianchor.trainer.config import CONFIGS
from wikianchor.trainer.entity_vectors.options import EntityVectorsOptions
from wikianchor.trainer.evaluate.options import parser as evaluate_parser
from wikianchor.trainer.linking.options import LinkOptions
from wikianchor.trainer.mboe.config import MboeConfig
from wikianchor.trainer.mboe.detect import DetectOptions
from wikianchor.trainer.onnx.options import OnnxOptions
from wikianchor.trainer.papers.options import ArmOptions, TableOptions
from wikianchor.trainer.score.options import ScoreOptions

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
NEEDS = ("network", "gpu", "dumps", "model", "account", "packages")
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SECONDS = 600
SMALL = {"vectors": EntityVectorsOptions, "detect": DetectOptions, "score": ScoreOptions, "onnx": OnnxOptions}
SMALL |= {"link": LinkOptions}


def blocks(page: Path, *kinds: str) -> list[tuple[str, str, str]]:
    """The blocks of a page as (kind, what it needs or "", text)."""
    printed_line = []
    for kind, text in BLOCK.findall(page.read_text("utf-8")):
        if kind in kinds:
            need = re.match(r"(?:#|--) needs: (.*)\n", text)
            printed_line.append((kind, need[1] if need else "", text))
    return printed_line


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def ignored() -> set[str]:
    """The directories of a checkout that git does not look at."""
    return set(re.findall(r"^/([\w.]+)/$", (ROOT / ".gitignore").read_text("utf-8"), re.MULTILINE))


def files_of(directory: Path) -> list[str]:
    return sorted(str(path.relative_to(directory)) for path in directory.rglob("*") if "__pycache__" not in path.parts)


WITH_BLOCKS = [page for page in PAGES if any(not need for _, need, _ in blocks(page, "bash", "python", "sql"))]


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of a page's commands, in which programs start without loading their packages again."""
    home = tmp_path_factory.mktemp("home")
    surroundings = {"HOME": str(home), "HF_HUB_OFFLINE": "1", "HF_HOME": str(home / "hf")}
    programs = (
        made_once(tmp_path_factory, "programs", lambda directory: start(directory, surroundings, "models")) / "bin"
    )
    path = f"{programs}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    return {**os.environ, **surroundings, "PATH": path, "PYTHONPATH": str(ROOT)}


def check_written_sentences(directory: Path) -> None:
    """Check that a pipeline of Python and one of Beam YAML write the sentences that the API gives."""
    rows = wikianchor.open_wiki(next((ROOT / "demo/dumps").glob("enwiki-*.xml.bz2"))).sentences()
    expected = sorted(f"{row['title']}: {row['text']}" for row in rows)
    for name in ("sentences.txt", "yaml-sentences.txt"):
        lines = [line for path in directory.glob(f"{name}*") for line in path.read_text("utf-8").splitlines()]
        assert sorted(lines) == expected, name


def need_package(package: str, extras: str) -> None:
    """Skip the test where a package is not installed; importing it takes longer than most commands."""
    if find_spec(package) is None:
        pytest.skip(f"NO {package}: pip install '.[{extras}]'")


def check_page(page: Path, folder: Path, environment: Mapping[str, str], made: Mapping[str, Path]) -> None:
    """Check that the commands of a page work.

    Args:
        page: the page.
        folder: an empty directory.
        environment: that of the commands.
        made: directories that are copied into the checkout before, by where they are put.
    """
    checkout, temporary = folder / "wikianchor", folder / "temporary"
    checkout.mkdir()
    temporary.mkdir()
    for entry in ("demo", "configs"):
        shutil.copytree(ROOT / entry, checkout / entry)
    for target, source in made.items():
        shutil.copytree(source, checkout / target)
    surroundings = {**environment, "TMPDIR": str(temporary)}
    for kind, need, text in blocks(page, "bash", "python", "sql"):
        if need:
            continue
        if kind == "bash":
            if "wikianchor corpus" in text:
                need_package("ginza", "ja")
            if "trainer" in text or "wikianchor train" in text:
                need_package("torch", "train,eval")
            command = ["bash", "-euo", "pipefail", "-c", text]
        elif kind == "python":
            if "wikianchor.train" in text:
                need_package("torch", "train,eval")
            for library in re.findall(r"^(?:import|from) (\w+)", text, re.MULTILINE):
                need_package(library, "hub-dev,train")
            command = ["python", "-c", text]
        else:
            need_package("duckdb", "hub-dev")
            command = ["python", "-c", f"import duckdb; print(duckdb.sql({text!r}))"]
        ended = subprocess.run(command, cwd=checkout, env=surroundings, capture_output=True, text=True, timeout=SECONDS)
        assert ended.returncode == 0, f"{text}\n{ended.stdout[-1000:]}\n{ended.stderr[-3000:]}"
    if page.name == "python.md":
        check_written_sentences(checkout / "out")
    # A checkout stays clean, and so does the directory for temporary files.
    assert {entry.name for entry in checkout.iterdir()} <= {"demo", "configs", *ignored()}
    assert files_of(checkout / "demo") == files_of(ROOT / "demo")
    assert [entry.name for entry in temporary.iterdir() if "beam" in entry.name or entry.name.startswith("tmp")] == []


@pytest.fixture(scope="module")
def readme(environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The checkout in which the commands of the README have worked."""

    def check(directory: Path) -> None:
        check_page(ROOT / "README.md", directory, environment, {})

    return made_once(tmp_path_factory, "readme", check) / "wikianchor"


# Makes what `demo_build` is, and the model of the README. Where other pages have the same commands, the first build and
# the model are there already, and of another build all but the pairs.
BUILD = re.compile(r"^wikianchor build +--dumps=demo/dumps --output=(\S+) --min_links=2", re.MULTILINE)
TRAIN = "wikianchor train ease --data=out/demo/pairs --new=tiny --output=models/toy --epochs=4 --learning_rate=1e-3"


@pytest.mark.slow
@pytest.mark.parametrize("page", WITH_BLOCKS, ids=name)
def test_the_commands_of_a_page_work(
    page: Path, environment: dict[str, str], demo_build: Path, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    if page == ROOT / "README.md":
        request.getfixturevalue("readme")
        return
    text = page.read_text("utf-8")
    builds = list(dict.fromkeys(BUILD.findall(text)))
    made = dict.fromkeys(builds[:1], demo_build)
    for target in builds[1:]:
        made |= {f"{target}/{part}": demo_build / part for part in ("sentences", "entities")}
    if TRAIN in text:
        made["models/toy"] = request.getfixturevalue("readme") / "models/toy"
    check_page(page, tmp_path, environment, made)


def test_the_tutorial_shows_what_is_printed(demo_build: Path) -> None:
    """But for what depends on the machine."""
    printed = (demo_build.parent / "printed").read_text("utf-8").splitlines()
    shown = next(text for _, _, text in blocks(ROOT / "docs" / "tutorial.md", "text")).splitlines()
    of_machine = re.compile(r"^plan:|seconds,")
    assert [line for line in shown if not of_machine.search(line)] == [
        line for line in printed if not of_machine.search(line)
    ]


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "bash", "python", "sql")], ids=name)
def test_what_a_block_needs_is_one_of_a_few_things(page: Path) -> None:
    for _, need, text in blocks(page, "bash", "python", "sql"):
        assert not need or set(need.split(", ")) <= set(NEEDS), text


def commands_in(text: str) -> list[list[str]]:
    """The commands of a block, each as words."""
    joined = text.replace("\\\n", " ")
    return [words for line in joined.splitlines() if (words := shlex.split(line, comments=True))]


@cache
def beam_flags() -> set[str]:
    """The flags that go to Beam."""
    from wikianchor.pipelines.engine.options import flag_parser

    return set(flag_parser().flags())


def known_flags(words: list[str]) -> set[str] | None:
    """The flags of the command that words are, None if it is none of ours."""
    if words[0] == "wikianchor" and words[1] in COMMANDS:
        return {flag for action in command_parser(words[1])._actions for flag in action.option_strings} | beam_flags()
    if words[0] == "wikianchor":
        command, rest = words[1], words[2:]
    elif "-m" in words:
        _, module, *rest = words[words.index("-m") :]
        if module == "wikianchor":
            return known_flags([module, *rest])
        command = module
    else:
        return None
    if command == "evaluate":
        parser = evaluate_parser()
    elif command == "mteb":
        parser = program("", "", MtebOptions)
    elif command == "train" and rest[:1] == ["mboe"]:
        parser = program("", "", MboeConfig)
    elif command in SMALL:
        parser = program("", "", SMALL[command])
    elif command == "train":
        parser = argparse.ArgumentParser()
        add_options(parser, CONFIGS[rest[0]])
    else:
        return None
    return {"--config", *(flag for action in parser._actions for flag in action.option_strings)}


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "bash")], ids=name)
def test_flags_are_known(page: Path) -> None:
    for _, _, text in blocks(page, "bash"):
        for words in commands_in(text):
            assert words[0] != "wikianchor" or words[1] in {*COMMANDS, *TRAINER} or words[1].startswith("-"), words
            if (known := known_flags(words)) is not None:
                # torchrun has flags of its own before the module.
                invoked = words[words.index("-m") :] if "-m" in words else words
                given = {word.split("=")[0] for word in invoked if word.startswith("--")}
                assert given <= known, f"{name(page)}: {words}"


OUTPUT = re.compile(r"(?:^--(?:output|clusters)=|^>$)(.*)$")
ELSEWHERE = ("gs://", "s3://", "/data/")


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "bash")], ids=name)
def test_what_commands_write_is_ignored_by_git(page: Path) -> None:
    """Of blocks that need something too, which are not run."""
    for _, _, text in blocks(page, "bash"):
        for words in commands_in(text):
            targets = [
                match[1] or words[checkout + 1] for checkout, word in enumerate(words) if (match := OUTPUT.match(word))
            ]
            for target in targets:
                assert target.startswith(ELSEWHERE) or target.split("/")[0] in ignored(), f"{name(page)}: {target}"


def test_flags_in_the_text_are_known() -> None:
    """Flags that are named between the blocks: those of any command of ours, of Beam, of pip or of Beam's image."""
    known = beam_flags() | {"--index-url", "--worker_pool", "--config"}
    known |= {f"--{option.flag}" for option in declared(TableOptions) + declared(ArmOptions)}
    for command in COMMANDS:
        known |= known_flags(["wikianchor", command]) or set()
    for words in ("train ease", "train sdjc", "train t5", "train mboe", "evaluate", "mteb", *SMALL):
        known |= known_flags(["wikianchor", *words.split()]) or set()
    for page in PAGES:
        text = BLOCK.sub("", page.read_text("utf-8"))
        assert set(re.findall(r"`(--[a-z][\w-]*)", text)) <= known, name(page)


def test_every_command_is_shown() -> None:
    shown = {
        words[1]
        for page in PAGES
        for _, _, text in blocks(page, "bash")
        for words in commands_in(text)
        if words[0] == "wikianchor"
    }
    assert {*COMMANDS, *TRAINER} <= shown


def test_the_gallery_is_what_the_demo_gives(tmp_path: Path) -> None:
    gallery.main(str(tmp_path / "gallery.md"))
    assert (tmp_path / "gallery.md").read_text("utf-8") == (ROOT / "docs/gallery.md").read_text("utf-8"), (
        "run make docs"
    )


def test_the_reference_is_what_the_code_says() -> None:
    command = [sys.executable, "-m", "tools.reference", "--check"]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_messages_are_those_of_the_program() -> None:
    """Each heading of the troubleshooting page is a part of a message, `...` standing for what differs."""
    code = "".join(
        path.read_text("utf-8")
        for package in ("wikianchor", "pipelines", "trainer")
        for path in sorted((ROOT / package).rglob("*.py"))
    )
    # Messages are written over several lines, and hold names between braces.
    flat = re.sub(r'"\s*\n\s*f?"', "", code)
    headings = re.findall(r"^## `(.*)`$", (ROOT / "docs" / "troubleshooting.md").read_text("utf-8"), re.MULTILINE)
    assert len(headings) > 10
    for heading in headings:
        for part in heading.split("..."):
            assert part.strip() in flat, heading


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(
        r"\]\(([^)#]+?)(?:#[^)]*)?\)", re.sub(r"```.*?```", "", page.read_text("utf-8"), flags=re.DOTALL)
    ):
        if "://" not in target:
            assert (page.parent / target).exists(), target
            # The site holds docs/ only.
            assert page.parent == ROOT or (ROOT / "docs") in (page.parent / target).resolve().parents, target


ABOUT_CODE = [ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md")]
TOP = (
    "benchmarks",
    "configs",
    "demo",
    "docker",
    "docs",
    "pipelines",
    "schemas",
    "tests",
    "tools",
    "trainer",
    "wikianchor",
)
# Made by a build, or written in capitals for any of its kind.
NOT_IN_A_CHECKOUT = re.compile(r"wikianchor/pipelines/sample/|/[A-Z]+\.json$")


@pytest.mark.parametrize("page", [*ABOUT_CODE, *PAGES[2:]], ids=name)
def test_files_that_are_named_exist(page: Path) -> None:
    """Paths between backticks, such as `pipelines/engine/`, and programs, such as `python tools/han.py`."""
    for path in re.findall(rf"`(?:python )?((?:{'|'.join(TOP)})/[\w./*-]*)", page.read_text("utf-8")):
        assert NOT_IN_A_CHECKOUT.search(path) or any(ROOT.glob(path.rstrip("/"))), f"{name(page)}: {path}"
    for path, function in re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", page.read_text("utf-8")):
        assert function in defined_in(ROOT / path), f"{name(page)}: {path}::{function}"


def defined_in(module: Path) -> set[str]:
    """Return the classes, functions, methods (as Class.method) and constants of a module."""
    names = set()
    for node in ast.parse(module.read_text("utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        if isinstance(node, ast.ClassDef):
            names |= {f"{node.name}.{part.name}" for part in node.body if isinstance(part, ast.FunctionDef)}
        if isinstance(node, ast.Assign):
            names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return names


def test_architecture_names_what_there_is() -> None:
    """Each link leads to a file; the import name that it shows, such as `pipelines.cli.commands.COMMANDS`, is there."""
    text = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
    assert len(text.splitlines()) <= 200
    links = re.findall(r"\[([^\]]+)\]\(([^)]+)\)", text)
    assert len(links) > 40
    for shown, target in links:
        assert (ROOT / target).exists(), target
        if target.endswith(".py") and (code := re.fullmatch(r"`([\w.]+)`", shown)):
            module = target.removesuffix(".py").removesuffix("/__init__").removeprefix("wikianchor/").replace("/", ".")
            attribute = code[1].removeprefix(module).removeprefix(".")
            assert not attribute or attribute in defined_in(ROOT / target), f"{code[1]} is not in {target}"


@pytest.mark.parametrize("page", ["where", "invariants"])
def test_names_of_code_in_the_docs_are_there(page: str) -> None:
    """Import names without `wikianchor.`, such as `pipelines.titles.steps.build_index`, and names of tests."""
    text = (ROOT / "docs" / "explanation" / f"{page}.md").read_text("utf-8")
    names = re.findall(r"`((?:pipelines|trainer|schemas|io|aliases|api|mteb|beam)\.[\w.]+)`", text)
    assert len(names) > 20
    for dotted in names:
        words = dotted.split(".")
        top = ROOT if words[0] in ("pipelines", "trainer", "schemas") else ROOT / "wikianchor"
        modules = [top.joinpath(*words[:length]) for length in range(1, len(words) + 1)]
        paths = [path for base in modules for path in (base.with_suffix(".py"), base / "__init__.py") if path.is_file()]
        module = paths[-1]
        length = len(module.with_suffix("").relative_to(top).parts) - (module.name == "__init__.py")
        attribute = ".".join(words[length:])
        assert not attribute or attribute in defined_in(module), dotted
    tests = "\n".join(path.read_text("utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    for name_of_test in re.findall(r"`(test_\w+)`", text):
        assert f"def {name_of_test}(" in tests, name_of_test


def test_architecture_has_the_layers_that_are_checked() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    text = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
    for contract in (contract for contract in contracts if contract["type"] == "layers"):
        folder = contract["containers"][0].rpartition(".")[2]
        table = re.search(rf"\| layer \| `{folder}/` \|.*?\n\n", text, re.DOTALL)
        assert table, folder
        written: dict[int, set[str]] = {}
        for number, modules in re.findall(r"^\| (\d+) \| (.*?) \|", table[0], re.MULTILINE):
            written.setdefault(int(number), set()).update(re.findall(r"`(\w+)(?:/|\.py)`", modules))
        layers = [set(re.findall(r"\w+", layer)) for layer in reversed(contract["layers"])]
        assert [written[number] for number in sorted(written)] == layers
