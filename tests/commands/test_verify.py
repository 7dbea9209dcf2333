"""`wikianchor verify`: a sound dataset passes, and each way in which it can be wrong is found."""

import gzip
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from wikianchor.io.storage import checksum
from wikianchor.pipelines.cli.command_line import main
from wikianchor.pipelines.commands.verify import derive_again
from wikianchor.pipelines.dataset import reader, release
from wikianchor.pipelines.dataset.manifest import read_manifest
from wikianchor.pipelines.sentences.wiki import PageRows, Wiki, open_wiki
from wikianchor.pipelines.wikimedia import core

DEMO = Path(__file__).parents[2] / "demo" / "dumps"
Run = Callable[..., Any]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("demo")
    assert main(["build", f"--dumps={DEMO}", f"--output={output}", "--min_links=2", "--negatives=2"]) == 0
    return output


@pytest.fixture
def demo(built: Path, tmp_path: Path) -> Path:
    """A copy that may be damaged."""
    return Path(shutil.copytree(built, tmp_path / "demo"))


def manifest(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change a manifest."""
    content = read_manifest(str(folder))
    assert content is not None
    change(content)
    (folder / "manifest.json").write_text(json.dumps(content))


def rewrite(folder: Path, config: str, change: Callable[[list[dict[str, Any]]], object]) -> None:
    """Change the rows of the first shard of a config, and let the manifest agree with it."""
    path = next((folder / "data" / config).iterdir())
    table = pq.read_table(path)
    rows = table.to_pylist()
    change(rows)
    pq.write_table(pa.Table.from_pylist(rows, table.schema), path)
    agree(folder, config, path, len(rows))


def agree(folder: Path, config: str, path: Path, rows: int) -> None:
    def change(content: dict[str, Any]) -> None:
        shard = content["configs"][config]["shards"][0]
        shard |= {"bytes": path.stat().st_size, "sha256": checksum(str(path), "sha256"), "rows": rows}
        content["configs"][config]["rows"] = rows

    manifest(folder, change)


def test_a_sound_build(built: Path, wikianchor: Run) -> None:
    ended = wikianchor("verify", built, f"--against={DEMO}")
    assert ended.status == 0, ended.output
    assert "FAIL" not in ended.output
    assert ended.output.count("rows derived again") == 5
    assert re.search(r"ok  pages of negatives compared with entities and sentences: [\d,]+ rows", ended.output)
    assert "not looked at" not in ended.output
    # 79 entities of pairs are checked by their rows; all others are derived again.
    assert "rows derived again: 605" in ended.output


def test_a_page_that_the_engines_read_otherwise_fails(
    built: Path, wikianchor: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Core(Wiki):
        def read_element(self, raw: bytes, where: str) -> PageRows:
            rows = super().read_element(raw, where)
            return rows._replace(sentences=rows.sentences[:-1])

    def open_engine(paths: Any, engine: str, **options: Any) -> Wiki:
        wiki = open_wiki(paths, engine="python", **options)
        wiki.__class__ = Core if engine == "core" else Wiki
        return wiki

    monkeypatch.setattr(derive_again, "engine_of", lambda *options: "core")
    monkeypatch.setattr(derive_again, "open_wiki", open_engine)
    ended = wikianchor("verify", built / "sentences" / "enwiki", f"--against={DEMO}", "--rows=1")
    assert ended.status == 1
    assert "FAIL  rows derived again: 3, by python and core" in ended.output
    assert re.search(r"enwiki page \d+: python and core read it otherwise", ended.output)


def test_fewer_rows_than_there_are(built: Path, wikianchor: Run) -> None:
    ended = wikianchor("verify", built / "sentences" / "enwiki", f"--against={DEMO}", "--rows=20")
    assert ended.status == 0
    # Twenty sentences, twenty titles and the twenty fragments, read with every engine that is installed.
    engines = "python" if core.installed_core() is None else "python and core"
    assert f"rows derived again: 60, by {engines}\n" in ended.output


@pytest.mark.parametrize("arguments", [["verify"], ["report"], ["publish", "--to=target"]])
def test_a_dataset_that_is_replaced_meanwhile_is_read_again(
    arguments: list[str], demo: Path, wikianchor: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(demo.parent)
    pairs = demo / "pairs"
    real = reader.filesystem

    def replaced(path: str) -> Any:
        """Give the shards other names when one is about to be read."""
        if "/data/" in path:
            monkeypatch.undo()
            monkeypatch.chdir(demo.parent)
            rename_shards(pairs)
        return real(path)

    monkeypatch.setattr(reader, "filesystem", replaced)
    monkeypatch.setattr(release, "duplicate", lambda source, target: replaced(source))
    ended = wikianchor(arguments[0], pairs, *arguments[1:])
    assert ended.status == 0, ended.said
    assert f"{pairs}: rebuilt while it was read: read again" in "\n".join(ended.progress)


def rename_shards(folder: Path) -> None:
    """Do what a rebuild does: the manifest names other files, and the old ones are deleted."""

    def rename(content: dict[str, Any]) -> None:
        for config in content["configs"].values():
            for shard in config["shards"]:
                path = folder / shard["path"]
                shard["path"] = re.sub(r"-[0-9a-f]{16}\.parquet", ".parquet", shard["path"])
                path.rename(folder / shard["path"])

    manifest(folder, rename)


def first(folder: Path, config: str) -> Path:
    return next((folder / "data" / config).iterdir())


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


FILES: dict[str, tuple[Callable[[Path], object], str]] = {
    "a flipped bit": (lambda folder: flip(first(folder, "pairs")), "its sha256 is"),
    "a cut-off shard": (lambda folder: first(folder, "pairs").write_bytes(b"PAR1"), "has 4 bytes, the manifest says"),
    "a missing shard": (lambda folder: first(folder, "pairs").unlink(), "is missing"),
    "one shard too many": (
        lambda folder: shutil.copy(first(folder, "pairs"), folder / "data/pairs/train-00001-of-00002.parquet"),
        "is not in the manifest",
    ),
    "no ledger": (lambda folder: manifest(folder, lambda content: content.pop("ledger")), "'ledger' is missing"),
    "rows that do not add up": (
        lambda folder: manifest(folder, lambda content: content["configs"]["pairs"].update(rows=3)),
        "do not add up to 3",
    ),
    "fewer rows than told": (
        lambda folder: agree(folder, "pairs", first(folder, "pairs"), 3),
        "rows, the manifest says 3",
    ),
    "a ledger that does not add up": (
        lambda folder: manifest(folder, lambda content: content["ledger"]["links"]["enwiki"].update(red_link=5)),
        "enwiki: the buckets hold",
    ),
    "a ledger that says too much": (
        lambda folder: manifest(
            folder,
            lambda content: content["ledger"]["links"]["enwiki"].update(
                kept=content["ledger"]["links"]["enwiki"]["kept"] + 1,
                seen=content["ledger"]["links"]["enwiki"]["seen"] + 1,
            ),
        ),
        "enwiki: links kept: the ledger says",
    ),
    "other sentences beside it": (
        lambda folder: manifest(folder, lambda content: content["inputs"][0].update(sha256="0" * 64)),
        "has changed since",
    ),
}


@pytest.mark.parametrize("name", FILES)
def test_files_and_ledger(name: str, demo: Path, wikianchor: Run) -> None:
    change, words = FILES[name]
    change(demo / "pairs")
    ended = wikianchor("verify", demo)
    assert ended.status == 1
    assert words in ended.output
    assert ended.output.count("FAIL") == 1
    assert ended.said == [f"wikianchor: {demo}: 1 checks failed: see above, and build what failed again"]


def column(rows: list[dict[str, Any]], name: str, value: Any, row: int = 3) -> None:
    rows[row][name] = value


def link(rows: list[dict[str, Any]], **values: Any) -> None:
    row = next(row for row in rows if row["links"])
    row["links"][0] |= values


ROWS: dict[str, tuple[str, str, Callable[[list[dict[str, Any]]], object], str]] = {
    "a link after the end": ("sentences/enwiki", "sentences", lambda rows: link(rows, end=9999), "outside its text"),
    "a page whose ledger says more": (
        "sentences/enwiki",
        "ledger",
        lambda rows: rows[0]["counts"][0].update(number=9999),
        "in the ledgers of pages: the ledger says",
    ),
    "an empty link": ("sentences/enwiki", "sentences", lambda rows: link(rows, end=0, start=0), "outside its text"),
    "a link to nowhere": ("sentences/enwiki", "sentences", lambda rows: link(rows, target=""), "leads nowhere"),
    "links that overlap": (
        "sentences/enwiki",
        "sentences",
        lambda rows: next(row for row in rows if row["links"])["links"].insert(
            0, {"start": 0, "end": 5000, "target": "X", "fragment": ""}
        ),
        "links overlap",
    ),
    "a region": ("sentences/enwiki", "sentences", lambda rows: column(rows, "region", "foot"), "region is unknown"),
    "another wiki": ("sentences/enwiki", "sentences", lambda rows: column(rows, "wiki", "dewiki"), "another wiki"),
    "no text": ("sentences/enwiki", "sentences", lambda rows: rows[3].update(text="", links=[]), "text is empty"),
    "another order": ("sentences/enwiki", "sentences", lambda rows: rows.insert(0, rows.pop(1)), "does not come after"),
    "one sentence less": (
        "sentences/enwiki",
        "sentences",
        lambda rows: rows.remove(next(row for row in rows if not row["links"])),
        "enwiki: sentences: the ledger says",
    ),
    "one fragment less": (
        "sentences/enwiki",
        "fragments",
        lambda rows: rows.remove(next(row for row in rows if not row["links"])),
        "enwiki: fragments of the region",
    ),
    "a fragment's link less": (
        "sentences/enwiki",
        "fragments",
        lambda rows: next(row for row in rows if row["links"])["links"].pop(),
        "enwiki: links in fragments: the ledger says",
    ),
    "one link less": (
        "sentences/enwiki",
        "sentences",
        lambda rows: next(row for row in rows if row["links"])["links"].pop(),
        "enwiki: links: the ledger says",
    ),
    "a flag": ("sentences/enwiki", "titles", lambda rows: column(rows, "flags", ["x"]), "a flag is unknown"),
    "one title less": ("sentences/enwiki", "titles", lambda rows: rows.pop(), "pages: "),
    "a route": ("entities", "entities", lambda rows: column(rows, "type_route", "none"), "types and their route"),
    "one sitelink less": ("entities", "sitelinks", lambda rows: rows.pop(), "sitelinks: the ledger says"),
    "a mention": ("pairs", "pairs", lambda rows: column(rows, "mention_end", 9999), "outside its text"),
    "a mention of a blank": (
        "pairs",
        "pairs",
        lambda rows: rows[3].update(
            mention_start=rows[3]["text"].index(" "), mention_end=rows[3]["text"].index(" ") + 1
        ),
        "white space at its edge",
    ),
    "another item": ("pairs", "pairs", lambda rows: column(rows, "entity_qid", 1), "are two entities"),
    "an id beyond": ("pairs", "pairs", lambda rows: column(rows, "entity_id", 99999), "not in the table"),
    "itself as negative": (
        "pairs",
        "pairs",
        lambda rows: rows[3].update(
            hard_negative_ids=[rows[3]["entity_id"], rows[3]["hard_negative_ids"][1]],
            hard_negative_qids=[rows[3]["entity_qid"], rows[3]["hard_negative_qids"][1]],
        ),
        "its own hard negative",
    ),
    "a negative twice": (
        "pairs",
        "pairs",
        lambda rows: rows[3].update(
            hard_negative_ids=rows[3]["hard_negative_ids"][:1] * 2,
            hard_negative_qids=rows[3]["hard_negative_qids"][:1] * 2,
        ),
        "comes twice",
    ),
    "too few negatives": (
        "pairs",
        "pairs",
        lambda rows: rows[3].update(
            hard_negative_ids=rows[3]["hard_negative_ids"][:1], hard_negative_qids=rows[3]["hard_negative_qids"][:1]
        ),
        "another number of hard negatives",
    ),
    "items of negatives": (
        "pairs",
        "pairs",
        lambda rows: column(rows, "hard_negative_qids", [1, 2]),
        "ids and items of the hard negatives disagree",
    ),
    "ids out of order": ("pairs", "entities", lambda rows: column(rows, "entity_id", 7), "one by one from 0"),
}


@pytest.mark.parametrize("name", ROWS)
def test_rows(name: str, demo: Path, wikianchor: Run) -> None:
    folder, config, change, words = ROWS[name]
    rewrite(demo / folder, config, change)
    ended = wikianchor("verify", demo / folder)
    assert ended.status == 1
    assert words in ended.output


def test_columns(demo: Path, wikianchor: Run) -> None:
    path = first(demo / "pairs", "pairs")
    table = pq.read_table(path)
    for other, words in (
        (table.drop_columns(["title"]), "has the columns"),
        (table.set_column(1, "mention_start", table["mention_start"].cast(pa.int64())), "the column pyarrow.Field"),
    ):
        pq.write_table(other, path)
        agree(demo / "pairs", "pairs", path, other.num_rows)
        ended = wikianchor("verify", demo / "pairs")
        assert ended.status == 1
        assert words in ended.output


AGAINST: dict[str, tuple[str, str, Callable[[list[dict[str, Any]]], object], str]] = {
    "another revision": ("sentences/enwiki", "sentences", lambda rows: column(rows, "rev_id", 5), "rev_id is 5"),
    "another text": (
        "sentences/enwiki",
        "sentences",
        lambda rows: column(rows, "text", rows[3]["text"] + "!"),
        "derived again it is",
    ),
    "another target": ("sentences/enwiki", "sentences", lambda rows: link(rows, target="Moo"), "links is"),
    "another page": ("sentences/enwiki", "titles", lambda rows: column(rows, "page_id", 99999), "is not in the dump"),
    "another label": ("entities", "entities", lambda rows: column(rows, "labels", []), "labels is []"),
    "another title": ("entities", "sitelinks", lambda rows: column(rows, "title", "Moo"), "title is 'Moo'"),
    "a changed pair": (
        "pairs",
        "pairs",
        lambda rows: column(rows, "text", rows[3]["text"] + "!"),
        "has no such sentence with such a link",
    ),
}


@pytest.mark.parametrize("name", AGAINST)
def test_against_the_dumps(name: str, demo: Path, wikianchor: Run) -> None:
    folder, config, change, words = AGAINST[name]
    rewrite(demo / folder, config, change)
    ended = wikianchor("verify", demo / folder, f"--against={DEMO}")
    assert ended.status == 1
    assert "FAIL  rows derived again" in ended.output
    assert words in ended.output


def test_an_entity_that_the_link_does_not_lead_to(demo: Path, wikianchor: Run) -> None:
    table = pq.read_table(first(demo / "pairs", "entities")).to_pylist()

    def swap(rows: list[dict[str, Any]]) -> None:
        taken = {rows[3]["entity_id"], *rows[3]["hard_negative_ids"]}
        other = next(row for row in table if row["entity_id"] not in taken)
        rows[3].update(entity_id=other["entity_id"], entity_qid=other["qid"])

    rewrite(demo / "pairs", "pairs", swap)
    assert wikianchor("verify", demo / "pairs").status == 0
    ended = wikianchor("verify", demo / "pairs", f"--against={DEMO}")
    assert ended.status == 1
    assert "which is not Q" in ended.output


def test_a_negative_that_the_page_links_to(demo: Path, wikianchor: Run) -> None:
    def swap(rows: list[dict[str, Any]]) -> None:
        row, other = next(
            (row, two)
            for row in rows
            for two in rows
            if row["page_id"] == two["page_id"] and row["wiki"] == two["wiki"] and two["entity_id"] != row["entity_id"]
        )
        row["hard_negative_ids"][0], row["hard_negative_qids"][0] = other["entity_id"], other["entity_qid"]

    rewrite(demo / "pairs", "pairs", swap)
    ended = wikianchor("verify", demo / "pairs", f"--against={DEMO}", "--rows=5000")
    assert "links to its hard negative" in ended.output


def test_other_dumps(demo: Path, tmp_path: Path, wikianchor: Run) -> None:
    (tmp_path / "none").mkdir()
    ended = wikianchor("verify", demo / "pairs", f"--against={tmp_path}/none")
    assert ended.status == 1
    assert "not looked at: enwiki has no dump there" in ended.output
    assert "none could be" in ended.output
    name = "enwiki-20260101-pages-articles-multistream.xml.bz2"
    shutil.copy(DEMO / name.replace("enwiki", "dewiki"), tmp_path / "none" / name)
    ended = wikianchor("verify", demo / "sentences" / "enwiki", f"--against={tmp_path}/none")
    assert "has other bytes" in ended.output


def test_no_dataset(tmp_path: Path, wikianchor: Run) -> None:
    ended = wikianchor("verify", tmp_path)
    assert ended.status == 1
    assert "no finished dataset here" in ended.said[0]
    assert wikianchor("verify", tmp_path, "--rows=0").status == 2


def test_two_builds_in_one_directory(tmp_path: Path, wikianchor: Run) -> None:
    """Each is measured by the entities that it was made of, not by those of the other."""
    demo = Path(__file__).parents[2] / "demo" / "dumps"
    for name, wikis in (("one", "enwiki,dewiki"), ("two", "enwiki")):
        flags = (f"--wikis={wikis}", f"--output={tmp_path}/out/{name}", "--min_links=2")
        assert wikianchor("build", f"--dumps={demo}", *flags).status == 0
    assert wikianchor("verify", tmp_path / "out", f"--against={demo}", "--rows=50").status == 0


def test_a_dataset_that_is_not_derived_again(built: Path, tmp_path: Path, wikianchor: Run) -> None:
    """It passes, alone and beside others, and the remark says what was not done."""
    out = Path(shutil.copytree(built, tmp_path / "out"))
    sentences = f"--sentences={out}/sentences/*"
    for name in ("interlanguage", "mentions"):
        made = wikianchor(name, sentences, f"--entities={out}/entities", f"--output={out}/{name}")
        assert made.status == 0, made.said
    for folder in (out, out / "interlanguage", out / "mentions"):
        ended = wikianchor("verify", folder, f"--against={DEMO}", "--rows=50")
        assert ended.status == 0, ended.output
        assert "--  rows not derived again: this is done for sentences, entities, pairs, documents; " in ended.output
        assert "FAIL" not in ended.output


def test_mentions_beside_other_sentences(built: Path, tmp_path: Path, wikianchor: Run) -> None:
    out = Path(shutil.copytree(built, tmp_path / "out"))
    flags = (f"--sentences={out}/sentences/*", f"--entities={out}/entities", f"--output={out}/mentions")
    assert wikianchor("mentions", *flags).status == 0
    manifest(out / "mentions", lambda content: content["inputs"][0].update(sha256="0" * 64))
    ended = wikianchor("verify", out)
    assert ended.status == 1
    assert "has changed since" in ended.output


def test_one_dataset_whose_dumps_are_elsewhere(built: Path, tmp_path: Path, wikianchor: Run) -> None:
    dumps = Path(shutil.copytree(DEMO, tmp_path / "dumps"))
    for path in dumps.glob("jawiki-*"):
        path.unlink()
    ended = wikianchor("verify", built, f"--against={dumps}", "--rows=50")
    assert ended.status == 0, ended.output
    assert "--  no row derived again: none of its dumps is there" in ended.output
    ended = wikianchor("verify", built, f"--against={tmp_path / 'nothing'}", "--rows=50")
    assert ended.status == 2
    (tmp_path / "nothing").mkdir()
    ended = wikianchor("verify", built, f"--against={tmp_path / 'nothing'}", "--rows=50")
    assert ended.status == 1
    assert "none could be" in ended.output


@pytest.fixture(scope="module")
def exports(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pairs and what `export` makes of them: sentences as a table, labels as text."""
    folder = tmp_path_factory.mktemp("exports")
    shutil.copytree(built / "pairs", folder / "pairs")
    every = ("--language=any", "--max_per_positive=0", "--near_duplicates")
    for name, flags in {
        "sentences": ("--kind=mention",),
        "csv": ("--format=csv", "--kind=label"),
        "jsonl": ("--format=jsonl", "--kind=mention", "--negatives=0"),
    }.items():
        assert main(["export", f"--pairs={folder}/pairs", f"--output={folder}/{name}", *flags, *every]) == 0
    return folder


def test_texts_of_export_are_compared_with_pairs(exports: Path, wikianchor: Run) -> None:
    ended = wikianchor("verify", exports, "--rows=300")
    assert ended.status == 0, ended.output
    assert ended.output.count("ok  texts compared with pairs: 300 rows") == 3
    alone = wikianchor("verify", exports / "csv")
    assert alone.status == 0
    assert "--  texts not compared with their sources: its dataset of pairs is not in" in alone.output


def own_sentence(rows: list[dict[str, Any]]) -> None:
    """Give rows the positive as the negative: it links to the entity."""
    for row in rows:
        row["positive"], row["negative_1"] = row["negative_1"], row["positive"]


EXPORTED: dict[str, tuple[str, Callable[[list[dict[str, Any]]], object], str]] = {
    "an empty text": ("export", lambda rows: column(rows, "negative_1", ""), "negative_1 is empty"),
    "a positive that is the anchor": (
        "export",
        lambda rows: column(rows, "positive", rows[3]["anchor"].upper() + " "),
        "row 3: the positive is the anchor",
    ),
    "two equal negatives": (
        "export",
        lambda rows: column(rows, "negative_2", rows[3]["negative_1"]),
        "row 3: negative_2 is another text of its row",
    ),
    "another positive": (
        "export",
        lambda rows: column(rows, "positive", "A sentence of no page."),
        "positive is no pair of Q",
    ),
    "another anchor": ("export", lambda rows: column(rows, "anchor", "Of no page."), "): anchor is no pair of Q"),
    "a negative that links to the entity": ("export", own_sentence, "negative_1 links to Q"),
    "its own negative": (
        "sources",
        lambda rows: column(rows, "negative_qids", [rows[3]["entity_qid"]] * 2),
        "the entity is its own negative",
    ),
    "another page": ("sources", lambda rows: column(rows, "negative_page_ids", [1, 2]), "negative_1 is no pair of Q"),
    "another wiki": ("sources", lambda rows: column(rows, "wiki", "frwiki"), "rows kept: the ledger says"),
}


@pytest.mark.parametrize("name", EXPORTED)
def test_a_changed_row_of_export(name: str, exports: Path, tmp_path: Path, wikianchor: Run) -> None:
    config, change, problem = EXPORTED[name]
    for part in ("pairs", "sentences"):
        shutil.copytree(exports / part, tmp_path / part)
    rewrite(tmp_path / "sentences", config, change)
    ended = wikianchor("verify", tmp_path)
    assert ended.status == 1
    assert problem in ended.output


def test_a_changed_line_of_export(exports: Path, tmp_path: Path, wikianchor: Run) -> None:
    for part in ("pairs", "csv"):
        shutil.copytree(exports / part, tmp_path / part)
    path = first(tmp_path / "csv", "export")
    lines = gzip.decompress(path.read_bytes()).decode().split("\n")
    anchor = lines[5].split('","')[0]
    lines[5] = f'{anchor}","a name","another name","a third name"'
    path.write_bytes(gzip.compress("\n".join(lines).encode()))
    agree(tmp_path / "csv", "export", path, len(lines) - 2)
    ended = wikianchor("verify", tmp_path)
    assert ended.status == 1
    assert "positive is no label of Q" in ended.output
