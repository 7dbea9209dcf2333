"""The ledger of a dataset against its rows: every link is in one bucket, and what was kept is there."""

from __future__ import annotations

from collections.abc import Iterator

from wikianchor.pipelines.commands.verify.rows import Tally
from wikianchor.pipelines.dataset.reader import Dataset


def check_ledger(one: Dataset, tally: Tally) -> Iterator[str]:
    """Yield the sums of a ledger that are wrong.

    Args:
        one: the dataset.
        tally: the rows and links that were counted in it.
    """
    ledger = one.manifest["ledger"]
    if one.manifest["dataset"] == "sentences":
        for wiki, kinds in ledger.items():
            yield from _adds_up(wiki, kinds.get("links", {}))
            for kind, name, counted in (
                ("links", "kept", "links"),
                ("sentences", "kept", "sentences"),
                ("pages", "articles", "articles"),
                ("pages", "redirects", "redirects"),
            ):
                yield from _agrees(f"{wiki}: {kind}", kinds.get(kind, {}).get(name, 0), tally[counted,])
    elif one.manifest["dataset"] == "pairs":
        for wiki, buckets in ledger.get("links", {}).items():
            yield from _adds_up(wiki, buckets)
            yield from _agrees(f"{wiki}: links kept", buckets.get("kept", 0), tally["pairs", wiki])
        for wiki in sorted({key[1] for key in tally if key[0] == "pairs"} - ledger.get("links", {}).keys()):
            yield f"{wiki} has rows and no ledger"
    elif one.manifest["dataset"] == "entities":
        yield from _agrees("items", ledger.get("lines", {}).get("kept", 0), tally["items",])
        for wiki, number in ledger.get("sitelinks", {}).items():
            yield from _agrees(f"{wiki}: sitelinks", number, tally["sitelinks", wiki])
    elif one.manifest["dataset"] == "mewsc16":
        for language, kinds in ledger.items():
            yield from _adds_up(language, kinds["pages"], "pages")
            yield from _agrees(f"{language}: pages kept", kinds["pages"].get("kept", 0), one.rows(language))
            yield from _agrees(f"{language}: labels", sum(kinds["labels"].values()), one.rows(language))


def _adds_up(wiki: str, buckets: dict[str, int], what: str = "links") -> Iterator[str]:
    total = sum(number for name, number in buckets.items() if name != "seen")
    if total != buckets.get("seen", 0):
        yield f"{wiki}: the buckets hold {total} {what}, {buckets.get('seen', 0)} were seen"
    yield from (f"{wiki}: {name} holds {number}" for name, number in buckets.items() if number < 0)


def _agrees(what: str, said: int, counted: int) -> Iterator[str]:
    if said != counted:
        yield f"{what}: the ledger says {said}, there are {counted}"
