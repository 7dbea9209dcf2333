"""`wikianchor download --source`: MediaWiki Content File Exports from a stand-in for dumps.wikimedia.org, and what is
built of them."""

from __future__ import annotations

import bz2
import gzip
import hashlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.conftest import Ended
from tests.dumps import END, head, item, json_dump, multistream, page
from tests.servers.dump_server import DATE, DumpServer, directory, export_of, run_of, serving
from wikianchor.pipelines.wikimedia.inventory import find_dumps, newest_dump

CONTACT = "--contact=somebody@example.org"
ROOT = "/other/mediawiki_content_current/enwiki/"
NEWER, SAME, RUNNING = "2026-02-01", "2026-01-01", "2026-03-01"
ARTICLES = [
    page("Earth", 1, "The [[Moon]] goes around the [[Earth]] and around the [[Sun]], as everybody knows."),
    page("Moon", 5, "The [[Moon]] is not the [[Sun]], which shines upon the [[Earth]] by day."),
    page("Sun", 12, "The [[Sun]] shines upon the [[Moon]] and upon the [[Earth]] all day long."),
    page("Luna", 13, redirect="Moon"),
    page("Sky", 104, "In the night sky the [[Moon]] can be seen as a small red light by everybody."),
]
TALK = [
    page("Talk:Earth", 2, "The [[Moon]] is talked about here by [[User:A]], as everybody knows.", namespace=1),
    page("User:A", 90, "<page> [[Sun]]", namespace=2),
]
# Names in the order of the alphabet are not in the order of the pages.
PARTS = {
    "p1p9": [ARTICLES[0], TALK[0], ARTICLES[1]],
    "p10p90": [ARTICLES[2], ARTICLES[3], TALK[1]],
    "p101p200": [ARTICLES[4]],
}
DUMP = f"enwiki-{DATE}-pages-articles-multistream.xml.bz2"
PROPS = f"enwiki-{DATE}-page_props.sql.gz"
TITLES = {2: "Earth", 405: "Moon", 525: "Sun", 527: "Sky"}
WIKIDATA = gzip.compress(json_dump([item(n, {"enwiki": t}, [5], {"en": t}) for n, t in TITLES.items()]))


def packed(parts: Mapping[str, list[bytes]]) -> dict[str, bytes]:
    """Each part as the exports have it: a whole document in one bz2 stream."""
    return {pages: bz2.compress(head() + b"".join(listed) + END) for pages, listed in parts.items()}


EXPORT = packed(PARTS)
SITE = {
    "/enwiki/": directory(f"{DATE}/"),
    **run_of("enwiki", DATE, {DUMP: multistream(ARTICLES), PROPS: gzip.compress(b"-- nothing")}),
    ROOT: directory(f"{SAME}/", f"{NEWER}/", f"{RUNNING}/"),
    **export_of("enwiki", SAME, EXPORT),
    **export_of("enwiki", NEWER, EXPORT),
    **export_of("enwiki", RUNNING, EXPORT, left_out=("_SUCCESS",)),
}
NAMES = [f"enwiki-{NEWER}-{pages}.xml.bz2" for pages in PARTS]


@pytest.fixture
def server() -> Iterator[DumpServer]:
    with serving(SITE) as running:
        yield running


@pytest.fixture
def get(
    wikianchor: Callable[..., Ended], server: DumpServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Any]:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))

    def run(*flags: str) -> Any:
        target = () if any(flag.startswith("--for=") for flag in flags) else ("--for=sentences",)
        output = f"--output={tmp_path}/dumps"
        return wikianchor("download", "--wikis=en", f"--site={server.url}", output, CONTACT, *target, *flags)

    return run


def names(tmp_path: Path) -> list[str]:
    return sorted(path.name for path in (tmp_path / "dumps").iterdir() if path.name != "download.json")


def test_the_newest_complete_run_of_either_is_taken(get: Callable[..., Any], tmp_path: Path) -> None:
    assert get().status == 0
    assert names(tmp_path) == sorted(NAMES)
    assert (tmp_path / "dumps" / NAMES[1]).read_bytes() == EXPORT["p10p90"]


def test_of_the_same_date_the_dump_is_taken_which_is_smaller(
    get: Callable[..., Any], server: DumpServer, tmp_path: Path
) -> None:
    server.files[ROOT] = directory(f"{SAME}/")
    assert get().status == 0
    assert names(tmp_path) == [DUMP]


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        (["--source=dumps"], [DUMP]),
        (["--source=exports", "--date=20260101"], [f"enwiki-{SAME}-{pages}.xml.bz2" for pages in PARTS]),
        (["--date=2026-01-01"], [DUMP]),
        (["--date=2026-02-01"], NAMES),
    ],
)
def test_source_and_date(get: Callable[..., Any], tmp_path: Path, flags: list[str], expected: list[str]) -> None:
    ended = get(*flags)
    assert ended.status == 0, ended.said
    assert names(tmp_path) == sorted(expected)


def test_without_any_export_dumps_are_taken_and_the_reverse(
    get: Callable[..., Any], server: DumpServer, tmp_path: Path
) -> None:
    exports = server.files.pop(ROOT)
    assert get("--dry_run").output.count(DUMP) == 1
    server.files[ROOT] = exports
    del server.files["/enwiki/"]
    assert get("--dry_run").output.count(f"enwiki-{NEWER}") == len(PARTS)


def test_tables_come_from_the_dumps(get: Callable[..., Any], server: DumpServer, tmp_path: Path) -> None:
    name, root = "wikidata-20251229-all.json.gz", "/wikidatawiki/entities/"
    server.files |= {
        root: directory("20251229/"),
        f"{root}20251229/": directory(name, "wikidata-20251229-sha1sums.txt"),
        f"{root}20251229/wikidata-20251229-sha1sums.txt": f"{hashlib.sha1(WIKIDATA).hexdigest()}  {name}\n".encode(),
        f"{root}20251229/{name}": WIKIDATA,
    }
    for flags in ([], ["--source=exports"], ["--date=20260201"]):
        ended = get("--for=pairs", *flags)
        assert ended.status == 0, ended.said
        assert names(tmp_path) == sorted([*NAMES, PROPS, name])


def test_wrong_bytes_are_refused(get: Callable[..., Any], server: DumpServer, tmp_path: Path) -> None:
    table = f"{ROOT}{NEWER}/xml/bzip2/{NAMES[0]}"
    server.files[table] = bytes(len(server.files[table]))
    ended = get()
    assert ended.status == 1
    assert "its sha256 is" in ended.said[0]
    assert NAMES[0] not in names(tmp_path)


PLACE = f"{ROOT}{NEWER}/xml/bzip2/"
WRONG_LISTS = {
    "no checksum": ({PLACE + "SHA256SUMS": b"x"}, f"SHA256SUMS: tells no sha256 of {NAMES[0]}"),
    "a checksum of a file that is not there": (
        {
            PLACE + "SHA256SUMS": SITE[PLACE + "SHA256SUMS"]
            + b"0" * 64
            + f"  enwiki-{NEWER}-p201p300.xml.bz2\n".encode()
        },
        f"names enwiki-{NEWER}-p201p300.xml.bz2, which is not there",
    ),
    "no files": (
        {PLACE: directory("_SUCCESS", "SHA256SUMS"), PLACE + "SHA256SUMS": b""},
        f"lists no file such as enwiki-{NEWER}-p1p999.xml.bz2",
    ),
    "no complete run": ({ROOT: directory(f"{RUNNING}/")}, "lists no complete export"),
}


@pytest.mark.parametrize("name", WRONG_LISTS)
def test_wrong_lists(get: Callable[..., Any], server: DumpServer, tmp_path: Path, name: str) -> None:
    changed, words = WRONG_LISTS[name]
    server.files |= changed
    ended = get("--source=exports")
    assert (ended.status, len(ended.said)) == (1, 1)
    assert words in ended.said[0]
    assert not (tmp_path / "dumps").exists()


@pytest.mark.parametrize(
    ("flags", "status", "words"),
    [
        (["--source=exports", "--date=20200101"], 1, "no export of that date; it has 20260301, 20260201, 20260101"),
        (["--source=exports", f"--date={RUNNING}"], 1, "the export of enwiki is not finished"),
        (["--date=20200101"], 1, f"no dump of that date; it has {DATE}; --date=20200101: enwiki has no export"),
        (["--source=exports", "--for=topics", "--wikis=en"], 2, "needs no pages"),
        (["--source=files"], 2, "auto"),
    ],
)
def test_what_is_not_there(get: Callable[..., Any], flags: list[str], status: int, words: str) -> None:
    ended = get(*flags)
    assert ended.status == status
    assert words in ended.said[-1]


def test_no_more_than_three_connections(get: Callable[..., Any], server: DumpServer) -> None:
    parts = {f"p{n}p{n}": bytes([n]) * 9 for n in range(1, 9)}
    server.files |= export_of("enwiki", NEWER, parts)
    server.pause = 0.05
    assert get().status == 0
    assert server.most_open == 3


def test_a_build_of_an_export_has_the_rows_of_the_dump(
    get: Callable[..., Any], wikianchor: Callable[..., Ended], tmp_path: Path
) -> None:
    assert get("--source=exports").status == 0
    dump = tmp_path / "dump"
    dump.mkdir()
    (dump / DUMP).write_bytes(multistream(ARTICLES))
    for folder in (dump, tmp_path / "dumps"):
        (folder / "wikidata-20251229-all.json.gz").write_bytes(WIKIDATA)
        ended = wikianchor("build", f"--dumps={folder}", f"--output={folder}-out", "--min_links=0")
        assert ended.status == 0, ended.said
    of_dump, of_export = tmp_path / "dump-out", tmp_path / "dumps-out"
    for config in ("sentences", "titles"):
        first, second = (pq.read_table(folder / "sentences/enwiki/data" / config) for folder in (of_dump, of_export))
        assert first.num_rows > 0
        assert first.equals(second)
    shards = sorted((of_dump / "pairs/data").rglob("*.parquet"))
    assert shards
    for shard in shards:
        assert shard.read_bytes() == (of_export / shard.relative_to(of_dump)).read_bytes()


def test_of_several_dates_the_newest_is_taken(tmp_path: Path) -> None:
    assert newest_dump([DUMP, *NAMES]) == NAMES
    assert newest_dump([f"enwiki-{SAME}-p1p9.xml.bz2", DUMP]) == [DUMP]
    for name, data in ((DUMP, multistream(ARTICLES)), *zip(NAMES, EXPORT.values(), strict=True)):
        (tmp_path / name).write_bytes(data)
    (tmp_path / f"enwiki-{NEWER}-p1r5r9.xml.bz2").write_bytes(EXPORT["p1p9"])
    for date in ("20251222", "20251229"):
        (tmp_path / f"wikidata-{date}-all.json.gz").write_bytes(WIKIDATA)
        (tmp_path / f"enwiki-{date}-page_props.sql.gz").write_bytes(gzip.compress(b""))
    fetched = find_dumps(str(tmp_path), [])
    assert [Path(path).name for path in fetched.pages["enwiki"]] == NAMES
    assert [Path(path).name for path in fetched.wikidata] == ["wikidata-20251229-all.json.gz"]
    assert [Path(path).name for path in fetched.page_props] == ["enwiki-20251229-page_props.sql.gz"]
