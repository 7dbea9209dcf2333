"""Check the ledger of a dataset: its buckets add up, and the rows that it counts as kept are there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from wikianchor.pipelines.commands.verify.rows import Tally
from wikianchor.pipelines.dataset.reader import Dataset
from wikianchor.pipelines.sentences.graph import IN_FRAGMENTS
from wikianchor.pipelines.wikimedia.choices import PARSERS
from wikianchor.schemas.choices import ASIDES, FRAGMENT_REGIONS, LINKING_FORMATS

# Kinds of counts of which the ledger of each page has its share.
OF_PAGES = ("sentences", "fragments", "links", "source", "text")


def check_ledger(dataset: Dataset, tally: Tally) -> Iterator[str]:
    """Yield the counts of a ledger that are wrong.

    Args:
        dataset: any dataset; the ledgers of `_CHECKS` are checked.
        tally: the rows and links that `check_rows` counted.
    """
    if check := _CHECKS.get(dataset.name):
        yield from check(dataset, tally)


def _sentences(dataset: Dataset, tally: Tally) -> Iterator[str]:
    for wiki, counts in dataset.ledger.items():
        links, fragments, pages = (counts.get(kind, {}) for kind in ("links", "fragments", "pages"))
        yield from _adds_up(wiki, links)
        yield from _of_pages(wiki, counts, tally)
        yield from _agree(
            (f"{wiki}: links", links.get("kept", 0), tally["links", "sentences"]),
            (f"{wiki}: sentences", counts.get("sentences", {}).get("kept", 0), tally["sentences",]),
            (f"{wiki}: pages", pages.get("articles", 0), tally["articles",]),
            (f"{wiki}: pages", pages.get("redirects", 0), tally["redirects",]),
            *(
                (f"{wiki}: fragments of the region {region}", fragments.get(region, 0), tally["fragments", region])
                for region in FRAGMENT_REGIONS
            ),
        )
        if not dataset.options.get("fragments"):
            continue
        # The other parser leaves out what is in tables and captions.
        asides = ASIDES if dataset.options["parser"] == PARSERS[0] else ()
        dropped = sum(number for name, number in links.items() if name in IN_FRAGMENTS or name in asides or ":" in name)
        yield from _agree((f"{wiki}: links in fragments", dropped, tally["links", "fragments"]))
        if dataset.options.get("documents"):
            # A document has the links of headings too.
            expected = links.get("kept", 0) + dropped + links.get("heading", 0)
            yield from _agree(
                (f"{wiki}: documents", pages.get("articles", 0), tally["documents",]),
                (f"{wiki}: sentences in documents", tally["sentences",], tally["sentences", "documents"]),
                (f"{wiki}: links in documents", expected, tally["links", "documents"]),
            )


def _of_pages(wiki: str, counts: Mapping[str, Mapping[str, int]], tally: Tally) -> Iterator[str]:
    """Yield the counts that are not the sums of those of the pages. Of templates, the rarest are not recorded."""
    recorded = {f"{kind}:{name}": number for kind in OF_PAGES for name, number in counts.get(kind, {}).items()}
    summed = {key[1]: number for key, number in tally.items() if key[0] == "ledger" and number}
    return _agree(
        *(
            (f"{wiki}: {name}, in the ledgers of pages", recorded.get(name, 0), summed.get(name, 0))
            for name in sorted(recorded.keys() | summed.keys())
            if name.partition(":")[0] in OF_PAGES
        )
    )


def _mentions(dataset: Dataset, tally: Tally) -> Iterator[str]:
    ledger = dataset.ledger
    for wiki, buckets in ledger.get("links", {}).items():
        yield from _adds_up(wiki, buckets)
        by_region = sum(ledger.get("regions", {}).get(wiki, {}).values())
        yield from _agree((f"{wiki}: links kept, by region", by_region, buckets.get("kept", 0)))


def _pairs(dataset: Dataset, tally: Tally) -> Iterator[str]:
    links = dataset.ledger.get("links", {})
    for wiki, buckets in links.items():
        yield from _adds_up(wiki, buckets)
        yield from _agree((f"{wiki}: links kept", buckets.get("kept", 0), tally["pairs", wiki]))
    for wiki in sorted({key[1] for key in tally if key[0] == "pairs"} - links.keys()):
        yield f"{wiki} has rows and no ledger"


def _documents(dataset: Dataset, tally: Tally) -> Iterator[str]:
    for wiki, buckets in dataset.ledger.get("links", {}).items():
        yield from _adds_up(wiki, buckets)
        yield from _agree((f"{wiki}: links", buckets.get("seen", 0), tally["documents", wiki]))


def _linking(dataset: Dataset, tally: Tally) -> Iterator[str]:
    for wiki, buckets in dataset.ledger.get("links", {}).items():
        yield from _adds_up(wiki, buckets)
        if dataset.options["format"] == LINKING_FORMATS[0]:
            yield from _agree((f"{wiki}: links kept", buckets.get("kept", 0), tally["mentions", wiki]))


def _retrieval(dataset: Dataset, tally: Tally) -> Iterator[str]:
    for kind, config in (("links", "queries"), ("passages", "corpus")):
        kept = 0
        for wiki, buckets in dataset.ledger.get(kind, {}).items():
            yield from _adds_up(wiki, buckets, kind)
            kept += buckets.get("kept", 0)
        yield from _agree((config, kept, dataset.rows(config)))


def _entities(dataset: Dataset, tally: Tally) -> Iterator[str]:
    links = dataset.ledger.get("sitelinks", {})
    return _agree(
        ("items", dataset.ledger.get("lines", {}).get("kept", 0), tally["items",]),
        *((f"{wiki}: sitelinks", number, tally["sitelinks", wiki]) for wiki, number in links.items()),
    )


def _export(dataset: Dataset, tally: Tally) -> Iterator[str]:
    ledger = dataset.ledger.get("rows", {})
    for wiki, buckets in ledger.items():
        yield from _adds_up(wiki, buckets, "pairs")
        yield from _agree((f"{wiki}: rows kept", buckets.get("kept", 0), tally["origins", wiki]))
    yield from _agree(("rows kept", sum(buckets.get("kept", 0) for buckets in ledger.values()), tally["texts",]))


def _mewsc16(dataset: Dataset, tally: Tally) -> Iterator[str]:
    for language, counts in dataset.ledger.items():
        yield from _adds_up(language, counts["pages"], "pages")
        yield from _agree(
            (f"{language}: pages kept", counts["pages"].get("kept", 0), dataset.rows(language)),
            (f"{language}: labels", sum(counts["labels"].values()), dataset.rows(language)),
        )


_CHECKS = {
    "sentences": _sentences,
    "pairs": _pairs,
    "mentions": _mentions,
    "documents": _documents,
    "linking": _linking,
    "retrieval": _retrieval,
    "entities": _entities,
    "mewsc16": _mewsc16,
    "export": _export,
}


def _adds_up(wiki: str, buckets: Mapping[str, int], unit: str = "links") -> Iterator[str]:
    total = sum(number for name, number in buckets.items() if name != "seen")
    if total != buckets.get("seen", 0):
        yield f"{wiki}: the buckets hold {total} {unit}, {buckets.get('seen', 0)} were seen"
    yield from (f"{wiki}: {name} holds {number}" for name, number in buckets.items() if number < 0)


def _agree(*counts: tuple[str, int, int]) -> Iterator[str]:
    """Yield which of some counts differ from what is there: the name, what the ledger says, and what was counted."""
    for name, recorded, counted in counts:
        if recorded != counted:
            yield f"{name}: the ledger says {recorded}, there are {counted}"
