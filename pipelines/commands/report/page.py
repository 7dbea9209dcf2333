"""The report as a page: figures of each dataset, its ledger in words, examples, and where all of it comes from."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from importlib import resources
from typing import Any
from xml.etree.ElementTree import Element

from wikianchor.io.units import size
from wikianchor.pipelines.commands.report import figures
from wikianchor.pipelines.commands.report.charts import bars, curve, histogram
from wikianchor.pipelines.commands.report.html import Child, page, tag
from wikianchor.pipelines.dataset.reader import Dataset
from wikianchor.pipelines.dataset.reasons import FLAGS, reason
from wikianchor.pipelines.text.template_losses import most_costly

EXAMPLES = 12
Dropped = Sequence[tuple[str, str, str]]


def report_page(datasets: Sequence[Dataset], dropped: Mapping[str, Dropped], seed: int) -> bytes:
    """Return the page of some datasets.

    Args:
        datasets: in the order of a build.
        dropped: by directory of a dataset of sentences, sentences that are not in it: (reason, page, text).
        seed: decides which rows are shown.
    """
    style = (resources.files("wikianchor.pipelines.commands.report") / "style.css").read_text("utf-8")
    names = ", ".join(dict.fromkeys(str(one.manifest["dataset"]) for one in datasets))
    body: list[Child] = [
        tag("h1", f"wikianchor: {names}"),
        tag("p", "Counts, the ledger of what was kept and dropped and why, examples, and provenance."),
        tag("nav", [tag("a", _title(one), href=f"#d{place}") for place, one in enumerate(datasets)]),
        _overview(datasets),
    ]
    entities = next((one for one in datasets if one.manifest["dataset"] == "entities"), None)
    for place, one in enumerate(datasets):
        body.append(tag("h2", _title(one), id_=f"d{place}"))
        kind = one.manifest["dataset"]
        if kind == "sentences":
            body += _sentences(one, dropped.get(one.directory, ()))
        elif kind == "entities":
            body += _entities(one)
        elif kind == "pairs":
            body += _pairs(one, entities, seed)
        else:
            body += _plain(one, seed)
        body += _provenance(one)
    return page(f"wikianchor: {names}", style, body)


def _title(one: Dataset) -> str:
    wiki = one.manifest["options"].get("wiki")
    return f"{one.manifest['dataset']} {wiki}" if wiki else str(one.manifest["dataset"])


def _overview(datasets: Sequence[Dataset]) -> Element:
    lines = []
    for one in datasets:
        for name, config in one.manifest["configs"].items():
            total = size(sum(shard["bytes"] for shard in config["shards"]))
            cells = (f"{config['rows']:,}", str(len(config["shards"])), total)
            lines.append(
                tag("tr", tag("th", _title(one)), tag("td", name), [tag("td", cell, class_="number") for cell in cells])
            )
    return _table(("dataset", "config", "rows", "shards", "size"), lines)


def _table(columns: Sequence[str], lines: Sequence[Element]) -> Element:
    head = tag("tr", [tag("th", name, class_=None if place < 2 else "number") for place, name in enumerate(columns)])
    return tag("div", tag("table", tag("thead", head), tag("tbody", lines)), class_="scroll")


def _meaning(dataset: str, name: str) -> str:
    flag = FLAGS.get(dataset, {}).get(name)
    return ": see ".join(filter(None, (reason(name), flag)))


def _ledger(dataset: str, title: str, buckets: Mapping[str, int]) -> Iterator[Element]:
    total = buckets.get("seen", sum(buckets.values()))
    rows = sorted(
        ((name, number) for name, number in buckets.items() if name != "seen" and number),
        key=lambda row: (row[0] != "kept", -row[1], row[0]),
    )
    yield tag("h3", title)
    meanings = [(name, number, _meaning(dataset, name)) for name, number in rows]
    yield bars(meanings, total, ("what became of it", f"of {total:,}"))


def _sentences(one: Dataset, dropped: Dropped) -> Iterator[Element]:
    found = figures.of_sentences(one)
    step = figures.LENGTH_STEP
    lengths = [(f"{place * step}", int(number)) for place, number in enumerate(found.lengths)]
    links = [(f"{place}", int(number)) for place, number in enumerate(found.links)]
    lengths[-1], links[-1] = (f"{lengths[-1][0]}+", lengths[-1][1]), (f"{links[-1][0]}+", links[-1][1])
    yield tag(
        "div",
        histogram(lengths, "Length of sentences", "characters"),
        histogram(links, "Links in a sentence", "sentences by number of links"),
        class_="charts",
    )
    for wiki, kinds in one.manifest["ledger"].items():
        yield from _ledger("sentences", f"Links of {wiki}", kinds.get("links", {}))
        yield from _ledger("sentences", f"Sentences of {wiki}", kinds.get("sentences", {}))
        templates = list(most_costly(kinds.get("templates", {})).items())[: figures.TOP]
        if templates:
            yield tag("h3", "Templates that cost most sentences")
            total = kinds.get("sentences", {}).get("template", 0)
            yield bars([(name, number, "") for name, number in templates], total, ("template", "sentences"))
        yield from _pages(wiki, kinds.get("pages", {}))
    if dropped:
        yield tag("h3", "Sentences that were dropped")
        for why, title, text in dropped:
            yield tag(
                "div", tag("p", text, dir_="auto"), tag("small", f"{why}: {reason(why)} ({title})"), class_="example"
            )


def _pages(wiki: str, pages: Mapping[str, int]) -> Iterator[Element]:
    among = pages.get("disambiguation", 0)
    rows = [
        (name, number, f"{among:,} of them disambiguation pages" if name == "articles" and among else "")
        for name, number in sorted(pages.items(), key=lambda row: -row[1])
        if name != "disambiguation"
    ]
    total = sum(number for _, number, _ in rows)
    yield tag("h3", f"Pages of {wiki}")
    yield bars(rows, total, ("page", f"of {total:,}"))


def _entities(one: Dataset) -> Iterator[Element]:
    routes, types = figures.of_entities(one)
    labels = figures.labels_of(one, [qid for qid, _ in types.most_common(figures.TOP)])
    yield tag("h3", "How types were found")
    yield bars([(name, number, "") for name, number in routes.most_common()], routes.total(), ("route", "entities"))
    yield tag("h3", "Most common types")
    rows = [(_named(qid, labels), number, "") for qid, number in types.most_common(figures.TOP)]
    yield bars(rows, one.rows("entities"), ("type", "entities"))
    yield from _ledger(
        "entities",
        "Lines of the dump",
        {"seen": one.manifest["ledger"]["lines"].get("lines", 0)}
        | {name: number for name, number in one.manifest["ledger"]["lines"].items() if name != "lines"},
    )


def _named(qid: int, labels: Mapping[int, str]) -> str:
    return f"{labels[qid]} (Q{qid})" if qid in labels else f"Q{qid}"


def _pairs(one: Dataset, entities: Dataset | None, seed: int) -> Iterator[Element]:
    from wikianchor.pipelines.commands.verify.derive_again import sample

    rows = sample(one, "pairs", EXAMPLES, seed)
    wanted = {qid for row in rows for qid in (row["entity_qid"], *row["hard_negative_qids"])}
    found = figures.of_pairs(one, sorted(wanted))
    top = [qid for qid, _ in found.types.most_common(figures.TOP)]
    labels = (figures.labels_of(entities, top) if entities else {}) | found.labels
    yield tag(
        "div",
        curve(figures.curve_points(found.counts), "Links to an entity", "by rank, both logarithmic", "rank"),
        histogram(figures.pool_bins(found), "Pools of hard negatives", "rows by entities of the type, at most"),
        class_="charts",
    )
    total = one.rows("pairs")
    yield tag("h3", "Rows of each wiki")
    yield bars([(name, number, "") for name, number in found.wikis.most_common()], total, ("wiki", "rows"))
    for wiki, buckets in one.manifest["ledger"]["links"].items():
        yield from _ledger("pairs", f"Links of {wiki}", buckets)
    yield tag("h3", "Types of the entities")
    shown = [
        (_named(qid, labels), number, f"{found.pools[qid]:,} entities")
        for qid, number in found.types.most_common(figures.TOP)
    ]
    yield bars(shown, total, ("type", "rows"))
    yield tag("h3", "How types were found")
    yield bars([(name, number, "") for name, number in found.routes.most_common()], total, ("route", "rows"))
    yield tag("h3", "Entities linked most often")
    links = int(found.counts.sum())
    yield bars([(_named(qid, labels), number, "") for qid, number in found.most], links, ("entity", "links"))
    yield tag("h3", "Examples")
    yield tag("p", "Rows drawn by a key: the link, its entity, and the hard negatives of the same type.")
    for row in rows:
        yield _example(row, labels)


def _example(row: Mapping[str, Any], labels: Mapping[int, str]) -> Element:
    text, start, end = row["text"], row["mention_start"], row["mention_end"]
    negatives = ", ".join(_named(qid, labels) for qid in row["hard_negative_qids"]) or "none"
    kind = f"{_named(row['type_qid'], labels)}, {row['type_route']}" if row["type_qid"] else row["type_route"]
    return tag(
        "div",
        tag("p", text[:start], tag("mark", text[start:end]), text[end:], dir_="auto"),
        tag("small", tag("strong", _named(row["entity_qid"], labels)), f", not {negatives} ({kind})"),
        tag("small", f"{row['wiki']}: {row['title']}, revision {row['rev_id']}"),
        class_="example",
    )


def _plain(one: Dataset, seed: int) -> Iterator[Element]:
    """Yield what can be said of any dataset: its ledger as it stands, and rows of each config."""
    from wikianchor.pipelines.commands.verify.derive_again import sample

    yield tag("h3", "Ledger")
    yield tag(
        "pre", tag("code", json.dumps(one.manifest.get("ledger", {}), ensure_ascii=False, indent=1)), class_="scroll"
    )
    for name in one.manifest["configs"]:
        rows = sample(one, name, EXAMPLES, seed)
        if rows:
            yield tag("h3", f"Rows of {name}")
            lines = [tag("tr", [tag("td", f"{value}"[:300], dir_="auto") for value in row.values()]) for row in rows]
            yield _table(tuple(rows[0]), lines)


def _provenance(one: Dataset) -> Iterator[Element]:
    manifest = one.manifest
    facts = [
        ("directory", one.directory),
        ("schema", manifest.get("schema_version", "")),
        ("made with", ", ".join(f"{name} {number}" for name, number in sorted(manifest.get("made_with", {}).items()))),
        *((f"input {place + 1}", _source(source)) for place, source in enumerate(manifest["inputs"])),
        *((f"--{name}", json.dumps(value, ensure_ascii=False)) for name, value in sorted(manifest["options"].items())),
    ]
    lines = [tag("tr", tag("th", str(name)), tag("td", tag("code", str(value)))) for name, value in facts]
    yield tag("details", tag("summary", "Provenance"), tag("div", tag("table", tag("tbody", lines)), class_="scroll"))


def _source(source: Mapping[str, Any]) -> str:
    return ", ".join(
        f"{name} {size(value) if name == 'bytes' else value}" for name, value in source.items() if value is not None
    )
