"""The core reads lines of a Wikidata dump into the same files as Python does."""

import json
import os
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from wikianchor.pipelines.dataset.workspace import Workspace
from wikianchor.pipelines.entities import steps
from wikianchor.pipelines.wikimedia.core_record import core_with
from wikianchor.pipelines.wikimedia.dumps import content_of, whole_file

pytestmark = pytest.mark.skipif(not core_with("ItemReader"), reason="NOT TESTED: the core is not installed: make core")

WIKIS = ("dewiki", "enwiki", "frwiki")


def statement(value: Any, **fields: Any) -> dict[str, Any]:
    return {"mainsnak": {"snaktype": "value", "datavalue": {"value": value, "type": "wikibase-entityid"}}, **fields}


def entity(**fields: Any) -> str:
    """Return the line of an item."""
    claims = {
        "P31": [statement({"entity-type": "item", "numeric-id": 5, "id": "Q5"}, rank="normal")],
        "P106": [
            statement({"id": "Q36180"}, rank="normal"),
            statement({"id": "Q1028181"}, rank="preferred"),
            {"mainsnak": {"snaktype": "somevalue"}, "rank": "preferred"},
        ],
        "P569": [statement({"time": "+1952-03-11T00:00:00Z", "precision": 11, "after": 0.25e-3}, rank="deprecated")],
    }
    item = {
        "type": "item",
        "id": "Q42",
        "labels": {"en": {"language": "en", "value": "Adams \u00e9\U0001f600"}, "xx": {"value": "x"}},
        "descriptions": {"de": {"language": "de", "value": 'a "writer" \\ \b\f\n\r\t/'}},
        "aliases": {"en": [{"value": "Noel"}, {"value": "Bop Ad"}, {"value": "Noel"}], "de": []},
        "claims": claims,
        "sitelinks": {"enwiki": {"site": "enwiki", "title": "Douglas Adams", "badges": []}, "frwiki": {"title": "D"}},
        "lastrevid": 1234,
    }
    return json.dumps({name: value for name, value in {**item, **fields}.items() if value is not ...})


ITEM = entity()
SITELINKS = '"sitelinks": {"enwiki": {"title": "A"}}'
# Values of the fields of an item: usual ones, ones that only older dumps have, and wrong ones.
VALUES: dict[str, list[Any]] = {
    "type": ["property", "lexeme", None, 7, ...],
    "id": ["q7", "Q0", "Q12345678901", "Q9999999999", "P31", 42, None, ...],
    "lastrevid": [0, -1, 1.5, True, "1", None, 2**63 - 1, 2**63, 10**30, ...],
    "redirect": ["Q1", None],
    "sitelinks": [[], {}, None, 0, "", {"enwiki": {}}, {"enwiki": {"title": 1}}, {"enwiki": None}, {"xwiki": {}}, ...],
    "labels": [[], {"en": {}}, {"en": {"value": None}}, {"en": [{"value": "a"}]}, ["a"], "a", None, ...],
    "descriptions": [{"en": {"value": "\u0000\u2028\x7f"}}, {"en": {"value": {}}}, False],
    "aliases": [{"en": {"value": "a"}}, {"en": ["a"]}, {"en": [{"value": "b"}], "de": [{"value": "a"}] * 40}],
    "claims": [
        [],
        None,
        {"P31": []},
        {"P31": None},
        {"P31": {}},
        {"P31": ["a"]},
        {"P279": [statement({"id": "Q7"}), statement({"id": "Q7"}, rank="normal")]},
        *(
            {"P31": [statement(value, rank=rank), statement({"id": "Q8"}, rank="normal")]}
            for rank in ("normal", "preferred", "deprecated", "odd", None, 1)
            for value in (
                {"numeric-id": 5},
                {"numeric-id": 5, "entity-type": "property"},
                {"numeric-id": "5"},
                {"numeric-id": 5.0},
                {"numeric-id": -5},
                {"numeric-id": 0},
                {"numeric-id": None, "entity-type": None},
                {"numeric-id": 5, "id": "P5"},
                {"numeric-id": 5, "id": None},
                {"id": "Q1", "more": [[[{}]]]},
                "Q5",
                None,
            )
        ),
        {"P31": [{"mainsnak": None}, {"mainsnak": {"datavalue": None}}, {"mainsnak": {"datavalue": "x"}}, {}]},
    ],
}
LINES = [
    ITEM,
    *(entity(**{name: value}) for name, values in VALUES.items() for value in values),
    # Repeated keys, of which the last one counts.
    *(ITEM[:-1] + more + "}" for more in (', "id": "Q43"', ', "claims": {}', f", {SITELINKS}", ', "type": 1')),
    ITEM.replace('"frwiki"', '"enwiki"'),
    ITEM.replace('"value": "x"', '"value": "x", "value": "y"').replace('"xx"', '"de"'),
    # Escapes in names and texts.
    ITEM.replace('"type"', '"t\\u0079pe"'),
    ITEM.replace('"enwiki"', '"enw\\u0069ki"'),
    ITEM.replace("Adams", "\\ud83d\\ude00"),
    ITEM.replace("Adams", "\\ud83d"),
    ITEM.replace("Adams", "\\udc00\\ud83d"),
    ITEM.replace("Adams", "\t"),
    # Numbers and depths at the bounds of what orjson reads.
    *(ITEM[:-1] + f', "more": {number}}}' for number in ("1e999", "-0", "01", "1e-999", "9" * 400, "0." + "1" * 400)),
    *(ITEM[:-1] + f', "more": {"[" * depth}{"]" * depth}}}' for depth in (60, 62, 63, 64, 1022, 1023, 1024, 5000)),
    # Other forms and no entities.
    f" \t{ITEM} ,\r",
    f"[{ITEM}]",
    ITEM + ITEM,
    ITEM + " x",
    "{}",
    "[]",
    "{",
    '"sitelinks": "enwiki"',
    '{"sitelinks": {"dewiki": {"title": "T"}}, "sitelinks" \v: "enwiki"}',
    '{"sitelinks"sitelinks": "enwiki"}',
    "not JSON",
]


def reading(
    lines: Sequence[bytes], directory: Path, monkeypatch: pytest.MonkeyPatch, *, core: bool, texts: Sequence[str]
) -> dict[str, Any]:
    """Return what an engine makes of lines, the hashes of the files among it."""
    path = directory / "dump.json"
    path.write_bytes(b"\n".join(lines) + b"\n")
    work = Workspace(f"{directory}", f"{directory}", f"{directory}")
    reader = steps.ItemReader(work, WIKIS, ("en", "de", "mul"), tuple(texts), allow_truncated=False)
    with monkeypatch.context() as patch:
        if not core:
            patch.setattr(steps, "core_with", lambda name: None)
        read = steps.read_items(steps.ItemRange(0, whole_file(str(path)), ""), reader)
    parts = [(part.config, part.rows, part.sha256) for part in read.parts]
    for part in read.parts:
        os.remove(part.path)
    return {**read._asdict(), "parts": parts}


def assert_same(
    lines: Sequence[bytes], directory: Path, monkeypatch: pytest.MonkeyPatch, texts: Sequence[str] = steps.TEXTS
) -> dict[str, Any]:
    """Check that the engines make the same of lines, and return what."""
    python, core = (reading(lines, directory, monkeypatch, core=core, texts=texts) for core in (False, True))
    assert core == python
    return core


@pytest.mark.parametrize("line", LINES, ids=range(len(LINES)))
def test_a_line_is_read_as_in_python(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The core reads no line before the first entity.
    assert_same([ITEM.encode(), line.encode(), ITEM.encode()], tmp_path, monkeypatch)
    assert_same([line.encode()], tmp_path, monkeypatch, ["labels"])


@pytest.mark.parametrize("texts", [["labels"], ["aliases"], ["descriptions", "labels"]], ids=" ".join)
def test_row_groups_are_the_same(texts: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steps, "ROW_GROUP", 4)
    lines = [ITEM, entity(sitelinks={"dewiki": {"title": "D"}}), entity(lastrevid=True), entity(type="property")] * 5
    read = assert_same([line.encode() for line in lines], tmp_path, monkeypatch, texts)
    assert read["counts"] == {"bad line": 5, "kept": 10, "lines": 20, "not an item": 5}
    assert read["sitelinks"] == {"dewiki": 5, "enwiki": 5, "frwiki": 5}


# CASES=100000 for a long run.
@pytest.mark.parametrize("seed", range(8))
def test_damaged_lines_are_read_as_in_python(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    choose = random.Random(seed)
    whole = [line.encode() for line in LINES if line != "{"]
    lines = [ITEM.encode()]
    for _ in range(int(os.environ.get("CASES", "500"))):
        line = bytearray(choose.choice(whole))
        for _ in range(choose.choice((1, 1, 1, 2, 5))):
            start = choose.randrange(len(line) + 1)
            other = choose.choice(whole)
            begin = choose.randrange(len(other))
            pieces = (b"", choose.randbytes(1), choose.choice(b'"\\{}[]:,0e.-').to_bytes(), other[begin : begin + 9])
            line[start : start + choose.choice((0, 1, 1, 1, 4, 30))] = choose.choice(pieces)
        # An entity that is spread over several lines ends the reading.
        if b"\n" not in line and line.strip(b" \t\r,[]") != b"{":
            lines.append(bytes(line))
    counts = assert_same(lines, tmp_path, monkeypatch)["counts"]
    assert counts["kept"] > 10
    assert counts["bad line"] > 10


def test_hostile_lines_are_read_in_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    long = 4 << 20
    lines = [
        ITEM.encode(),
        b'{"sitelinks": "enwiki", "a": ' + b"[" * long + b"}",
        b'{"sitelinks": "enwiki", "a": "' + b"\\" * long + b'"}',
        b'{"sitelinks": "enwiki", "a": "' + b"\xff" * long + b'"}',
        b'{"sitelinks": "enwiki", "a": ' + b"9" * long + b"}",
        b'{"' + b'sitelinks"   "' * (long // 14) + b'"}',
        ITEM.replace('"frwiki"', ", ".join(['"frwiki": {"title": "D"}'] * (long // 30)) + ', "frwiki"').encode(),
        entity(claims={"P31": [statement({"numeric-id": number}) for number in range(long // 100)]}).encode(),
    ]
    assert assert_same(lines, tmp_path, monkeypatch)["counts"]["lines"] == len(lines)


@pytest.mark.real
def test_real_entities_are_read_as_in_python(data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for path in sorted((data_dir / "wikidata").glob("*.json*")):
        assert_same(b"".join(content_of(str(path))).split(b"\n"), tmp_path, monkeypatch)
