"""`build` as a whole: dumps in, the same bytes out however it is run, and on real slices every row is what it says."""

import bz2
import lzma
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.engines import THREADS
from tests.stand_in import digests, read_rows, wikidata_for
from wikianchor.io.errors import InputError, UsageError
from wikianchor.pipelines.cli.command_line import main
from wikianchor.pipelines.commands.build import command as build
from wikianchor.pipelines.dataset.manifest import read_manifest
from wikianchor.pipelines.dataset.reader import open_datasets, read_batches
from wikianchor.pipelines.sentences import graph as sentences
from wikianchor.pipelines.sentences.options import SentencesOptions
from wikianchor.pipelines.wikimedia import dumps, inventory
from wikianchor.schemas import sentences as sentences_schema

DEMO = Path(__file__).parents[2] / "demo" / "dumps"
FLAGS = [f"--dumps={DEMO}", "--min_links=2", "--negatives=2", "--sample=400"]
# Each of them adds a step to `pairs`.
FLAGS += ["--max_per_entity=30", "--sample_per_wiki", "--floor=wiki"]
DATASETS = ("sentences/dewiki", "sentences/enwiki", "sentences/jawiki", "entities", "pairs")


def check_links(text: str, links: list[dict[str, Any]]) -> None:
    """Check that the links of a sentence are in it, in order, without overlap, and have a text and a target."""
    end = 0
    for link in links:
        anchor = text[link["start"] : link["end"]]
        assert end <= link["start"] < link["end"] <= len(text)
        assert anchor == anchor.strip()
        assert link["target"]
        end = link["end"]


def all_digests(output: Path) -> dict[str, Any]:
    digests_by_name = {}
    for name in DATASETS:
        manifest = read_manifest(str(output / name))
        assert manifest is not None
        digests_by_name[name] = digests(manifest)
    return digests_by_name


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("demo") / "out"
    assert main(["build", *FLAGS, f"--output={output}"]) == 0
    return output


def test_the_bytes_do_not_depend_on_pythons_hash_seed(tmp_path: Path, demo: Path) -> None:
    code = "import sys; from wikianchor.pipelines.cli.command_line import main; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", code, "build", *FLAGS, f"--output={tmp_path / 'out'}"]
    subprocess.run(command, env={**os.environ, "PYTHONHASHSEED": "3"}, check=True, capture_output=True)
    assert all_digests(tmp_path / "out") == all_digests(demo)


def test_a_dump_cut_into_more_ranges_gives_the_same_pairs(
    tmp_path: Path, demo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dumps, "SMALLEST_RANGE", 1)
    assert main(["build", *FLAGS, f"--output={tmp_path / 'out'}"]) == 0
    whole, cut = all_digests(demo), all_digests(tmp_path / "out")
    assert len(cut["sentences/enwiki"]["sentences"]) > 3 > len(whole["sentences/enwiki"]["sentences"])
    for config in ("sentences", "titles"):
        assert read_rows(tmp_path / "out/sentences/enwiki", config) == read_rows(demo / "sentences/enwiki", config)
    for config in ("entities", "sitelinks"):
        rows = [read_rows(folder / "entities", config) for folder in (tmp_path / "out", demo)]
        assert sorted(map(repr, rows[0])) == sorted(map(repr, rows[1]))
    assert cut["pairs"] == whole["pairs"]


def test_the_bytes_are_the_same_in_threads_where_bundles_are_repeated(tmp_path: Path, demo: Path) -> None:
    assert main(["build", *FLAGS, *THREADS, f"--output={tmp_path / 'out'}"]) == 0
    assert all_digests(tmp_path / "out") == all_digests(demo)


def test_what_is_done_is_skipped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flags = ["build", *FLAGS, "--wikis=dewiki", f"--output={tmp_path / 'out'}"]
    assert main(flags) == 0
    times = {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("*.parquet")}
    assert main([*flags, "--seed=7"]) == 0
    after = {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("*.parquet")}
    # The names of shards end with their checksums.
    made = {path for path in after if after[path] != times.get(path)}
    assert {path.parent.name for path in made} >= {"pairs"}
    assert all("/pairs/data/" in str(path) for path in made)
    assert len(after) == len(times)


def test_each_kind_of_dump_is_found(tmp_path: Path) -> None:
    dumps = inventory.find_dumps(str(DEMO), [])
    assert list(dumps.pages) == ["dewiki", "enwiki", "jawiki"]
    assert [Path(path).name for path in dumps.wikidata] == ["wikidata-20260101-all.json.gz"]
    assert list(inventory.find_dumps(str(DEMO), ["jawiki"]).pages) == ["jawiki"]
    with pytest.raises(InputError, match="no pages-articles dump of frwiki; it has dewiki, enwiki, jawiki"):
        inventory.find_dumps(str(DEMO), ["frwiki"])
    with pytest.raises(UsageError, match="no such directory"):
        inventory.find_dumps(str(tmp_path / "none"), [])
    with pytest.raises(InputError, match="no pages-articles dump"):
        inventory.find_dumps(str(tmp_path), [])


def test_of_several_packings_one_is_taken() -> None:
    whole, parts = "x-pages-articles.xml.bz2", [f"x-pages-articles{n}.xml-p{n}p9.bz2" for n in (1, 2)]
    multistream = "x-pages-articles-multistream.xml.bz2"
    assert inventory.newest_dump([whole, multistream]) == [multistream]
    assert inventory.newest_dump([whole, *parts]) == parts
    assert inventory.newest_wikidata(["a.json.bz2", "a.json.gz"]) == ("a.json.gz",)


def cut_slice(path: Path, pages: int) -> bytes:
    """Return the first pages of a dump as a whole dump; 0 for all that are whole."""
    opener = lzma.open if path.suffix == ".xz" else open
    with opener(path, "rb") as file:
        data = file.read()
    end = b"</page>"
    ends = data.count(end)
    kept = end.join(data.split(end, min(pages or ends, ends))[: min(pages or ends, ends)])
    return kept + end + b"\n</mediawiki>\n"


def build_slices(tmp_path: Path, slices: Iterable[tuple[Path, int]], *flags: str) -> Path:
    """Build from slices with a Wikidata made for them; return the output."""
    dumps, output = tmp_path / "dumps", tmp_path / "out"
    dumps.mkdir(parents=True)
    for number, (path, pages) in enumerate(slices):
        (dumps / f"slice{number}-pages-articles.xml.bz2").write_bytes(bz2.compress(cut_slice(path, pages), 1))
    paths_by_wiki: dict[str, tuple[str, ...]] = {}
    for path in sorted(dumps.iterdir()):
        site, _ = inventory.read_site([str(path)], None)
        paths_by_wiki[site.wiki] = (*paths_by_wiki.get(site.wiki, ()), str(path))
    for wiki, paths in paths_by_wiki.items():
        sentences.run(SentencesOptions(dumps=paths, output=str(output / "sentences" / wiki)), [])
    wikidata_for([output / "sentences" / wiki for wiki in paths_by_wiki], dumps / "wikidata-all.json.gz")
    assert main(["build", f"--dumps={dumps}", f"--output={output}", "--min_links=1", *flags]) == 0
    return output


def check_build(output: Path, negatives: int) -> None:
    """Check every row of a build against the datasets that it came of."""
    items: dict[tuple[str, str], int] = {}
    for row in read_rows(output / "entities", "sitelinks"):
        items[row["wiki"], row["title"]] = row["qid"]
    linked: dict[tuple[str, int], set[int]] = {}
    texts: dict[str, set[tuple[int, str]]] = {}
    seen: dict[str, int] = {}
    for dataset in open_datasets(f"{output}/sentences/*", "sentences", sentences_schema.VERSION, "sentences"):
        wiki = dataset.manifest["options"]["wiki"]
        redirects = {
            row["title"]: row["redirect"]
            for row in read_rows(Path(dataset.directory), "titles")
            if row["redirect"] is not None
        }

        def item(title: str, wiki: str = wiki, redirects: dict[str, str] = redirects) -> int | None:
            for _ in range(11):
                if (wiki, title) in items or title not in redirects:
                    break
                title = redirects[title]
            return items.get((wiki, title))

        for shard in dataset.shards("titles"):
            for batch in read_batches(shard, ["page_id", "title", "links"]):
                for row in batch.to_pylist():
                    linked[wiki, row["page_id"]] = {
                        qid for title in (*row["links"], row["title"]) if (qid := item(title)) is not None
                    }
        texts[wiki], seen[wiki] = set(), 0
        for shard in dataset.shards("sentences"):
            for batch in read_batches(shard, ["page_id", "text", "links"]):
                for row in batch.to_pylist():
                    check_links(row["text"], row["links"])
                    texts[wiki].add((row["page_id"], row["text"]))
                    seen[wiki] += len(row["links"])

    manifest = read_manifest(str(output / "pairs"))
    assert manifest is not None
    entities = read_rows(output / "pairs", "entities")
    assert [row["entity_id"] for row in entities] == list(range(len(entities)))
    assert [(-row["count"], row["qid"]) for row in entities] == sorted((-row["count"], row["qid"]) for row in entities)
    rows = read_rows(output / "pairs", "pairs")
    assert rows
    for row in rows:
        text, start, end = row["text"], row["mention_start"], row["mention_end"]
        assert text[start:end].strip()
        assert len(text[start:end]) == end - start
        assert (row["page_id"], text) in texts[row["wiki"]]
        on_page = linked[row["wiki"], row["page_id"]]
        assert row["entity_qid"] in on_page
        assert len(set(row["hard_negative_qids"])) == negatives
        assert not on_page & set(row["hard_negative_qids"])
        assert entities[row["entity_id"]]["qid"] == row["entity_qid"]
        for number, qid in zip(row["hard_negative_ids"], row["hard_negative_qids"], strict=True):
            assert entities[number]["qid"] == qid
            assert row["type_qid"] in entities[number]["types"]
    for wiki, ledger in manifest["ledger"]["links"].items():
        assert ledger["seen"] == seen[wiki] == sum(number for name, number in ledger.items() if name != "seen")
        assert ledger.get("kept", 0) == sum(row["wiki"] == wiki for row in rows)
    for config in manifest["configs"].values():
        assert all(shard["rows"] for shard in config["shards"])
        assert config["rows"] == sum(shard["rows"] for shard in config["shards"])


@pytest.mark.real
def test_rows_of_real_slices_are_what_they_say(tmp_path: Path, data_dir: Path) -> None:
    slices = data_dir / "wikipedia-xml"
    output = build_slices(
        tmp_path,
        [
            (slices / "et" / "estnltk_wiki.xml", 30),
            (slices / "uk" / "ssvb_ukwiki-truncated-100k.xml.xz", 25),
            (slices / "el" / "ssvb_elwiki-truncated-100k.xml.xz", 25),
        ],
        "--negatives=2",
        "--refine_humans=50",
    )
    check_build(output, 2)


@pytest.mark.real
@pytest.mark.parametrize(
    ("pages", "mode"),
    [
        # `test_workers_share.py` compares the bytes of processes for every stage.
        ((20, 15, 200), THREADS),
        pytest.param((0, 60, 200), ("--workers=2",), marks=pytest.mark.nightly),
    ],
)
def test_rows_of_larger_slices_are_what_they_say_in_any_running_mode(
    pages: tuple[int, int, int], mode: tuple[str, ...], tmp_path: Path, data_dir: Path
) -> None:
    names = ("de/yago_de_wikitest.xml", "el/ssvb_elwiki-truncated-100k.xml.xz", "bn/ssvb_bnwiki-truncated-100k.xml.xz")
    files = [(data_dir / "wikipedia-xml" / name, number) for name, number in zip(names, pages, strict=True)]
    flags = ["--negatives=1", "--sample=5000", "--sample_per_wiki", "--max_per_entity=40"]
    output = build_slices(tmp_path, files, *flags)
    check_build(output, 1)
    again = tmp_path / "again"
    names = [path.name for path in (output / "sentences").iterdir()]
    command = ["build", f"--dumps={tmp_path / 'dumps'}", f"--output={again}", "--min_links=1", *flags]
    assert main([*command, *mode]) == 0
    for name in ("entities", "pairs", *(f"sentences/{name}" for name in names)):
        first, second = (read_manifest(str(folder / name)) for folder in (output, again))
        assert first is not None
        assert second is not None
        assert digests(first) == digests(second)


def test_a_build_ends_with_the_stage_that_fails(
    demo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    command = ["build", *FLAGS, f"--output={shutil.copytree(demo, tmp_path / 'out')}"]
    before = all_digests(tmp_path / "out")

    def fail(*args: Any, **options: Any) -> None:
        raise InputError("no entities today")

    monkeypatch.setattr(build.entities, "run", fail)
    monkeypatch.setattr(build.pairs, "run", lambda *args, **options: pytest.fail("went on"))
    capfd.readouterr()
    assert main([*command, "--labels=de"]) == 1
    assert capfd.readouterr().err.splitlines()[-1] == "wikianchor: no entities today"
    assert all_digests(tmp_path / "out") == before
