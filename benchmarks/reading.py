"""Random rows of `wikianchor sentences` that a person read: how many had a fault, and how many of those still do.

    WIKIANCHOR_DATA=data python benchmarks/reading.py
    WIKIANCHOR_DATA=data python benchmarks/reading.py --sample=etwiki --marked

`reading.json` has the verdicts: of each wiki 200 rows, drawn by a keyed hash of title and number from all that would be
trained on, with a class of fault or none. A row is known by page, revision and number, and by a hash of its text, so no
text is kept. A fault is mended when its page has no row of that text any more. A sound row that is gone is counted as
well: a rule must not take more than the faults. `--sample` prints the rows of wikis as they are now, links marked and
faults before them, to judge; with `--known` those that were judged and are still there, with `--new` those that stand
in the place of rows that are gone.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import slices
from measure import parser, report, table
from rightness import site_of

from pipelines.dataset.columns import SentenceColumns, TitleColumns
from pipelines.errors import InputError
from pipelines.storage import file_size
from pipelines.transforms.dump import DumpReader, PageReader
from pipelines.wikimedia.dumps import Range, read_range
from pipelines.wikimedia.pages import cut_pages

VERDICTS = Path(__file__).with_name("reading.json")
ROWS, KEY = 200, "read"
# What may be wrong with a row.
FAULTS = {
    "boundary": "a sentence cut short, or two in one",
    "hole": "words are missing",
    "markup": "markup, or what is left of a template",
    "fragment": "no sentence: a caption, a work in a list, a note",
    "link": "a link that shows too much or too little",
    "glued": "words that belong apart stand together",
    "signs": "stray punctuation",
    "reference": "a sign of a note is left in the text",
    "source": "the page itself has the mistake",
}


class Row(NamedTuple):
    """A row: page, revision and number in one, a hash of its text, its text with links marked."""

    key: str
    digest: str
    marked: str


def main() -> None:
    """Print rows to judge, or the table."""
    flags = parser(__doc__, rounds=1)
    flags.add_argument("--sample", metavar="WIKIS", help="print the rows of wikis, with commas between")
    arguments = flags.parse_args()
    verdicts: dict[str, dict[str, list[str]]] = json.loads(VERDICTS.read_text()) if VERDICTS.exists() else {}
    found = rows_of(set((arguments.sample or ",".join(verdicts)).split(",")))
    if arguments.sample:
        for wiki, rows in sorted(found.items()):
            show(wiki, drawn(rows), verdicts.get(wiki, {}))
        return


def rows_of(wikis: set[str]) -> dict[str, dict[str, Row]]:
    """Return the rows of wikis, by key; of two dumps that hold a page the first counts."""
    found: dict[str, dict[str, Row]] = {}
    dumps: dict[str, tuple[str, SentenceColumns]] = {}
    seen: set[tuple[str, str]] = set()
    root = slices.data() / "wikipedia-xml"
    for path in sorted(str(path) for path in root.rglob("*") if path.is_file()):
        try:
            site = site_of(path)
            if site.wiki not in wikis:
                continue
            reader = PageReader(DumpReader(site, "", "rules", "wikianchor", False))
            sentences, titles = SentenceColumns(site.wiki), TitleColumns(site.wiki)
            dumps[path] = site.wiki, sentences
            for raw, _ in cut_pages(read_range(Range(path, 0, file_size(path), True)), path):
                page = reader.parse(raw, path, Counter(), [])
                if page is not None and page.redirect is None and (site.wiki, page.title) not in seen:
                    seen.add((site.wiki, page.title))
                    reader.read_page(page, sentences, titles)
        except InputError:
            # Some of the samples are no dumps; what was read before a damage counts.
            continue
    for wiki, sentences in dumps.values():
        if len(sentences):
            rows = map(row, sentences.take().to_pylist())
            found.setdefault(wiki, {}).update((one.key, one) for one in rows)
    return found


def row(values: dict[str, Any]) -> Row:
    """Return a row of the dataset as it is judged."""
    key = f"{values['page_id']} {values['rev_id']} {values['sentence_index']}"
    text = marked = values["text"]
    for link in reversed(values["links"]):
        marked = f"{marked[: link['start']]}[{marked[link['start'] : link['end']]}]{marked[link['end'] :]}"
    return Row(key, hashlib.sha256(text.encode()).hexdigest()[:8], f"{values['region'][:2]} {marked}")


def drawn(rows: dict[str, Row]) -> list[Row]:
    """Return the rows to judge: those with the lowest hashes."""
    return sorted(rows.values(), key=lambda one: hashlib.sha256(f"{KEY} {one.key}".encode()).digest())[:ROWS]


def show(wiki, rows, judged) -> None:
    print(f"== {wiki}")
    for number, one in enumerate(rows):
        print(f"{number} {one.marked}")


if __name__ == "__main__":
    main()
