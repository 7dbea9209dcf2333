"""`wikianchor report DIR`: what is in a dataset of ours, or in the output of a build, on the terminal or as a page."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from wikianchor.io.errors import InputError
from wikianchor.io.units import size
from wikianchor.pipelines.commands.report.options import ReportOptions
from wikianchor.pipelines.dataset.part_writer import writing
from wikianchor.pipelines.dataset.reader import Dataset, find_datasets, read_batches
from wikianchor.pipelines.dataset.reasons import listed
from wikianchor.pipelines.dataset.summary import spent
from wikianchor.pipelines.text.template_losses import most_costly

EXAMPLES = 12
# Of the templates in the ledger.
SHOWN = 10


def run(config: ReportOptions, beam_args: Sequence[str]) -> None:
    """Print the report of a directory, or write its page."""
    start = time.monotonic()
    if config.html is None:
        print_report(datasets_in(config.directory))
        return
    from wikianchor.pipelines.commands.report.dropped import dropped_sentences
    from wikianchor.pipelines.commands.report.page import report_page

    datasets = datasets_in(config.directory)
    dropped = {
        one.directory: dropped_sentences(one, config.dumps)
        for one in datasets
        if config.dumps is not None and one.manifest["dataset"] == "sentences"
    }
    page = report_page(datasets, dropped, config.seed)
    with writing(config.html, "--html"):
        Path(config.html).write_bytes(page)
    print(config.html)
    about = f"{len(datasets)} datasets on {size(os.path.getsize(config.html))}, {spent(start)}: open it in a browser"
    logging.getLogger("wikianchor").info("%s", about)


def print_report(datasets: Sequence[Dataset]) -> None:
    """Print what datasets hold."""
    for one in datasets:
        print("\n".join(_LINES.get(one.manifest["dataset"], _plain)(one)))


def datasets_in(directory: str) -> list[Dataset]:
    """Return the finished datasets in a directory and below it, in the order of a build.

    Raises:
        InputError: there is none.
    """
    datasets = list(find_datasets(directory))
    if not datasets:
        raise InputError(f"{directory}: no finished dataset here (no manifest.json): run its stage to the end")
    return datasets


def _plain(one: Dataset) -> list[str]:
    configs = one.manifest["configs"]
    return [
        f"\n{one.manifest['dataset']}  {one.directory}",
        *(f"  {name}: {found['rows']:,} rows" for name, found in configs.items()),
    ]


def _sentences(one: Dataset) -> list[str]:
    lines = [f"\n{one.manifest['options']['wiki']}  {one.directory}"]
    ledger = next(iter(one.manifest["ledger"].values()))
    pages, found = ledger.get("pages", {}), ledger.get("sentences", {})
    lines.append(
        f"  pages: {pages.get('articles', 0):,} articles, {pages.get('redirects', 0):,} redirects, "
        f"{pages.get('other_namespace', 0):,} others"
    )
    lines.append(f"  sentences: {found.get('kept', 0):,} kept; dropped: {listed('sentences', found)}")
    if lost := found.get("template", 0):
        named = ", ".join(
            f"{name} {number:,}" for name, number in list(most_costly(ledger["templates"]).items())[:SHOWN]
        )
        share = 100 * lost / sum(found.values())
        lines.append(f"  lost to unknown templates: {lost:,} sentences ({share:.1f} %), most by {named}")
    links = ledger.get("links", {})
    kept = f"{links.get('seen', 0):,} seen, {links.get('kept', 0):,} in sentences"
    lines.append(f"  links: {kept}; else: {listed('sentences', links)}")
    return lines


def _entities(one: Dataset) -> list[str]:
    ledger = one.manifest["ledger"]
    return [
        f"\nentities  {one.directory}",
        f"  items: {one.rows('entities'):,}; lines: " + listed("entities", ledger["lines"]),
        f"  pages with an item: {listed('entities', ledger['sitelinks'])}",
    ]


def _pairs(one: Dataset) -> list[str]:
    ledger = one.manifest["ledger"]["links"]
    total = one.rows("pairs")
    lines = [
        f"\npairs  {one.directory}",
        f"  {total:,} pairs of {one.rows('entities'):,} entities in {len(one.shards('pairs'))} shards",
    ]
    for wiki, found in ledger.items():
        lines.append(
            f"  {wiki}: {found.get('kept', 0):,} pairs of {found['seen']:,} links; else: {listed('pairs', found)}"
        )
    lines.append("  examples (sentence with its link, entity, hard negatives):")
    lines += [f"    {line}" for line in _examples(one)]
    lines += [f"  {path}" for path in one.shards("pairs")[:3]]
    return lines


def _corpus(one: Dataset) -> list[str]:
    ledger = one.manifest["ledger"]
    found = ledger["statistics"]
    mean = found["tokens"] / max(1, found["sentences"])
    return [
        f"\ncorpus  {one.directory}",
        f"  {found['sentences']:,} sentences, {mean:.1f} tokens each on average, {found['unique_tokens']:,} different",
        f"  sentences seen: {ledger['sentences']['seen']:,}; dropped: {listed('corpus', ledger['sentences'])}",
    ]


def _mewsc16(one: Dataset) -> list[str]:
    options = one.manifest["options"]
    lines = [f"\nmewsc16  {one.directory}", f"  mode {options['mode']}, topics of a page: {options['membership']}"]
    for language, ledger in one.manifest["ledger"].items():
        pages = ledger["pages"]
        lines.append(
            f"  {language}: {pages['kept']:,} of {pages['seen']:,} pages kept; else: {listed('mewsc16', pages)}"
        )
        lines.append(f"    {listed('mewsc16', ledger['labels'])}")
        if "memberships" in ledger:
            lines.append(
                f"    memberships, by the text and by the wiki's own table: {listed('mewsc16', ledger['memberships'])}"
            )
    return lines


def _mentions(one: Dataset) -> list[str]:
    options = one.manifest["options"]
    thresholds = f"link probability {options['link_probability']}, commonness {options['commonness']}"
    lines = [
        f"\nmentions  {one.directory}",
        f"  {one.rows('mentions'):,} pairs of a name and an item, {one.rows('candidates'):,} above {thresholds}",
    ]
    for wiki, found in one.manifest["ledger"]["links"].items():
        kept = f"{found.get('kept', 0):,} of {found['seen']:,} links give a name"
        lines.append(f"  {wiki}: {kept}; else: {listed('mentions', found)}")
    lines.append("  names of the first shard that are linked most, with what they stand for:")
    return lines + [f"    {line}" for line in _names(one)]


def _names(one: Dataset) -> Iterator[str]:
    """Yield names, each with its link probability and its items by their commonness."""
    columns = ["wiki", "surface", "key", "qid", "link_probability", "commonness", "name_links"]
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for path in one.shards("candidates")[:1]:
        for batch in read_batches(path, columns):
            for row in batch.to_pylist():
                found.setdefault((row["wiki"], row["key"]), []).append(row)
    for rows in sorted(found.values(), key=lambda rows: -rows[0]["name_links"])[:EXAMPLES]:
        items = ", ".join(f"Q{row['qid']} {row['commonness']:.2f}" for row in rows)
        yield f"{rows[0]['wiki']:8} {rows[0]['surface']} ({rows[0]['link_probability']:.2f}): {items}"


def _interlanguage(one: Dataset) -> list[str]:
    lines = [f"\ninterlanguage  {one.directory}"]
    return lines + [
        f"  {wiki}: {listed('interlanguage', found)}" for wiki, found in one.manifest["ledger"]["rows"].items()
    ]


def _negatives(one: Dataset) -> list[str]:
    ledger = one.manifest["ledger"]
    kept = ledger["candidates"].get("kept", 0)
    lines = [
        f"\nnegatives  {one.directory}",
        f"  {one.rows('negatives'):,} sentences with {kept:,} negatives",
        f"  sentences seen: {ledger['sentences']['seen']:,}; dropped: {listed('negatives', ledger['sentences'])}",
        f"  candidates seen: {ledger['candidates']['seen']:,}; dropped: {listed('candidates', ledger['candidates'])}",
        "  examples:",
    ]
    for path in one.shards("negatives")[:1]:
        for row in next(iter(read_batches(path, ["text", "negatives"]))).slice(0, EXAMPLES // 3).to_pylist():
            lines += [f"    {row['text']}", *(f"      {text}" for text in row["negatives"])]
    return lines


def _examples(one: Dataset) -> Iterator[str]:
    labels: dict[int, str] = {}
    columns = ["text", "mention_start", "mention_end", "entity_id", "hard_negative_ids", "type_route", "wiki"]
    rows: list[dict[str, Any]] = []
    for path in one.shards("pairs"):
        rows += next(iter(read_batches(path, columns))).slice(0, EXAMPLES - len(rows)).to_pylist()
        if len(rows) >= EXAMPLES:
            break
    wanted = {number for row in rows for number in (row["entity_id"], *row["hard_negative_ids"])}
    for path in one.shards("entities"):
        for batch in read_batches(path, ["entity_id", "qid", "label"]):
            for entity in batch.to_pylist():
                if entity["entity_id"] in wanted:
                    labels[entity["entity_id"]] = entity["label"] or f"Q{entity['qid']}"
    for row in rows:
        text, start, end = row["text"], row["mention_start"], row["mention_end"]
        shown = f"{text[max(0, start - 50) : start]}[{text[start:end]}]{text[end : end + 50]}"
        negatives = ", ".join(labels[number] for number in row["hard_negative_ids"])
        meaning = f"{labels[row['entity_id']]}, not {negatives or 'any'} ({row['type_route']})"
        yield f"{row['wiki']:8} {shown}\n             = {meaning}"


_LINES = {
    "sentences": _sentences,
    "entities": _entities,
    "pairs": _pairs,
    "corpus": _corpus,
    "negatives": _negatives,
    "mewsc16": _mewsc16,
    "mentions": _mentions,
    "interlanguage": _interlanguage,
}
