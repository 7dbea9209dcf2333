"""Wikitext in, the text that a reader sees and its links out: pure functions, one string to another, linear in the
page.

`Extractor.extract` is a row of passes over the whole page, each of which understands one kind of markup and leaves the
rest; what is left
at the end are links, which are split off last, so that offsets are taken once and never move. Templates cannot be
expanded without a wiki's database: the ones that carry words are rendered by rule, the others leave a gap that is
marked.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

from pipelines.wikimedia.languages import language_facts
from pipelines.wikimedia.site import Site
from pipelines.wikimedia.wikitext import lines, marks
from pipelines.wikimedia.wikitext.links import FILE, LinkReader, Links
from pipelines.wikimedia.wikitext.tables import strip_files, strip_tables
from pipelines.wikimedia.wikitext.tags import strip_extension_tags, strip_html_tags
from pipelines.wikimedia.wikitext.templates import Templates

__all__ = ["Extract", "Extractor", "Links"]

_PROTECTED = re.compile(marks.PROTECTED)


@dataclass
class Extract:
    """What a reader sees of a page.

    Attributes:
        text: one block (paragraph, list item, heading) a line; a line that is no paragraph begins with its mark
            (`marks.LINE_MARKS`),
            and `marks.GAP` stands where words are missing.
        links: the links to articles in `text`.
        other_links: the links to pages of other namespaces in `text`.
        counts: every "[[" of the page, by what became of it: "link" for those in `links`.
    """

    text: str
    links: Links
    other_links: Links
    counts: Counter[str]


class Extractor:
    """The engine for one wiki; with `blank_templates` all templates vanish and leave no gap."""

    def __init__(self, site: Site, blank_templates: bool = False) -> None:
        facts = language_facts(site.language)
        names = sorted(name for name, key in site.namespaces.items() if key == FILE)
        files = "|".join(re.escape(name).replace(r"\ ", "[ _]+") for name in names)
        self._templates = Templates(site.language, blank_templates)
        self._links = LinkReader(site)
        self._file_link = re.compile(rf"\[\[[ _]*(?i:{files})[ _]*:")
        self._switch = re.compile("|".join(map(re.escape, sorted(facts.switches))) or "(?!)")
        self._has_variants = bool(facts.variants)

    def extract(self, text: str, title: str) -> Extract:
        """Return the visible text of a page and its links.

        Args:
            text: wikitext without control characters other than tab and line feed (XML 1.0 has no others).
            title: of the page.
        """
        counts: Counter[str] = Counter()
        text = strip_extension_tags(text, counts)
        text = self._templates.expand(text, title, counts)
        text = strip_tables("\n" + text + "\n", counts)
        if self._has_variants:
            text = lines.choose_variant(text)
        text = strip_files(text, self._file_link, counts)
        text = lines.strip_switches(text, self._switch)
        text = lines.mark_lines(text)
        text = strip_html_tags(text)
        text = lines.strip_quotes(text)
        text = lines.strip_external_links(text)
        text = lines.decode_entities(text)
        text = lines.fold_spaces(text)
        text, links, other_links = self._links.split_links(text, title, counts)
        if _PROTECTED.search(text):
            text = marks.restore(text)
        return Extract(text, links, other_links, counts)

    def linked_titles(self, text: str, title: str) -> list[str]:
        """Return the articles that raw wikitext names as link targets anywhere, sorted; the page itself left out."""
        return self._links.linked_titles(text, title)
