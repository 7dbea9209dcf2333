"""Extract the visible text and the links of a page from its wikitext, in linear time.

`Extractor.extract` is a sequence of passes over the page. Each pass handles one kind of markup and leaves the rest.
Links come last, so their offsets are computed once and never shift. Templates cannot be expanded without the database
of the wiki: those that show words are rendered by rules (`template_rules`), the others leave a placeholder, `GAP`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from wikianchor.pipelines.wikimedia.languages import language_facts
from wikianchor.pipelines.wikimedia.site import Site
from wikianchor.pipelines.wikimedia.wikitext.blanks import close_up, fold_spaces
from wikianchor.pipelines.wikimedia.wikitext.brackets import mend_brackets
from wikianchor.pipelines.wikimedia.wikitext.characters import (
    decode_entities,
    drop_note_numbers,
    strip_switches,
    switch_pattern,
)
from wikianchor.pipelines.wikimedia.wikitext.definitions import FindTemplate
from wikianchor.pipelines.wikimedia.wikitext.external import strip_external_links
from wikianchor.pipelines.wikimedia.wikitext.files import FileStripper
from wikianchor.pipelines.wikimedia.wikitext.gaps import take_names
from wikianchor.pipelines.wikimedia.wikitext.lines import read_lines
from wikianchor.pipelines.wikimedia.wikitext.link_counts import (
    COMMENT,
    FROM_CALLS,
    IN_CALLS,
    JOINED,
    NOTICES,
    NOWIKI,
    SEEN,
    SOURCE,
    count_change,
    links_in,
)
from wikianchor.pipelines.wikimedia.wikitext.links import FILE, LinkReader, Links, Structure
from wikianchor.pipelines.wikimedia.wikitext.numbers import number_writer
from wikianchor.pipelines.wikimedia.wikitext.placeholders import REMOVED, restore
from wikianchor.pipelines.wikimedia.wikitext.tables import linked_cells, strip_tables
from wikianchor.pipelines.wikimedia.wikitext.tags import strip_extension_tags, strip_html_tags
from wikianchor.pipelines.wikimedia.wikitext.templates import Templates
from wikianchor.pipelines.wikimedia.wikitext.variants import VariantChooser

__all__ = ["Aside", "Extract", "Extractor", "Links", "Structure"]


@dataclass
class Aside:
    """Text with links that stands beside the text of a page.

    Attributes:
        region: one of `schemas.choices.ASIDES`.
        text: a cell or a caption per line, in the form of `Extract.text`.
        links: links to articles in `text`; every other line has none.
        structure: as in `Extract`.
        cells: the row and the column of each cell, -1 of the captions of tables.
    """

    region: str
    text: str
    links: Links
    structure: Structure | None = field(default=None, compare=False)
    cells: list[tuple[int, int]] = field(default_factory=list, compare=False)


@dataclass
class Extract:
    """The visible text of a page and its links.

    Attributes:
        text: one block (paragraph, list item, heading) per line. A line that is no paragraph begins with a placeholder
            (`placeholders.LINE_MARKS`); `placeholders.GAP` stands where words are missing.
        links: links to articles in `text`.
        other_links: links to pages of other namespaces in `text`.
        gaps: the lower-case name of the template that left each `GAP` in `text`, "" if it was no template.
        counts: number of "[[" by what became of them: "link" for those in `links`, the region for those in an aside;
            "seen" is counted by itself where the templates show their text. Names that begin with "source:" count those
            of the wikitext (`link_counts`), with "text:" characters in calls that show nothing (`templates`).
        asides: those of the page, if they were asked for.
        structure: what `documents` has besides, if it was asked for.
        asides_of_document: `asides` and those with links to other Wikipedias or categories alone, if the structure was
            asked for.
    """

    text: str
    links: Links
    other_links: Links
    gaps: list[str]
    counts: Counter[str]
    asides: list[Aside] = field(default_factory=list)
    structure: Structure | None = field(default=None, compare=False)
    asides_of_document: list[Aside] = field(default_factory=list, compare=False)


class Extractor:
    """Extracts the pages of one wiki.

    Args:
        site: the wiki.
        literal: whether it is for comparisons with MediaWiki: templates vanish without a gap, empty brackets stay, and
            external links without a label become numbers.
        find_template: the wiki's own definitions of templates (see `definitions.Definitions`), if they are at hand.
        asides: extract the cells of tables and the captions that contain links too.
        structured: return the structure of pages too.

    >>> from wikianchor.pipelines.wikimedia.site import site_for
    >>> page = Extractor(site_for("enwiki")).extract("A '''[[bus]]es''' stop<ref>B</ref> in [[Paris|P.]]", "Stop")
    >>> page.text.strip()
    'A buses stop in P.'
    >>> [page.text[start:end] for start, end in zip(page.links.starts, page.links.ends)], page.links.targets
    (['buses', 'P.'], ['Bus', 'Paris'])
    """

    def __init__(
        self,
        site: Site,
        literal: bool = False,
        find_template: FindTemplate | None = None,
        asides: bool = False,
        structured: bool = False,
    ) -> None:
        facts = language_facts(site.language)
        self._literal, self._asides, self._structured = literal, asides, structured
        self._number_links = number_writer(site.language) if literal else None
        self._templates = Templates(site, literal, find_template)
        self._files = FileStripper((name for name, key in site.namespaces.items() if key == FILE), facts)
        self._variants = VariantChooser(facts.variants)
        self._switches = switch_pattern(facts.switches)
        self._links = LinkReader(site)

    def extract(self, text: str, title: str, timestamp: str = "") -> Extract:
        """Extract the visible text of a page and its links.

        Args:
            text: wikitext without control characters other than tab and line feed, as `pages.parse_page` returns it.
            title: title of the page.
            timestamp: time of its revision, ISO 8601; "" if it is not known.
        """
        self._templates.read_revision(timestamp)
        counts: Counter[str] = Counter()
        missing: dict[str, str] = {}
        tables: list[str] = []
        galleries: list[str] | None = [] if self._asides else None
        text = self._strip_extension_tags(text, counts, galleries)
        text = self._expand(text, title, counts, missing)
        before = links_in(text)
        text = strip_external_links(text, self._number_links)
        count_change(counts, before, before := links_in(text))
        text = strip_tables("\n" + text + "\n", counts, tables)
        count_change(counts, before - counts["table"], links_in(text), has_bucket=True)
        extract, captions = self._extract(text, title, counts, tuple(missing))
        captions += [self._gallery_caption(caption, title, counts, missing) for caption in galleries or ()]
        if self._asides and (tables or captions):
            cells = [cell for table in tables for cell in linked_cells(table)]
            lines = [cell.text for cell in cells]
            in_tables, captions_in_tables = self._aside("table", lines, title, counts, tuple(missing))
            in_tables.cells = [(cell.row, cell.column) for cell in cells]
            in_captions, _ = self._aside("caption", captions + captions_in_tables, title, counts, tuple(missing))
            asides = (in_tables, in_captions)
            extract.asides = [aside for aside in asides if aside.links.starts]
            extract.asides_of_document = [
                aside
                for aside in asides
                if (structure := aside.structure) and (aside.links.starts or structure.wikis or structure.categories)
            ]
        return extract

    def _extract(
        self, text: str, title: str, counts: Counter[str], missing: Sequence[str]
    ) -> tuple[Extract, list[str]]:
        """Return what is visible of wikitext without templates and tables, and the captions that contain links."""
        captions: list[str] = []
        before = links_in(text)
        text = self._variants.choose(text)
        count_change(counts, before, before := links_in(text))
        before += counts["file"] + counts["caption"]
        text = self._files.strip(text, counts, captions)
        before -= counts["file"] + counts["caption"]
        count_change(counts, before, before := links_in(text), has_bucket=True)
        text = strip_switches(text, self._switches)
        structure = Structure() if self._structured else None
        breaks = None if structure is None else structure.breaks
        text = read_lines(text, self._literal, breaks)
        text = strip_html_tags(text, breaks)
        text = decode_entities(text)
        text = text.replace(REMOVED, "") if self._literal else mend_brackets(drop_note_numbers(text))
        text = fold_spaces(text)
        text = text if self._literal else close_up(text)
        count_change(counts, before, links_in(text))
        text, links, other_links = self._links.split_links(text, title, counts, structure)
        columns = (links, other_links) if structure is None else (links, other_links, structure.wikipedia_links)
        text, gaps = take_names(text, missing, columns)
        return Extract(restore(text), links, other_links, gaps, counts, structure=structure), captions

    @staticmethod
    def _strip_extension_tags(text: str, counts: Counter[str], galleries: list[str] | None) -> str:
        """Return wikitext without comments and extension tags; count its links, and as seen those in the tags."""
        counts[SOURCE] = links_in(text)
        text = strip_extension_tags(text, counts, galleries)
        in_tags = counts["reference"] + counts["extension_tag"] + counts["caption"]
        expected = counts[SOURCE] - counts[COMMENT] - counts[NOWIKI] - in_tags
        left = links_in(text) + sum(map(links_in, galleries or ()))
        if left < expected:
            # In attributes of tags of which the content is kept.
            counts["extension_tag"] += expected - left
        elif left > expected:
            counts[JOINED] += left - expected
        counts[SEEN] = max(0, expected - left) + in_tags
        return text

    def _expand(self, text: str, title: str, counts: Counter[str], missing: dict[str, str]) -> str:
        """Return wikitext in which templates show their text, and count its links as seen."""
        expected = links_in(text) + counts[IN_CALLS] + counts[NOTICES] - counts[FROM_CALLS]
        text = self._templates.expand(text, title, counts, missing)
        expected -= counts[IN_CALLS] + counts[NOTICES] - counts[FROM_CALLS]
        after = links_in(text)
        if after > expected:
            counts[JOINED] += after - expected
        counts[SEEN] += after
        return text

    def _gallery_caption(self, text: str, title: str, counts: Counter[str], missing: dict[str, str]) -> str:
        """Return what a line of a gallery shows below its image, without templates.

        Args:
            text: what the line has after the name of the file: options and caption, with links.
            title: title of the page.
            counts: those of the page; each "[[" that the line shows is added as "caption".
            missing: templates of the page that left a gap, added to.
        """
        text = self._expand(text, title, counts, missing)
        counts["caption"] += links_in(text)
        shown = strip_external_links(text, self._number_links)
        first, last = shown.find("[["), shown.rfind("]]")
        # The caption comes last: "link=[[a]]|text" has no link in it.
        return shown[shown.rfind("|", 0, first) + 1 :].strip() if 0 <= first < last and "|" not in shown[last:] else ""

    def _aside(
        self, region: str, lines: Iterable[str], title: str, counts: Counter[str], missing: Sequence[str]
    ) -> tuple[Aside, list[str]]:
        """Return the aside of some lines of wikitext, and the captions in it that contain links.

        Args:
            region: that of the aside.
            lines: wikitext with links.
            title: title of the page.
            counts: those of the page, with each "[[" of the lines under the region; those that show no link to an
                article are moved to what they are.
            missing: templates of the page that left a gap.
        """
        # An empty line between two lines, so that none continues the one before.
        text = "\n\n".join([line.replace("\n", " ") for line in lines])
        kinds: Counter[str] = Counter()
        extract, captions = self._extract(text, title, kinds, missing)
        links, in_captions = kinds.pop("link"), kinds.pop("caption", 0)
        kinds["caption" if region == "table" else "file"] += in_captions
        # In attributes of cells and options of images.
        count_change(kinds, counts[region], links_in(text))
        counts[region] = links
        counts.update(+kinds)
        return Aside(region, extract.text, extract.links, extract.structure), captions

    def linked_titles(self, text: str, title: str) -> list[str]:
        """Return the titles of all articles that the wikitext links to, sorted, without the page itself."""
        return self._links.linked_titles(text, title)
