"""Check that hard negatives of `pairs` have a page in the wiki of their row, where enough of their type have one.

A row may have negatives of other wikis if too few entities of its type have a page that the row may take: the page
links to the others, or names them. `pairs` looks names up in bitmaps, by which a few entities count as named that are
not, so a row is wrong only if there are several more than it needs.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from itertools import chain
from typing import Any

from wikianchor.pipelines.arrays.sample_rows import sample
from wikianchor.pipelines.dataset.inputs import wiki_of
from wikianchor.pipelines.dataset.reader import Dataset
from wikianchor.pipelines.text.writing import holds_no_spaces

# Entities that bitmaps may leave out of those that a row can take.
SLACK = 8
# Letters of a word by which `pairs` compares names at least.
LETTERS = 3


def need_pages(dataset: Dataset) -> bool:
    """Return whether the negatives of a dataset of pairs are drawn from those with a page, and its names are known."""
    options = dataset.options
    others = options.get("pageless_negatives", True) or options.get("candidates")
    with_mentions = any(source.get("dataset") == "mentions" for source in dataset.manifest["inputs"])
    return bool(options.get("negatives")) and not others and not with_mentions


def compare_pages(
    dataset: Dataset, sources: Mapping[str, Sequence[Dataset]], rows: int, seed: int
) -> tuple[int, list[str]]:
    """Compare the negatives of sampled rows with the pages of their wiki; return their number and what is wrong.

    Args:
        dataset: the dataset of `pairs`.
        sources: the datasets that it was made from, by name.
        rows: the number of rows to compare.
        seed: the seed of the sample.
    """
    sampled = sample(dataset, "pairs", rows, seed)
    problems: list[str] = []
    for sentences in sources["sentences"]:
        of_wiki = [row for row in sampled if row["wiki"] == wiki_of(sentences)]
        titles = _titles_of_items(sentences, sources["entities"][0]) if of_wiki else {}
        lacking = [row for row in of_wiki if not titles.keys() >= set(row["hard_negative_qids"])]
        if lacking:
            problems += _problems(lacking, titles, dataset, sentences, sources["entities"][0])
    return len(sampled), problems


def _titles_of_items(sentences: Dataset, entities: Dataset) -> dict[int, str]:
    """Return the titles of the pages of a wiki that have a sentence before their first heading, by item."""
    pages: dict[int, str] = {}
    for batch in sentences.batches("sentences", ["page_id", "title", "region"]):
        columns = (batch[name].to_pylist() for name in ("page_id", "title", "region"))
        pages |= {page: title for page, title, region in zip(*columns, strict=True) if region == "lead"}
    wiki, titles = wiki_of(sentences), set(pages.values())
    items: dict[int, str] = {}
    for link in entities.iterate("sitelinks", ["wiki", "qid", "title", "page_id"]):
        title = link["title"] if link["title"] in titles else pages.get(link["page_id"])
        if link["wiki"] == wiki and title is not None:
            items[link["qid"]] = title
    return items


def _problems(
    rows: Sequence[Mapping[str, Any]],
    titles: Mapping[int, str],
    pairs: Dataset,
    sentences: Dataset,
    entities: Dataset,
) -> Iterator[str]:
    """Yield the rows that have a negative without a page although enough others have one.

    Args:
        rows: rows of one wiki with such a negative.
        titles: titles of pages by item.
        pairs: the dataset of the rows.
        sentences: that of the wiki.
        entities: labels of the items.
    """
    members: dict[int, list[int]] = defaultdict(list)
    types = {row["type_qid"] for row in rows}
    for item in pairs.iterate("entities", ["qid", "types"]):
        for type_qid in types.intersection(item["types"]) if item["qid"] in titles else ():
            members[type_qid].append(item["qid"])
    names = _names({qid for of_type in members.values() for qid in of_type}, titles, sentences, entities)
    text_of, links_of = _pages({row["page_id"] for row in rows}, sentences)
    # What a name is made of: a page that names the entity has the first letters of each.
    parts = re.compile(r"\w" if holds_no_spaces(sentences.options["language"]) else r"\w+")
    words = {
        qid: [[part[:LETTERS] for part in parts.findall(name.casefold())] for name in of_item]
        for qid, of_item in names.items()
    }
    for row in rows:
        text, links = text_of[row["page_id"]], links_of[row["page_id"]]
        allowed = [
            qid
            for qid in members[row["type_qid"]]
            if qid != row["entity_qid"]
            and titles[qid] != row["title"]
            and links.isdisjoint(names[qid])
            and not any(all(word in text for word in of_name) for of_name in words[qid])
        ]
        if len(allowed) >= len(row["hard_negative_qids"]) + SLACK:
            without = ", ".join(f"Q{qid}" for qid in row["hard_negative_qids"] if qid not in titles)
            yield (
                f"{row['wiki']} page {row['page_id']} ({row['title']}): hard negatives without a page: {without}; "
                f"{len(allowed)} others of Q{row['type_qid']} have one"
            )


def _names(qids: set[int], titles: Mapping[int, str], sentences: Dataset, entities: Dataset) -> Mapping[int, set[str]]:
    """Return the titles, redirects and labels of items."""
    names = {qid: {titles[qid]} for qid in qids}
    of_titles = {titles[qid]: qid for qid in qids}
    for batch in sentences.batches("titles", ["title", "redirect"]):
        for title, target in zip(batch["title"].to_pylist(), batch["redirect"].to_pylist(), strict=True):
            if target in of_titles:
                names[of_titles[target]].add(title)
    for row in entities.items("labels", qids):
        names[row["qid"]].update(label["text"] for label in row["labels"])
    return names


def _pages(page_ids: set[int], sentences: Dataset) -> tuple[Mapping[int, str], Mapping[int, Set[str]]]:
    """Return by page its text in small letters, and the titles that it links to."""
    texts: dict[int, list[str]] = defaultdict(list)
    for batch in chain(*(sentences.batches(config, ["page_id", "text"]) for config in ("sentences", "fragments"))):
        for page, text in zip(batch["page_id"].to_pylist(), batch["text"].to_pylist(), strict=True):
            if page in page_ids:
                texts[page].append(text.casefold())
    rows = sentences.iterate("titles", ["page_id", "links"])
    links = {row["page_id"]: set(row["links"]) for row in rows if row["page_id"] in page_ids}
    return {page: "\n".join(texts[page]) for page in page_ids}, links
