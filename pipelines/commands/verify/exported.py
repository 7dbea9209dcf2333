"""Compare texts of `export` with the datasets that they were taken from."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from wikianchor.pipelines.arrays.sample_rows import sample, sample_numbers
from wikianchor.pipelines.commands.verify.rows import schema_of
from wikianchor.pipelines.dataset.inputs import fingerprint, wiki_of
from wikianchor.pipelines.dataset.reader import Dataset, read_batches
from wikianchor.pipelines.dataset.text_part_reader import read_text_batches
from wikianchor.pipelines.export.leads import Lead, lead_sentences_of, page_leads
from wikianchor.pipelines.export.steps import COLUMNS, LEAD, SENTENCE, TITLE
from wikianchor.schemas.choices import OF_PAGES


class Text(NamedTuple):
    """A text of a row, and what `sources` says of it.

    Attributes:
        name: its column.
        kind: its kind, such as "lead".
        text: the text.
        qid: its entity.
        wiki, page: the page that it is from; None for a text of Wikidata.
    """

    name: str
    kind: str
    text: str
    qid: int
    wiki: str | None
    page: int | None


class Origins(NamedTuple):
    """What the datasets that rows were made from hold of their texts.

    Attributes:
        pairs: wiki, page and linked entity of each row of pairs, by its text.
        pages: the title and the lead of pages, by wiki and page.
        items: the items of pages, by wiki and title and by wiki and page.
        texts: the texts of Wikidata, by kind and item.
    """

    pairs: Mapping[str, set[tuple[str, int, int]]]
    pages: Mapping[tuple[str, int], Lead]
    items: Mapping[tuple[str, str | int], int]
    texts: Mapping[tuple[str, int], set[str]]

    def problem(self, text: Text) -> str:
        """Return what is wrong with a text, "" if nothing is."""
        if text.kind == SENTENCE:
            is_there = (text.wiki, text.page, text.qid) in self.pairs.get(text.text, ())
            return "" if is_there else f"no pair of Q{text.qid} in {text.wiki} page {text.page}"
        if text.kind not in OF_PAGES:
            is_there = text.text in self.texts.get((text.kind, text.qid), ())
            return "" if is_there else f"no {text.kind} of Q{text.qid}"
        lead = self.pages.get((text.wiki or "", text.page or 0))
        if lead is None or text.text != (lead.text if text.kind == LEAD else lead.title):
            return f"not the {text.kind} of {text.wiki} page {text.page}"
        wiki = str(text.wiki)
        qid = self.items.get((wiki, lead.page_id), self.items.get((wiki, lead.title)))
        return "" if qid == text.qid else f"the {text.kind} of a page of Q{qid}, not of Q{text.qid}"


def sources_of(dataset: Dataset, datasets: Sequence[Dataset]) -> dict[str, list[Dataset]] | str:
    """Return the datasets that a dataset of `export` was made from, by name; or the name of one that is not there."""
    sources: dict[str, list[Dataset]] = defaultdict(list)
    for source in dataset.manifest["inputs"]:
        name = source["dataset"]
        same_name = [other for other in datasets if other.name == name]
        matching = [other for other in same_name if fingerprint(other) == source["sha256"]]
        if not matching:
            return str(name)
        sources[name].append(matching[0])
    return sources


def compare_texts(
    dataset: Dataset, sources: Mapping[str, Sequence[Dataset]], rows: int, seed: int
) -> tuple[int, list[str]]:
    """Compare sampled rows with their sources; return their number and what is wrong.

    Each sentence must be a row of `pairs` for the page and the item that `sources` names, a lead or title that of the
    item's page, another text one that its item has; and no negative may link to the entity of its row.

    Args:
        dataset: the dataset of `export`.
        sources: the datasets that it was made from, by name.
        rows: the number of rows to compare.
        seed: the seed of the sample.
    """
    options = dataset.options
    sampled = zip(_sampled_texts(dataset, rows, seed), sample(dataset, "sources", rows, seed), strict=True)
    of_rows = [(row, origin, list(_texts_of(row, origin, options))) for row, origin in sampled]
    origins = _origins([text for _, _, texts in of_rows for text in texts], sources, options["lead_sentences"])
    problems: list[str] = []
    for row, origin, texts in of_rows:
        where = f"{origin['wiki']} page {origin['page_id']} ({origin['title']})"
        for text in texts:
            if problem := origins.problem(text):
                problems.append(f"{where}: {text.name} is {problem}: {text.text!r:.300}")
            is_negative = text.qid != origin["entity_qid"]
            if is_negative and any(qid == origin["entity_qid"] for _, _, qid in origins.pairs.get(text.text, ())):
                problems.append(f"{where}: {text.name} links to Q{origin['entity_qid']} itself: {text.text!r:.300}")
        if len(set(row.values())) < len(row):
            problems.append(f"{where}: two of its texts are the same: {row['anchor']!r:.300}")
    return len(of_rows), problems


def _texts_of(row: Mapping[str, str], origin: Mapping[str, Any], options: Mapping[str, Any]) -> Iterator[Text]:
    """Yield the texts of a row."""
    qid = origin["entity_qid"]
    yield Text("anchor", options["anchor"], row["anchor"], qid, wiki=origin["wiki"], page=origin["page_id"])
    wiki, page = origin["positive_wiki"], origin["positive_page_id"]
    yield Text("positive", options["positive"], row["positive"], qid, wiki=wiki, page=page)
    pages = zip_longest(origin["negative_qids"], origin["negative_wikis"], origin["negative_page_ids"])
    for number, (qid, wiki, page) in enumerate(pages, 1):
        yield Text(f"negative_{number}", options["negative"], row[f"negative_{number}"], qid, wiki=wiki, page=page)


def _origins(texts: Sequence[Text], sources: Mapping[str, Sequence[Dataset]], lead_sentences: int) -> Origins:
    """Read what there is about texts in the datasets that they are from."""
    pages = {(text.wiki, text.page) for text in texts if text.kind in (LEAD, TITLE)}
    leads = {
        (wiki_of(dataset), lead.page_id): lead
        for dataset in sources.get("sentences", ())
        for path in dataset.shards("sentences")
        for lead in page_leads(lead_sentences_of(path), lead_sentences)
        if (wiki_of(dataset), lead.page_id) in pages
    }
    titles = {(wiki, lead.title) for (wiki, _), lead in leads.items()}
    items: dict[tuple[str, str | int], int] = {}
    for dataset in sources.get("entities", ()) if leads else ():
        for path in dataset.shards("sitelinks"):
            for batch in read_batches(path, ["wiki", "qid", "title", "page_id"]):
                for link in batch.to_pylist():
                    if (link["wiki"], link["title"]) in titles:
                        items[link["wiki"], link["title"]] = link["qid"]
                    elif (link["wiki"], link["page_id"]) in leads:
                        items[link["wiki"], link["page_id"]] = link["qid"]
    of_items: dict[tuple[str, int], set[str]] = {}
    for kind in {text.kind for text in texts}.difference(OF_PAGES):
        qids = {text.qid for text in texts if text.kind == kind}
        of_items |= {(kind, qid): matching for qid, matching in _texts_of_items(sources, kind, qids).items()}
    return Origins(_sentences(sources["pairs"][0], {text.text for text in texts}), leads, items, of_items)


def _sampled_texts(dataset: Dataset, rows: int, seed: int) -> list[dict[str, Any]]:
    """Return the rows of text that `sample` returns the origins of."""
    if dataset.options["format"] == "sentence-transformers":
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


def _texts_of_items(
    sources: Mapping[str, Sequence[Dataset]], kind: str, qids: Collection[int]
) -> Mapping[int, set[str]]:
    """Return the labels, descriptions or aliases of items, by number of the item."""
    has_entities = "entities" in sources
    dataset, column = (sources["entities"][0], COLUMNS[kind]) if has_entities else (sources["pairs"][0], "label")
    texts = {}
    for row in dataset.items(column, qids):
        texts[row["qid"]] = {row["label"]} if column == "label" else {text["text"] for text in row[column]}
    return texts
