"""`wikianchor update`: the dump of a later day from a dump and daily adds-changes dumps, and what is built from it."""

import bz2
import gzip
import hashlib
import random
import re
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.dumps import END, PACKINGS, export, head, multistream, page, revision
from wikianchor.io.errors import InputError
from wikianchor.pipelines.commands.update import changes
from wikianchor.pipelines.commands.update.changes import pages_of
from wikianchor.pipelines.commands.update.command import run
from wikianchor.pipelines.commands.update.options import UpdateOptions
from wikianchor.pipelines.wikimedia import pages as cutting
from wikianchor.pipelines.wikimedia.dumps import read_head
from wikianchor.pipelines.wikimedia.inventory import classify_files

Run = Callable[..., Any]
OLD, NEW = "enwiki-20260101-pages-articles-multistream.xml.bz2", "enwiki-20260103-pages-articles-multistream.xml.bz2"
INCREMENT = "enwiki-2026010{}-pages-meta-hist-incr.xml.bz2"


def made(title: str, number: int, rev_id: int, day: int, text: str = "", namespace: int = 0) -> bytes:
    """A page with a revision of a day of January."""
    text = text or f"The {{{{colour}}}} bus number {number} goes to the [[Station {rev_id}]] of the town."
    return page(title, number, revisions=[revision(text, rev_id, f"2026-01-0{day}T00:00:00Z")], namespace=namespace)


def colour(rev_id: int, day: int, name: str) -> bytes:
    return made("Template:Colour", 2, rev_id, day, name, 10)


BUSES = {number: made(f"Bus {number}", number, number, 1) for number in range(10, 300)}
BEFORE = {1: made("Main & Page", 1, 1, 1), 2: colour(2, 1, "red"), **BUSES}
# Each page of the daily files, and of the dump that Wikimedia would make then.
FIRST_DAY = [
    page(
        "Bus 20",
        20,
        revisions=[
            revision("One more [[word]] of the day is here.", 1001, "2026-01-02T01:00:00Z"),
            revision("The last [[word]] of the day is here.", 1003, "2026-01-02T03:00:00Z"),
            # An imported revision has a new id and an old time.
            revision("An imported [[word]] is not the last.", 1004, "2019-01-02T02:00:00Z"),
        ],
    ),
    made("Bus 30", 30, 1005, 2, "A text of [[somebody]] that will be hidden."),
    # Written before the dump.
    made("Bus 31 of old", 31, 3, 1, "An [[old]] text that the dump has replaced.").replace(b"2026", b"2025"),
    made("Talk:Bus 30", 400, 1006, 2, "A word.", 1),
    made("New bus", 401, 1007, 2),
    made("Bus that goes", 402, 1008, 2),
]
SECOND_DAY = [
    colour(1010, 3, "green"),
    page("Bus 30", 30, revisions=[revision(None, 1005, "2026-01-02T00:00:00Z")]),
    made("Coach 40", 40, 1011, 3),
    # Moved to the title of a page that was deleted for it.
    made("Bus 51", 50, 1012, 3),
    made("User:A/Bus 60", 60, 1013, 3, namespace=2),
    # Restored, between two pages of the dump.
    made("Restored", 5, 1014, 3),
    made("Draft", 403, 1015, 3),
]
NEWEST = page("Bus 20", 20, revisions=[revision("The last [[word]] of the day is here.", 1003, "2026-01-02T03:00:00Z")])
GONE = (51, 60, 90, 91, 402)
AFTER: dict[int, bytes] = {
    **BEFORE,
    20: NEWEST,
    **dict(zip((401, 402), FIRST_DAY[-2:], strict=True)),
    **dict(zip((2, 30, 40, 50, 60, 5, 403), SECOND_DAY, strict=True)),
}
LATER = [AFTER[number] for number in sorted(AFTER) if number not in GONE]
LISTED = [number for number in [*AFTER, 400] if number not in GONE[2:]]


def index_of(dump: bytes) -> bytes:
    """The index of a multistream dump, as Wikimedia writes it."""
    lines = []
    for match in re.finditer(rb"BZh91AY&SY", dump):
        text = bz2.BZ2Decompressor().decompress(dump[match.start() :])
        pages = re.findall(rb"<title>([^<]*)</title>.*?<id>(\d+)</id>.*?</page>", text, re.DOTALL)
        lines += [b"%d:%b:%b\n" % (match.start(), number, title) for title, number in pages]
    return bz2.compress(b"".join(lines))


def save_table(path: Path, ids: Iterable[int]) -> Path:
    rows = ",".join(f"({number},0,'Bus_{number}','wikitext')" for number in ids)
    columns = "`page_id` int, `page_namespace` int, `page_title` varbinary(255), `page_content_model` varbinary(32)"
    sql = f"CREATE TABLE `page` ({columns});\nINSERT INTO `page` VALUES {rows};\n"
    path.write_bytes(gzip.compress(sql.encode(), mtime=0))
    return path


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with a dump, its index, two daily files and a page table."""
    monkeypatch.chdir(tmp_path)
    dump = multistream(list(BEFORE.values()), 20)
    Path(OLD).write_bytes(dump)
    Path(OLD.replace(".xml", "-index.txt")).write_bytes(index_of(dump))
    for day, pages in ((2, FIRST_DAY), (3, SECOND_DAY)):
        Path(INCREMENT.format(day)).write_bytes(bz2.compress(export(pages)))
    save_table(tmp_path / "enwiki-20260103-page.sql.gz", LISTED)
    return tmp_path


def update(wikianchor: Run, *flags: str, dumps: str = OLD, output: str = NEW) -> Any:
    return wikianchor("update", f"--dumps={dumps}", "--changes=*-incr.xml.bz2", f"--output={output}", *flags)


TABLE = "--sql=enwiki-20260103-page.sql.gz"


def elements(pages: Sequence[bytes]) -> list[bytes]:
    return [raw.strip() for raw in pages]


def test_the_dump_of_the_last_day(folder: Path, wikianchor: Run) -> None:
    ended = update(wikianchor, TABLE)
    assert (ended.status, ended.said) == (0, [])
    assert ended.output == f"enwiki: 5 pages changed, 3 new, 4 left out; 11 streams copied, 3 packed  {NEW}\n"
    assert list(pages_of(NEW)) == elements(LATER)
    new, old = Path(NEW).read_bytes(), Path(OLD).read_bytes()
    index = Path(NEW.replace(".xml", "-index.txt"))
    assert bz2.decompress(index.read_bytes()) == bz2.decompress(index_of(new))
    assert b":1:Main &amp; Page\n" in bz2.decompress(index.read_bytes())
    # Streams without a change are the bytes of the dump.
    assert new.endswith(bz2.compress(END))
    assert old[len(old) // 2 : len(old) // 2 + 2000] in new
    # With the new index, without one and once more the bytes are the same.
    made = {path: Path(path).read_bytes() for path in (NEW, str(index))}
    Path(OLD.replace(".xml", "-index.txt")).unlink()
    assert update(wikianchor, TABLE).status == 0
    assert {path: Path(path).read_bytes() for path in made} == made
    assert update(wikianchor, TABLE, dumps=NEW, output="again.xml.bz2").status == 0
    assert Path("again.xml.bz2").read_bytes() == new


@pytest.mark.parametrize("packing", PACKINGS)
def test_dumps_of_other_kinds(packing: str, folder: Path, wikianchor: Run) -> None:
    pages = list(BEFORE.values())
    for first, part in ((1, pages[:150]), (2, pages[150:])):
        (folder / f"enwiki-20260101-pages-articles{first}.xml-p{first}p9").write_bytes(PACKINGS[packing](export(part)))
    assert update(wikianchor, TABLE, dumps="enwiki-20260101-pages-articles?.xml-p*").status == 0
    assert list(pages_of(NEW)) == elements(LATER)


def test_without_a_page_table_deleted_pages_stay(folder: Path, wikianchor: Run) -> None:
    ended = update(wikianchor)
    (line,) = ended.progress
    assert line.endswith("give the page table of the last day, --sql=enwiki-20260103-page.sql.gz")
    kept = [AFTER[number] for number in sorted(AFTER) if number not in GONE[:2]]
    assert list(pages_of(NEW)) == elements(kept)


def test_missing_days_are_named(folder: Path, wikianchor: Run) -> None:
    Path(INCREMENT.format(3)).rename(INCREMENT.format(5))
    (line,) = update(wikianchor, TABLE).progress
    assert "there is no file between 2026-01-02 and 2026-01-05: unless Wikimedia has none" in line


def save_days(*days: Sequence[bytes]) -> None:
    """Write the daily files from 2 January on."""
    for day, pages in enumerate(days, 2):
        Path(INCREMENT.format(day)).write_bytes(bz2.compress(export(pages)))


def ids_of(path: str) -> dict[int, int]:
    """Revision id by page id."""
    return {
        int(number): int(rev_id)
        for number, rev_id in re.findall(rb"<id>(\d+)</id>\s*<revision>\s*<id>(\d+)", b"".join(pages_of(path)))
    }


def busy(title: str, number: int, namespace: int, text: str = 100_000 * "x") -> bytes:
    """A page with 30 revisions of one day, the newest in the middle."""
    times = [f"2026-01-02T01:{(minute + 15) % 30:02}:00Z" for minute in range(30)]
    revisions = [revision(text, 2000 + minute, time) for minute, time in enumerate(times)]
    return page(title, number, revisions=revisions, namespace=namespace)


def test_memory_holds_one_revision_of_a_page(folder: Path, wikianchor: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (changes, cutting):
        monkeypatch.setattr(module, "PAGE_LIMIT", 1 << 20, raising=False)
    daily = Path(INCREMENT.format(3))
    Path(INCREMENT.format(2)).write_bytes(export([]))
    pages = [busy("Talk:Bus 20", 500, 1), busy("Wikipedia:Noticeboard", 501, 4), made("Bus 502", 502, 1001, 3)]
    daily.write_bytes(export(pages))
    ended = update(wikianchor)
    assert ended.status == 0, ended.said
    assert ids_of(NEW) == {**ids_of(OLD), 501: 2014, 502: 1001}
    daily.write_bytes(export([busy("Bus 500", 500, 0, (5 << 20) * "x")]))
    ended = update(wikianchor)
    assert ended.said == [
        f"wikianchor: {daily}: a revision near byte 0 has no </revision> within 1 MB: the XML is malformed"
    ]


IMPORTED = page("Bus 20", 500, revisions=[revision("An [[old]] text.", 1020, "2019-01-01T00:00:00Z")])
BUS_20 = {
    "imported": ([[], [IMPORTED]], {500: 1020}),
    "edited before": ([[made("Bus 20", 20, 1001, 2)], [IMPORTED]], {500: 1020}),
    # Restored, with an imported revision that is not its newest.
    "restored": (
        [
            [made("Bus 20", 20, 1001, 2)],
            [made("Bus 20", 500, 1002, 3)],
            [page("Bus 20", 20, revisions=[revision("An [[old]] text.", 1020, "2019-01-01T00:00:00Z")])],
        ],
        {20: 1001},
    ),
}


@pytest.mark.parametrize("flags", [(), (TABLE,)])
@pytest.mark.parametrize("name", BUS_20)
def test_a_title_is_that_of_the_page_which_has_it_last(
    name: str, flags: tuple[str, ...], folder: Path, wikianchor: Run
) -> None:
    days, holder = BUS_20[name]
    save_days(*days)
    save_table(folder / "enwiki-20260103-page.sql.gz", [*(BEFORE.keys() - {20}), *holder])
    assert update(wikianchor, *flags).status == 0
    others = ids_of(OLD)
    del others[20]
    assert ids_of(NEW) == {**others, **holder}


def test_pages_whose_text_is_missing_stay(folder: Path, wikianchor: Run) -> None:
    pages = [
        made("Bus 20", 20, 1001, 2),
        made("Bus 21", 21, 1002, 2),
        made("Talk:Bus 21", 500, 1003, 2, namespace=1),
    ]
    lacking = [re.sub(rb'(<text bytes="\d+")[^>]*>[^<]*</text>', rb"\1 />", raw) for raw in pages]
    empty = page("Bus 22", 22, revisions=[revision("", 1004, "2026-01-02T00:00:00Z")])
    save_days([*lacking, empty, made("Bus 23", 23, 1005, 2)], [made("Bus 21", 21, 1006, 3)])
    ended = update(wikianchor, TABLE)
    assert ended.status == 0
    (line,) = ended.progress
    assert line.endswith(
        "--changes: 1 pages stay as they were, because the files lack the text of their newest revision: Bus 20"
    )
    listed = {number: rev_id for number, rev_id in ids_of(OLD).items() if number in LISTED}
    assert ids_of(NEW) == {**listed, 21: 1006, 22: 1004, 23: 1005}
    # No page of the file has a text.
    save_days([*lacking, empty], [])
    assert update(wikianchor, TABLE).said == [
        f"wikianchor: {INCREMENT.format(2)}: has no texts: fetch pages-meta-hist-incr.xml.bz2 instead of stubs"
    ]


@pytest.mark.parametrize(
    ("parts", "missing"),
    [
        (["1.xml-p1p20", "3.xml-p31p999"], "pages 21 to 30, before enwiki-20260101-pages-articles3.xml-p31p999.bz2,"),
        (["1.xml-p1p20", "1.xml-p31p40", "2.xml-p41p999"], "pages 21 to 30, before"),
        (["2.xml-p21p999"], "pages 1 to 20, before"),
        (["1.xml-p1p20", "1.xml-p21p30", "2.xml-p31p100", "10.xml-p101p999"], ""),
    ],
)
def test_missing_parts_are_named(parts: list[str], missing: str, folder: Path, wikianchor: Run) -> None:
    for part in parts:
        first, last = map(int, re.findall(r"p(\d+)", part))
        pages = [raw for number, raw in BEFORE.items() if first <= number <= last]
        (folder / f"enwiki-20260101-pages-articles{part}.bz2").write_bytes(bz2.compress(export(pages)))
    ended = update(wikianchor, TABLE, dumps="*-pages-articles[0-9]*.bz2")
    assert (ended.status == 0) == (not missing)
    assert f"wikianchor: --dumps: the part with {missing}" in "".join(ended.said) or not missing


def damaged(data: bytes, seed: int) -> bytes:
    """A file with some bytes left out, repeated or replaced."""
    chosen = random.Random(seed)
    start = chosen.randrange(len(data))
    end, kind = start + chosen.randrange(1, 60), chosen.randrange(4)
    tags = (b"</page>", b"<revision>", b"<id>", b"9" * 25, b"\n", b":", b"-1", b"\xff")
    middle = {0: b"", 1: 2 * data[start:end], 2: chosen.choice(tags), 3: bytes([chosen.randrange(256)])}[kind]
    return data[:start] + middle + data[end:]


@pytest.mark.parametrize("name", ["daily", "index", "dump"])
def test_damage_is_an_error_of_one_line_or_none(name: str, folder: Path) -> None:
    index, daily = Path(OLD.replace(".xml", "-index.txt")), Path("one-incr.xml")
    whole = {"daily": export(SECOND_DAY), "index": bz2.decompress(index.read_bytes()), "dump": Path(OLD).read_bytes()}
    daily.write_bytes(whole["daily"])
    options = UpdateOptions(dumps=(OLD,), changes=(str(daily),), output=NEW)
    errors = []
    for seed in range(40):
        text = damaged(whole[name], seed)
        path = {"daily": daily, "index": index, "dump": Path(OLD)}[name]
        path.write_bytes(bz2.compress(text) if name == "index" else text)
        try:
            run(options, [])
        except InputError as error:
            errors.append(str(error))
    assert len(errors) > 5
    assert not any("\n" in error for error in errors)
    assert not list(folder.glob("*.new"))


def test_daily_files_are_no_dumps_of_a_build(folder: Path) -> None:
    assert classify_files([INCREMENT.format(2), OLD])[0] == {"enwiki": [OLD]}


def shards(directory: Path) -> dict[str, str]:
    paths = sorted(directory.rglob("*.parquet"))
    return {str(path.relative_to(directory)): hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}


def check_builds(wikianchor: Run, folder: Path, old: Path, new: Path, later: Path) -> None:
    """Compare datasets of the new dump, made with and without the old one's, with that of the later dump."""
    directories = {name: folder / name for name in ("january", "later", "full", "previous")}
    commands = {"january": (old,), "later": (later,), "full": (new,), "previous": (new, directories["january"])}
    for name, (dump, *previous) in commands.items():
        flags = [f"--dumps={dump}", f"--output={directories[name]}", "--documents"]
        ended = wikianchor("sentences", *flags, *(f"--previous={path}" for path in previous))
        assert ended.status == 0, ended.said
    digests = shards(directories["later"])
    assert digests
    assert digests != shards(directories["january"])
    assert shards(directories["full"]) == shards(directories["previous"]) == digests


@pytest.mark.slow
def test_a_build_is_that_of_the_later_dump(folder: Path, wikianchor: Run) -> None:
    assert update(wikianchor, TABLE).status == 0
    (folder / "made").mkdir()
    later = folder / "made" / NEW
    later.write_bytes(multistream(LATER, 100))
    check_builds(wikianchor, folder, folder / OLD, folder / NEW, later)


def broken(name: str, folder: Path) -> None:
    """Break a file."""
    daily, index = Path(INCREMENT.format(3)), Path(OLD.replace(".xml", "-index.txt"))
    whole = export(SECOND_DAY)
    if name == "cut off":
        daily.write_bytes(bz2.compress(whole)[:-40])
    elif name == "cut off after a page":
        daily.write_bytes(bz2.compress(whole.removesuffix(END)))
    elif name == "damaged":
        daily.write_bytes(bz2.compress(whole)[:700] + b"damage" + bz2.compress(whole)[706:])
    elif name == "stubs":
        daily.write_bytes(bz2.compress(re.sub(rb'(<text bytes="\d+")[^>]*>[^<]*</text>', rb"\1 />", whole)))
    elif name == "another wiki":
        daily.write_bytes(bz2.compress(export(SECOND_DAY, "dewiki")))
    elif name == "other namespaces":
        daily.write_bytes(bz2.compress(whole.replace(b">File<", b">Media file<")))
    elif name == "no revision":
        daily.write_bytes(bz2.compress(head() + b"<page><title>A</title><id>1</id></page>" + END))
    elif name == "no time":
        daily.write_bytes(bz2.compress(whole.replace(b"<timestamp>", b"<time>")))
    elif name == "another index":
        index.write_bytes(index_of(multistream(list(BEFORE.values()), 30)))
    elif name == "index of other pages":
        index.write_bytes(bz2.compress(bz2.decompress(index.read_bytes()).replace(b":40:", b":41:")))
    elif name == "no index":
        index.write_bytes(b"nothing")
    elif name == "dump cut off":
        Path(OLD).write_bytes(Path(OLD).read_bytes()[:-20])
    elif name == "dump without an end":
        Path(OLD).write_bytes(Path(OLD).read_bytes().removesuffix(bz2.compress(END)))
    elif name == "no header":
        Path(OLD).write_bytes(bz2.compress(b"".join(BEFORE.values())))
    elif name == "order":
        Path(OLD).write_bytes(multistream(list(BEFORE.values())[::-1]))
        index.unlink()
    elif name == "inside a page":
        first, second, *rest = BEFORE.values()
        cut = [bz2.compress(part) for part in (head(), first, second[9:], b"".join(rest) + END)]
        Path(OLD).write_bytes(b"".join(cut))
        index.unlink()
    elif name == "table of another wiki":
        Path("enwiki-20260103-page.sql.gz").rename("dewiki-20260103-page.sql.gz")
    elif name == "table of words":
        save_table(folder / "enwiki-20260103-page.sql.gz", [2**40])


BROKEN = {
    "cut off": f"{INCREMENT.format(3)}: the bz2 stream at byte 0 is cut off at byte",
    "cut off after a page": f"{INCREMENT.format(3)}: cut off after its last whole page, </mediawiki> is missing",
    "damaged": f"{INCREMENT.format(3)}: damaged bz2 data in the stream at byte 0",
    "stubs": f"{INCREMENT.format(3)}: has no texts: fetch pages-meta-hist-incr.xml.bz2 instead of stubs",
    "another wiki": f"--changes: {INCREMENT.format(3)} is of dewiki, --dumps of enwiki: run each wiki by itself",
    "other namespaces": f"{INCREMENT.format(3)}: the namespaces are not those of {OLD}: fetch a new dump",
    "no revision": f"{INCREMENT.format(3)}: a page without a revision",
    "no time": f"{INCREMENT.format(3)}: a page without a revision, or a revision without an end, id or timestamp: "
    "b'\\n    <title>Template:Colour",
    "another index": f"{OLD.replace('.xml', '-index.txt')}: is not the index of {OLD}",
    "index of other pages": f"{OLD.replace('.xml', '-index.txt')}: is not the index of {OLD}",
    "no index": f"{OLD.replace('.xml', '-index.txt')}: no index of a multistream dump",
    "dump cut off": f"{OLD}: damaged bz2 data in the stream at byte",
    "dump without an end": f"{OLD}: cut off after its last whole page, </mediawiki> is missing",
    "no header": f"{OLD}: no <siteinfo> in its first megabyte",
    "order": f"{OLD}: pages are not in the order of their ids",
    "inside a page": f"{OLD}: the stream at byte 740 begins inside a page",
    "table of another wiki": "--sql: dewiki-20260103-page.sql.gz is of dewiki, --dumps of enwiki",
    "table of words": "enwiki-20260103-page.sql.gz: a page_id is not a number of 32 bits",
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_files_are_errors_of_one_line(name: str, folder: Path, wikianchor: Run) -> None:
    broken(name, folder)
    before = sorted(folder.iterdir())
    ended = update(wikianchor, "--sql=*-page.sql.gz")
    assert ended.status == 1
    (line,) = ended.said
    assert line.startswith(f"wikianchor: {BROKEN[name]}")
    assert sorted(folder.iterdir()) == before


def test_a_full_disk(folder: Path, wikianchor: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    connect = sqlite3.connect

    def small(*arguments: Any, **settings: Any) -> sqlite3.Connection:
        database = connect(*arguments, **settings)
        database.execute("PRAGMA max_page_count = 3")
        return database

    monkeypatch.setattr(sqlite3, "connect", small)
    ended = update(wikianchor)
    assert (ended.status, ended.said) == (
        1,
        ["wikianchor: no temporary file can be written (database or disk is full): set TMPDIR to another disk"],
    )


@pytest.mark.slow
@pytest.mark.real
@pytest.mark.parametrize("wiki", [pytest.param("dsbwiki", marks=pytest.mark.nightly), "kwwiki"])
def test_a_month_of_a_whole_wiki(wiki: str, data_dir: Path, tmp_path: Path, wikianchor: Run) -> None:
    old, later = (data_dir / f"states/{wiki}-2022{month}-pages-articles.xml.bz2" for month in ("0501", "0601"))
    if not later.exists():
        pytest.skip(f"NO REAL DATA: {later}")
    before, after = set(pages_of(str(old))), list(pages_of(str(later)))
    # The states hold neither deletions nor moves. The first articles stay, from which abbreviations are learnt: with
    # --previous these are those of the earlier dataset.
    gone, moved = after[2000::90], after[2020::200]
    pages = [
        raw.replace(b"<title>", b"<title>Moved ").replace(b"<timestamp>20", b"<timestamp>21") if raw in moved else raw
        for raw in after
        if raw not in gone
    ]
    start, end, _ = read_head(str(later)).partition(b"</siteinfo>")
    changed = [raw for raw in pages if raw not in before]
    (tmp_path / INCREMENT.format(2)).write_bytes(bz2.compress(start + end + b"".join(changed) + END))
    # The date in its name is that of a build, for templates that show the year.
    same = tmp_path / "made" / later.name
    same.parent.mkdir()
    same.write_bytes(bz2.compress(start + end + b"\n".join(pages) + END))
    ids = [int(match[1]) for raw in pages if (match := re.search(rb"<id>(\d+)", raw))]
    table = save_table(tmp_path / "page.sql.gz", ids)
    new = tmp_path / later.name
    flags = [f"--changes={tmp_path}/*-incr.xml.bz2", f"--sql={table}", f"--output={new}"]
    assert wikianchor("update", f"--dumps={old}", *flags).status == 0
    assert list(pages_of(str(new))) == pages
    check_builds(wikianchor, tmp_path, old, new, same)
