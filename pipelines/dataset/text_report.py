"""What a dataset holds, in figures: one model, shown as text on the terminal and as bars on the page of the report."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa

from wikianchor.io.errors import InputError
from wikianchor.pipelines.dataset.manifest import MANIFEST, manifest_problems
from wikianchor.pipelines.dataset.reader import Dataset, read_batches
from wikianchor.pipelines.dataset.reasons import listed, meaning

# Examples on the terminal; of the names that are linked most, and of the sentences with negatives, a third as many.
EXAMPLES = 12
# Templates on the terminal; the page shows more.
TEMPLATES_SHOWN = 10
SHARDS_SHOWN = 3
# Characters that are shown on each side of a link.
CONTEXT = 50


@dataclass(frozen=True)
class Counts:
    """A table of counts: bars on the page, one line on the terminal.

    Attributes:
        title: of the table.
        names: heading of the column of names.
        rows: (name, count, note), in the order in which they are shown.
        total: of which the shares are.
        line: the same on the terminal, "" for a table of the page alone.
    """

    title: str
    names: str
    rows: list[tuple[str, int, str]]
    total: int
    line: str = ""


@dataclass
class Summary:
    """What the manifest of a dataset says of it.

    Attributes:
        title: name of the dataset, and its wiki where it has one.
        directory: of the dataset.
        blocks: lines of text, and tables of counts.
    """

    title: str
    directory: str
    blocks: list[str | Counts] = field(default_factory=list)


def ledger(title: str, lead: str, dataset: str, buckets: Mapping[str, int]) -> Counts:
    """Return a ledger as a table: what was kept comes first, then the largest bucket.

    Args:
        title: of the table.
        lead: what the line on the terminal says before the buckets.
        dataset: a key of `reasons.FLAGS`.
        buckets: counts by name; "seen" is their sum.
    """
    rows = sorted(
        ((name, number) for name, number in buckets.items() if name != "seen" and number),
        key=lambda row: (row[0] != "kept", -row[1], row[0]),
    )
    return Counts(
        title,
        "bucket",
        [(name, number, meaning(dataset, name)) for name, number in rows],
        buckets.get("seen", sum(buckets.values())),
        f"{lead}: {listed(dataset, buckets)}",
    )


def summarize(dataset: Dataset) -> Summary:
    """Return the summary of a dataset, from its manifest alone.

    Raises:
        InputError: the manifest is not complete.
    """
    path = f"{dataset.directory}/{MANIFEST}"
    if problem := next(manifest_problems(dataset.manifest), None):
        raise InputError(f"{dataset.directory}/{problem}: build the dataset again")
    name = str(dataset.manifest["dataset"])
    wiki = dataset.manifest["options"].get("wiki")
    try:
        blocks = list(_BLOCKS.get(name, _config_rows)(dataset))
    except (KeyError, AttributeError, TypeError) as error:
        raise InputError(f"{path}: its ledger is not that of {name!r} ({error}): build the dataset again") from error
    return Summary(f"{name} {wiki}" if wiki else name, dataset.directory, blocks)


def print_report(datasets: Iterable[Dataset]) -> None:
    """Print the summary and some examples of each dataset."""
    for dataset in datasets:
        summary = summarize(dataset)
        print(f"\n{summary.title}  {summary.directory}")
        for block in summary.blocks:
            if line := block if isinstance(block, str) else block.line:
                print(f"  {line}")
        for line in _EXAMPLES.get(dataset.manifest["dataset"], _no_examples)(dataset):
            print(f"  {line}")


def _config_rows(dataset: Dataset) -> Iterator[str]:
    for name, config in dataset.manifest["configs"].items():
        yield f"{name}: {config['rows']:,} rows"


def _sentences(dataset: Dataset) -> Iterator[str | Counts]:
    for wiki, counts in dataset.manifest["ledger"].items():
        pages, sentences, links = (counts.get(name, {}) for name in ("pages", "sentences", "links"))
        yield _pages(wiki, pages)
        kept = f"sentences: {sentences.get('kept', 0):,} kept; dropped"
        yield ledger(f"Sentences of {wiki}", kept, "sentences", sentences)
        if lost := sentences.get("template", 0):
            yield _templates(lost, sum(sentences.values()), counts.get("templates", {}))
        lead = f"links: {links.get('seen', 0):,} seen, {links.get('kept', 0):,} in sentences; else"
        yield ledger(f"Links of {wiki}", lead, "sentences", links)


def _pages(wiki: str, pages: Mapping[str, int]) -> Counts:
    disambiguation = pages.get("disambiguation", 0)
    notes = {"articles": f"{disambiguation:,} of them disambiguation pages"} if disambiguation else {}
    rows = [
        (name, number, notes.get(name, ""))
        for name, number in sorted(pages.items(), key=lambda row: -row[1])
        if name != "disambiguation"
    ]
    line = (
        f"pages: {pages.get('articles', 0):,} articles, {pages.get('redirects', 0):,} redirects, "
        f"{pages.get('other_namespace', 0):,} others"
    )
    return Counts(f"Pages of {wiki}", "page", rows, sum(number for _, number, _ in rows), line)


def _templates(lost: int, sentences: int, templates: Mapping[str, int]) -> Counts:
    """Return the templates that cost most sentences; the manifest has them in the order of their names."""
    rows = sorted(templates.items(), key=lambda item: (-item[1], item[0]))
    most = ", ".join(f"{name} {number:,}" for name, number in rows[:TEMPLATES_SHOWN])
    share = 100 * lost / sentences
    return Counts(
        "Templates that cost most sentences",
        "template",
        [(name, number, "") for name, number in rows[: 2 * TEMPLATES_SHOWN]],
        lost,
        f"lost to unknown templates: {lost:,} sentences ({share:.1f} %), most by {most}",
    )


def _entities(dataset: Dataset) -> Iterator[str | Counts]:
    counts = dataset.manifest["ledger"]
    lines = {"seen" if name == "lines" else name: number for name, number in counts["lines"].items()}
    lead = f"items: {dataset.rows('entities'):,} of {lines.get('seen', 0):,} lines; else"
    yield ledger("Lines of the dump", lead, "entities", lines)
    yield f"pages with an item: {listed('entities', counts['sitelinks'])}"


def _pairs(dataset: Dataset) -> Iterator[str | Counts]:
    shards = len(dataset.shards("pairs"))
    yield f"{dataset.rows('pairs'):,} pairs of {dataset.rows('entities'):,} entities in {shards} shards"
    for wiki, links in dataset.manifest["ledger"]["links"].items():
        lead = f"{wiki}: {links.get('kept', 0):,} pairs of {links.get('seen', 0):,} links; else"
        yield ledger(f"Links of {wiki}", lead, "pairs", links)


def _corpus(dataset: Dataset) -> Iterator[str | Counts]:
    counts = dataset.manifest["ledger"]
    words = counts["statistics"]
    mean = words["tokens"] / max(1, words["sentences"])
    yield f"{words['sentences']:,} sentences, {mean:.1f} tokens each on average, {words['unique_tokens']:,} different"
    yield _seen("Sentences", "corpus", counts["sentences"])


def _seen(title: str, dataset: str, buckets: Mapping[str, int]) -> Counts:
    return ledger(title, f"{title.lower()} seen: {buckets.get('seen', 0):,}; dropped", dataset, buckets)


def _negatives(dataset: Dataset) -> Iterator[str | Counts]:
    counts = dataset.manifest["ledger"]
    kept = counts["candidates"].get("kept", 0)
    yield f"{dataset.rows('negatives'):,} sentences with {kept:,} negatives"
    yield _seen("Sentences", "negatives", counts["sentences"])
    yield _seen("Candidates", "candidates", counts["candidates"])


def _mewsc16(dataset: Dataset) -> Iterator[str | Counts]:
    options = dataset.manifest["options"]
    yield f"mode {options['mode']}, topics of a page: {options['membership']}"
    for language, counts in dataset.manifest["ledger"].items():
        pages = counts["pages"]
        lead = f"{language}: {pages.get('kept', 0):,} of {pages.get('seen', 0):,} pages kept; else"
        yield ledger(f"Pages of {language}", lead, "mewsc16", pages)
        yield f"  {listed('mewsc16', counts['labels'])}"
        if "memberships" in counts:
            yield f"  memberships, by the text and by the wiki's table: {listed('mewsc16', counts['memberships'])}"


def _mentions(dataset: Dataset) -> Iterator[str | Counts]:
    options = dataset.manifest["options"]
    thresholds = f"link probability {options['link_probability']}, commonness {options['commonness']}"
    candidates = f"{dataset.rows('candidates'):,} above {thresholds}"
    yield f"{dataset.rows('mentions'):,} pairs of a name and an item, {candidates}"
    for wiki, links in dataset.manifest["ledger"]["links"].items():
        lead = f"{wiki}: {links.get('kept', 0):,} of {links.get('seen', 0):,} links give a name; else"
        yield ledger(f"Links of {wiki}", lead, "mentions", links)


def _interlanguage(dataset: Dataset) -> Iterator[str]:
    for wiki, rows in dataset.manifest["ledger"]["rows"].items():
        yield f"{wiki}: {listed('interlanguage', rows)}"


_BLOCKS: Mapping[str, Callable[[Dataset], Iterator[str | Counts] | Iterator[str]]] = {
    "sentences": _sentences,
    "entities": _entities,
    "pairs": _pairs,
    "corpus": _corpus,
    "negatives": _negatives,
    "mewsc16": _mewsc16,
    "mentions": _mentions,
    "interlanguage": _interlanguage,
}


def _no_examples(dataset: Dataset) -> Iterator[str]:
    return iter(())


def _pair_examples(dataset: Dataset) -> Iterator[str]:
    columns = ["text", "mention_start", "mention_end", "entity_qid", "hard_negative_qids", "type_route", "wiki"]
    rows = list(islice(_rows(dataset, "pairs", columns), EXAMPLES))
    labels = entity_labels(dataset, {qid for row in rows for qid in (row["entity_qid"], *row["hard_negative_qids"])})
    yield "examples (sentence with its link, entity, hard negatives):"
    for row in rows:
        text, start, end = row["text"], row["mention_start"], row["mention_end"]
        link = f"{text[max(0, start - CONTEXT) : start]}[{text[start:end]}]{text[end : end + CONTEXT]}"
        entity, *negatives = (labels.get(qid, f"Q{qid}") for qid in (row["entity_qid"], *row["hard_negative_qids"]))
        yield f"  {row['wiki']:8} {link}"
        yield f"           = {entity}, not {', '.join(negatives) or 'any'} ({row['type_route']})"
    yield from dataset.shards("pairs")[:SHARDS_SHOWN]


def _rows(dataset: Dataset, config: str, columns: list[str]) -> Iterator[dict[str, Any]]:
    for path in dataset.shards(config):
        for batch in read_batches(path, columns):
            yield from batch.slice(0, EXAMPLES).to_pylist()


def entity_labels(pairs: Dataset, qids: Collection[int]) -> dict[int, str]:
    """Return the labels of items, from the entity table of a dataset of pairs; an item without a label is left out."""
    labels: dict[int, str] = {}
    for path in pairs.shards("entities"):
        for batch in read_batches(path, ["qid", "label"]):
            for entity in batch.filter(pa.array(np.isin(batch["qid"].to_numpy(), list(qids)))).to_pylist():
                if entity["label"]:
                    labels[entity["qid"]] = entity["label"]
    return labels


def _mention_examples(dataset: Dataset) -> Iterator[str]:
    """Yield names, each with its link probability and its items by their commonness."""
    yield "names of the first shard that are linked most, with their items:"
    columns = ["wiki", "surface", "key", "qid", "link_probability", "commonness", "name_links"]
    names: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for path in dataset.shards("candidates")[:1]:
        for batch in read_batches(path, columns):
            for row in batch.to_pylist():
                names.setdefault((row["wiki"], row["key"]), []).append(row)
    for rows in sorted(names.values(), key=lambda rows: -rows[0]["name_links"])[:EXAMPLES]:
        items = ", ".join(f"Q{row['qid']} {row['commonness']:.2f}" for row in rows)
        yield f"  {rows[0]['wiki']:8} {rows[0]['surface']} ({rows[0]['link_probability']:.2f}): {items}"


def _negative_examples(dataset: Dataset) -> Iterator[str]:
    yield "examples:"
    for row in islice(_rows(dataset, "negatives", ["text", "negatives"]), EXAMPLES // 3):
        yield f"  {row['text']}"
        yield from (f"    {text}" for text in row["negatives"])


_EXAMPLES: Mapping[str, Callable[[Dataset], Iterator[str]]] = {
    "pairs": _pair_examples,
    "mentions": _mention_examples,
    "negatives": _negative_examples,
}
