"""Compare texts of `export` with the datasets that they were taken from."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain, zip_longest
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from wikianchor.pipelines.arrays.sample_rows import sample, sample_numbers
from wikianchor.pipelines.commands.verify.rows import schema_of
from wikianchor.pipelines.dataset.inputs import fingerprint, wiki_of
from wikianchor.pipelines.dataset.reader import Dataset
from wikianchor.pipelines.dataset.text_parts import read_text_batches
from wikianchor.pipelines.export.page_texts import config_of, texts_of_pages
from wikianchor.pipelines.export.texts import COLUMNS, OF_PAGES, PAGE_TEXTS, SENTENCE
from wikianchor.schemas.choices import KINDS


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


class PageTexts(NamedTuple):
    """A page and its texts.

    Attributes:
        page_id, title: the page.
        texts: its texts, by kind and number; see `texts_of_pages`.
    """

    page_id: int
    title: str
    texts: dict[str, dict[int, str]]

    def are_together(self, first: Text, second: Text) -> bool:
        """Return whether two texts have the same number."""
        texts, others = (self.texts.get(text.kind, {}) for text in (first, second))
        return any(text == first.text and others.get(number) == second.text for number, text in texts.items())


class Origins(NamedTuple):
    """What the datasets that rows were made from hold of their texts.

    Attributes:
        pairs: wiki, page and linked entity of each row of pairs, by its text.
        pages: pages by wiki and number of the page.
        items: the items of pages, by wiki and title and by wiki and page.
        texts: the texts of Wikidata, by kind and item.
    """

    pairs: Mapping[str, set[tuple[str, int, int]]]
    pages: Mapping[tuple[str, int], PageTexts]
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
        page = self.pages.get((text.wiki or "", text.page or 0))
        if page is None or text.text not in page.texts.get(text.kind, {}).values():
            return f"no {text.kind} text of {text.wiki} page {text.page}"
        wiki = str(text.wiki)
        qid = self.items.get((wiki, page.page_id), self.items.get((wiki, page.title)))
        return "" if qid == text.qid else f"a text of a page of Q{qid}, not of Q{text.qid}"


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

    Each sentence must be a row of `pairs` for the page and the item that `sources` names, a lead, title or adjacent
    sentence one of the item's page, another text one that its item has. Texts of one page must belong together, and no
    negative sentence may link to the entity of its row.

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
            # A lead may name other entities: it says what its own is.
            is_negative = text.kind == SENTENCE and text.qid != origin["entity_qid"]
            if is_negative and any(qid == origin["entity_qid"] for _, _, qid in origins.pairs.get(text.text, ())):
                problems.append(f"{where}: {text.name} links to Q{origin['entity_qid']} itself: {text.text!r:.300}")
        anchor, positive = texts[0], texts[1]
        page = origins.pages.get((anchor.wiki or "", anchor.page or 0))
        of_one_page = {anchor.kind, positive.kind} <= {*PAGE_TEXTS} and positive[-2:] == anchor[-2:]
        if page and of_one_page and not page.are_together(anchor, positive):
            problems.append(f"{where}: anchor and positive do not belong together: {row['anchor']!r:.300}")
        if len({text.text for text in texts}) < len(texts):
            problems.append(f"{where}: two of its texts are the same: {row['anchor']!r:.300}")
    return len(of_rows), problems


def _texts_of(row: Mapping[str, str], origin: Mapping[str, Any], options: Mapping[str, Any]) -> Iterator[Text]:
    """Yield the texts of a row."""
    qid = origin["entity_qid"]
    anchor_kind, positive_kind, negative_kind = KINDS[options["kind"]]
    yield Text("anchor", anchor_kind, row["anchor"], qid, wiki=origin["wiki"], page=origin["page_id"])
    wiki, page = origin["positive_wiki"], origin["positive_page_id"]
    yield Text("positive", positive_kind, row["positive"], qid, wiki=wiki, page=page)
    pages = zip_longest(origin["negative_qids"], origin["negative_wikis"], origin["negative_page_ids"])
    for number, (qid, wiki, page) in enumerate(pages, 1):
        name = f"negative_{number}"
        yield Text(name, negative_kind, row[name], qid, wiki=wiki, page=page)


def _origins(texts: Sequence[Text], sources: Mapping[str, Sequence[Dataset]], lead_sentences: int) -> Origins:
    """Read what there is about texts in the datasets that they are from."""
    kinds = {text.kind for text in texts}
    wanted = {(text.wiki, text.page) for text in texts if text.kind in PAGE_TEXTS}
    pages: dict[tuple[str, int], PageTexts] = {}
    for dataset in sources.get("sentences", ()) if wanted else ():
        wiki = wiki_of(dataset)
        ids = np.array(sorted(page for of_wiki, page in wanted if of_wiki == wiki and page), np.int64)
        for kind in kinds & {*PAGE_TEXTS}:
            for path in dataset.shards(config_of(kind)):
                for text in chain.from_iterable(
                    texts.to_pylist() for texts in texts_of_pages(path, kind, lead_sentences, ids)
                ):
                    of_page = PageTexts(text["page_id"], text["title"], {})
                    of_page = pages.setdefault((wiki, of_page.page_id), of_page)
                    of_page.texts.setdefault(kind, {})[text["number"]] = text["text"]
    titles = {(wiki, page.title) for (wiki, _), page in pages.items()}
    items: dict[tuple[str, str | int], int] = {}
    for dataset in sources.get("entities", ()) if pages else ():
        for link in dataset.iterate("sitelinks", ["wiki", "qid", "title", "page_id"]):
            if (link["wiki"], link["title"]) in titles:
                items[link["wiki"], link["title"]] = link["qid"]
            elif (link["wiki"], link["page_id"]) in pages:
                items[link["wiki"], link["page_id"]] = link["qid"]
    of_items: dict[tuple[str, int], set[str]] = {}
    for kind in kinds.difference(OF_PAGES):
        qids = {text.qid for text in texts if text.kind == kind}
        of_items |= {(kind, qid): matching for qid, matching in _texts_of_items(sources, kind, qids).items()}
    return Origins(_sentences(sources["pairs"][0], {text.text for text in texts}), pages, items, of_items)


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
    for batch in pairs.batches("pairs", ["text", "wiki", "page_id", "entity_qid"]):
        for row in batch.filter(pc.is_in(batch["text"], value_set=values)).to_pylist():
            sentences[row["text"]].add((row["wiki"], row["page_id"], row["entity_qid"]))
    return sentences


def _texts_of_items(
    sources: Mapping[str, Sequence[Dataset]], kind: str, qids: Collection[int]
) -> Mapping[int, set[str]]:
    """Return the labels, descriptions or aliases of items, by number of the item."""
    has_entities = "entities" in sources
    dataset, column = (sources["entities"][0], COLUMNS[kind]) if has_entities else (sources["pairs"][0], "label")
    return {
        row["qid"]: {row["label"]} if column == "label" else {text["text"] for text in row[column]}
        for row in dataset.items(column, qids)
    }
