"""Wikitext in, the text that a reader sees of it and its links out: pure functions, one string to another, linear in
the page.

`Extractor.extract` is a row of passes over the whole page, each of which understands one kind of markup and leaves the
rest; what is left at the end are links, which are split off last, so that offsets are taken once and never move.
Templates cannot be expanded without a wiki's database: the ones that carry words are rendered by rule, the others leave
a gap that is marked.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

from wikianchor.pipelines.wikimedia.languages import language_facts
from wikianchor.pipelines.wikimedia.site import Site
from wikianchor.pipelines.wikimedia.wikitext.brackets import mend_brackets
from wikianchor.pipelines.wikimedia.wikitext.characters import (
    close_up,
    decode_entities,
    drop_note_numbers,
    fold_spaces,
    strip_switches,
)
from wikianchor.pipelines.wikimedia.wikitext.external import strip_external_links
from wikianchor.pipelines.wikimedia.wikitext.files import FileStripper
from wikianchor.pipelines.wikimedia.wikitext.gaps import take_names
from wikianchor.pipelines.wikimedia.wikitext.lines import read_lines
from wikianchor.pipelines.wikimedia.wikitext.links import FILE, LinkReader, Links
from wikianchor.pipelines.wikimedia.wikitext.numbers import number_writer
from wikianchor.pipelines.wikimedia.wikitext.placeholders import restore
from wikianchor.pipelines.wikimedia.wikitext.tables import strip_tables
from wikianchor.pipelines.wikimedia.wikitext.tags import strip_extension_tags, strip_html_tags
from wikianchor.pipelines.wikimedia.wikitext.templates import Templates
from wikianchor.pipelines.wikimedia.wikitext.variants import VariantChooser

__all__ = ["Extract", "Extractor", "Links"]


@dataclass
class Extract:
    """What a reader sees of a page.

    Attributes:
        text: one block (paragraph, list item, heading) a line; a line that is no paragraph begins with its mark
            (`marks.LINE_MARKS`), and `marks.GAP` stands where words are missing.
        links: the links to articles in `text`.
        other_links: the links to pages of other namespaces in `text`.
        gaps: for each `marks.GAP` in `text` the name, lower-case, of the template that left it, "" if none did.
        counts: every "[[" of the page, by what became of it: "link" for those in `links`.
    """

    text: str
    links: Links
    other_links: Links
    gaps: list[str]
    counts: Counter[str]


class Extractor:
    """The engine for one wiki.

    Args:
        site: the wiki.
        literal: show what MediaWiki shows where templates are empty: they vanish without a gap, brackets stay empty,
            and external links without a label are numbers. To compare with MediaWiki; sentences are better without.
    """

    def __init__(self, site: Site, literal: bool = False) -> None:
        facts = language_facts(site.language)
        self._literal = literal
        self._number_links = number_writer(site.language) if literal else None
        self._templates = Templates(site.language, literal)
        self._files = FileStripper((name for name, key in site.namespaces.items() if key == FILE), facts)
        self._variants = VariantChooser(facts.variants)
        self._switches = re.compile("|".join(map(re.escape, sorted(facts.switches))) or "(?!)")
        self._links = LinkReader(site)

    def extract(self, text: str, title: str) -> Extract:
        """Return the visible text of a page and its links.

        Args:
            text: wikitext without control characters other than tab and line feed (XML 1.0 has no others).
            title: of the page.
        """
        counts: Counter[str] = Counter()
        missing: dict[str, str] = {}
        text = strip_extension_tags(text, counts)
        text = self._templates.expand(text, title, counts, missing)
        text = strip_external_links(text, self._number_links)
        text = strip_tables("\n" + text + "\n", counts)
        text = self._variants.choose(text)
        text = self._files.strip(text, counts)
        text = strip_switches(text, self._switches)
        text = read_lines(text, self._literal)
        text = strip_html_tags(text)
        text = decode_entities(text)
        text = text if self._literal else mend_brackets(drop_note_numbers(text))
        text = fold_spaces(text)
        text = text if self._literal else close_up(text)
        text, links, other_links = self._links.split_links(text, title, counts)
        text, gaps = take_names(text, tuple(missing), (links, other_links))
        return Extract(restore(text), links, other_links, gaps, counts)

    def linked_titles(self, text: str, title: str) -> list[str]:
        """Return the articles that raw wikitext names as link targets anywhere, sorted; the page itself left out."""
        return self._links.linked_titles(text, title)
