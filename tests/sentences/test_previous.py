"""`wikianchor sentences --previous`: what has not changed is taken from the earlier dataset, to the same bytes."""

import bz2
import json
import random
import shutil
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.dumps import export, multistream, page, revision
from wikianchor.io.rules import stage_digest
from wikianchor.pipelines.cli.command_line import main
from wikianchor.pipelines.dataset.manifest import read_manifest
from wikianchor.pipelines.engine import stage
from wikianchor.pipelines.sentences import steps as dump

Run = Callable[..., Any]
RANDOM = random.Random(5)
WORDS = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa"]


def text(number: int) -> str:
    """A page of a few sentences with links, a table, a lost template, a section, a category, a link to another wiki."""
    pick = random.Random(number)
    lines = [
        f"The [[{pick.choice(WORDS)}]] is a {pick.choice(WORDS)} of [[Page {pick.randrange(300)}|a page]] in row {n}."
        for n in range(pick.randrange(1, 6))
    ]
    lines += ["", "It {{unknown|x}} is lost for good in this sentence of ours.", "{|", "| [[Cell]]", "|}"]
    lines += [f"== Part {number} ==", f"* It is [[:de:{pick.choice(WORDS)}]].", f"[[Category:Of {pick.choice(WORDS)}]]"]
    return "\n".join(lines)


def pages_of(changed: set[int] = frozenset(), without: set[int] = frozenset(), more: int = 0) -> list[bytes]:  # type: ignore[assignment]
    collected = []
    for number in range(1, 301 + more):
        if number in without:
            continue
        if number % 17 == 0:
            collected.append(page(f"Redirect {number}", number, redirect="Page 1"))
        elif number % 29 == 0:
            collected.append(page(f"Talk:{number}", number, text(number), namespace=1))
        else:
            new = number in changed
            rev = revision(text(number + 1000 if new else number), number + (5000 if new else 1000))
            collected.append(page(f"Page {number}", number, revisions=[rev]))
    return collected


def write(directory: Path, pages: list[bytes], packed: Callable[[list[bytes]], bytes]) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / "enwiki-20260201-pages-articles.xml.bz2"
    path.write_bytes(packed(pages))
    return path


def files(directory: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(directory)): path.read_bytes() for path in sorted(directory.rglob("*")) if path.is_file()
    }


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The titles of pages whose text is read."""
    collected: list[str] = []
    original = dump.PageReader.read_page

    def counted(self: dump.PageReader, page: Any, *rest: Any) -> Any:
        collected.append(page.title)
        return original(self, page, *rest)

    monkeypatch.setattr(dump.PageReader, "read_page", counted)
    return collected


def let_be_small(patch: pytest.MonkeyPatch) -> None:
    """Let ranges and row groups be small enough for many of each."""
    patch.setattr("wikianchor.pipelines.wikimedia.dumps.SMALLEST_RANGE", 20_000)
    patch.setattr(dump, "ROW_GROUP", 40)
    patch.setattr(dump, "LIST_VALUES", {"titles": 90, "ledger": 50, "documents": 3000})


CHANGES: dict[str, list[bytes]] = {
    "nothing": pages_of(),
    "one page in twenty": pages_of(changed=set(range(3, 300, 20))),
    "every page": pages_of(changed=set(range(301))),
    "pages gone and new ones": pages_of(changed={7, 8}, without={1, 50, 51, 52, 300}, more=40),
    "another order": [*pages_of()[150:], *pages_of(changed={9})[:150]],
    "moved to another title": [page.replace(b"<title>Page 9", b"<title>Side 9") for page in pages_of()],
    "moved to another namespace": [
        page.replace(b"<ns>0</ns>", b"<ns>2</ns>") if b">Page 5" in page else page for page in pages_of()
    ],
}


# What packs the pages, and more flags.
DATASETS: dict[str, tuple[Callable[[list[bytes]], bytes], tuple[str, ...]]] = {
    "plain": (lambda pages: bz2.compress(export(pages)), ()),
    "multistream documents": (multistream, ("--documents",)),
}


@pytest.fixture(scope="module")
def earlier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The earlier datasets, by name."""
    folder = tmp_path_factory.mktemp("earlier")
    with pytest.MonkeyPatch.context() as patch:
        let_be_small(patch)
        for name, (pack, flags) in DATASETS.items():
            path = write(folder / "old" / name, pages_of(), pack)
            assert main(["sentences", f"--dumps={path}", f"--output={folder / name}", *flags]) == 0
    return folder


# The changes that each dataset is built again with. Whether a page has changed is decided in the same way in both; what
# a range takes from where depends on the order of the pages as well.
WITH_CHANGES = {
    "plain": ("nothing", "one page in twenty", "every page", "moved to another title", "moved to another namespace"),
    "multistream documents": ("one page in twenty", "pages gone and new ones", "another order"),
}


def test_every_change_is_tried() -> None:
    assert {name for names in WITH_CHANGES.values() for name in names} == set(CHANGES)


@pytest.mark.parametrize(("dataset", "name"), [(key, name) for key, names in WITH_CHANGES.items() for name in names])
def test_the_same_bytes(
    dataset: str,
    name: str,
    earlier: Path,
    tmp_path: Path,
    wikianchor: Run,
    read: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    let_be_small(monkeypatch)
    pack, flags = DATASETS[dataset]
    new = write(tmp_path / "new", CHANGES[name], pack)
    assert wikianchor("sentences", f"--dumps={new}", f"--output={tmp_path}/full", *flags).status == 0
    # Of a whole dump the core reads most pages by itself.
    read.clear()
    flags += (f"--previous={earlier / dataset}",)
    ended = wikianchor("sentences", f"--dumps={new}", f"--output={tmp_path}/again", *flags)
    assert ended.status == 0, ended.said
    assert files(tmp_path / "again") == files(tmp_path / "full")
    assert (tmp_path / "again/data/documents").exists() == ("documents" in dataset)
    if name == "nothing":
        assert not read
    elif name == "one page in twenty":
        assert len(read) <= 15
    elif name != "every page":
        assert len(read) < len(CHANGES[name]) / 2
    # Datasets of equal files are verified alike.
    if name == "one page in twenty":
        assert wikianchor("verify", tmp_path / "again", f"--against={tmp_path}/new").status == 0


def test_a_page_of_several_revisions_is_read(tmp_path: Path, wikianchor: Run, read: list[str]) -> None:
    pages = [
        page(
            "A",
            1,
            revisions=[revision(text(1), 5, "2025-01-01T00:00:00Z"), revision(text(2), 6, "2025-01-02T00:00:00Z")],
        )
    ]
    path = write(tmp_path / "old", pages, lambda pages: bz2.compress(export(pages)))
    for name, more in (("first", []), ("again", [f"--previous={tmp_path}/first"])):
        assert wikianchor("sentences", f"--dumps={path}", f"--output={tmp_path}/{name}", *more).status == 0
    assert read == ["A", "A"]


def test_the_ledger_of_each_page_adds_up(tmp_path: Path, wikianchor: Run) -> None:
    import pyarrow.parquet as pq

    path = write(tmp_path / "old", pages_of(), multistream)
    wikianchor("sentences", f"--dumps={path}", f"--output={tmp_path}/out")
    manifest = read_manifest(str(tmp_path / "out"))
    assert manifest is not None
    links = manifest["ledger"]["enwiki"]["links"]
    collected: dict[str, int] = {}
    for row in pq.read_table(tmp_path / "out" / "data" / "ledger").to_pylist():
        for entry in row["counts"]:
            collected[entry["name"]] = collected.get(entry["name"], 0) + entry["number"]
    assert {name: collected[f"links:{name}"] for name in links} == links
    assert collected["pages:articles"] == manifest["ledger"]["enwiki"]["pages"]["articles"]


def test_what_cannot_be_taken(tmp_path: Path, wikianchor: Run) -> None:
    path = write(tmp_path / "old", pages_of(), multistream)
    base = ("sentences", f"--dumps={path}", f"--output={tmp_path}/out")
    assert wikianchor(*base).status == 0
    ended = wikianchor(*base, f"--previous={tmp_path}/out")
    assert (ended.status, "is the output itself" in ended.said[0]) == (2, True)
    ended = wikianchor(*base[:2], f"--output={tmp_path}/x", f"--previous={tmp_path}/none")
    assert (ended.status, "no such directory" in ended.said[0]) == (1, True)
    ended = wikianchor(*base[:2], f"--output={tmp_path}/x", f"--previous={tmp_path}/out", "--allow_truncated")
    assert (ended.status, "was made with another allow_truncated" in ended.said[0]) == (2, True)
    ended = wikianchor(*base[:2], f"--output={tmp_path}/x", f"--previous={tmp_path}/out", "--documents")
    assert (ended.status, "was made with another documents" in ended.said[0]) == (2, True)
    shutil.rmtree(tmp_path / "out" / "data" / "ledger")
    assert wikianchor(*base[:2], f"--output={tmp_path}/x", f"--previous={tmp_path}/out").status == 1


def test_another_unicode_version_gives_other_sentences(
    tmp_path: Path, wikianchor: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python's tables of characters decide where sentences begin and what a name is, and differ by its version."""
    path = write(tmp_path / "old", pages_of(), multistream)
    base = ("sentences", f"--dumps={path}", f"--output={tmp_path}/out")
    assert wikianchor(*base).status == 0
    manifest = read_manifest(str(tmp_path / "out"))
    assert manifest is not None
    assert manifest["made_with"]["unicode"] == unicodedata.unidata_version
    assert any("up to date, skipped" in line for line in wikianchor(*base).progress)
    monkeypatch.setattr(unicodedata, "unidata_version", "99.0.0")
    ended = wikianchor(*base[:2], f"--output={tmp_path}/x", f"--previous={tmp_path}/out")
    reason = f"would give other rows, made with unicode {manifest['made_with']['unicode']}: leave it out"
    assert (ended.status, reason in ended.said[0]) == (2, True)
    ended = wikianchor(*base)
    reason = f"rebuild, made with unicode {manifest['made_with']['unicode']}"
    assert (ended.status, any(reason in line for line in ended.progress)) == (0, True)
    assert read_manifest(str(tmp_path / "out"))["made_with"]["unicode"] == "99.0.0"  # type: ignore[index]


def test_a_change_of_rules_is_noticed_and_one_of_the_version_is_not(
    tmp_path: Path, wikianchor: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "old", pages_of(), multistream)
    base = ("sentences", f"--dumps={path}", f"--output={tmp_path}/out")
    previous = (*base[:2], f"--output={tmp_path}/x", f"--previous={tmp_path}/out")
    assert wikianchor(*base).status == 0
    manifest = read_manifest(str(tmp_path / "out"))
    assert manifest is not None
    assert manifest["made_with"]["rules"] == stage_digest("sentences")
    monkeypatch.setattr(stage, "program_version", lambda: "99.0")
    assert any("up to date, skipped" in line for line in wikianchor(*base).progress)
    assert wikianchor(*previous).status == 0
    monkeypatch.setattr(stage, "stage_digest", lambda dataset: "another")
    ended = wikianchor(*previous)
    assert ended.said[0].endswith(f"{tmp_path}/out would give other rows, rules of `sentences` changed: leave it out")
    ended = wikianchor(*base)
    assert any("rebuild, rules of `sentences` changed; the dataset" in line for line in ended.progress)
    assert read_manifest(str(tmp_path / "out"))["made_with"]["rules"] == "another"  # type: ignore[index]


def test_a_dataset_of_before_the_digest_is_read_and_not_taken_for_up_to_date(tmp_path: Path, wikianchor: Run) -> None:
    path = write(tmp_path / "old", pages_of(), multistream)
    base = ("sentences", f"--dumps={path}", f"--output={tmp_path}/out")
    assert wikianchor(*base).status == 0
    directory = tmp_path / "out" / "manifest.json"
    manifest = json.loads(directory.read_bytes())
    del manifest["made_with"]["rules"]
    directory.write_text(json.dumps(manifest))
    reason = "its manifest is older than the digest of the rules of `sentences`"
    ended = wikianchor(*base[:2], f"--output={tmp_path}/x", f"--previous={tmp_path}/out")
    assert (ended.status, len(ended.said), reason in ended.said[0]) == (2, 1, True)
    ended = wikianchor("verify", tmp_path / "out")
    assert (ended.status, f"{reason}, made by wikianchor {manifest['made_with']['wikianchor']}" in ended.output) == (
        1,
        True,
    )
    ended = wikianchor("verify", tmp_path / "out", "--keep_older")
    assert (ended.status, f"--  accepted, and its rows not derived again: {reason}" in ended.output) == (0, True)
    assert wikianchor("report", tmp_path / "out").status == 0
    assert any(f"rebuild, {reason}" in line for line in wikianchor(*base).progress)
    assert wikianchor("verify", tmp_path / "out").status == 0


def test_hidden_text_is_not_taken(tmp_path: Path, wikianchor: Run) -> None:
    """An oversighter may hide the text of a revision that was read before."""
    old = write(tmp_path / "old", [page("A", 1, text(1)), page("B", 2, text(2))], multistream)
    hidden = page("B", 2, revisions=[revision(None, 1002)])
    new = write(tmp_path / "new", [page("A", 1, text(1)), hidden], multistream)
    wikianchor("sentences", f"--dumps={old}", f"--output={tmp_path}/first")
    wikianchor("sentences", f"--dumps={new}", f"--output={tmp_path}/full")
    wikianchor("sentences", f"--dumps={new}", f"--output={tmp_path}/again", f"--previous={tmp_path}/first")
    assert files(tmp_path / "again") == files(tmp_path / "full")


def test_another_name_of_a_namespace_is_another_site(tmp_path: Path, wikianchor: Run) -> None:
    old = write(tmp_path / "old", pages_of(), multistream)
    renamed = export(pages_of()).replace(b">Template</namespace>", b">Muster</namespace>")
    new = write(tmp_path / "new", [renamed], lambda collected: bz2.compress(collected[0]))
    wikianchor("sentences", f"--dumps={old}", f"--output={tmp_path}/first")
    ended = wikianchor("sentences", f"--dumps={new}", f"--output={tmp_path}/x", f"--previous={tmp_path}/first")
    assert (ended.status, "was made with another site" in ended.said[0]) == (2, True)


def test_a_build_takes_what_an_earlier_build_has(
    demo_build: Path, tmp_path: Path, wikianchor: Run, read: list[str]
) -> None:
    demo = Path(__file__).parents[2] / "demo" / "dumps"
    base = ("build", f"--dumps={demo}", "--min_links=2")
    assert wikianchor(*base, "--wikis=jawiki", f"--output={tmp_path}/first").status == 0
    read.clear()
    assert wikianchor(*base, f"--output={tmp_path}/again", f"--previous={tmp_path}/first").status == 0
    assert files(tmp_path / "again") == files(demo_build)
    ended = wikianchor(*base, f"--output={tmp_path}/x", f"--previous={tmp_path}/first/pairs")
    assert (ended.status, "holds no sentences" in ended.said[-1]) == (2, True)


def test_excluded_pages_may_differ_from_those_of_the_earlier_dataset(tmp_path: Path, wikianchor: Run) -> None:
    """A page is neither copied nor read while it is in the list, and read again when it is not."""
    dump_path = write(tmp_path / "new", pages_of(), multistream)
    excluded = tmp_path / "takedowns.txt"
    excluded.write_text("# removed on request\nenwiki\t5\nenwiki\tpage_1\n\ndewiki\tSeite\n")
    base = ("sentences", f"--dumps={dump_path}")
    for name, flags in (
        ("all", ()),
        ("without", (f"--exclude_pages={excluded}",)),
        ("copied", (f"--exclude_pages={excluded}", f"--previous={tmp_path}/all")),
        ("again", (f"--previous={tmp_path}/without",)),
    ):
        ended = wikianchor(*base, f"--output={tmp_path}/{name}", *flags)
        assert ended.status == 0, ended.said
        assert not ended.said, ended.said
    assert files(tmp_path / "copied") == files(tmp_path / "without")
    assert files(tmp_path / "again") == files(tmp_path / "all")
    assert read_manifest(str(tmp_path / "without"))["ledger"]["enwiki"]["pages"]["excluded"] == 2
