"""How often sentence splitters err at hand-judged places of real pages.

    WIKIANCHOR_DATA=data python benchmarks/boundaries.py --venv=DIR

`boundaries.json` has the verdicts, for a hundred and more places in each language: does a sentence end here? A place is
where a terminator stands, closing quotes and brackets behind it and more of the line to come; places were drawn at
random from the paragraphs of all pages at hand, and are known by a hash of what stands around them, so no text is kept.
`--sample=WIKIS` prints the places of wikis to judge, with the verdict where there is one. Other splitters run
in an environment that holds them (PyICU, sentencex, blingfire, pysbd); what is missing there is left out, and said.
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import slices
from measure import parser, report, table
from rightness import articles

from wikianchor.pipelines.text.splitter import make_splitter
from wikianchor.pipelines.wikimedia.site import Site
from wikianchor.pipelines.wikimedia.wikitext import Extractor
from wikianchor.pipelines.wikimedia.wikitext.placeholders import GAP, LINE_MARKS

VERDICTS = Path(__file__).with_name("boundaries.json")
PLACES = 120
# What stands around a place and makes it known again.
BEFORE, AFTER = 45, 30
_PLACE = re.compile(r"[.!?…。．｡！？।॥؟۔։:;\u037e][.!?…]*[\"'”’»“«)\]）」』】]*[^\S\n]*(?=[^\s])")
# A colon or semicolon is a terminator in few languages.
_COLONS = {"el": ";\u037e", "hy": ":"}
PEERS = ("icu", "sentencex", "blingfire", "pysbd")
# Reads {"splitter", "language", "lines"} and prints the ends that it finds in each line.
_PEER = """
import json, sys
asked = json.load(sys.stdin)
name, language = asked["splitter"], asked["language"]
if name == "icu":
    import icu
    breaker = icu.BreakIterator.createSentenceInstance(icu.Locale(language))
    def ends(line):
        breaker.setText(icu.UnicodeString(line))
        units, at, found = line.encode("utf-16-le"), 0, []
        return [len(units[: 2 * end].decode("utf-16-le")) for end in breaker]
else:
    if name == "sentencex":
        from sentencex import segment
        pieces = lambda line: list(segment(language, line))
    elif name == "blingfire":
        from blingfire import text_to_sentences
        pieces = lambda line: text_to_sentences(line).split("\\n")
    else:
        import pysbd
        from pysbd.languages import LANGUAGE_CODES
        segmenter = pysbd.Segmenter(language=language if language in LANGUAGE_CODES else "en", clean=False)
        pieces = segmenter.segment
    def ends(line):
        at, found = 0, []
        for piece in pieces(line):
            # Some give pieces with their blanks changed.
            for word in str(piece).split():
                place = line.find(word, at)
                at = place + len(word) if place >= 0 else at
            found.append(at)
        return found
print(json.dumps([ends(line) for line in asked["lines"]]))
"""


def main() -> None:
    """Print the places of a language, or the table."""
    flags = parser(__doc__, rounds=1)
    flags.add_argument("--venv", type=Path, help="environment of the other splitters")
    flags.add_argument("--sample", metavar="WIKIS", help="print the places of wikis, with commas between")
    arguments = flags.parse_args()
    verdicts: dict[str, dict[str, int]] = json.loads(VERDICTS.read_text()) if VERDICTS.exists() else {}
    pages = articles(slices.data() / "wikipedia-xml")
    if arguments.sample:
        for wiki in arguments.sample.split(","):
            show(wiki, places(lines_of(*pages[wiki]), pages[wiki][0].language), verdicts.get(wiki, {}))
        return
    rows = []
    for wiki, judged in sorted(verdicts.items()):
        lines, language = lines_of(*pages[wiki]), pages[wiki][0].language
        known = [place for place in all_places(lines, language) if place[0] in judged]
        wanted = sorted({line for _, line, _ in known})
        splitters = {"ours": ours(language, [lines[number] for number in wanted])}
        for name in PEERS if arguments.venv else ():
            splitters[name] = peer(arguments.venv, name, language, [lines[number] for number in wanted])
        row: list[object] = [wiki, len(known)]
        for found in splitters.values():
            starts = {
                (number, _next(lines[number], end)) for number, ends in zip(wanted, found, strict=True) for end in ends
            }
            wrong = sum(judged[key] != ((line, place) in starts) for key, line, place in known)
            row.append(f"{100 * wrong / len(known):.1f}" if found else "")
        rows.append(row)
    names = ["ours", *PEERS] if arguments.venv else ["ours"]
    total: list[object] = ["all", sum(int(str(row[1])) for row in rows)]
    for column in range(2, 2 + len(names)):
        errors = [float(str(row[column])) * int(str(row[1])) for row in rows if row[column] != ""]
        total.append(f"{sum(errors) / int(str(total[1])):.1f}" if len(errors) == len(rows) else "")
    report("boundaries", table(["wiki", "places", *(f"{name}, % wrong" for name in names)], [*rows, total]))


def lines_of(site: Site, pages: dict[str, str]) -> list[str]:
    """Return the paragraphs of a wiki's pages."""
    extractor = Extractor(site)
    text = "\n".join(extractor.extract(text, title).text for title, text in pages.items())
    lines = (line.replace(GAP, " ").strip() for line in text.split("\n") if line[:1] not in LINE_MARKS)
    return list(filter(None, lines))


def all_places(lines: list[str], language: str) -> Iterator[tuple[str, int, int]]:
    """Yield (hash, line, offset of what follows) of every place."""
    for number, line in enumerate(lines):
        for match in _PLACE.finditer(line):
            blank = line[match.end() - 1].isspace()
            if match[0][0] in ":;\u037e" and match[0][0] not in _COLONS.get(language, ""):
                continue
            # A dot within a word or number is no place to err at.
            if not blank and match[0][0] in ".!?…:;":
                continue
            around = line[max(0, match.end() - BEFORE) : match.end() + AFTER]
            yield hashlib.sha256(around.encode()).hexdigest()[:12], number, match.end()


def places(lines: list[str], language: str) -> list[tuple[str, str]]:
    """Return the places to judge, drawn by their hashes: (hash, what stands around)."""
    found = {key: (line, at) for key, line, at in all_places(lines, language)}
    drawn = sorted(found.items())[:PLACES]
    return [
        (key, f"{lines[line][max(0, at - BEFORE) : at]}‖{lines[line][at : at + AFTER]}") for key, (line, at) in drawn
    ]


def show(wiki: str, found: list[tuple[str, str]], judged: dict[str, int]) -> None:
    """Print places with their verdicts."""
    print(f"== {wiki}")
    for number, (key, around) in enumerate(found):
        verdict = {None: " ", 0: "-", 1: "+"}[judged.get(key)]
        print(f"{number:3} {verdict} {around}")


def ours(language: str, lines: list[str]) -> list[list[int]]:
    """Return the ends that our rules find in each line."""
    split = make_splitter("rules", language)
    return [split(line) for line in lines]


def peer(venv: Path, name: str, language: str, lines: list[str]) -> list[list[int]]:
    """Return the ends that another splitter finds in each line; nothing where it is not installed."""
    asked = json.dumps({"splitter": name, "language": language, "lines": lines})
    ended = subprocess.run([venv / "bin/python", "-c", _PEER], input=asked, capture_output=True, text=True)
    if ended.returncode:
        print(f"{name}, {language}: left out: {ended.stderr.strip().splitlines()[-1]}", file=sys.stderr)
        return []
    found: list[list[int]] = json.loads(ended.stdout.splitlines()[-1])
    return found


def _next(line: str, end: int) -> int:
    while end < len(line) and line[end].isspace():
        end += 1
    return end


if __name__ == "__main__":
    main()
