"""Learn from the first articles of a dump how its language is written: scripts, abbreviations, words of one letter.

The sample is a prefix of the dump, so that it is the same for any number of workers. Abbreviations are found as in Kiss
and Strunk, "Unsupervised Multilingual Sentence Boundary Detection" (2006): they have their full stop nearly always. But
instead of a likelihood of collocations, the end of a paragraph is looked at, which tells the same in scripts without
capitals: sentences end there, and an abbreviation that something follows does not stand there.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from wikianchor.io.errors import InputError, Truncated
from wikianchor.io.storage import file_version
from wikianchor.pipelines.text.fragments import share_of_scripts
from wikianchor.pipelines.wikimedia.dumps import Range, read_range
from wikianchor.pipelines.wikimedia.pages import cut_pages, page_namespace, unescape
from wikianchor.pipelines.wikimedia.site import Site, Writing

# Bytes of articles that are read: a part of the size of the dump, within bounds.
_PART, _SMALLEST_SAMPLE, _LARGEST_SAMPLE = 6, 1 << 20, 16 << 20
# Pages that are no articles are read up to so many times that size.
_OTHER_PAGES = 4
_LONGEST_ARTICLE = 100_000
# Bytes of a line of prose, and what it begins with: a letter, bold type, a link or a quote.
_SHORTEST_LINE = 60
_PROSE = re.compile(r"(?:[^\W\d_]|''|\[\[|[\"“„«(])")
_HIDDEN = re.compile(r"<ref\b[^<>\n]*/>|<ref\b.*?</ref>|<!--.*?-->|<[^<>\n]*>|''+|\{\{[^{}\n]*\}\}")
_LINK = re.compile(r"\[\[(?:[^\[\]|\n]*\|)?([^\[\]|\n]*)\]\]")
_END_OF_LINE = "\n"
_OPENERS = "\"'“”„«»‘‹›([¿¡「『（《"
# Letters and marks with full stops between them.
_ABBREVIATION = re.compile(r"[^\W\d_][^\s\d.,;:!?()\[\]/|=]{0,7}(?:\.[^\W\d_][^\s\d.,;:!?()\[\]/|=]{0,2}){0,3}\Z")
_LONGEST_PART = 5

# Characters of the sample that are looked at for scripts, and one of how many of them, which are enough for shares;
# with fewer letters than the last, the table decides.
_SCRIPT_CHARACTERS, _SCRIPT_STEP, _FEWEST_LETTERS = 200_000, 4, 500
# A script belongs to the language if it has this part of the letters.
_SHARE = 0.25
# An abbreviation has a full stop in this part of its occurrences, and stands at the ends of paragraphs this many times
# less often than other words with a full stop. It is seen in so many contexts that this is no accident.
_WITH_STOP, _AT_ENDS, _ACCIDENT = 0.6, 0.1, 0.03
# A word before small letters in this part of its occurrences may end a sentence before a capital ("etc.").
_BEFORE_SMALL = 0.3
# Words of one letter have so many occurrences, and a full stop in at most this part of them.
_FEWEST_WORDS, _WORD_WITH_STOP = 20, 0.1


def writing_of_dump(paths: Sequence[str], language: str) -> Writing:
    """Return what the first articles of a dump tell of how its language is written.

    Args:
        paths: the files of the dump, in the order of their pages.
        language: language code of the wiki.
    """
    # A build asks twice: for its plan and for its run.
    return _writing_of_files(tuple((path, file_version(path)) for path in paths), language)


@lru_cache(maxsize=64)
def _writing_of_files(files: tuple[tuple[str, tuple[int, object]], ...], language: str) -> Writing:
    paths, size = [path for path, _ in files], sum(version[0] for _, version in files)
    text = "\n".join(_lines(paths, min(max(_SMALLEST_SAMPLE, size // _PART), _LARGEST_SAMPLE)))
    return writing_of_text(text, language)


def with_writing(site: Site, paths: Sequence[str], options: Mapping[str, Any] | None = None) -> Site:
    """Return a wiki with what its dump tells of how its language is written, or what a manifest says of it.

    Args:
        site: the wiki.
        paths: the files of its dump.
        options: those in the manifest of a dataset of the wiki whose rows must not change.
    """
    recorded = (options or {}).get("writing")
    writing = Writing.from_json(recorded) if recorded else writing_of_dump(paths, site.language)
    return replace(site, writing=writing)


def writing_of_text(text: str, language: str) -> Writing:
    """Return what a text tells of how its language is written.

    Args:
        text: prose, one paragraph on each line.
        language: language code.

    >>> writing_of_text("Azul ay amddakkʷl. " * 200, "shi").scripts
    ('Latin',)
    """
    shares, letters = share_of_scripts(text[:_SCRIPT_CHARACTERS:_SCRIPT_STEP])
    scripts = sorted(script for script, share in shares.items() if share >= _SHARE)
    never, rarely, words = _abbreviations(text)
    return Writing(tuple(scripts) if letters >= _FEWEST_LETTERS else (), never, rarely, words)


def _lines(paths: Sequence[str], limit: int) -> Iterator[str]:
    """Yield lines of prose of the first articles of a dump."""
    articles = others = 0
    for path in paths:
        # Small chunks, which follow the end of a range.
        chunks = read_range(Range(path, 0, 0, last=False))
        pages = cut_pages((chunk._replace(owned=True) for chunk in chunks), path)
        try:
            for raw, _ in pages:
                if page_namespace(raw, path) or b"<redirect" in raw:
                    others += len(raw)
                else:
                    articles += min(len(raw), _LONGEST_ARTICLE)
                    yield from _prose(raw)
                if articles >= limit or others >= _OTHER_PAGES * limit:
                    return
        except (InputError, Truncated):
            # The pass over the dump reports it.
            return


def _prose(raw: bytes) -> Iterator[str]:
    """Yield the lines of prose of a <page> element, without the markup that occurs most."""
    start = raw.find(b">", raw.find(b"<text")) + 1
    content = raw[start : min(raw.find(b"</text>", start), start + _LONGEST_ARTICLE)].decode("utf-8", "replace")
    text = "\n".join(line for line in content.split("\n") if len(line) >= _SHORTEST_LINE and _PROSE.match(line))
    if text:
        yield from _LINK.sub(r"\1", _HIDDEN.sub("", unescape(text))).split("\n")


def _abbreviations(text: str) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Return the abbreviations of a text that end no sentence, those that rarely do, and the words of one letter."""
    tokens = text.replace("\n", f" {_END_OF_LINE} ").split(" ")
    tokens = [token for token in tokens if token]
    tokens.append(_END_OF_LINE)
    plain = Counter(tokens)
    stops: Counter[str] = Counter()
    ends: Counter[str] = Counter()
    before_small: Counter[str] = Counter()
    befores: defaultdict[str, set[str]] = defaultdict(set)
    afters: defaultdict[str, set[str]] = defaultdict(set)
    for index in [index for index, token in enumerate(tokens) if token[-1] == "." and len(token) > 1]:
        word, after = tokens[index].lstrip(_OPENERS)[:-1], tokens[index + 1]
        stops[word] += 1
        ends[word] += after == _END_OF_LINE
        before_small[word] += after[0].islower()
        # The first token follows the last, which ends a line.
        befores[word].add(tokens[index - 1][-4:])
        afters[word].add(after[:4])
    stopped, ended = sum(stops.values()), sum(ends.values())
    if not 0 < ended < stopped:
        return (), (), ()
    share = ended / stopped
    fewest = math.log(_ACCIDENT) / math.log(1 - share)
    never: list[str] = []
    rarely: list[str] = []
    for word, number in stops.items():
        if (
            number >= fewest
            and min(len(befores[word]), len(afters[word])) >= fewest
            and ends[word] <= _AT_ENDS * share * number
            and number >= _WITH_STOP * (number + plain[word])
            and _ABBREVIATION.match(word)
            and max(map(len, word.split("."))) <= _LONGEST_PART
            and not (len(word) == 1 and word.isupper())
        ):
            (rarely if before_small[word] >= _BEFORE_SMALL * number else never).append(word)
    words = [
        word
        for word, number in plain.items()
        if len(word) == 1 and word.islower() and number >= _FEWEST_WORDS and stops[word] <= _WORD_WITH_STOP * number
    ]
    return tuple(sorted(never)), tuple(sorted(rarely)), tuple(sorted(words))
