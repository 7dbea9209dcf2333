"""Random rows of `wikianchor sentences` that a person read: how many had a fault, and how many of those still do.

    WIKIANCHOR_DATA=data python benchmarks/reading.py
    WIKIANCHOR_DATA=data python benchmarks/reading.py --sample=etwiki

`reading.json` has the verdicts: of each wiki 200 rows, drawn by a keyed hash from all that would be trained on, with a
class of fault or "". A row is known by page, revision, number and a hash of its text, so no text is kept. A fault is
mended when its page has no row of that text any more; sound rows that are gone, or read otherwise, are counted too, for
a rule must not take more than the faults. `--sample` prints the rows that are drawn from wikis now, links in brackets,
with the verdict where there is one.
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

from wikianchor.io.errors import InputError
from wikianchor.io.storage import file_size
from wikianchor.pipelines.dataset.workspace import Workspace
from wikianchor.pipelines.sentences.columns import SentenceColumns, TitleColumns
from wikianchor.pipelines.sentences.steps import DumpReader, PageReader
from wikianchor.pipelines.wikimedia.dumps import Range, read_range
from wikianchor.pipelines.wikimedia.pages import cut_pages

VERDICTS = Path(__file__).with_name("reading.json")
ROWS, KEY = 200, "read"
# What may be wrong with a row; the last three are not ours to mend.
FAULTS = {
    "boundary": "a sentence cut short, or two in one",
    "hole": "words are missing",
    "fragment": "no sentence: the rest of one, a work in a list",
    "reference": "the number of a note is left in the text",
    "signs": "stray blanks, signs, bullets and numbers",
    "quote": "a quotation of several sentences, open at one end",
    "entry": "an entry of a list without a verb",
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
    verdicts: dict[str, dict[str, str]] = json.loads(VERDICTS.read_text())
    wikis = arguments.sample.split(",") if arguments.sample else list(verdicts)
    found = rows_of(frozenset(wikis))
    if arguments.sample:
        for wiki in wikis:
            show(wiki, drawn(found[wiki]), verdicts.get(wiki, {}))
        return
    lines = [line(wiki, judged, found[wiki]) for wiki, judged in sorted(verdicts.items())]
    total = [sum(column) for column in list(zip(*lines, strict=True))[1:]]
    shown = [[one[0], *map(_before_after, one[1:-2:2], one[2:-2:2]), *one[-2:]] for one in [*lines, ["all", *total]]]
    head = ["wiki", *(f"{name}: read, now" for name in FAULTS), "sound", "of these gone"]
    notes = "\n".join(f"- {name}: {meaning}" for name, meaning in FAULTS.items())
    report("reading", table(head, shown) + "\n\n" + notes)


def line(wiki: str, judged: dict[str, str], rows: dict[str, Row]) -> list[Any]:
    """Return how many rows of a wiki had each fault and have it now, how many were sound, and how many of those are
    gone."""
    now = {(key.split()[0], one.digest) for key, one in rows.items()}
    kept = {key: (key.split()[0], key.split()[3]) in now for key in judged}
    counts: list[Any] = [wiki]
    for name in FAULTS:
        faulty = [key for key, verdict in judged.items() if verdict == name]
        counts += [len(faulty), sum(kept[key] for key in faulty)]
    sound = [key for key, verdict in judged.items() if not verdict]
    return [*counts, len(sound), sum(not kept[key] for key in sound)]


def _before_after(before: int, after: int) -> str:
    return f"{before}, {after}" if before else ""


def rows_of(wikis: frozenset[str]) -> dict[str, dict[str, Row]]:
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
            reader = PageReader(DumpReader(site, Workspace("", "", ""), "rules", "wikianchor", False))
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


def show(wiki: str, rows: list[Row], judged: dict[str, str]) -> None:
    """Print rows with their verdicts."""
    print(f"== {wiki}")
    for number, one in enumerate(rows):
        verdict = judged.get(f"{one.key} {one.digest}")
        print(f"{number:3} {'?' if verdict is None else verdict or '+':9} {one.marked}")


if __name__ == "__main__":
    main()
