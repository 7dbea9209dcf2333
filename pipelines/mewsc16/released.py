"""The rules of the released MewsC-16 (EASE, Nishikawa et al., NAACL 2022), and its faults, each by name.

The rules (`--mode=paper`): exactly one topic, a text of at least five characters, the first sentence whatever it is, at
least ten pages for each topic; neither publication nor duplicates are checked. The faults of the released files are
reproduced only with `--faults`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

from wikianchor.pipelines.mewsc16.categories import CategoryReader
from wikianchor.pipelines.mewsc16.dateline import is_day
from wikianchor.pipelines.mewsc16.editions import CATEGORY, wiki_facts
from wikianchor.pipelines.mewsc16.lead_markup import LeadMarkup, file_names
from wikianchor.pipelines.text.splitter import make_splitter
from wikianchor.pipelines.wikimedia.core import core_of
from wikianchor.pipelines.wikimedia.extractors import make_extractor
from wikianchor.pipelines.wikimedia.site import Site
from wikianchor.pipelines.wikimedia.wikitext.definitions import FindTemplate
from wikianchor.pipelines.wikimedia.wikitext.placeholders import GAP, HEADING, LINE_MARKS, LIST

MIN_CHARACTERS = 5
# The fault that leaves templates blank.
_HOLES = "holes"
_BLANK_AFTER_STOP = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])")


def engine_of_options(options: Mapping[str, Any]) -> str:
    """Return the name of the engine that reads pages for a dataset.

    Args:
        options: those of its manifest.
    """
    is_literal = options["mode"] == "paper" and _HOLES in options["faults"]
    return "python" if is_literal or core_of(None) is None else "core"


class ReleasedReader:
    """Read the pages of one wiki as the script of the released set did.

    Args:
        site: the wiki.
        faults: the faults to reproduce, see --faults.
        find_template: the wiki's own definitions of templates, if they are at hand.
    """

    def __init__(self, site: Site, faults: Collection[str], find_template: FindTemplate | None = None) -> None:
        self._faults = frozenset(faults)
        self._language = site.language
        holes = _HOLES in faults
        self._extractor = make_extractor(site, None if holes else find_template, literal=holes)
        self._markup = LeadMarkup(site)
        self._split = make_splitter("rules", site.language)
        prefix = wiki_facts()["old_prefixes"].get(site.language) or site.namespace_names[CATEGORY]
        self._line_start = re.compile(rf"^\[\[{re.escape(prefix)}:([^|\]\n]*)", re.MULTILINE)
        # The released text has category links without brackets and sort keys.
        self._category_link = re.compile(rf"\[\[({re.escape(prefix)}:[^|\[\]\n]*)(?:\|[^\[\]\n]*)?\]\]")
        names = "|".join(map(re.escape, file_names(site)))
        self._file = re.compile(
            rf"\[\[(?i:{names}):[^\[\]|\n]*((?:\|[^\[\]]*(?:\[\[[^\[\]]*\]\][^\[\]]*){{0,9}})?)\]\]"
        )

    def categories(self, text: str, categories: CategoryReader) -> list[str]:
        """Return the categories of a page."""
        if "line_start" in self._faults:
            return list(dict.fromkeys(name.strip() for name in self._line_start.findall(text)))
        return categories.categories(text)

    def first_sentence(self, text: str, title: str) -> tuple[str, str]:
        """Return the first sentence of a page and "", or "" and the reason why there is none."""
        if "category_text" in self._faults:
            text = self._category_link.sub(r"\1", text)
        if "captions" in self._faults:
            text = self._file.sub(lambda match: match[1].rpartition("|")[2], text)
        else:
            text = self._markup.without_captions(text)
        shown = self._extractor.extract(text, title).text.replace(GAP, "")
        lines = [self._line(line) for line in shown.split("\n")]
        joined = ("" if "glued" in self._faults else "\n").join(line for line in lines if line.strip())
        if len(joined) < MIN_CHARACTERS:
            return "", "short"
        if "cut" in self._faults:
            first = next((part for part in _BLANK_AFTER_STOP.split(joined.replace("\n", " ")) if part.strip()), "")
        else:
            first = next((part for part in _sentences(joined, self._split(joined)) if part.strip()), "")
        return (" ".join(first.split()), "") if first else ("", "no_sentence")

    def _line(self, line: str) -> str:
        """Return a line as the released text has it: with "glued", headings and lists keep their markup."""
        words = line.lstrip(LINE_MARKS)
        if "glued" not in self._faults:
            # A line of its own with the day of the news is no sentence.
            return "" if line[:1] == HEADING or is_day(words, self._language) else words
        if line[:1] == HEADING:
            signs = "=" * (len(line) - len(words))
            return f"{signs} {words} {signs}"
        return f"*{words}" if line[:1] == LIST else words


def _sentences(text: str, ends: list[int]) -> list[str]:
    return [text[start:end].strip() for start, end in zip([0, *ends], ends, strict=False)]
