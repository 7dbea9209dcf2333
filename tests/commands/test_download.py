"""`wikianchor download` against a stand-in for dumps.wikimedia.org: the right files arrive, once, and can be built."""

import gzip
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyarrow import fs

from tests.dumps import item, json_dump, multistream, page
from tests.servers import dump_server as faults
from tests.servers.dump_server import DATE, OLDER, UNFINISHED_RUN, DumpServer, directory, run_of, serving, site
from wikianchor.io import storage
from wikianchor.io.errors import UsageError
from wikianchor.pipelines.commands.download.options import DownloadOptions

Run = Callable[..., object]
CONTACT = "--contact=somebody@example.org"
PAGES = [
    page("Earth", 1, "The [[Moon]] goes around the [[Earth]] and around the [[Sun]], as everybody knows."),
    page("Moon", 2, "The [[Moon]] is not the [[Sun]], which shines upon the [[Earth]] by day."),
    page("Sun", 3, "The [[Sun]] shines upon the [[Moon]] and upon the [[Earth]] all day long."),
    page("Sky", 4, "In the night sky [[Mars]] can be seen as a small red light by everybody."),
]
ARTICLES = f"enwiki-{DATE}-pages-articles-multistream.xml.bz2"
INDEX = f"enwiki-{DATE}-pages-articles-multistream-index.txt.bz2"
PROPS = f"enwiki-{DATE}-page_props.sql.gz"
WIKIDATA = "wikidata-20251229-all.json.gz"
ITEMS = [
    item(number, {"enwiki": title}, [5], {"en": title})
    for number, title in ((2, "Earth"), (405, "Moon"), (111, "Mars"))
]
SITE = site(
    {
        "enwiki": {ARTICLES: multistream(PAGES), INDEX: b"index", PROPS: gzip.compress(b"-- nothing")},
        "be_x_oldwiki": {f"be_x_oldwiki-{DATE}-pages-articles-multistream.xml.bz2": b"xml"},
    },
    gzip.compress(json_dump([*ITEMS, item(525, {"enwiki": "Sun"}, [5], {"en": "Sun"})])),
)


@pytest.fixture
def server() -> Iterator[DumpServer]:
    with serving(SITE) as running:
        yield running


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return tmp_path / "config"


@pytest.fixture
def get(wikianchor: Callable[..., Run], server: DumpServer, tmp_path: Path) -> Run:
    def run(*flags: str, wikis: str = "en") -> object:
        return wikianchor("download", f"--wikis={wikis}", f"--site={server.url}", f"--output={tmp_path}/dumps", *flags)

    return run


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_what_pairs_need(get: Run, tmp_path: Path) -> None:
    ended = get(CONTACT)
    assert ended.status == 0, ended.said
    assert files(tmp_path / "dumps") == ["download.json", PROPS, ARTICLES, WIKIDATA]
    assert (tmp_path / "dumps" / ARTICLES).read_bytes() == multistream(PAGES)
    record = json.loads((tmp_path / "dumps" / "download.json").read_text())["files"]
    assert {name: entry["date"] for name, entry in record.items()} == {
        ARTICLES: DATE,
        PROPS: DATE,
        WIKIDATA: "20251229",
    }
    assert "3 files fetched and verified" in ended.output


def test_what_came_can_be_built(get: Run, wikianchor: Callable[..., Run], tmp_path: Path) -> None:
    assert get(CONTACT, "--for=sentences").status == 0
    assert get("--for=entities").status == 0
    (tmp_path / "dumps" / PROPS).unlink()
    (tmp_path / "dumps" / f"{ARTICLES}.part").write_bytes(b"BZh9")
    ended = wikianchor("build", f"--dumps={tmp_path}/dumps", f"--output={tmp_path}/out", "--min_links=0")
    assert ended.status == 0, ended.said


def test_verified_files_are_not_fetched_again(get: Run, server: DumpServer, tmp_path: Path) -> None:
    get(CONTACT)
    server.asked.clear()
    ended = get()
    assert ended.status == 0
    assert ended.output.count("(here and verified)") == 3
    assert not [path for path, _, _ in server.asked if path.endswith((".bz2", ".gz")) and "all.json" not in path]


def test_a_file_without_record_is_read_instead_of_fetched(get: Run, server: DumpServer, tmp_path: Path) -> None:
    get(CONTACT, "--for=sentences")
    (tmp_path / "dumps" / "download.json").write_text("[]")
    get("--for=sentences")
    assert len(server.requests(f"/enwiki/{DATE}/{ARTICLES}")) == 1
    assert ARTICLES in (tmp_path / "dumps" / "download.json").read_text()


def test_a_changed_file_is_fetched_again(get: Run, server: DumpServer, tmp_path: Path) -> None:
    get(CONTACT, "--for=sentences")
    path = tmp_path / "dumps" / ARTICLES
    path.write_bytes(bytes(len(path.read_bytes())))
    get("--for=sentences")
    assert path.read_bytes() == multistream(PAGES)


def test_a_dry_run_tells_the_sizes_and_fetches_nothing(get: Run, tmp_path: Path) -> None:
    ended = get(CONTACT, "--dry_run")
    assert ended.status == 0
    assert f"1.4 kB  {ARTICLES}" in ended.output
    assert f"dumps of 20251229, {DATE}" in ended.output
    assert not (tmp_path / "dumps").exists()


def test_a_date_of_ones_own(get: Run, tmp_path: Path) -> None:
    assert get(CONTACT, "--for=sentences", f"--date={OLDER}").status == 0
    assert files(tmp_path / "dumps") == ["download.json", ARTICLES.replace(DATE, OLDER)]


def test_a_mirror_gives_files_and_no_lists(get: Run, server: DumpServer, tmp_path: Path) -> None:
    with serving({path: data for path, data in SITE.items() if path.endswith(".bz2")}) as mirror:
        assert get(CONTACT, "--for=sentences", f"--mirror={mirror.url}/").status == 0
        assert [path for path, _, _ in mirror.asked] == [f"/enwiki/{DATE}/{ARTICLES}"]
    assert (tmp_path / "dumps" / ARTICLES).read_bytes() == multistream(PAGES)
    assert not server.requests(f"/enwiki/{DATE}/{ARTICLES}")


def test_a_mirror_cannot_serve_other_bytes(get: Run, tmp_path: Path) -> None:
    address = f"/enwiki/{DATE}/{ARTICLES}"
    with serving({address: bytes(len(SITE[address]))}) as mirror:
        ended = get(CONTACT, "--for=sentences", f"--mirror={mirror.url}")
    assert ended.status == 1
    assert "the server has other bytes" in ended.said[0]
    assert files(tmp_path / "dumps") == []


def test_no_more_than_three_connections(get: Run, server: DumpServer, tmp_path: Path) -> None:
    parts = {f"enwiki-{DATE}-pages-articles-multistream{n}.xml-p{n}p{n}.bz2": bytes([n]) * 9 for n in range(1, 8)}
    server.files |= run_of("enwiki", DATE, parts)
    server.pause = 0.05
    assert get(CONTACT, "--for=sentences").status == 0
    assert server.most_open == 3
    assert files(tmp_path / "dumps") == ["download.json", *sorted(parts)]


def test_the_contact_is_given_once(get: Run, server: DumpServer, home: Path) -> None:
    ended = get()
    assert (ended.status, len(ended.said)) == (2, 1)
    assert "--contact=" in ended.said[0]
    assert not server.asked
    assert get("--contact=nobody").status == 2
    assert get("--contact=a@b.example\r\nX: y").status == 2
    get(CONTACT, "--dry_run")
    assert get("--dry_run").status == 0
    assert (home / "wikianchor" / "contact").stat().st_mode & 0o777 == 0o600
    assert all(agent.endswith("(somebody@example.org)") for _, _, agent in server.asked)
    assert all(agent.startswith("wikianchor/") for _, _, agent in server.asked)


def test_a_full_disk_is_known_before(get: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda path: shutil._ntuple_diskusage(100, 90, 10))
    ended = get(CONTACT)
    assert ended.status == 1
    assert "10 B are free" in ended.said[0]
    assert not (tmp_path / "dumps").exists()


def status(**entry: object) -> dict[str, bytes]:
    """The newest run with another list of files."""
    run = json.loads(SITE[f"/enwiki/{DATE}/dumpstatus.json"])
    entries = run["jobs"]["articlesmultistreamdump"]["files"]
    entries[ARTICLES] |= entry
    if "name" in entry:
        entries[entry["name"]] = entries.pop(ARTICLES)
    return {f"/enwiki/{DATE}/dumpstatus.json": json.dumps(run).encode()}


HOSTILE_LISTS = {
    "a name that leads elsewhere": (status(name="../../.bashrc"), "'../../.bashrc' is not the name of a file"),
    "a hidden name": (status(name=".bashrc"), "is not the name of a file"),
    "another server": (status(url="//evil.example/x"), "is not the name of a file"),
    "another server, by a name": (status(url="@evil.example/" + ARTICLES), "is not the name of a file"),
    "a path that leads up": (status(url=f"/enwiki/../../{ARTICLES}"), "is not the name of a file"),
    "no size": (status(size=None), "tells no size"),
    "a size below zero": (status(size=-5), "tells no size"),
    "no checksum": (status(sha1=None), "tells no sha1"),
    "no JSON": ({f"/enwiki/{DATE}/dumpstatus.json": b"<html>"}, "not JSON"),
    "other JSON": ({f"/enwiki/{DATE}/dumpstatus.json": b"[1]"}, "no list of jobs"),
    "jobs of another shape": ({f"/enwiki/{DATE}/dumpstatus.json": b'{"jobs": {"articlesmultistreamdump": 3}}'}, None),
    "no runs": ({"/enwiki/": directory("latest/")}, "lists no dump in which articlesmultistreamdump are done"),
}


@pytest.mark.parametrize("name", HOSTILE_LISTS)
def test_lists_that_are_wrong(name: str, get: Run, server: DumpServer, tmp_path: Path) -> None:
    changed, words = HOSTILE_LISTS[name]
    server.files |= changed
    ended = get(CONTACT, "--for=sentences")
    if words is None:
        # The run before it will do.
        assert ended.status == 0
        assert ARTICLES.replace(DATE, OLDER) in ended.output
        return
    assert ended.status == 1
    assert len(ended.said) == 1
    assert words in ended.said[0]
    assert not (tmp_path / "dumps").exists()


@pytest.mark.parametrize(
    ("date", "words"), [("20200101", f"it has {UNFINISHED_RUN}"), (UNFINISHED_RUN, "not finished")]
)
def test_a_run_that_is_not_there(date: str, words: str, get: Run) -> None:
    ended = get(CONTACT, "--for=sentences", f"--date={date}")
    assert ended.status == 1
    assert words in ended.said[0]


def test_wikis_by_code_and_by_name(get: Run, tmp_path: Path) -> None:
    assert get(CONTACT, "--for=sentences", wikis="be-tarask,be_x_oldwiki").status == 0
    assert files(tmp_path / "dumps") == [f"be_x_oldwiki-{DATE}-pages-articles-multistream.xml.bz2", "download.json"]


def test_a_store_of_objects(get: Run, server: DumpServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bucket = tmp_path / "bucket"
    bucket.mkdir()

    def opened(path: str) -> tuple[fs.FileSystem, str]:
        assert path.startswith("gs://bucket/")
        return fs.SubTreeFileSystem(str(bucket), fs.LocalFileSystem()), path.removeprefix("gs://bucket/")

    monkeypatch.setattr(storage, "connect", opened)
    address = f"/enwiki/{DATE}/{ARTICLES}"
    server.faults[address] = [faults.truncate(100), faults.other_bytes]
    assert get(CONTACT, "--for=sentences", "--output=gs://bucket/dumps").status == 0
    assert files(bucket / "dumps") == ["download.json", ARTICLES]
    assert (bucket / "dumps" / ARTICLES).read_bytes() == SITE[address]
    server.asked.clear()
    assert "(here and verified)" in get("--for=sentences", "--output=gs://bucket/dumps").output
    assert not server.requests(address)


@pytest.mark.parametrize("flag", ["mirror", "site"])
def test_an_address_without_encryption_needs_a_flag(flag: str, home: Path) -> None:
    given = {"wikis": ("en",), "output": "dumps", "contact": "me@example.org", flag: "http://example.org"}
    with pytest.raises(UsageError, match="or add --allow_http"):
        DownloadOptions(**given).completed()
    assert DownloadOptions(**given, allow_http=True).completed().wikis == ("enwiki",)
