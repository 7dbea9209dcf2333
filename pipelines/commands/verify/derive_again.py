"""Derive sampled rows of a dataset again from the dumps, as the pipeline does, and compare them.

Rows are sampled by a keyed hash, so the same command checks the same rows. A dump is read once, and only the pages and
items of these rows are parsed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from wikianchor.pipelines.arrays.sample_rows import sample
from wikianchor.pipelines.commands.verify.articles import read_articles
from wikianchor.pipelines.dataset.reader import Dataset
from wikianchor.pipelines.entities.steps import entity_batch, item_lines, page_props_of
from wikianchor.pipelines.mewsc16.released import engine_of_options
from wikianchor.pipelines.sentences.compiled_reader import engine_of
from wikianchor.pipelines.sentences.wiki import PageRows, Wiki, element_title, open_wiki
from wikianchor.pipelines.wikimedia.choices import PARSERS, SPLITTERS
from wikianchor.pipelines.wikimedia.pages import page_id
from wikianchor.pipelines.wikimedia.wikidata import BadLine, Item, Skip, parse_item, wanted_filter

# Redirects in a row that are followed; the bots of wikis remove longer chains.
HOPS = 3


@dataclass
class Sources:
    """Dumps by what they are.

    Attributes:
        pages: dumps of pages, by wiki.
        wikidata: dumps of Wikidata.
        page_props: page_props tables, by wiki.
        options: options of the dataset of sentences, by wiki.
        tables: SQL tables of categories, by wiki and name.
    """

    pages: Mapping[str, Sequence[str]]
    wikidata: Sequence[str]
    page_props: Mapping[str, str]
    options: Mapping[str, Mapping[str, Any]]
    tables: Mapping[str, Mapping[str, str]]


@dataclass
class Outcome:
    """Number of rows that were derived again, the engines that read their pages, their differences, and what was
    skipped for which reason."""

    checked: int = 0
    engines: tuple[str, ...] = ()
    problems: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)


def _open(paths: Sequence[str], options: Mapping[str, Any], outcome: Outcome) -> list[Wiki]:
    """Return a wiki that is read with the options of its dataset of sentences, by each engine that is installed."""
    names = ("wiki", "templates", "splitter", "parser")
    given = {name: options[name] for name in names if name in options}
    core = engine_of(None, given.get("parser", PARSERS[0]), given.get("splitter", SPLITTERS[0]))
    outcome.engines = tuple(dict.fromkeys(("python", core)))
    return [open_wiki(paths, **given, engine=engine, allow_truncated=True) for engine in outcome.engines]


def _read(
    wikis: Sequence[Wiki], outcome: Outcome, page_ids: Collection[int], titles: Collection[str] = ()
) -> Iterator[tuple[Any, PageRows]]:
    """Yield the row of `titles`, and all rows, of each page asked for, by id or title. A page of which the engines make
    other rows is a problem."""
    for raw, where in wikis[0].elements():
        number = page_id(raw)
        if number in page_ids or (titles and element_title(raw) in titles):
            rows, *others = (wiki.read_element(raw, where) for wiki in wikis)
            if any(other != rows for other in others):
                problem = f"{' and '.join(outcome.engines)} read it otherwise"
                outcome.problems.append(f"{wikis[0].site.wiki} page {number}: {problem}")
            if rows.title is not None:
                yield rows.title, rows


def _dump_of(wiki: str, sources: Sources, outcome: Outcome) -> Sequence[str]:
    paths = sources.pages.get(wiki, ())
    if not paths:
        outcome.skipped.append(f"{wiki} has no dump there")
    return paths


def _sentences(dataset: Dataset, sources: Sources, rows: int, seed: int, outcome: Outcome) -> None:
    options = dataset.options
    paths = _dump_of(options["wiki"], sources, outcome)
    if not paths:
        return
    wanted = {
        **{(row["page_id"], row["sentence_index"]): row for row in sample(dataset, "sentences", rows, seed)},
        **{(row["page_id"], row["sentence_index"]): row for row in sample(dataset, "fragments", rows, seed)},
        **{(row["page_id"], None): row for row in sample(dataset, "titles", rows, seed)},
    }
    for title, rows_of_page in _read(_open(paths, options, outcome), outcome, {page for page, _ in wanted}):
        page = title["page_id"]
        sentences = (*rows_of_page.sentences, *rows_of_page.fragments)
        derived = {(page, sentence["sentence_index"]): sentence for sentence in sentences} | {(page, None): title}
        for key in [key for key in wanted if key[0] == page]:
            row = wanted.pop(key)
            if key in derived:
                outcome.checked += 1
                where = f"{options['wiki']} page {page} ({row['title']})"
                outcome.problems += _differences(where, row, derived[key])
            else:
                problem = f"{options['wiki']} page {page}: has no sentence {key[1]}: {row['text']!r:.300}"
                outcome.problems.append(problem)
    outcome.problems += [f"{options['wiki']} page {page}: is not in the dump" for page, _ in wanted]


def _differences(where: str, row: Mapping[str, Any], derived: Mapping[str, Any]) -> list[str]:
    return [
        f"{where}: {name} is {row[name]!r:.300}, derived again it is {derived[name]!r:.300}"
        for name in row
        if row[name] != derived[name]
    ]


def _items(sources: Sources, options: Mapping[str, Any], qids: Collection[int]) -> Iterator[Item]:
    """Yield items of the Wikidata dumps, read with the options of a dataset."""
    wikis, labels, texts = options["wikis"], options["labels"], options.get("texts", ("labels",))
    wanted = wanted_filter(wikis)
    for path in sources.wikidata:
        for line in item_lines(path):
            if wanted(line):
                try:
                    item = parse_item(line, wikis, labels, texts)
                except BadLine:
                    continue
                if not isinstance(item, Skip) and item.qid in qids:
                    yield item


def _entities(dataset: Dataset, sources: Sources, rows: int, seed: int, outcome: Outcome) -> None:
    options = dataset.options
    if not sources.wikidata and dataset.rows("entities"):
        outcome.skipped.append("Wikidata has no dump there")
        return
    items = {row["qid"]: row for row in sample(dataset, "entities", rows, seed)}
    links = sample(dataset, "sitelinks", rows, seed)
    titles = {(row["qid"], row["wiki"]): row["title"] for row in links if row["source"] == "wikidata"}
    for item in _items(sources, options, items.keys() | {qid for qid, _ in titles}):
        if (row := items.pop(item.qid, None)) is not None:
            outcome.checked += 1
            derived = entity_batch([item], options.get("texts", ("labels",))).to_pylist()[0]
            outcome.problems += _differences(f"Q{item.qid}", row, derived)
        for wiki, title in item.sitelinks:
            if (recorded := titles.pop((item.qid, wiki), None)) is not None:
                outcome.checked += 1
                if recorded != title:
                    outcome.problems.append(f"Q{item.qid}: its page in {wiki} is {title!r}, not {recorded!r}")
    outcome.problems += [f"Q{qid}: is not in the dump" for qid in items]
    outcome.problems += [f"Q{qid}: has no page in {wiki}" for qid, wiki in titles]
    _page_props(links, sources, outcome)


def _page_props(links: Sequence[Mapping[str, Any]], sources: Sources, outcome: Outcome) -> None:
    pages: dict[str, dict[int, int]] = {}
    for row in links:
        if row["source"] == "page_props":
            pages.setdefault(row["wiki"], {})[row["page_id"]] = row["qid"]
    for wiki, wanted in pages.items():
        if wiki not in sources.page_props:
            outcome.skipped.append(f"{wiki} has no page_props there")
            continue
        for page, qid in page_props_of(sources.page_props[wiki]):
            if (recorded := wanted.pop(page, None)) is not None:
                outcome.checked += 1
                if recorded != qid:
                    outcome.problems.append(f"{wiki} page {page}: its item is Q{qid}, not Q{recorded}")
        outcome.problems += [f"{wiki} page {page}: has no item" for page in wanted]


def _pairs(dataset: Dataset, sources: Sources, rows: int, seed: int, outcome: Outcome) -> None:
    by_wiki: dict[str, list[dict[str, Any]]] = {}
    for row in sample(dataset, "pairs", rows, seed):
        by_wiki.setdefault(row["wiki"], []).append(row)
    wikis = tuple(wiki for wiki in by_wiki if _dump_of(wiki, sources, outcome))
    qids = {qid for wiki in wikis for row in by_wiki[wiki] for qid in (row["entity_qid"], *row["hard_negative_qids"])}
    pages_of: dict[tuple[str, int], str] = {}
    if sources.wikidata:
        for item in _items(sources, {"wikis": wikis, "labels": ()}, qids):
            pages_of |= {(wiki, item.qid): title for wiki, title in item.sitelinks}
    else:
        outcome.skipped.append("entities: Wikidata has no dump there")
    for wiki in wikis:
        _pairs_of_wiki(wiki, by_wiki[wiki], sources, pages_of, outcome)


def _pairs_of_wiki(
    wiki: str,
    rows: Sequence[dict[str, Any]],
    sources: Sources,
    pages_of: Mapping[tuple[str, int], str],
    outcome: Outcome,
) -> None:
    pages = _open(sources.pages[wiki], sources.options.get(wiki, {"wiki": wiki}), outcome)
    wanted: dict[int, list[dict[str, Any]]] = {}
    for row in rows:
        wanted.setdefault(row["page_id"], []).append(row)
    # Rows whose link leads to another title than their entity's, perhaps a redirect.
    redirected: list[tuple[dict[str, Any], str]] = []
    for title, rows_of_page in _read(pages, outcome, wanted.keys()):
        for row in wanted.pop(title["page_id"], ()):
            outcome.checked += 1
            where = f"{wiki} page {row['page_id']} ({row['title']})"
            if (row["rev_id"], row["title"]) != (title["rev_id"], title["title"]):
                outcome.problems.append(f"{where}: is revision {title['rev_id']} of {title['title']!r} in the dump")
            targets = _targets(row, rows_of_page.sentences)
            if not targets:
                outcome.problems.append(f"{where}: has no such sentence with such a link: {row['text']!r:.300}")
                continue
            for qid in row["hard_negative_qids"]:
                if pages_of.get((wiki, qid)) in title["links"]:
                    outcome.problems.append(f"{where}: links to its hard negative Q{qid}")
            if pages_of and pages_of.get((wiki, row["entity_qid"])) not in targets:
                redirected.append((row, targets[0]))
    outcome.problems += [f"{wiki} page {page}: is not in the dump" for page in wanted]
    _follow(wiki, pages, redirected, sources=sources, pages_of=pages_of, outcome=outcome)


def _targets(row: Mapping[str, Any], sentences: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the targets of the link of a row, in the sentences of its page that have the same text."""
    span = (row["mention_start"], row["mention_end"])
    return [
        link["target"]
        for sentence in sentences
        if sentence["text"] == row["text"]
        for link in sentence["links"]
        if (link["start"], link["end"]) == span
    ]


def _follow(
    wiki: str,
    pages: Sequence[Wiki],
    redirected: list[tuple[dict[str, Any], str]],
    sources: Sources,
    pages_of: Mapping[tuple[str, int], str],
    outcome: Outcome,
) -> None:
    """Follow redirects from the links of rows to the pages of their entities."""
    known: dict[str, dict[str, Any]] = {}
    for _ in range(HOPS):
        ends = {_end(target, known) for _, target in redirected}
        if not (missing := ends - known.keys()):
            break
        known |= {title["title"]: title for title, _ in _read(pages, outcome, (), missing)}
    page_items: dict[int, int] = {}
    if redirected and wiki in sources.page_props:
        ids = {known[end]["page_id"] for _, target in redirected if (end := _end(target, known)) in known}
        page_items = {page: qid for page, qid in page_props_of(sources.page_props[wiki]) if page in ids}
    for row, target in redirected:
        end = _end(target, known)
        page = known.get(end, {}).get("page_id")
        if pages_of.get((wiki, row["entity_qid"])) != end and page_items.get(page or 0) != row["entity_qid"]:
            outcome.problems.append(
                f"{wiki} page {row['page_id']} ({row['title']}): links to {end!r}, which is not Q{row['entity_qid']}"
            )


def _end(title: str, known: Mapping[str, Mapping[str, Any]]) -> str:
    """Follow redirects from a title, as far as they are known."""
    for _ in range(HOPS):
        title = (known.get(title) or {}).get("redirect") or title
    return title


def _mewsc16(dataset: Dataset, sources: Sources, rows: int, seed: int, outcome: Outcome) -> None:
    options = dataset.options
    outcome.engines = (engine_of_options(options),)
    with_tables = {
        source["path"].partition("-")[0] for source in dataset.manifest["inputs"] if ".sql" in source["path"]
    }
    for language in options["languages"]:
        wiki = f"{language.replace('-', '_')}wikinews"
        paths = _dump_of(wiki, sources, outcome)
        tables = sources.tables.get(wiki, {})
        if not paths:
            continue
        if wiki in with_tables and "categorylinks" not in tables:
            outcome.skipped.append(f"{wiki} has no categorylinks there")
            continue
        wanted = {row["page_id"]: row for row in sample(dataset, language, rows, seed)}
        for page, derived in read_articles(paths, tables, options, frozenset(wanted)):
            row = wanted.pop(page)
            where = f"{wiki} page {page} ({row['title']})"
            outcome.checked += 1
            if derived is None:
                outcome.problems.append(f"{where}: is no candidate, derived again")
            else:
                outcome.problems += _differences(where, row, derived)
        outcome.problems += [f"{wiki} page {page}: is not in the dump" for page in wanted]


_DERIVE = {"sentences": _sentences, "entities": _entities, "pairs": _pairs, "mewsc16": _mewsc16}
# The datasets whose rows can be derived again. A row of the others is a sum over all pages, or the output of a model.
DERIVED = tuple(_DERIVE)


def derive_again(dataset: Dataset, sources: Sources, rows: int, seed: int) -> Outcome:
    """Derive sampled rows of a dataset again.

    Args:
        dataset: one of `DERIVED`.
        sources: the dumps.
        rows: the largest number of rows of each config.
        seed: the key of the sample.

    Raises:
        InputError: a dump cannot be read.
    """
    outcome = Outcome()
    _DERIVE[dataset.name](dataset, sources, rows, seed, outcome)
    return outcome
