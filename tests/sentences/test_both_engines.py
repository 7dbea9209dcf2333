"""The compiled core makes the same rows and the same ledger as Python, to the byte."""

from __future__ import annotations

import hashlib
import json
import random
import re
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.both_engines import BothEngines, compare_batch, difference_of, engines_of, raw_page
from tests.core_sources import core_sources, current_record
from tests.fuzz_templates import BATCH, Batch, Fuzz
from tests.fuzzing import MARKUP, TITLE
from tests.test_fuzz import PAGE, PIECES, WIKIS
from wikianchor.io.errors import InputError, UsageError
from wikianchor.pipelines.cli.command_line import main
from wikianchor.pipelines.dataset.workspace import Workspace
from wikianchor.pipelines.sentences import compiled_reader, page_reader
from wikianchor.pipelines.sentences.page_reader import DumpReader, PythonReader
from wikianchor.pipelines.wikimedia import core, core_record
from wikianchor.pipelines.wikimedia.site import site_for
from wikianchor.pipelines.wikimedia.wikitext.parser_functions import FUNCTIONS

ROOT = Path(__file__).parents[2]
DUMP = next((ROOT / "demo/dumps").glob("enwiki*stream.xml.bz2"))
needs_core = pytest.mark.skipif(core.installed_core() is None, reason="NO COMPILED CORE: make core")
# Of 250 pages each; a page takes a millisecond. `.ci/run` reads 100,000.
SEEDS, SETS = 3, 6


@cache
def engines(wiki: str) -> BothEngines:
    return BothEngines(site_for(wiki))


@needs_core
@settings(max_examples=300)
@given(st.sampled_from(WIKIS), st.lists(PIECES, max_size=14).map("".join))
def test_splices_are_read_in_the_same_way(wiki: str, text: str) -> None:
    assert engines(wiki).difference([raw_page(text)]) == ""


_READ_PAGES = """
import json, os, re, sys
from collections import Counter
from tests.both_engines import raw_page
from wikianchor.pipelines.dataset.workspace import Workspace
from wikianchor.pipelines.sentences.compiled_reader import make_page_reader
from wikianchor.pipelines.sentences.page_reader import DumpReader
from wikianchor.pipelines.wikimedia.site import site_for

def peak():
    return 1024 * int(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1])

def read(raw, where):
    tables = reader.new_tables()
    reader.read_page(reader.parse(raw, where, Counter(), []))
    return tables[0].take()

workspace = Workspace("", "", "")
reader = make_page_reader(DumpReader(site_for("enwiki"), workspace, "rules", "wikianchor", False, engine="core"))
read(*raw_page("[[a]] b."))
for unit in sys.argv[1:]:
    raw = raw_page("''' " + unit * (3_000_000 // len(unit)))
    # A process for each page: freed memory of those before would be used again.
    if os.fork() == 0:
        before = peak()
        read(*raw)
        print(json.dumps([unit, (peak() - before) / len(raw[0])]), flush=True)
        os._exit(0)
    os.wait()
"""


@needs_core
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_memory_of_the_core_is_at_most_twenty_times_the_page() -> None:
    """With the rows of the page, but not those of `--fragments` and `--documents`."""
    units = ("''", "* a\n", "'''a''b", "<b>", "{{{a}}}", "<ref>", "[[a]]", "[[a]] b. ")
    command = [sys.executable, "-c", _READ_PAGES, *units]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    shares = dict(json.loads(line) for line in ended.stdout.splitlines())
    assert shares.keys() == {*units}
    assert max(shares.values()) <= 20, shares


@needs_core
@pytest.mark.parametrize("seed", range(SEEDS))
def test_random_templates_are_read_in_the_same_way(seed: int) -> None:
    for number in range(SETS):
        chance = random.Random(seed * SETS + number)
        site = site_for(WIKIS[number % len(WIKIS)])
        fuzz = Fuzz(chance, site, [PAGE], [PAGE])
        definitions = fuzz.definitions()
        if number % 2:
            definitions = fuzz.mutated(definitions)
        with engines_of(site, definitions) as engines:
            assert compare_batch(Batch("", "", site, definitions, fuzz.pages(BATCH)), engines, 1) == 0


@needs_core
@pytest.mark.parametrize(
    ("definitions", "text"),
    [
        (None, "<ref <!--"),
        (None, "{{#sub:{{s}}|1}}"),
        (None, "{{#replace:a b|{{s}}|c}} {{#explode:a b|{{s}}|1}}"),
        (None, "{{dısamb}}"),
        (None, "{{Disambiguation }} {{ disambig\n}} {{disamb{{x}}}}"),
        (None, "{|[[\na"),
        ({"A": "[["}, "{{A}} {{A}}\nb"),
        ({"D": "[[{{{1}}}]]"}, "It is {{D|{{D|x}}}}."),
    ],
)
def test_pages_that_once_differed_or_did_not_balance(definitions: dict[str, str] | None, text: str) -> None:
    assert difference_of(site_for("enwiki"), definitions, text) == ""


@needs_core
def test_a_page_that_differs_is_cut_down(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(FUNCTIONS, "uc", lambda given: given.text(0))
    site, definitions = site_for("enwiki"), {"A": "[[b]] {{uc:{{{1}}}}} c", "B": "x"}
    with engines_of(site, definitions) as engines:
        assert compare_batch(Batch("", "", site, definitions, ["A.", "It is {{A|oak}} and {{B}}. {{B|"]), engines) == 1
    assert capsys.readouterr().out.startswith("""(site_for("enwiki"), {'A': '{{uc:{{{1}}}}}'}, 's{{A|k}}'),""")


@needs_core
@pytest.mark.parametrize("piece", [*MARKUP, PAGE])
def test_repeated_markup_is_read_in_the_same_way(piece: str) -> None:
    assert engines("enwiki").difference([raw_page(piece * 300), raw_page(f"A [[b]] {piece}c " * 100)]) == ""


@needs_core
@pytest.mark.parametrize(
    "raw",
    [
        b"<page><title>A</title></page>",
        b"<page><title>A</title><ns>x</ns><id>1</id></page>",
        b"<page><title>A</title><ns>0</ns><id>1</id><revision><id>1</id><text>\xff</text></revision></page>",
        b"<page><title>A</title><ns>0</ns><id>1</id><revision><id>1</id><text>a</revision></page>",
        b"<page><title>A</title><ns>0</ns><id>1</id><revision><id>1</id><text/></revision></page>",
        b"<page><title>A</title><ns>0</ns><id>1</id></page>",
        b"<page><title>A</title><id>1</id><revision><id>1</id><text>#REDIRECT [[b]]</text></revision></page>",
        b'<page><title>A</title><ns>0</ns><id>1</id><redirect title="B#c" /><revision><text>#REDIRECT [[B#d]]</text>'
        b"</revision></page>",
    ],
)
def test_damaged_and_odd_pages_end_in_the_same_way(raw: bytes) -> None:
    assert engines("enwiki").difference([(raw, "a dump near byte 1")]) == ""


@needs_core
def test_a_dataset_has_the_same_bytes(tmp_path: Path) -> None:
    digests = []
    for engine in ("python", "core"):
        output = tmp_path / engine
        assert main(["sentences", f"--dumps={DUMP}", f"--output={output}", f"--engine={engine}"]) == 0
        files = sorted(output.rglob("*.parquet"))
        digests.append([(file.name, hashlib.sha256(file.read_bytes()).hexdigest()) for file in files])
    assert digests[0] == digests[1]
    assert digests[0]


@pytest.mark.parametrize("engine", ["python", pytest.param("core", marks=needs_core)])
@pytest.mark.parametrize(
    ("counts", "problem"),
    [
        ({"links:seen": 2, "links:kept": 1}, "2 links seen, 1 in buckets"),
        ({"links:seen": 0, "links:table": -1, "links:kept": 1}, "links:table is -1"),
        ({"links:seen": 1, "links:kept": 1, "source:links": 3}, "1 links seen, 3 by the source"),
    ],
)
def test_a_page_whose_ledger_does_not_balance_fails_the_run_with_its_name(
    engine: str, counts: dict[str, int], problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader_of_engine = PythonReader if engine == "python" else compiled_reader._CompiledReader
    monkeypatch.setattr(reader_of_engine, "_read_article", lambda self, page: counts)
    reader = compiled_reader.make_page_reader(
        DumpReader(site_for("enwiki"), Workspace("", "", ""), "rules", "wikianchor", True, engine=engine)
    )
    page = reader.parse(*raw_page("A."), Counter(), [])
    assert page is not None
    expected = f"page '{TITLE}' of enwiki: its ledger does not balance: {problem}: please report it"
    with pytest.raises(InputError, match=re.escape(expected)):
        reader.read_page(page)


@pytest.mark.parametrize("engine", ["python", pytest.param("core", marks=needs_core)])
def test_a_run_ends_at_a_page_whose_ledger_does_not_balance(
    engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(page_reader, "unbalanced", lambda counts: "links:table is -1")
    command = ["sentences", f"--dumps={DUMP}", f"--output={tmp_path}/out", f"--engine={engine}", "--workers=1"]
    assert main(command) == 1
    last = capsys.readouterr().err.strip().splitlines()[-1]
    assert re.fullmatch(r"wikianchor: .*page '.+' of enwiki: its ledger does not balance: links:table is -1: .*", last)
    assert not (tmp_path / "out" / "manifest.json").exists()


def test_a_core_that_is_asked_for_and_not_there_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(core, "installed_core", lambda: None)
    assert main(["sentences", f"--dumps={DUMP}", f"--output={tmp_path}/a", "--engine=core"]) == 2
    assert "--engine=core needs the package wikianchor-core" in capsys.readouterr().err
    with pytest.raises(UsageError, match="make core"):
        core.core_of("core")


def test_a_core_of_other_sources_or_rules_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv(core_record.ANY_CORE, raising=False)
    record = tmp_path / "record.json"
    record.write_text(json.dumps({"core": "abc", "python": core_record.engine_digest()}))
    monkeypatch.setattr(core_record, "RECORD", record)
    monkeypatch.setattr(core, "_set_up", lambda module: None)

    def installed(sources: str) -> ModuleType:
        module = ModuleType("wikianchor_core")
        vars(module).update({"sources": sources, "__version__": "0.1.0"})
        for asked in (core, core_record):
            monkeypatch.setattr(asked, "installed_core", lambda: module)
        return module

    same = installed("abc")
    assert core.core_of(None) is core_record.core_with("sources") is same
    assert core_record.core_with("a function of newer cores") is None
    assert main(["--version"]) == 0
    assert "engine: core 0.1.0, of sources abc" in capsys.readouterr().out
    installed("older")
    core._warn.cache_clear()
    assert core.core_of(None) is core.core_of(None) is core_record.core_with("sources") is None
    assert capsys.readouterr().err.count("built from other sources than this program's: run make core") == 1
    with pytest.raises(UsageError, match=r"--engine=core: .* run make core"):
        core.core_of("core")
    # A rule of Python has changed since the comparison.
    record.write_text(json.dumps({"core": "abc", "python": "older"}))
    installed("abc")
    with pytest.raises(UsageError, match=r"not been compared with the rules .* python -m tests.both_engines --record"):
        core.core_of("core")
    assert main(["--version"]) == 0
    assert "engine: python; the compiled core has not been compared" in capsys.readouterr().out


def test_the_engines_were_compared_since_they_changed() -> None:
    """If this fails: make core && python -m tests.both_engines --record"""
    assert json.loads(core_record.RECORD.read_bytes()) == current_record()


@needs_core
def test_the_core_was_built_from_this_checkout() -> None:
    """If this fails: make core"""
    assert getattr(core.installed_core(), "sources", None) == core_sources()


def test_a_fault_in_the_core_names_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken:
        read_pages = None

        def __init__(self, **rules: Any) -> None: ...

        def set_page_rules(self, *rules: Any) -> None: ...

        def parse(self, raw: bytes) -> tuple[Any, ...]:
            return "The page", 0, 1, 2, "", None, "wikitext", ""

        def read_article(self, is_list: bool) -> dict[str, int]:
            raise RuntimeError("the compiled core failed: index out of range")

    monkeypatch.setattr(compiled_reader, "core_of", lambda engine: SimpleNamespace(PageReader=Broken))
    reader = compiled_reader.make_page_reader(
        DumpReader(site_for("enwiki"), Workspace("", "", ""), "rules", "wikianchor", allow_truncated=False)
    )
    page = reader.parse(raw_page("A.")[0], "here", Counter(), [])
    assert page is not None
    with pytest.raises(InputError, match=r"'The page' of enwiki: the compiled core failed.*--engine=python"):
        reader.read_page(page)
