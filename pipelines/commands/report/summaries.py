"""What the manifest of a dataset says of it, in lines and tables of counts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial

from wikianchor.io.errors import InputError
from wikianchor.io.manifests import MANIFEST
from wikianchor.pipelines.commands.report.model import Counts
from wikianchor.pipelines.dataset.manifest import manifest_problems
from wikianchor.pipelines.dataset.reader import Dataset
from wikianchor.pipelines.dataset.reasons import listed, meaning, reason
from wikianchor.pipelines.dataset.split_configs import split_config
from wikianchor.schemas.pairs import SPLITS

# Templates on the terminal; the page shows more.
TEMPLATES_SHOWN = 10
SHARDS_SHOWN = 3


def ledger(title: str, lead: str, dataset: str, buckets: Mapping[str, int]) -> Counts:
    """Return a ledger as a table: what was kept comes first, then the largest bucket.

    Args:
        title: the title of the table.
        lead: what the line on the terminal says before the buckets; {kept} and {seen} in it are their numbers.
        dataset: a key of `reasons.FLAGS`, or "prose" for the sentences of pages.
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
        f"{lead.format(kept=buckets.get('kept', 0), seen=buckets.get('seen', 0))}: {listed(dataset, buckets)}",
    )


def title_of(dataset: Dataset) -> str:
    """Return the name of a dataset, and its wiki where it has one."""
    return f"{dataset.name} {dataset.wiki}".rstrip()


def blocks_of(dataset: Dataset) -> list[str | Counts]:
    """Return what a dataset is, from its manifest alone: lines of text, and tables of counts.

    Raises:
        InputError: the manifest is not complete.
    """
    if problem := next(manifest_problems(dataset.manifest), None):
        raise InputError(f"{dataset.directory}/{problem}: build the dataset again")
    name = dataset.name
    try:
        return list(_BLOCKS.get(name, _config_rows)(dataset))
    except (KeyError, AttributeError, TypeError) as error:
        path = f"{dataset.directory}/{MANIFEST}"
        raise InputError(f"{path}: its ledger is not that of {name!r} ({error}): build the dataset again") from error


def _config_rows(dataset: Dataset) -> Iterator[str]:
    for name, config in dataset.configs.items():
        yield f"{name}: {config['rows']:,} rows"


def _sentences(dataset: Dataset) -> Iterator[str | Counts]:
    for wiki, counts in dataset.ledger.items():
        pages, sentences, links = (counts.get(name, {}) for name in ("pages", "sentences", "links"))
        yield _pages(wiki, pages)
        yield ledger(f"Sentences of {wiki}", "sentences: {kept:,} kept; dropped", "prose", sentences)
        if lost := sentences.get("template", 0):
            yield _templates(lost, sum(sentences.values()), counts.get("templates", {}))
        yield ledger(f"Links of {wiki}", "links: {seen:,} seen, {kept:,} in sentences; else", "sentences", links)
        if source := counts.get("source"):
            yield _source(wiki, source)
        if text := counts.get("text"):
            lead = "characters in calls of templates that show nothing"
            yield ledger(f"Text in calls of {wiki} that show nothing, in characters", lead, "text", text)
        if fragments := counts.get("fragments"):
            yield _by_region(f"Fragments of {wiki}", "fragments, text that is no sentence", fragments)


def _source(wiki: str, source: Mapping[str, int]) -> Counts:
    line = (
        f"links in the source: {source.get('links', 0):,}; {source.get('in_calls', 0):,} given to templates, "
        f"{source.get('from_calls', 0):,} shown by them"
    )
    rows = [(name, number, reason(name, "source")) for name, number in source.items() if number]
    return Counts(f"Links in the source of {wiki}", "source", rows, source.get("links", 0), line)


def _by_region(title: str, lead: str, regions: Mapping[str, int]) -> Counts:
    rows = sorted(regions.items(), key=lambda row: (-row[1], row[0]))
    line = f"{lead}: {', '.join(f'{region} {number:,}' for region, number in rows)}"
    return Counts(title, "region", [(region, number, "") for region, number in rows], sum(regions.values()), line)


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
    counts = dataset.ledger
    lines = {"seen" if name == "lines" else name: number for name, number in counts["lines"].items()}
    items = f"items: {dataset.rows('entities'):,}"
    yield ledger("Lines of the dump", items + " of {seen:,} lines; else", "entities", lines)
    yield f"pages with an item: {listed('entities', counts['sitelinks'])}"


def _pairs(dataset: Dataset) -> Iterator[str | Counts]:
    shards = len(dataset.shards("pairs"))
    yield f"{dataset.rows('pairs'):,} pairs in {shards} shards, {dataset.rows('entities'):,} entities in their table"
    if dataset.options.get("split"):
        held_out = ", ".join(f"{dataset.rows(split_config('pairs', name)):,} pairs of {name}" for name in SPLITS[1:])
        yield f"held out, beside these of train: {held_out}"
    for wiki, links in dataset.ledger["links"].items():
        yield ledger(f"Links of {wiki}", wiki + ": {kept:,} pairs of {seen:,} links; else", "pairs", links)
    yield from dataset.shards("pairs")[:SHARDS_SHOWN]


def _export(dataset: Dataset) -> Iterator[str | Counts]:
    options = dataset.options
    shards = len(dataset.shards("export"))
    language = options["language"]
    mixed = "" if language == "same" else f", the positive in {language} language (--language={language})"
    texts = f"{options['kind']}, {options['negatives'] or 'no'} negatives{mixed}"
    yield f"{dataset.rows('export'):,} rows in {shards} shards: {texts}"
    for wiki, rows in dataset.ledger["rows"].items():
        entities = dataset.ledger["entities"][wiki]
        kept, eligible = entities["kept"], entities["eligible"]
        yield (
            f"{wiki}: {kept:,} of {eligible:,} eligible entities have a row ({kept / max(1, eligible):.0%}), "
            f"{rows.get('kept', 0) / max(1, kept):.1f} rows each; {entities['seen']:,} entities have pairs"
        )
        yield ledger(f"Pairs of {wiki}", wiki + ": {kept:,} rows of {seen:,} pairs; else", "export", rows)
    for when, cosines in dataset.ledger.get("cosines", {}).items():
        means = f"means of {cosines['positive']:.3f} (positive) and {cosines['negative']:.3f} (negatives)"
        yield f"{when} scoring by {dataset.manifest['scored']['model']}: {cosines['rows']:,} rows, cosines with {means}"


def _corpus(dataset: Dataset) -> Iterator[str | Counts]:
    counts = dataset.ledger
    words = counts["statistics"]
    mean = words["tokens"] / max(1, words["sentences"])
    yield f"{words['sentences']:,} sentences, {mean:.1f} tokens each on average, {words['unique_tokens']:,} different"
    yield _seen("Sentences", "corpus", counts["sentences"])


def _seen(title: str, dataset: str, buckets: Mapping[str, int]) -> Counts:
    return ledger(title, title.lower() + " seen: {seen:,}; dropped", dataset, buckets)


def _negatives(dataset: Dataset) -> Iterator[str | Counts]:
    counts = dataset.ledger
    kept = counts["candidates"].get("kept", 0)
    yield f"{dataset.rows('negatives'):,} sentences with {kept:,} negatives"
    yield _seen("Sentences", "negatives", counts["sentences"])
    yield _seen("Candidates", "candidates", counts["candidates"])


def _mewsc16(dataset: Dataset) -> Iterator[str | Counts]:
    options = dataset.options
    yield f"mode {options['mode']}, topics of a page: {options['membership']}"
    for language, counts in dataset.ledger.items():
        lead = language + ": {kept:,} of {seen:,} pages kept; else"
        yield ledger(f"Pages of {language}", lead, "mewsc16", counts["pages"])
        yield f"  {listed('mewsc16', counts['labels'])}"
        if "memberships" in counts:
            yield f"  memberships, by the text and by the wiki's table: {listed('mewsc16', counts['memberships'])}"


def _mentions(dataset: Dataset) -> Iterator[str | Counts]:
    options = dataset.options
    thresholds = f"link probability {options['link_probability']}, commonness {options['commonness']}"
    candidates = f"{dataset.rows('candidates'):,} above {thresholds}"
    yield f"{dataset.rows('mentions'):,} pairs of a name and an item, {candidates}"
    for wiki, links in dataset.ledger["links"].items():
        yield ledger(f"Links of {wiki}", wiki + ": {kept:,} of {seen:,} links give a name; else", "mentions", links)
        if regions := dataset.ledger.get("regions", {}).get(wiki):
            yield _by_region(f"Links of {wiki} that give a name", f"{wiki}: links that give a name", regions)


def _linking(dataset: Dataset) -> Iterator[str | Counts]:
    yield f"{dataset.rows('items'):,} items and {dataset.rows('names'):,} names, as {dataset.options['format']}"
    for wiki, links in dataset.ledger["links"].items():
        yield ledger(f"Links of {wiki}", wiki + ": {kept:,} mentions of {seen:,} links; else", "linking", links)
        counts, rows = dataset.ledger["candidates"].get(wiki, {}), max(1, links["kept"])
        shares = (
            f"{counts.get(f'{prefix}first', 0) / rows:.1%} of its mentions have their item as the first candidate, "
            f"{counts.get(f'{prefix}among_30', 0) / rows:.1%} among 30{note}"
            for prefix, note in (("", ""), ("held_out_", ", if the link itself is not counted"))
        )
        yield from (f"{wiki}: {line}" for line in shares)
    held_out = {name: dataset.rows(split_config("linking", name)) for name in SPLITS[1:]}
    if any(held_out.values()):
        yield "held out: " + ", ".join(f"{rows:,} mentions of {name}" for name, rows in held_out.items())


def _retrieval(dataset: Dataset) -> Iterator[str | Counts]:
    queries, grades = (dataset.rows(config) for config in ("queries", "qrels"))
    yield f"{queries:,} queries, {grades:,} relevant passages of {dataset.rows('corpus'):,}"
    for kind, lead in (("links", "{kept:,} queries of {seen:,} links"), ("passages", "{kept:,} of {seen:,} passages")):
        for wiki, counts in dataset.ledger[kind].items():
            yield ledger(f"{kind.capitalize()} of {wiki}", f"{wiki}: {lead}; else", "retrieval", counts)
    pairs = sum(counts.get("links_to_target", 0) for counts in dataset.ledger.get("unjudged", {}).values())
    yield f"{pairs:,} pairs of a query and a passage of another page that links to its target: not graded"


def _by_wiki(dataset: Dataset, kind: str) -> Iterator[str]:
    for wiki, counts in dataset.ledger[kind].items():
        yield f"{wiki}: {listed(dataset.name, counts)}"


_BLOCKS: Mapping[str, Callable[[Dataset], Iterator[str | Counts] | Iterator[str]]] = {
    "sentences": _sentences,
    "entities": _entities,
    "pairs": _pairs,
    "export": _export,
    "corpus": _corpus,
    "negatives": _negatives,
    "mewsc16": _mewsc16,
    "mentions": _mentions,
    "documents": partial(_by_wiki, kind="links"),
    "linking": _linking,
    "retrieval": _retrieval,
    "interlanguage": partial(_by_wiki, kind="rows"),
    "templates": partial(_by_wiki, kind="templates"),
}
