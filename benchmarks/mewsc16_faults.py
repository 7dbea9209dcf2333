"""Faults that our rules find in the released MewsC-16, against verdicts of a person; first sentences; speed.

    WIKIANCHOR_DATA=data python benchmarks/mewsc16_faults.py [rows] [articles] [speed]

- `rows`: the share of released rows with a fault, by the rules; judged rows: faulty ones that are found, and sound ones
  that are called faulty (`tests/data/mewsc16_released.json` has the verdicts; of the languages in `mewsc16/` only those
  with a file are counted); first sentences of beginnings in the habits of each wiki and of sentences that look like
  datelines (`tests/wikinews_habits.py`), and of whole pages (`tests/data/wikinews_leads.txt`)
- `articles`: first sentences of collected articles, which a person read and judged
- `speed`: user CPU of `mewsc16` against that of `sentences` on the same generated dumps
"""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from collections import Counter
from functools import partial
from pathlib import Path
from statistics import median

from lib import slices
from lib.measure import ROOT, job, less, parser, ratio, report, rounds_of, run_parts, table

sys.path.insert(0, str(ROOT))

from tests import wikinews as news
from tests import wikinews_habits as habits
from tests.mewsc16.test_judged import SAMPLE, VERDICTS, articles, digest
from tests.wikinews import Newsroom
from wikianchor.pipelines.mewsc16.editions import with_aliases
from wikianchor.pipelines.mewsc16.faults import FaultFinder
from wikianchor.pipelines.mewsc16.lead import LeadReader
from wikianchor.pipelines.wikimedia.choices import ENGINES
from wikianchor.pipelines.wikimedia.site import site_for

SPEED_LANGUAGES = ("de", "en", "fr", "ja")
KINDS = ("category_marker", "image_residue", "markup", "hole", "note", "glued", "cut", "caption", "fragment")


def main() -> None:
    """Print the tables that are asked for."""
    flags = parser(__doc__, parts=list(PARTS))
    flags.add_argument("--pages", type=int, default=3000, help="articles of each language for `speed` (3000)")
    run_parts(PARTS, flags)


def judge_rows(_: Namespace) -> None:
    """Print the tables of faults, and first sentences by language."""
    folder = slices.data() / "mewsc16"
    files = {path.name.partition("_")[0]: path for path in sorted(folder.glob("*_sentences.txt"))}
    rows = [released(language, path) for language, path in files.items()]
    report("Released rows with a fault", table(["", "rows", *KINDS, "with a fault"], rows))
    verdicts = json.loads(VERDICTS.read_text())
    judged = [by_number(language, files[language], verdicts) for language in verdicts["faulty rows"]]
    judged += [
        by_hash(language, files[language], verdicts)
        for language in verdicts["rows of set-aside languages"]
        if language in files
    ]
    report("Judged rows", table(["", "faulty", "found", "sound", "called faulty"], judged))
    head = ["", "beginnings", "right", "whole pages", "right"]
    report("First sentences", table(head, [first_sentences(language) for language in habits.HEADS]))


def lines(path: Path) -> list[str]:
    """Return the rows of a released file."""
    return path.read_text("utf-8").split("\n")


def released(language: str, path: Path) -> list[object]:
    """Return the number of rows with each fault."""
    faults, counts = FaultFinder(language), Counter[str]()
    rows = lines(path)
    counts.update((faults.fault(row) or "").partition(":")[0] for row in rows)
    share = 1 - counts[""] / len(rows)
    return [language, f"{len(rows):,}", *(f"{counts[kind]:,}" for kind in KINDS), f"{100 * share:.1f} %"]


def by_number(language: str, path: Path, verdicts: dict[str, dict[str, list[int]]]) -> list[object]:
    """Return what the rules find among the two hundred judged rows of a language."""
    faults, rows, faulty = FaultFinder(language), lines(path), set(verdicts["faulty rows"][language])
    sample = sorted(range(len(rows)), key=lambda row: digest(f"judge|{language}|{row}"))[:SAMPLE]
    return _found(language, faults, [(rows[row], row in faulty) for row in sample])


def by_hash(language: str, path: Path, verdicts: dict[str, dict[str, dict[str, list[str]]]]) -> list[object]:
    """Return what the rules find among the judged rows of a language that no rule was made from."""
    judged = verdicts["rows of set-aside languages"][language]
    kinds = {name: kind == "faulty" for kind, names in judged.items() for name in names}
    rows = [(row, kinds[name]) for row in lines(path) if (name := digest(row[:60])) in kinds]
    return _found(language, FaultFinder(language), rows)


def _found(language: str, faults: FaultFinder, rows: list[tuple[str, bool]]) -> list[object]:
    counts = Counter((faulty, faults.fault(row) is not None) for row, faulty in rows)
    faulty, sound = counts[True, True] + counts[True, False], counts[False, True] + counts[False, False]
    return [language, faulty, counts[True, True], sound, counts[False, True]]


def first_sentences(language: str) -> list[object]:
    """Return the number of beginnings and of whole pages, and of those of each whose first sentence is right."""
    reader, room = LeadReader(with_aliases(site_for(f"{language}wikinews"))), Newsroom(language)
    other = room.clause(1, room.words(1))
    pages = [(f"{start}{room.joint}{other}", start) for start in habits.STARTS[language]]
    for seed, head in enumerate(habits.heads(language, room.speech["file"], other), 2):
        words = room.words(seed)
        written = room.written(seed, words).replace("{{Wiki link|", "{{w|")
        pages.append((f"{head}{written}{room.joint}{other}", room.clause(seed, words)))
    right = sum(reader.first_sentence(text, "Title") == (sentence, "") for text, sentence in pages)
    whole = habits.whole_pages(language)
    read = [reader.first_sentence(text, "Title")[0] == sentence for text, sentence in whole]
    return [language, len(pages), right, len(whole), sum(read)]


def judge_articles(_: Namespace) -> None:
    """Print how many first sentences of collected articles are right."""
    verdicts = json.loads(VERDICTS.read_text())["sentences"]
    readers = {language: LeadReader(site_for(f"{language}wikinews")) for language in ("en", "fr")}
    counts: dict[str, Counter[int | None]] = {language: Counter() for language in readers}
    numbers = Counter[str]()
    for language, title, text in articles():
        sentence, reason = readers[language].first_sentence(text, title)
        numbers[language] += 1
        if not reason:
            counts[language][verdicts.get(digest(sentence))] += 1
    head = ["", "articles", "sentences", "right", "wrong", "not judged", "right, of those given"]
    lines = [
        [
            language,
            numbers[language],
            found.total(),
            found[1],
            found[0],
            found[None],
            f"{100 * found[1] / found.total():.1f} %",
        ]
        for language, found in counts.items()
    ]
    report("First sentences of articles", table(head, lines))


def measure_speed(arguments: Namespace) -> None:
    """Print the CPU of `mewsc16` and, by each engine, of `sentences` on the same dumps, less that of their start."""
    work = arguments.work / "news"
    small = news.write(news.make_news("en", 20), work / "small")
    paths = {language: news.write(news.make_news(language, arguments.pages), work) for language in SPEED_LANGUAGES}
    stages = {"mewsc16": ("mewsc16",), **{engine: ("sentences", f"--engine={engine}") for engine in ENGINES}}
    cases = {
        f"{name}: {language}": partial(job, stage, work / "out", f"--dumps={path}", *flags)
        for name, (stage, *flags) in stages.items()
        for language, path in {"start": small, **paths}.items()
    }
    times = rounds_of(arguments.rounds, cases)
    lines: list[list[object]] = []
    for language in SPEED_LANGUAGES:
        costs = [less(times[f"{name}: {language}"], times[f"{name}: start"]) for name in stages]
        speeds = [f"{arguments.pages / median(cost):,.0f}" for cost in costs]
        lines.append([language, *speeds, *(ratio(costs[0], cost) for cost in costs[1:])])
    head = ["", "mewsc16", *(f"sentences, {engine}" for engine in ENGINES)]
    report("Pages / CPU s, and ratios of CPU", table([*head, *(f"mewsc16 / {engine}" for engine in ENGINES)], lines))


PARTS = {"rows": judge_rows, "articles": judge_articles, "speed": measure_speed}

if __name__ == "__main__":
    main()
