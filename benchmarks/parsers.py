"""Our engine and mwparserfromhell on the same pages: what each costs, and on how many links the two agree.

    WIKIANCHOR_DATA=data python benchmarks/parsers.py

Both are run as `wikianchor sentences` runs them, in turns: wikitext in, text and links with offsets out
(`--parser`). Agreement is the share of links, by what they show and where they lead, that both find among those that
either does. Where the two differ a page is put into a class by what there is to see: "table" where table markup is left
in the text that mwparserfromhell gives, "bracket" where a label ends in one ("]]]"), "other" else. Needs the extra
`mwparserfromhell`.
"""

from __future__ import annotations

import gc
import random
import re
from collections import Counter
from statistics import median

import generate
import slices
from measure import parser, report, seconds, table

from pipelines.wikimedia.mwparser import PARSERS, make_extractor
from pipelines.wikimedia.wikitext import Extract
from pipelines.wikimedia.wikitext.marks import LINE_MARKS

PAGES, SEED = 150, 1
CLASSES = ("table", "bracket", "other")
_TABLE_LEFT = re.compile(rf"^[{LINE_MARKS}]*[|!]|\{{\|", re.MULTILINE)


def main() -> None:
    """Measure and print the table."""
    flags = parser(__doc__)
    flags.add_argument("--languages", nargs="+", default=sorted(slices.SLICES), choices=sorted(slices.SLICES))
    arguments = flags.parse_args()
    rows = [row(language, arguments.rounds) for language in arguments.languages]
    head = ["language", "pages", "links", *(f"{name}, MB / CPU s" for name in PARSERS), "times", "agreement"]
    report(
        "parsers: our engine and mwparserfromhell",
        table([*head, *(f"differ: {name}" for name in CLASSES)], [*rows]),
    )


def row(language: str, rounds: int) -> list[object]:
    """Return the row of a language."""
    source = generate.read_source(slices.paths(language))
    articles = [page for page in source.pages if not page.namespace and page.redirect is None and page.text]
    articles = random.Random(SEED).sample(articles, min(PAGES, len(articles)))
    texts = [(page.text.translate(dict.fromkeys({*range(32)} - {9, 10})), page.title) for page in articles]
    found: dict[str, list[Extract]] = {}
    times = []
    for _ in range(rounds):
        spent = []
        for name in PARSERS:
            extractor = make_extractor(name, source.site)
            # What the other left is not to be cleared away in this one's time.
            gc.collect()
            spent.append(seconds(lambda: found.update({name: [extractor.extract(*page) for page in texts]})))  # noqa: B023
        times.append(spent)
    differ = Counter[str]()
    either = both = 0
    for (text, _), one, other in zip(texts, *(found[name] for name in PARSERS), strict=True):
        ours, theirs = links(one), links(other)
        either, both = either + (ours | theirs).total(), both + (ours & theirs).total()
        differ[difference(text, other)] += ((ours | theirs) - (ours & theirs)).total()
    megabytes = sum(len(text.encode()) for text, _ in texts) / 1e6
    first, second = (median(column) for column in zip(*times, strict=True))
    slower = median(other / one for one, other in times)
    return [
        *(language, len(texts), either, megabytes / first, megabytes / second, slower, f"{both / either:.4f}"),
        *(differ[name] for name in CLASSES),
    ]


def links(extract: Extract) -> Counter[tuple[str, str]]:
    """Return what each link to an article shows and where it leads."""
    found = extract.links
    return Counter(
        (extract.text[start:end], target)
        for start, end, target in zip(found.starts, found.ends, found.targets, strict=True)
    )


def difference(text: str, theirs: Extract) -> str:
    """Return the class of difference that a page may show."""
    return "table" if _TABLE_LEFT.search(theirs.text) else "bracket" if "]]]" in text else "other"


if __name__ == "__main__":
    main()
