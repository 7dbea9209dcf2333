"""`export --kind=section`: the path of a heading, and the passage below it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.stand_in import Item, Page, read_rows, run_pairs, write_entities, write_sentences
from wikianchor.io.errors import InputError
from wikianchor.pipelines.commands.verify.exported import compare_texts, sources_of
from wikianchor.pipelines.dataset.reader import find_datasets
from wikianchor.pipelines.export import graph
from wikianchor.pipelines.export.options import ExportOptions
from wikianchor.pipelines.export.page_texts import texts_of_document

TOWNS = ("Ay", "Bee", "Cee", "Dee", "Eff", "Gee")
# Kind, text, and for a heading its level.
BLOCKS = (
    ("paragraph", "{0} is a town.", 0),
    ("heading", "Past", 2),
    ("paragraph", "Monks built {0}. It grew\nwith trade. A fire came to {0}.", 0),
    ("paragraph", "Then {0} was sold.", 0),
    ("heading", "War", 3),
    ("paragraph", "In \ufffc the walls of {0} fell. They were not built again.", 0),
    ("heading", "Peace", 3),
    ("list_item", "A list of mayors of {0}.", 0),
    ("paragraph", "Peace made {0} rich.", 0),
    ("heading", "People", 2),
)


def document(number: int, title: str) -> dict[str, Any]:
    """Return a row of `documents`, whose sentences end in a full stop."""
    text, blocks, sections, sentences = "", [], [], []
    for kind, pattern, level in BLOCKS:
        start, words = len(text), pattern.format(title)
        if kind == "heading":
            sections.append({"title": words, "level": level, "start": start, "end": start})
        of_block = {"kind": kind, "start": start, "end": start + len(words), "section": len(sections) - 1}
        blocks.append({**of_block, "depth": int(kind == "list_item")})
        first = start
        while kind != "heading" and first < start + len(words):
            end = words.index(".", first - start) + 1 + start
            if "\ufffc" not in words[first - start : end - start]:
                sentence = {"sentence_index": len(sentences), "region": "body", "start": first, "end": end}
                sentences.append(sentence)
            first = end + 1
        text += f"{words}\n"
    empty: dict[str, Any] = {"timestamp": "", "url": "", "qid": None, "categories": [], "links": []}
    row = {"wiki": "enwiki", "page_id": number, "rev_id": 1000 + number, "title": title, "text": text.rstrip("\n")}
    return {**row, **empty, "sections": sections, "blocks": blocks, "sentences": sentences}


def test_headings_and_passages_of_a_page() -> None:
    page = document(1, "Ay")
    assert texts_of_document("heading", page, 2) == [(0, "Ay > Past"), (2, "Ay > Past > Peace")]
    passages = [(0, "Monks built Ay. It grew with trade."), (2, "Peace made Ay rich.")]
    assert texts_of_document("passage", page, 2) == passages
    assert texts_of_document("passage", page, 9)[0] == (0, "Monks built Ay. It grew with trade. A fire came to Ay.")


def test_a_heading_and_the_passage_below_it(tmp_path: Path) -> None:
    links = [Page(f"Page {name}", [f"The road of {word} leads to [[{name}]]." for word in "abc"]) for name in TOWNS]
    pages = [*(Page(name, [f"{name} is a town."]) for name in TOWNS), *links]
    documents = [document(number, name) for number, name in enumerate(TOWNS, 1)]
    sentences = write_sentences(tmp_path / "sentences" / "enwiki", "enwiki", pages, documents=documents)
    items = [Item(number, [9], {"enwiki": name}) for number, name in enumerate(TOWNS, 1)]
    entities = write_entities(tmp_path / "entities", ["enwiki"], items)
    run_pairs([sentences], entities, tmp_path / "pairs", negatives=1)
    options = ExportOptions(
        pairs=f"{tmp_path}/pairs", output=f"{tmp_path}/out", kind="section", near_duplicates=True
    ).completed()
    graph.run(options, [])
    rows = list(zip(read_rows(tmp_path / "out", "export"), read_rows(tmp_path / "out", "sources"), strict=True))
    together = {
        (name, *pair)
        for name in TOWNS
        for pair in (
            (f"{name} > Past", f"Monks built {name}. It grew with trade."),
            (f"{name} > Past > Peace", f"Peace made {name} rich."),
        )
    }
    assert len(rows) >= len(TOWNS)
    assert len({row["anchor"] for row, _ in rows}) == len(rows)
    for row, source in rows:
        assert (TOWNS[source["entity_qid"] - 1], row["anchor"], row["positive"]) in together
        assert row["negative_1"] in {passage for name, _, passage in together if name not in row["anchor"]}
        assert (source["page_id"], source["wiki"]) == (source["positive_page_id"], source["positive_wiki"])
    datasets = find_datasets(str(tmp_path))
    (exported,) = [dataset for dataset in datasets if dataset.name == "export"]
    sources = sources_of(exported, datasets)
    assert not isinstance(sources, str)
    assert compare_texts(exported, sources, 20, 1) == (len(rows), [])


def test_sections_need_documents(tmp_path: Path) -> None:
    pages = [*(Page(name, [f"{name} is a town."]) for name in TOWNS), Page("Road", ["It leads to [[Ay]]."])]
    sentences = write_sentences(tmp_path / "sentences" / "enwiki", "enwiki", pages)
    items = [Item(number, [9], {"enwiki": name}) for number, name in enumerate(TOWNS, 1)]
    entities = write_entities(tmp_path / "entities", ["enwiki"], items)
    run_pairs([sentences], entities, tmp_path / "pairs", negatives=0)
    options = ExportOptions(pairs=f"{tmp_path}/pairs", output=f"{tmp_path}/out", kind="section").completed()
    with pytest.raises(InputError, match=r"--kind=section needs documents: .*/enwiki: build it again with --documents"):
        graph.run(options, [])
