"""`wikianchor link`: loaders of public sets, and scores of the baselines."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.stand_in import write_dataset
from wikianchor.io.errors import InputError, UsageError
from wikianchor.schemas import linking as schema
from wikianchor.trainer.linking import command
from wikianchor.trainer.linking.knowledge import held_out, open_linking
from wikianchor.trainer.linking.mentions import read_mentions
from wikianchor.trainer.linking.options import parse

NEWS = "Paris met Paris Hilton in Paris, Texas."


def name(key: str, links: int, *candidates: tuple[int, float]) -> dict[str, Any]:
    of_name = [{"qid": qid, "prior": prior} for qid, prior in candidates]
    return {
        "wiki": "enwiki",
        "key": key,
        "surfaces": [key.title()],
        "name_links": links,
        "occurrences": links,
        "candidates": of_name,
    }


def item(qid: int, title: str, lead: str) -> dict[str, Any]:
    page = {"wiki": "enwiki", "page_id": qid, "title": title, "lead": lead}
    none: dict[str, Any] = {"types": [], "labels": [], "descriptions": None, "aliases": None}
    return {"qid": qid, "links": 1, **none, "pages": [page]}


def row(qid: int, start: int, rank: int | None, surface: str = "Paris", **changed: Any) -> dict[str, Any]:
    place = {"wiki": "enwiki", "page_id": 1, "rev_id": 1, "timestamp": "", "title": "News", "page_qid": None}
    context = {"left": NEWS[:start], "surface": surface, "right": NEWS[start + len(surface) :]}
    return {
        **place,
        **{"section": [], "block": "paragraph", "start": start, "end": start + len(surface), **context},
        **{"target_wiki": "enwiki", "target": "Paris", "fragment": "", "qid": qid, "key": surface.lower()},
        **{"candidates": [], "rank": 0, "held_out_rank": rank, "item_split": "test", "date_split": None, **changed},
    }


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    names = [name("paris", 4, (90, 0.75), (830149, 0.25)), name("paris hilton", 1, (47899, 1.0))]
    items = [
        item(90, "Paris", "Paris is the capital of France."),
        item(47899, "Paris Hilton", "Paris Hilton is a businesswoman."),
        item(830149, "Paris, Texas", "Paris is a city in Texas."),
    ]
    rows = [
        row(90, 0, 0),
        row(47899, 10, None, "Paris Hilton"),
        row(830149, 26, None),
        row(90, 26, 0, fragment="History"),
    ]
    return write_dataset(
        tmp_path_factory.mktemp("data") / "linking",
        "linking",
        {"names": {"enwiki": "enwiki"}, "format": "parquet"},
        {
            "names": (schema.NAMES, [names]),
            "items": (schema.ITEMS, [items]),
            "linking_test": (schema.SCHEMA, [rows]),
        },
    )


def write_lines(path: Path, *documents: object) -> Path:
    path.write_text("".join(f"{json.dumps(document)}\n" for document in documents))
    return path


def write_mewsli9(directory: Path) -> Path:
    (directory / "en/text").mkdir(parents=True)
    (directory / "en/text/en-1").write_text(NEWS)
    head = "docid\tposition\tlength\tmention\turl\tqid\n"
    rows = "en-1\t0\t5\tParis\thttp://en.wikipedia.org/wiki/Paris\tQ90\nen-1\t10\t12\tParis Hilton\t\tQ47899\n"
    (directory / "en/mentions.tsv").write_text(head + rows)
    return directory


AIDA = """-DOCSTART- (1 EU)
EU\tB\tEU\t--NME--
met
Paris\tB\tParis Hilton\tParis_Hilton\thttp://en.wikipedia.org/wiki/Paris_Hilton\t1\t/m/1
Hilton\tI\tParis Hilton\tParis_Hilton\thttp://en.wikipedia.org/wiki/Paris_Hilton\t1\t/m/1

Paris\tB\tParis\tParis\thttp://en.wikipedia.org/wiki/Paris\t90\t/m/2
Nice\tB\tNice\tNice\thttp://en.wikipedia.org/wiki/Nice\t33959\t/m/3

"""


def test_mewsli9(tmp_path: Path) -> None:
    mentions = list(read_mentions(str(write_mewsli9(tmp_path)), "xx"))
    assert [(mention.language, mention.surface, mention.qid) for mention in mentions] == [
        ("en", "Paris", 90),
        ("en", "Paris Hilton", 47899),
    ]
    assert mentions[1].left + mentions[1].surface + mentions[1].right == NEWS


def test_mewsli_x(tmp_path: Path) -> None:
    span = {"start": 26, "end": 31, "text": "Paris"}
    mention = {"example_id": "1", "entity_id": "Q830149", "mention_span": span}
    context = {"document_id": "1", "language": "de", "text": NEWS, "sentence_spans": []}
    empty = {**context, "text": ""}
    path = write_lines(
        tmp_path / "wikinews_mentions-test.jsonl",
        {"context": context, "mentions": [mention]},
        {"context": empty, "mentions": [mention]},
    )
    full, bare = read_mentions(str(path), "xx")
    assert (full.language, full.qid, full.surface, full.right) == ("de", 830149, "Paris", ", Texas.")
    assert (bare.surface, bare.left) == ("Paris", "")


def test_aida(tmp_path: Path) -> None:
    (tmp_path / "aida.tsv").write_text(AIDA)
    mentions = list(read_mentions(f"{tmp_path}/aida.tsv", "en"))
    assert [(mention.surface, mention.title) for mention in mentions] == [
        ("Paris Hilton", "en:Paris Hilton"),
        ("Paris", "en:Paris"),
        ("Nice", "en:Nice"),
    ]
    assert mentions[0].left == "EU met "


def test_elevant(tmp_path: Path) -> None:
    label = {"id": 0, "parent": None, "children": [], "name": ""}
    labels = [
        {**label, "span": [0, 5], "entity_id": "Q90", "optional": False},
        {**label, "span": [10, 22], "entity_id": "Q47899", "optional": True},
        {**label, "span": [26, 31], "entity_id": "Q830149", "optional": False},
    ]
    answer = {"span": [0, 5], "id": "Q142", "candidates": ["Q90", "Q142"], "linked_by": "X", "recognized_by": "Y"}
    simple = [{"entity_reference": "Paris_Hilton", "start_char": 10, "end_char": 22}]
    path = write_lines(
        tmp_path / "benchmark.jsonl",
        {"id": 1, "text": NEWS, "labels": labels, "entity_mentions": [answer]},
        {"text": NEWS, "labels": simple},
    )
    first, second, third = read_mentions(str(path), "en")
    assert (first.qid, first.answers, second.qid, second.answers) == (90, (142, 90), 830149, ())
    assert (third.qid, third.title, third.answers) == (0, "en:Paris Hilton", None)


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("mentions.tsv", "docid\tqid\nx\tQ1\n", "line 2: not a mention with docid, position, length and qid"),
        ("a.tsv", "-DOCSTART-\nX\tB\tX\tX\tsomewhere\n", "line 2: a mention without the address of an article"),
        ("a.jsonl", '{"text": "x"}\n', "line 1: not a document of Mewsli-X"),
        ("a.jsonl", "[" * 100_000, "line 1: not a document of Mewsli-X"),
    ],
)
def test_malformed_files(name: str, content: str, problem: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(InputError, match=problem):
        list(read_mentions(f"{tmp_path}/{name}", "en"))


def test_texts_that_are_not_there_are_named(tmp_path: Path) -> None:
    (write_mewsli9(tmp_path) / "en/text/en-1").unlink()
    with pytest.raises(InputError, match=r"en-1: cannot be read .* fetch the texts"):
        list(read_mentions(str(tmp_path), "en"))
    with pytest.raises(UsageError, match="no such file"):
        list(read_mentions(f"{tmp_path}/none", "en"))


def scores(text: str) -> dict[tuple[str, ...], list[str]]:
    """Return the cells of each line of a table, by set, language and method."""
    lines = [line.strip("| ").split(" | ") for line in text.splitlines()[2:]]
    return {tuple(cells[:3]): cells[3:] for cells in lines}


def test_rows_of_a_dataset_are_scored_without_their_own_link(dataset: Path) -> None:
    # One of Paris' three links less is two of three. The other two names stand for their item by this link alone.
    assert scores(command.run(parse([f"--linking={dataset}"]))) == {
        ("linking_test", "en", "prior"): ["3", "0", "0.333", "0.333", "0.333"]
    }
    linking = open_linking(str(dataset))
    chosen = [list(held_out(linking, 2, seed)) for seed in range(8)]
    assert {len(of_seed) for of_seed in chosen} == {2}
    assert len({tuple(mention.qid for mention in of_seed) for of_seed in chosen}) > 1
    assert chosen[1] == list(held_out(linking, 2, 1))


def test_files_are_scored(dataset: Path, tmp_path: Path) -> None:
    (tmp_path / "aida.tsv").write_text(AIDA)
    label = {"span": [26, 31], "entity_id": "Q830149"}
    answer = {"span": [26, 31], "id": "Q830149"}
    path = write_lines(tmp_path / "x.jsonl", {"text": NEWS, "labels": [label], "entity_mentions": [answer]})
    flags = [f"--linking={dataset}", f"--data={write_mewsli9(tmp_path / 'nine')},{tmp_path}/aida.tsv,{path}"]
    assert scores(command.run(parse(flags))) == {
        # Nice has no page in the dataset.
        ("AIDA", "en", "prior"): ["2", "1", "1.000", "1.000", "1.000"],
        ("ELEVANT", "en", "prior"): ["1", "0", "0.000", "1.000", "1.000"],
        ("ELEVANT", "en", "answers"): ["1", "0", "1.000", "1.000", "1.000"],
        ("Mewsli-9", "en", "prior"): ["2", "0", "1.000", "1.000", "1.000"],
    }
    with pytest.raises(InputError, match="no mention with an item in these languages"):
        command.run(parse([*flags, "--languages=fr,sv"]))


def test_a_model_ranks_the_candidates(
    dataset: Path, tiny_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    label = {"span": [26, 31], "entity_id": "Q830149"}
    path = write_lines(tmp_path / "x.jsonl", {"text": NEWS, "labels": [label]})
    flags = [f"--linking={dataset}", f"--data={path}", f"--model={tiny_model}"]
    of_sets = scores(command.run(parse(flags)))
    assert of_sets["ELEVANT", "en", f"prior + {tiny_model}"][3:] == ["1.000", "1.000"]
    # Only the cosine decides, and both candidates have a vector.
    ranks = set()
    for weight in (1e6, -1e6):
        monkeypatch.setattr(command, "WEIGHT", weight)
        ranks.add(scores(command.run(parse(flags)))["ELEVANT", "en", f"prior + {tiny_model}"][2])
    assert ranks == {"0.000", "1.000"}


def test_other_formats_are_refused(tmp_path: Path, wikianchor: Callable[..., Any]) -> None:
    path = write_dataset(tmp_path / "kilt", "linking", {"names": {"enwiki": "enwiki"}, "format": "kilt"}, {})
    assert command.main([f"--linking={path}"]) == 1
