"""What is wrong with an input, end to end: one line that names the file, the place and the mend, and no dataset."""

import bz2
import gzip
import json
import lzma
import random
import re
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.dumps import END, PACKINGS, VERSIONS, export, head, item, json_dump, multistream, page, revision, streams
from wikianchor.pipelines.dataset.manifest import read_manifest

TEXT = "The [[Moon]] goes around the [[Earth]]. It is {{x}} far away from the [[Sun|star]], as everybody knows."
PAGES = [
    page("Earth", 1, TEXT),
    page("Moon", 2, TEXT * 30),
    page("Luna", 3, redirect="Moon"),
    page("Talk:Moon", 4, "no", namespace=1),
    page("Sun", 5, TEXT),
]
WHOLE = export(PAGES)
# Large enough that a cut leaves something whole in every packing.
NOISE = "".join(random.Random(1).choices("abcdefghijklmnopqrstuvwxyz. ", k=250_000))
LARGE = export([*PAGES, page("Noise", 6, NOISE)])
LARGE_BZ2 = bz2.compress(LARGE, 1)
ITEMS = [item(number, {"enwiki": title}, [5], {"en": title}) for number, title in ((2, "Earth"), (405, "Moon"))]
ITEMS.append(item(525, {"dewiki": "Sonne", "jawiki": "太陽"}, [523], {"de": "Sonne"}))
JSON = json_dump(ITEMS)


def replaced(old: bytes, new: bytes, data: bytes = WHOLE) -> bytes:
    assert old in data
    return data.replace(old, new, 1)


def corrupt(data: bytes) -> bytes:
    """Damage in the middle."""
    middle = len(data) // 2
    return data[:middle] + bytes(byte ^ 0xA5 for byte in data[middle : middle + 8]) + data[middle + 8 :]


def files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def titles(folder: Path) -> list[str]:
    read_back = read_manifest(str(folder))
    assert read_back is not None
    shards = [folder / shard["path"] for shard in read_back["configs"]["titles"]["shards"]]
    return [title for shard in shards for title in pq.read_table(shard)["title"].to_pylist()]


# --- dumps ------------------------------------------------------------------------------------------------------------

ALLOW = "or take what is there with --allow_truncated"
BROKEN_DUMPS = {
    "truncated bz2": (
        LARGE_BZ2[:-50],
        rf": the bz2 stream at byte 0 is cut off at byte {len(LARGE_BZ2) - 50}: fetch it again, {ALLOW}",
    ),
    "nothing left of it": (LARGE_BZ2[:500], ": the bz2 stream at byte 0 is cut off at byte 500: fetch it again"),
    "truncated multistream": (multistream(PAGES)[:-90], rf": the bz2 stream at byte \d+ is cut off at .*, {ALLOW}"),
    "multistream without its last stream": (
        multistream(PAGES)[: -len(bz2.compress(END))],
        rf": cut off after its last whole page, </mediawiki> is missing: fetch it again, {ALLOW}",
    ),
    "truncated gz": (gzip.compress(LARGE)[:-100], rf": the gz data are cut off at byte \d+: fetch it again, {ALLOW}"),
    "truncated xz": (
        lzma.compress(LARGE)[:-100],
        rf": the xz stream at byte 0 is cut off at byte \d+: fetch it again, {ALLOW}",
    ),
    "truncated plain": (
        WHOLE[: WHOLE.rindex(b"</text>")],
        rf": cut off inside the page 'Sun' near byte {WHOLE.rindex(b'<page>')}: fetch it again, {ALLOW}",
    ),
    "cut between pages": (
        WHOLE[: WHOLE.rindex(b"  <page>")],
        rf": cut off after its last whole page, </mediawiki> is missing: fetch it again, {ALLOW}",
    ),
    "corrupt block": (corrupt(bz2.compress(WHOLE)), r": damaged bz2 data in the stream at byte 0: fetch it again"),
    "corrupt stream": (
        multistream(PAGES[:4]) + corrupt(bz2.compress(PAGES[4])),
        r": damaged bz2 data in the stream at byte [1-9]\d+: fetch it again",
    ),
    "corrupt gz": (corrupt(gzip.compress(WHOLE)), r": damaged gz data near byte \d+: fetch it again"),
    "corrupt xz": (corrupt(lzma.compress(WHOLE)), r": damaged xz data in the stream at byte 0 \(.*\): fetch it again"),
    "garbage after bz2": (bz2.compress(WHOLE) + b"<html>", r": byte \d+ is not bz2 data: fetch it again"),
    "empty": (b"", r": the file is empty: fetch it again"),
    "empty bz2": (bz2.compress(b""), r": not a MediaWiki XML export \(no <mediawiki> in its first megabyte\)"),
    "not a dump": (b"<html>404</html>\n" * 9, r": not a MediaWiki XML export \(no <mediawiki> in its first megabyte\)"),
    "zip": (b"PK\x03\x04", r": zip archives are not read: unpack it, or pack it again with bzip2"),
    "utf-16": (WHOLE.decode().encode("utf-16"), r": is UTF-16: convert it with `iconv -f UTF-16 -t UTF-8`"),
    "head cut off": (head()[:300], r": <siteinfo> has no end: the file is cut off or broken, fetch it again"),
    "no siteinfo": (PAGES[0] + END, r" has no <siteinfo>: say which wiki it is from, like --wikis=enwiki"),
    "invalid utf-8": (
        replaced(b"around", b"ar\xffund"),
        r" near byte \d+: page 'Earth' is not UTF-8 \(byte 0xff at 20\): mend the file",
    ),
    "latin-1 titles": (replaced(b">Earth<", b">K\xe4se<"), r" near byte \d+ is not UTF-8 \(byte 0xe4 at 1\): .*"),
    "lost </page>": (replaced(b"</page>", b""), r": a <page> near byte \d+ has no </page>: the XML is malformed"),
    "lost <page>": (replaced(b"<page>", b""), r": a </page> near byte \d+ has no <page>: the XML is malformed"),
    "lost </text>": (
        replaced(b"</text>", b""), r" near byte \d+: page 'Earth' has a <text> without an end: the XML is malformed"
    ),
    "lost title": (replaced(b"<title>Earth</title>", b""), r" near byte \d+: a page without a title or a numeric id.*"),
    "id": (replaced(b"<id>1</id>", b"<id>one</id>"), r" near byte \d+: a page without a title or a numeric id: .*"),
    "namespace": (replaced(b"<ns>0<", b"<ns>x<"), r" near byte \d+: a page whose <ns> is no number: the XML .*"),
    "several": (
        replaced(b"<ns>0<", b"<ns>x<", WHOLE.replace(b"Sun|", b"\xff")), r" near byte \d+.* \(and 2 more\)"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN_DUMPS)
def test_a_broken_dump(name: str, tmp_path: Path, wikianchor: Callable) -> None:
    data, said = BROKEN_DUMPS[name]
    dump = tmp_path / "dump"
    dump.write_bytes(data)
    ended = wikianchor("sentences", f"--dumps={dump}", f"--output={tmp_path}/out")
    assert ended.status == 1
    assert len(ended.said) == 1
    assert re.fullmatch(f"wikianchor: {dump}{said}", ended.said[0]), ended.said[0]
    assert files(tmp_path) == ["dump"]


@pytest.mark.parametrize("name", [name for name, (_, said) in BROKEN_DUMPS.items() if said.endswith(ALLOW)])
def test_a_cut_off_dump_is_taken_for_what_is_in_it_where_asked(name: str, tmp_path: Path, wikianchor: Callable) -> None:
    dump, output = tmp_path / "dump", tmp_path / "out"
    dump.write_bytes(BROKEN_DUMPS[name][0])
    ended = wikianchor("sentences", f"--dumps={dump}", f"--output={output}", "--allow_truncated")
    assert (ended.status, ended.said) == (0, [])
    read_back = read_manifest(str(output))
    assert read_back is not None
    assert read_back["ledger"]["enwiki"]["files"] == {"truncated": 1}
    assert read_back["options"]["allow_truncated"] is True
    # All that is whole is there.
    sun = [] if name in ("truncated plain", "cut between pages", "truncated multistream") else ["Sun"]
    assert titles(output) == ["Earth", "Moon", "Luna", *sun]


def test_a_dump_without_articles(tmp_path: Path, wikianchor: Callable) -> None:
    for pages in ([], [page("Talk:Moon", 4, "no", namespace=1)]):
        (tmp_path / "dump").write_bytes(export(pages))
        ended = wikianchor("sentences", f"--dumps={tmp_path}/dump", f"--output={tmp_path}/out")
        assert ended.status == 1
        assert ended.said == [
            f"wikianchor: {tmp_path}/out: the dump of enwiki holds no article: is it a pages-articles dump?"
        ]


def test_a_page_of_ten_megabytes_and_one_of_a_hundred_thousand_braces(tmp_path: Path, wikianchor: Callable) -> None:
    pages = [
        page("Long", 1, "A sentence with a [[link]] is here. " * 30_000 + "word " * 1_800_000),
        page("Open", 2, "Before it. " + "{{" * 50_000 + " a [[link]] " + "[[" * 50_000),
        page("Closed", 3, "Before it. " + "{{" * 25_000 + " a [[link]] " + "}}" * 25_000 + " After it comes this."),
        page("Odd", 4, "{{{" * 33_334 + "<nowiki>" * 1000 + "{|" * 1000 + "[http://x " * 1000),
        page("Small", 5, TEXT),
    ]
    (tmp_path / "dump").write_bytes(export(pages))
    ended = wikianchor("sentences", f"--dumps={tmp_path}/dump", f"--output={tmp_path}/out")
    assert (ended.status, ended.said) == (0, [])
    assert titles(tmp_path / "out") == ["Long", "Open", "Closed", "Odd", "Small"]


def test_pages_without_text_and_with_many_revisions(tmp_path: Path, wikianchor: Callable) -> None:
    later = "2020-01-01T00:00:00Z"
    pages = [
        page("Deleted", 1, None),
        page("Empty", 2, ""),
        page("Gone", 3, revisions=[revision(TEXT, 1, "2001-01-01T00:00:00Z"), revision(None, 2, later)]),
        page("Kept", 4, revisions=[revision(TEXT, 9, later), revision("", 2, "2001-01-01T00:00:00Z")]),
    ]
    (tmp_path / "dump").write_bytes(export(pages))
    ended = wikianchor("sentences", f"--dumps={tmp_path}/dump", f"--output={tmp_path}/out")
    assert (ended.status, ended.said) == (0, [])
    assert titles(tmp_path / "out") == ["Deleted", "Empty", "Gone", "Kept"]
    rows = pq.read_table(next((tmp_path / "out/data/sentences").iterdir())).to_pylist()
    assert {(row["title"], row["rev_id"]) for row in rows} == {("Kept", 9)}


@pytest.mark.parametrize("packing", ["plain", "bz2", "streams", "multistream"])
def test_ranges_and_packings_change_nothing(
    packing: str, tmp_path: Path, wikianchor: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many ranges, most of them without a stream or a page of their own, the last ones within </mediawiki>."""
    pack = PACKINGS | {
        "streams": lambda data: streams(data, [*range(0, len(data), 700), len(data) - 5, len(data) - 2]),
        "multistream": lambda data: multistream(PAGES, 1),
    }
    data = pack[packing](WHOLE)
    (tmp_path / "dump").write_bytes(data)
    monkeypatch.setattr("wikianchor.pipelines.wikimedia.dumps.SMALLEST_RANGE", 8 if packing != "plain" else 97)
    ended = wikianchor("sentences", f"--dumps={tmp_path}/dump", f"--output={tmp_path}/out")
    assert (ended.status, ended.said) == (0, [])
    assert titles(tmp_path / "out") == ["Earth", "Moon", "Luna", "Sun"]


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_of_the_export_format(version: str, tmp_path: Path, wikianchor: Callable) -> None:
    pages = [
        page("Earth", 1, TEXT, version=version),
        page("Luna", 3, redirect="Moon", version=version),
        page("Talk:Moon", 4, "no", namespace=1, version=version),
        page("Category:Moons", 6, "no", namespace=14, version=version),
    ]
    (tmp_path / "dump").write_bytes(export(pages, version=version))
    ended = wikianchor("sentences", f"--dumps={tmp_path}/dump", f"--output={tmp_path}/out")
    assert (ended.status, ended.said) == (0, [])
    table = pq.read_table(next((tmp_path / "out/data/titles").iterdir()))
    assert list(zip(table["title"].to_pylist(), table["redirect"].to_pylist(), strict=True)) == [
        ("Earth", None), ("Luna", "Moon")
    ]  # fmt: skip


def test_a_dump_and_its_parts_together(tmp_path: Path, wikianchor: Callable) -> None:
    for name, pages in (("whole", PAGES), ("part", PAGES[2:])):
        (tmp_path / name).write_bytes(bz2.compress(export(pages)))
    ended = wikianchor("sentences", f"--dumps={tmp_path}/whole,{tmp_path}/part", f"--output={tmp_path}/out")
    assert ended.status == 1
    assert ended.said == ["wikianchor: page 3 was given twice: give each page once, a dump or its parts"]
    (tmp_path / "again").write_bytes(export([*PAGES[:2], PAGES[1]]))
    ended = wikianchor("sentences", f"--dumps={tmp_path}/again", f"--output={tmp_path}/out")
    assert ended.said == ["wikianchor: page 2 was given twice: give each page once, a dump or its parts"]
    (tmp_path / "other").write_bytes(export(PAGES[:2]))
    assert wikianchor("sentences", f"--dumps={tmp_path}/other,{tmp_path}/part", f"--output={tmp_path}/out").status == 0
    assert titles(tmp_path / "out") == ["Earth", "Moon", "Luna", "Sun"]


def test_dumps_of_two_wikis_and_one_cut_off_of_two(tmp_path: Path, wikianchor: Callable) -> None:
    (tmp_path / "a").write_bytes(WHOLE)
    (tmp_path / "b").write_bytes(export(PAGES, "dewiki"))
    ended = wikianchor("sentences", f"--dumps={tmp_path}/?", f"--output={tmp_path}/out")
    assert ended.status == 1
    assert ended.said == [
        f"wikianchor: --dumps: {tmp_path}/b is of dewiki, {tmp_path}/a of enwiki: run each wiki by itself"
    ]
    # Its name says what the first one is, and without a head it need not have an end; the other one must.
    (tmp_path / "a").write_bytes(PAGES[0])
    (tmp_path / "b").write_bytes(export(PAGES[1:])[: -len(END)])
    ended = wikianchor("sentences", f"--dumps={tmp_path}/?", "--wikis=enwiki", f"--output={tmp_path}/out")
    assert ended.status == 1
    assert [line.partition(": cut off after")[0] for line in ended.said] == [f"wikianchor: {tmp_path}/b"]


# --- Wikidata ---------------------------------------------------------------------------------------------------------

BROKEN_JSON = {
    "not json": (b"hello\n" * 200, r"{path}: 200 of 200 lines are no entities: is it a JSON dump of Wikidata\?"),
    "few lines, no json": (b"a\nb\n", r"{path}: no line is an entity: is it a JSON dump of Wikidata\?"),
    "an xml dump": (export(PAGES), r"{path}: \d+ of \d+ lines are no entities: .*"),
    "not items": (b'{"a": 1}\n' * 9, r"{path}: no line is an entity: is it a JSON dump of Wikidata\?"),
    "properties": (json_dump([{"type": "property", "id": "P1", "sitelinks": {"enwiki": {}}}]), "no item has a page.*"),
    "other wikis": (json_dump(ITEMS[2:]), "no item has a page in enwiki: .*"),
    "no lines": (b"[\n]\n", "no item has a page in enwiki: .*"),
    "pretty": (json.dumps(ITEMS, indent=1).encode(), "{path}: an entity is spread over several lines; .*"),
    "empty": (b"", "{path}: the file is empty: fetch it again"),
    "one line cut off": (JSON[:-200], rf"{{path}}: the JSON is cut off: fetch it again, {ALLOW}"),
    "no ]": (JSON[: JSON.rindex(b"]")], rf"{{path}}: the JSON is cut off: fetch it again, {ALLOW}"),
    "cut off between lines": (
        JSON[: JSON.rindex(b"{", 0, -400)], rf"{{path}}: the JSON is cut off: fetch it again, {ALLOW}"
    ),
    "truncated gz": (gzip.compress(JSON)[:-50], rf"{{path}}: the gz data are cut off at byte \d+: .*{ALLOW}"),
    "truncated bz2": (bz2.compress(JSON)[:-50], rf"{{path}}: the bz2 stream at byte 0 is cut off at .*{ALLOW}"),
    "corrupt gz": (corrupt(gzip.compress(JSON)), r"{path}: damaged gz data near byte \d+: fetch it again"),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN_JSON)
def test_broken_wikidata(name: str, tmp_path: Path, wikianchor: Callable) -> None:
    data, said = BROKEN_JSON[name]
    path = tmp_path / "wikidata.json"
    path.write_bytes(data)
    ended = wikianchor("entities", f"--wikidata={path}", "--wikis=enwiki", f"--output={tmp_path}/out")
    assert ended.status == 1
    assert len(ended.said) == 1
    assert re.fullmatch("wikianchor: " + said.replace("{path}", str(path)), ended.said[0]), ended.said[0]
    assert files(tmp_path) == ["wikidata.json"]


def test_wikidata_that_is_cut_off_where_asked(tmp_path: Path, wikianchor: Callable) -> None:
    path, output = tmp_path / "wikidata.json", tmp_path / "out"
    # The line of the last item lacks its end, that of the one before is whole.
    path.write_bytes(JSON[: JSON.index(b"Q525") + 30])
    ended = wikianchor(
        "entities", f"--wikidata={path}", "--wikis=enwiki", f"--output={output}", "--allow_truncated"
    )  # fmt: skip
    assert (ended.status, ended.said) == (0, [])
    read_back = read_manifest(str(output))
    assert read_back is not None
    assert read_back["configs"]["entities"]["rows"] == 2
    assert read_back["ledger"]["lines"] == {"bad line": 1, "kept": 2, "lines": 3, "truncated": 1}


@pytest.mark.parametrize("form", ["lines", "lines of an array", "start of an array", "end of an array", "one bad line"])
def test_wikidata_in_other_forms_is_whole(form: str, tmp_path: Path, wikianchor: Callable) -> None:
    lines = [json.dumps(record).encode() for record in ITEMS]
    forms = {
        "lines": b"\n".join(lines),
        "lines of an array": b",\r\n".join(lines) + b",\r\n",
        "start of an array": b"\xef\xbb\xbf[" + b",\n".join(lines) + b"]",
        "end of an array": b",\n".join(lines) + b"\n]\n",
        "one bad line": b"[\n" + b",\n".join([*lines, b'{"type": "item", "id": "X"']) + b"\n]\n",
    }
    (tmp_path / "w").write_bytes(forms[form])
    ended = wikianchor("entities", f"--wikidata={tmp_path}/w", "--wikis=enwiki,dewiki", f"--output={tmp_path}/out")
    assert (ended.status, ended.said) == (0, [])
    read_back = read_manifest(str(tmp_path / "out"))
    assert read_back is not None
    assert read_back["configs"]["entities"]["rows"] == 3
    assert read_back["ledger"]["lines"].get("bad line", 0) == (1 if form == "one bad line" else 0)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (
            b"-- MySQL dump\nCREATE TABLE `page_props` (\n  `pp_page` int",
            "cut off at byte 57 of the SQL text: fetch it again, or take what is there with --allow_truncated",
        ),
        (b"hello", "no CREATE TABLE `page_props` in this file"),
        (gzip.compress(b"-- MySQL dump\n" * 9)[:-9], "the gz data are cut off at byte"),
    ],
    ids=["cut off", "no table", "truncated gz"],
)
def test_broken_page_props(data: bytes, said: str, tmp_path: Path, wikianchor: Callable) -> None:
    path = tmp_path / "enwiki-20260101-page_props.sql.gz"
    path.write_bytes(data)
    ended = wikianchor("entities", f"--page_props={path}", "--wikis=enwiki", f"--output={tmp_path}/out")
    assert ended.status == 1
    assert len(ended.said) == 1
    assert ended.said[0].startswith(f"wikianchor: {path}: {said}")
    assert files(tmp_path) == [path.name]


# --- the command line -------------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with a dump and Wikidata."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dump.xml").write_bytes(WHOLE)
    (tmp_path / "wikidata.json").write_bytes(JSON)
    return tmp_path


def test_no_command_tells_which_there_are(wikianchor: Callable) -> None:
    ended = wikianchor()
    assert (ended.status, ended.said) == (2, [])
    assert "wikianchor COMMAND" in ended.output


def test_nothing_is_said_where_nothing_is_wrong(folder: Path, wikianchor: Callable) -> None:
    """No warning of Beam's, in particular."""
    for command in (
        ["sentences", "--dumps=dump.xml", "--output=sentences"],
        ["entities", "--wikidata=wikidata.json", "--wikis=enwiki", "--output=entities"],
    ):
        ended = wikianchor(*command)
        assert (ended.status, ended.said) == (0, [])


# --- datasets of another stage ----------------------------------------------------------------------------------------


@pytest.fixture
def stages(folder: Path, wikianchor: Callable) -> Path:
    """The working directory with `sentences` of enwiki and `entities` in it."""
    assert wikianchor("sentences", "--dumps=dump.xml", "--output=sentences").status == 0
    assert (
        wikianchor("entities", "--wikidata=wikidata.json", "--wikis=enwiki,dewiki", "--output=entities").status == 0
    )  # fmt: skip
    return folder


def damage_manifest(**changes: object) -> Callable[[Path], object]:
    def change(dataset: Path) -> None:
        read_back = json.loads((dataset / "manifest.json").read_text())
        (dataset / "manifest.json").write_text(json.dumps(read_back | changes))

    return change


def damage_shard(data: bytes | None) -> Callable[[Path], object]:
    def change(dataset: Path) -> None:
        shard = sorted(dataset.glob("data/*/*.parquet"))[0]
        if data is None:
            shard.unlink()
        else:
            shard.write_bytes(data)

    return change


BAD_DATASETS = {
    "unfinished": ("sentences", lambda dataset: (dataset / "manifest.json").unlink(),
                   "--sentences=sentences has no manifest.json: it is unfinished or no dataset, run its stage again"),
    "of another schema": ("sentences", damage_manifest(schema_version="99.0"),
                          r"--sentences=sentences has schema version 99.0, this program reads .*: build it again"),
    "another dataset": ("sentences", damage_manifest(dataset="mentions"),
                        "--sentences=sentences holds the dataset 'mentions', not 'sentences'"),
    "without the wiki": ("entities", damage_manifest(options={"wikis": ["dewiki"], "labels": ["en"]}),
                         "--entities=entities was built for dewiki: build it again with enwiki in --wikis"),
    "no manifest": ("entities", lambda dataset: (dataset / "manifest.json").write_text("x"),
                    "entities/manifest.json: not JSON .*: remove the directory and build it again"),
    "a shard gone": ("sentences", damage_shard(None), "sentences/data/.*parquet: .*: build its dataset again"),
    "a shard empty": ("sentences", damage_shard(b""), "sentences/data/.*parquet: .*: build its dataset again"),
    "a shard that is none": ("entities", damage_shard(b"x" * 999), "entities/data/.*parquet: .*: build .* again"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD_DATASETS)
def test_a_bad_dataset(name: str, stages: Path, wikianchor: Callable) -> None:
    dataset, damage, said = BAD_DATASETS[name]
    damage(stages / dataset)
    ended = wikianchor("pairs", "--sentences=sentences", "--entities=entities", "--output=pairs", "--negatives=0")
    assert ended.status == 1, ended.said
    assert len(ended.said) == 1, ended.said
    assert re.fullmatch(f"wikianchor: ({said})", ended.said[0]), ended.said[0]
    assert not (stages / "pairs" / "manifest.json").exists()
    assert files(stages / "pairs") == []
