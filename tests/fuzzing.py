"""Random splices of real wikitext and markup, and checks of what the engine makes of them: for tests and for
benchmarks/hostile.py.

Each case is a few pieces, cut anywhere out of real articles of one wiki or taken from a list of markup. A case depends
on the seed and its number alone.
"""

from __future__ import annotations

import random
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))

from lib import generate, slices

from wikianchor.pipelines.text.prose import aside_fragments, judged_sentences, page_sentences
from wikianchor.pipelines.text.splitter import Splitter, make_splitter
from wikianchor.pipelines.wikimedia.dumps import read_head
from wikianchor.pipelines.wikimedia.site import Site, site_from_header
from wikianchor.pipelines.wikimedia.wikitext import Extract, Extractor
from wikianchor.pipelines.wikimedia.wikitext.links import Links
from wikianchor.pipelines.wikimedia.wikitext.placeholders import GAP, LINE_MARKS

WORDS = """
    [[ ]] [ ] {{ }} {{{ }}} | || [[[ ]]] '' ''' '''' ''''' = == === ---- * # : ; *: :: {| |} |- ! |+ -{ }- ~~~~ ( ) " .
    <ref> </ref> <ref/> <nowiki> </nowiki> <nowiki/> <pre> </pre> <!-- --> <br> <br/> <b> </b> <i> </i> < > </ <! <p>
    <sup> </sup> <sub>2</sub> <div> </div> <li> <h2> </h2> <table> </table> <tr> <td> <math> </math> <gallery>
    </gallery> <poem> </poem> <noinclude> <includeonly> </includeonly> <references/> <REF </Ref> <ref name="a/b">
    File: Image: Category: :Category: en: fr: wikt: :fr: Talk: User: #REDIRECT Datei: Файл: ファイル: #x /y ../ thumb|
    http://a.b [http://a.b //a.b mailto: &nbsp; &amp; &lt; &#91; &#91;&#91; &#x5d; &#1; &#0; &; &#xD800; &#10; %5B %20
    __TOC__ __NOTOC__ {{! {{!}} {{=}} {{PAGENAME}} {{convert|1|km}} {{lang|x| {{nowrap| {{formatnum: {{x}} {{y| {{#if:
    zh-hans: zh-hant: a B é e\u0301 ß ı İ ǆ 京 😀 \u200e \u200d \x7f \ufffd \ufeff ا ل 5 10 。 （ ） 、
"""
SPACES = (" ", "  ", "\t", "\n", "\n\n", "\n ", "\n* ", "\n; ", "\n: ", "\n# ", "\n== ", " ==\n", "\n{|\n| ", "\n|}\n")
MARKUP = (*WORDS.split(), *SPACES, "\n:{|", ". ", "? ", "\u00a0", "\u3000", "\u2028", "\x85")
# Where pieces of real pages begin more often than anywhere.
STARTS = ("[[", "{{", "<", "''", "\n", "]]", "}}", "{|")
LANGUAGES = tuple(slices.SLICES)
# One case in so many is timed; after so many cases the engines are new; a run ends after so many failures.
TIMED_EVERY, FRESH_EVERY, MOST_FAILURES = 1_000, 50_000, 20
PAGES = 300
PIECES, PIECE = 14, 90
TITLE = "The page"
SHORT, LONG = 256, 2048
# Eight times the text takes eight times as long, and half of that again for noise; short times are not compared.
LARGEST_RATIO, SHORTEST_SECONDS, SECONDS_PER_MEGABYTE = 12.0, 0.008, 1.5
_MARKS = re.compile(rf"[\x00-\x09\x0b-\x1f]|\n[{LINE_MARKS}]+|^[{LINE_MARKS}]+")


class Case(NamedTuple):
    """A page, its language, and whether its templates are blanked."""

    language: str
    literal: bool
    text: str


@dataclass
class Engine:
    """What reads the pages of a wiki."""

    site: Site
    extractor: Extractor
    split: Splitter


@cache
def real_pages(language: str) -> tuple[Site, list[str]]:
    """Return the wiki of a slice and its first articles."""
    paths = slices.paths(language)
    pages = chain.from_iterable(map(generate.read_pages, paths))
    articles = (page.text for page in pages if not page.namespace and page.redirect is None and page.text)
    # What a dump cannot hold, the job takes out.
    texts = [text.translate(dict.fromkeys({*range(32)} - {9, 10})) for text in islice(articles, PAGES)]
    return site_from_header(read_head(paths[0]).decode("utf-8", "replace"), None, paths[0]), texts


@cache
def engine(language: str, literal: bool, generation: int) -> Engine:
    """Return an engine; those of another generation have seen other pages."""
    return make_engine(real_pages(language)[0], literal)


def make_engine(site: Site, literal: bool) -> Engine:
    """Return an engine for a wiki."""
    return Engine(site, Extractor(site, literal, asides=not literal), make_splitter("rules", site.language))


def run_cases(seed: int, numbers: Sequence[int]) -> tuple[Counter[str], dict[str, float], int]:
    """Run random cases and print those that fail, cut down; return what was read, the slowest times, and the failures.

    A single case is timed too, of many one in `TIMED_EVERY`.
    """
    counts: Counter[str] = Counter()
    slowest, failures = {"ratio": 0.0, "seconds per MB": 0.0}, 0
    for number in numbers:
        case = make_case(seed, number)
        first, other = (engine(case.language, case.literal, use) for use in (0, 1 + number // FRESH_EVERY))
        problem = problem_of(case.text, first, other, counts)
        if problem:
            case = case._replace(text=smallest(case.text, first, other))
        elif number % TIMED_EVERY == 0 or len(numbers) == 1:
            problem = problem_of_time(case, slowest)
        if problem:
            failures += 1
            print(f"case {number}, {case.language}, literal={case.literal}: {problem}: {case.text!r}", file=sys.stderr)
            if failures == MOST_FAILURES:
                break
        if number and number % FRESH_EVERY == 0:
            engine.cache_clear()
            print(f"{number:,} cases, {failures} failures", file=sys.stderr)
    return counts, slowest, failures


def make_case(seed: int, number: int) -> Case:
    """Return a case, which depends on the seed and the number alone."""
    chance = random.Random(seed * 1_000_000_007 + number)
    language = LANGUAGES[int(chance.random() * len(LANGUAGES))]
    text = splice(chance, real_pages(language)[1])
    return Case(language, chance.random() < 0.2, text)


def splice(chance: random.Random, pages: Sequence[str]) -> str:
    """Return a page of a few pieces of pages and markup."""
    pieces = []
    for _ in range(1 + int(chance.random() * PIECES)):
        if chance.random() < 0.55:
            pieces.append(MARKUP[int(chance.random() * len(MARKUP))])
        else:
            page = pages[int(chance.random() * len(pages))]
            start = int(chance.random() * len(page))
            if chance.random() < 0.5:
                start = max(0, page.find(STARTS[int(chance.random() * len(STARTS))], start))
            pieces.append(page[start : start + int(chance.random() ** 2 * PIECE) + 1])
    return "".join(pieces)


def problem_of(text: str, first: Engine, other: Engine, counts: Counter[str]) -> str:
    """Return what is wrong with what an engine makes of a page, "" if nothing is; count what it has read."""
    try:
        extract = first.extractor.extract(text, TITLE)
        first.extractor.linked_titles(text, TITLE)
        judged = list(judged_sentences(extract, first.split, first.site.language))
        dropped: Counter[str] = Counter()
        kept = list(page_sentences(extract, first.split, first.site.language, dropped))
        again = other.extractor.extract(text, TITLE)
    except Exception as error:
        return f"raises {type(error).__name__}: {error}"
    counts["characters"] += len(text)
    counts["links"] += len(extract.links.starts) + len(extract.other_links.starts)
    counts["sentences"] += len(kept)
    problem = problem_of_links(extract.links, extract.text) or problem_of_links(extract.other_links, extract.text)
    if problem:
        return problem
    if again != extract:
        return "another engine reads it in another way"
    number = 0
    for aside in extract.asides:
        fragments = aside_fragments(aside, number)
        number += len(fragments)
        spans = {at for fragment in fragments for at in range(fragment.first, fragment.last)}
        if problem := problem_of_links(aside.links, aside.text):
            return problem
        if len(spans) != len(aside.links.starts) or extract.counts[aside.region] != len(aside.links.starts):
            return "a link of an aside is in no fragment"
        for fragment in fragments:
            start, end = fragment.start, fragment.start + len(fragment.text)
            if not start <= aside.links.starts[fragment.first] < aside.links.ends[fragment.last - 1] <= end:
                return "a link reaches out of its fragment"
    if len(extract.gaps) != extract.text.count(GAP):
        return "gaps and their names are not as many"
    for match in _MARKS.finditer(extract.text):
        if match[0] != GAP and match[0][-1] not in LINE_MARKS:
            return f"the mark {match[0]!r} is left in the text"
        if match[0][0] in LINE_MARKS and match.start():
            return f"the mark {match[0]!r} is left within a line"
    if [sentence for sentence, reason in judged if reason is None] != kept:
        return "sentences are kept that were judged otherwise"
    for sentence in kept:
        if extract.text[sentence.start : sentence.start + len(sentence.text)] != sentence.text:
            return "a sentence is not where it says"
        if GAP in sentence.text or "\n" in sentence.text or sentence.text != sentence.text.strip():
            return "a sentence is not whole"
        for at in range(sentence.first, sentence.last):
            if not (
                sentence.start <= extract.links.starts[at]
                and extract.links.ends[at] <= sentence.start + len(sentence.text)
            ):
                return "a link reaches out of its sentence"
    lost = sum(number for reason, number in dropped.items() if not reason.startswith(("sentences:", "templates:")))
    if lost + sum(sentence.last - sentence.first for sentence in kept) != len(extract.links.starts):
        return "a link is neither kept nor dropped"
    return ""


def problem_of_links(links: Links, text: str) -> str:
    """Return what is wrong with links, "" if nothing is."""
    end = 0
    for start, stop, target, _ in zip(links.starts, links.ends, links.targets, links.fragments, strict=True):
        shown = text[start:stop]
        if not end <= start < stop <= len(text):
            return "offsets are not in order"
        if not shown.strip(GAP + " ") or shown != shown.strip() or "\n" in shown:
            return "a link shows nothing, or more than itself"
        if not target:
            return "a link leads nowhere"
        end = stop
    return ""


def problem_of_time(case: Case, slowest: dict[str, float]) -> str:
    """Return what is wrong with the time that a case takes when it is repeated, "" if nothing is."""
    extract = engine(case.language, case.literal, 0).extractor.extract
    for _ in range(3):
        short, long = (min(seconds(extract, case.text * times) for _ in range(2)) for times in (SHORT, LONG))
        ratio, per_megabyte = long / max(short, SHORTEST_SECONDS / 8), long / len((case.text * LONG).encode()) * 1e6
        if long < SHORTEST_SECONDS or (ratio <= LARGEST_RATIO and per_megabyte <= SECONDS_PER_MEGABYTE):
            break
    else:
        return f"takes {ratio:.0f} times as long for 8 times the text, {per_megabyte:.2f} seconds a MB"
    if long >= SHORTEST_SECONDS:
        slowest["ratio"] = max(slowest["ratio"], ratio)
    slowest["seconds per MB"] = max(slowest["seconds per MB"], per_megabyte)
    return ""


def seconds(extract: Callable[[str, str], Extract], text: str) -> float:
    """Return the CPU that reading a page takes."""
    start = time.process_time()
    extract(text, TITLE)
    return time.process_time() - start


def smallest(text: str, first: Engine, other: Engine) -> str:
    """Cut away from a page that fails what it does not need to fail in the same way."""

    def kind(page: str) -> str:
        return problem_of(page, first, other, Counter()).partition(":")[0]

    whole, size = kind(text), len(text) // 2
    while size:
        start = 0
        while start < len(text):
            shorter = text[:start] + text[start + size :]
            if shorter and kind(shorter) == whole:
                text = shorter
            else:
                start += size
        size //= 2
    return text
