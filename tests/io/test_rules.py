"""A digest of the rules of a stage changes with what decides its rows, and with nothing else."""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from wikianchor.io import rules

ROOT = Path(__file__).parents[2]
STAGES = (
    *("sentences", "templates", "entities", "pairs", "export", "mentions", "interlanguage", "mewsc16", "corpus"),
    "negatives",
)
READ_WIKITEXT = {"sentences", "templates", "mewsc16"}
CODE = "\n\nADDED = True\n"
# Modules that a stage loads through infrastructure alone, besides those of its digest.
LOADED_BESIDE = {
    "pipelines.wikimedia.pages": "titles of bad pages in messages",
    "pipelines.wikimedia.dumps": "imported by wikimedia.pages",
    "pipelines.wikimedia.bzip2_blocks": "imported by wikimedia.pages",
    "pipelines.wikimedia.compressed": "imported by wikimedia.pages",
    "pipelines.wikimedia.gzip_members": "imported by wikimedia.pages",
    "schemas.mewsc16": "the card of a dataset",
    "schemas.pairs": "the card of a dataset",
    "pipelines.dataset.split_configs": "the names of shards",
    "schemas.choices": "values of options, which manifests record",
    "io.package_data": "names of wikis in options, which manifests record",
    "pipelines.wikimedia.languages": "names of wikis in options, which manifests record",
    "pipelines.wikimedia.dump_names": "names of wikis in options, which manifests record",
}
DUMPS = ROOT / "demo" / "dumps"

# Runs each command of a list in a copy of this process, and writes into a file which modules and data files of the
# package it used. What the copies share is no module of ours.
WATCHED = """
import json, os, sys
import apache_beam, numpy, pyarrow.parquet
for stage, *flags in json.loads(sys.argv[1]):
    if os.fork():
        if os.wait()[1]:
            sys.exit(1)
        continue
    opened = set()
    def watch(event, arguments):
        if event == "open" and str(arguments[0]).endswith(".json"):
            opened.add(str(arguments[0]))
    sys.addaudithook(watch)
    from wikianchor.io import rules
    from wikianchor.io.options import read_options
    from wikianchor.pipelines.cli.commands import COMMANDS, command_parser
    rules.digest_of = lambda *names: ""
    command = COMMANDS[stage]
    command.code.run(read_options(command.options, command_parser(stage).parse_args(flags)), [])
    with open(f"{sys.argv[2]}/{stage}", "w") as used:
        json.dump([sorted(sys.modules), sorted(opened)], used)
    os._exit(0)
"""
WATCHED_STAGES = ("sentences", "entities", "pairs", "mentions")


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package as a wheel has it: without links."""
    root = tmp_path_factory.mktemp("package") / "wikianchor"
    shutil.copytree(rules.ROOT, root, ignore=shutil.ignore_patterns("__pycache__", "templates/*.html"))
    return root


@cache
def unchanged(package: Path) -> dict[str, str]:
    """Return the digests of the stages of a package to which nothing is added."""
    return {stage: rules.stage_digest(stage, package) for stage in STAGES}


def affected(package: Path, name: str, added: str) -> set[str]:
    """Return the stages whose digest changes when something is added to a file, which is taken back."""
    path = package / name
    before = path.read_text("utf-8")
    digests = unchanged(package)
    try:
        path.write_text(before + added, "utf-8")
        rules.digest_of.cache_clear()
        return {stage for stage in STAGES if rules.stage_digest(stage, package) != digests[stage]}
    finally:
        path.write_text(before, "utf-8")
        rules.digest_of.cache_clear()


def test_a_copy_of_the_package_has_the_same_digests(package: Path) -> None:
    digests = [rules.stage_digest(stage) for stage in STAGES]
    assert [rules.stage_digest(stage, package) for stage in STAGES] == digests
    assert len(set(digests)) == len(STAGES)


@pytest.mark.parametrize(
    ("name", "added"),
    [
        ("trainer/models/losses.py", CODE),
        ("pipelines/commands/report/page.py", CODE),
        ("pipelines/cli/command_line.py", CODE),
        ("pipelines/sentences/options.py", CODE),
        ("pipelines/dataset/card.py", CODE),
        ("pipelines/engine/progress.py", CODE),
        ("io/flags.py", CODE),
        ("pipelines/wikimedia/wikitext/links.py", "# A comment.\n"),
        ("pipelines/wikimedia/wikitext/links.py", '\n"""A docstring."""\n'),
        ("pipelines/wikimedia/wikitext/links.py", "\n\n\nif TYPE_CHECKING:\n    import json\n"),
    ],
)
def test_what_decides_no_row_changes_no_digest(package: Path, name: str, added: str) -> None:
    assert affected(package, name, added) == set()


@pytest.mark.parametrize(
    ("name", "added", "stages"),
    [
        ("pipelines/wikimedia/data/languages.json", " ", READ_WIKITEXT),
        ("pipelines/wikimedia/wikidata.py", CODE, {"entities", "pairs", "mentions"}),
        ("pipelines/pairs/negatives.py", CODE, {"pairs"}),
        ("pipelines/engine/sorted_runs.py", CODE, {"pairs", "export", "mentions", "mewsc16"}),
        ("pipelines/mewsc16/data/topics.json", " ", {"mewsc16"}),
        ("schemas/sentences.py", CODE, {"sentences", "pairs", "mentions", "interlanguage", "corpus"}),
    ],
)
def test_what_decides_rows_changes_the_digests_of_its_stages(
    package: Path, name: str, added: str, stages: set[str]
) -> None:
    assert affected(package, name, added) >= stages


def test_wikidata_is_not_read_again_because_a_rule_of_wikitext_changed(package: Path) -> None:
    assert affected(package, "pipelines/wikimedia/wikitext/links.py", CODE) == READ_WIKITEXT


def test_formatting_is_not_code_and_every_expression_is() -> None:
    def code(text: str) -> str:
        return rules._parsed(text.encode()).code

    texts = ["x = f(1, 'a')", "x = f(1, 'b')", "x = f(1, b'a')", "x = f('a', 1)", "x = f(1)('a')", "x += f(1, 'a')"]
    assert len({code(text) for text in texts}) == len(texts)
    assert code("x=f( 1,\n'a', )  # why\n") == code(texts[0])


def test_parsed_sources_are_kept_and_a_damaged_cache_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parse, parsed = ast.parse, list[bytes]()

    def watched(source: bytes) -> ast.Module:
        parsed.append(source)
        return parse(source)

    def digest() -> tuple[str, bool]:
        """Return a digest as a new process finds it, and whether a source was parsed for it."""
        parsed.clear()
        rules._cached.cache_clear()
        return rules.digest_of.__wrapped__(("schemas.entities",)), bool(parsed)

    monkeypatch.setattr(rules.ast, "parse", watched)
    monkeypatch.setenv("WIKIANCHOR_CACHE", str(tmp_path / "cache"))
    value, was_parsed = digest()
    assert was_parsed
    assert digest() == (value, False)
    (cached,) = (tmp_path / "cache").iterdir()
    for damage in ("", "{", "[]", '{"a": 1}', '{"a": [1, 2]}'):
        cached.write_text(damage)
        assert digest() == (value, True), damage
        assert digest() == (value, False), damage
    rules._cached.cache_clear()


def test_a_cache_that_cannot_be_written_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("WIKIANCHOR_CACHE", str(tmp_path / "file"))
    rules._cached.cache_clear()
    assert rules.digest_of.__wrapped__(("pipelines.entities.graph",)) == rules.stage_digest("entities")


def test_every_data_file_decides_rows_of_a_stage() -> None:
    files = {path for stage in STAGES for path in rules.files_of((rules._graph(stage),))}
    assert {path.name for path in {*rules._data_files(rules.ROOT)} - files} == {"core_record.json"}


@pytest.fixture(scope="module")
def used(demo_build: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[set[str], set[Path]]]:
    """By stage, the modules of the package that it imports, and data files that it opens."""
    folder = tmp_path_factory.mktemp("used")
    dump = str(next(DUMPS.glob("enwiki-*stream.xml.bz2")))
    wikidata = str(next(DUMPS.glob("wikidata-*")))
    datasets = [f"--sentences={demo_build}/sentences", f"--entities={demo_build}/entities"]
    flags = {
        "sentences": [f"--dumps={dump}", "--engine=python"],
        "entities": [f"--wikidata={wikidata}", "--wikis=en"],
        "pairs": [*datasets, "--min_links=2"],
        "mentions": datasets,
    }
    commands = [[stage, *flags[stage], f"--output={folder}/out-{stage}"] for stage in WATCHED_STAGES]
    ended = subprocess.run(
        [sys.executable, "-c", WATCHED, json.dumps(commands), folder],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert ended.returncode == 0, ended.stderr
    by_stage = {}
    for stage in WATCHED_STAGES:
        modules, opened = json.loads((folder / stage).read_text())
        inner = {name.removeprefix("wikianchor.") for name in modules if name.startswith("wikianchor.")}
        files = {Path(path).resolve() for path in opened}
        by_stage[stage] = inner, {path for path in files if path.is_relative_to(ROOT)}
    return by_stage


@pytest.mark.parametrize("stage", WATCHED_STAGES)
def test_no_module_and_no_data_file_of_a_stage_is_missing(
    stage: str, used: dict[str, tuple[set[str], set[Path]]]
) -> None:
    """Whatever a stage imports or opens is in its digest, or known to decide no row."""
    modules, opened = used[stage]
    files = {path.resolve() for path in rules.files_of((f"pipelines.{stage}.graph",))}
    loaded = {name: rules._source(name, rules.ROOT) for name in modules if not rules.is_infrastructure(name)}
    missing = {name for name, path in loaded.items() if path and path.resolve() not in files}
    assert missing - LOADED_BESIDE.keys() == set()
    # Of --wikis, which the manifest records.
    names = {"languages.json"} if stage == "entities" else set()
    assert {path.name for path in opened - files} == names
    if stage == "sentences":
        assert len(opened) == 11


def test_the_list_of_infrastructure_names_modules() -> None:
    assert all(rules._source(name, rules.ROOT) for name in (*rules.INFRASTRUCTURE, *rules.ROWS))
