"""Compare texts of `export` with the datasets that they were taken from."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from wikianchor.pipelines.arrays.sample_rows import sample, sample_numbers
from wikianchor.pipelines.commands.verify.rows import schema_of
from wikianchor.pipelines.dataset.inputs import fingerprint
from wikianchor.pipelines.dataset.reader import Dataset, read_batches
from wikianchor.pipelines.dataset.text_part_reader import read_text_batches

SENTENCE = "sentence"
# The column of `entities` that has the texts of a kind.
COLUMNS = {"label": "labels", "description": "descriptions", "alias": "aliases"}


def sources_of(dataset: Dataset, datasets: Sequence[Dataset]) -> dict[str, Dataset] | str:
    """Return the datasets that a dataset of `export` was made from, by name; or the name of one that is not there."""
    sources = {}
    for source in dataset.manifest["inputs"]:
        name = source["dataset"]
        same_name = [other for other in datasets if other.manifest["dataset"] == name]
        matching = [other for other in same_name if fingerprint(other) == source["sha256"]]
        if not matching:
            return str(name)
        sources[name] = matching[0]
    return sources


def compare_texts(dataset: Dataset, sources: Mapping[str, Dataset], rows: int, seed: int) -> tuple[int, list[str]]:
    """Compare sampled rows with their sources; return their number and what is wrong.

    The anchor and every other sentence must be rows of `pairs` for the page and the item that `sources` names, a
    negative must not link to the entity of its row, and another text must be one that its item has.

    Args:
        dataset: of `export`.
        sources: the datasets that it was made from.
        rows: number of rows.
        seed: of the sample.
    """
    options = dataset.manifest["options"]
    texts, origins = _sampled_texts(dataset, rows, seed), sample(dataset, "sources", rows, seed)
    wanted = {text for row in texts for text in row.values()}
    sentences = _sentences(sources["pairs"], wanted)
    kinds = {options["positive"], *([options["negative"]] if options["negatives"] else [])} - {SENTENCE}
    qids = {qid for row in origins for qid in (row["entity_qid"], *row["negative_qids"])}
    of_items = {kind: _texts_of_items(sources, kind, qids) for kind in kinds}
    problems: list[str] = []
    for row, origin in zip(texts, origins, strict=True):
        where = f"{origin['wiki']} page {origin['page_id']} ({origin['title']})"
        entity = origin["entity_qid"]
        of_anchor = {(wiki, page, qid) for wiki, page, qid in sentences.get(row["anchor"], ())}
        if (origin["wiki"], origin["page_id"], entity) not in of_anchor:
            problems.append(f"{where}: its anchor is no pair of Q{entity}: {row['anchor']!r:.300}")
        negatives = [text for name, text in row.items() if name.startswith("negative_")]
        pages = list(zip(origin["negative_wikis"], origin["negative_page_ids"], strict=True))
        others = [
            (
                "positive",
                options["positive"],
                row["positive"],
                entity,
                origin["positive_wiki"],
                origin["positive_page_id"],
            )
        ]
        for number, (text, qid) in enumerate(zip(negatives, origin["negative_qids"], strict=True)):
            wiki, page = pages[number] if pages else (None, None)
            others.append((f"negative_{number + 1}", options["negative"], text, qid, wiki, page))
            if any(linked == entity for _, _, linked in sentences.get(text, ())):
                problems.append(f"{where}: negative_{number + 1} links to Q{entity} itself: {text!r:.300}")
        for name, kind, text, qid, wiki, page in others:
            if kind != SENTENCE and text not in of_items[kind].get(qid, ()):
                problems.append(f"{where}: {name} is no {kind} of Q{qid}: {text!r:.300}")
            if kind == SENTENCE and (wiki, page, qid) not in sentences.get(text, ()):
                problems.append(f"{where}: {name} is no pair of Q{qid} in {wiki} page {page}: {text!r:.300}")
    return len(texts), problems


def _sampled_texts(dataset: Dataset, rows: int, seed: int) -> list[dict[str, Any]]:
    """Return the rows of text that `sample` returns the origins of."""
    if dataset.manifest["options"]["format"] == "sentence-transformers":
        return sample(dataset, "export", rows, seed)
    schema = schema_of(dataset, "export")
    assert schema is not None
    wanted = sample_numbers(dataset.rows("export"), rows, seed)
    sampled: list[dict[str, Any]] = []
    begin = 0
    for path in dataset.shards("export"):
        for batch in read_text_batches(path, schema):
            low, high = np.searchsorted(wanted, (begin, begin + batch.num_rows))
            sampled += batch.take(pa.array(wanted[low:high] - begin)).to_pylist()
            begin += batch.num_rows
    return sampled


def _sentences(pairs: Dataset, wanted: Collection[str]) -> Mapping[str, set[tuple[str, int, int]]]:
    """Return wiki, page and item of each row of pairs that has one of these texts, by text."""
    values = pa.array(sorted(wanted), pa.string())
    sentences = defaultdict(set)
    for path in pairs.shards("pairs"):
        for batch in read_batches(path, ["text", "wiki", "page_id", "entity_qid"]):
            for row in batch.filter(pc.is_in(batch["text"], value_set=values)).to_pylist():
                sentences[row["text"]].add((row["wiki"], row["page_id"], row["entity_qid"]))
    return sentences


def _texts_of_items(sources: Mapping[str, Dataset], kind: str, qids: Collection[int]) -> Mapping[int, set[str]]:
    """Return the labels, descriptions or aliases of items, by number of the item."""
    dataset, column = (sources["entities"], COLUMNS[kind]) if "entities" in sources else (sources["pairs"], "label")
    values = pa.array(sorted(qids), pa.int64())
    texts = {}
    for row in _rows(dataset, column, values):
        texts[row["qid"]] = {row["label"]} if column == "label" else {text["text"] for text in row[column]}
    return texts


def _rows(dataset: Dataset, column: str, qids: pa.Array) -> Iterator[dict[str, Any]]:
    for path in dataset.shards("entities"):
        for batch in read_batches(path, ["qid", column]):
            yield from batch.filter(pc.is_in(batch["qid"], value_set=qids)).to_pylist()
