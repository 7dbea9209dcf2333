"""The options of `wikianchor extract`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from wikianchor.io.errors import UsageError
from wikianchor.io.options import option
from wikianchor.pipelines.wikimedia.choices import TEMPLATES
from wikianchor.pipelines.wikimedia.options import Dumps, Lua, Reader, Templates, Wiki

DESCRIPTION = """\
Print the text and links of wikitext as a reader sees them, without markup. For each page

  {"title": "Bus", "text": "A '''bus''' carries [[passenger]]s."}

on standard input, a page a line, it writes

  {"title": "Bus", "blocks": ["A bus carries passengers."], "links": [["passengers", "Passenger"]]}

on standard output: blocks are the paragraphs, headings and list items; links are [what is shown, title of the target].
Tables, captions and footnotes are left out. With --dumps, templates show what the wiki's own Template pages say, as in
`sentences`; without, the templates that carry words and are known by name are shown by rule. Any other template leaves
the character U+FFFC.

With --sentences each page also has "sentences": [{"text", "block", "start", "end", "region", "links", "dropped"}].
A sentence is blocks[block][start:end], white space aside; its links have "start" and "end" in its own text, "target"
and "fragment"; "dropped" is the reason why `sentences` leaves it out, null if it does not.

With --dumps and --title it shows one page of a dump to be read: [bus], or [buses -> Bus] where the link leads to
another title than it shows, and {name} for the gap that a template left.
"""

EXAMPLES = """\
examples:
  wikianchor extract --wikis=uk < pages.ndjson
  wikianchor extract --dumps=enwiki-pages-articles.xml.bz2 --title='Alan Turing' --sentences
"""


@dataclass(frozen=True, kw_only=True)
class ExtractOptions(Lua, Reader, Wiki, Templates, Dumps):
    """Options of the command `extract`."""

    ADJUSTED: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "templates": {
            "choices": (),
            "metavar": "dump|builtin|DIR",
            "help": "what templates show, with --dumps: dump: by the Template pages of the dumps, which are read once "
            "and kept in $WIKIANCHOR_CACHE, else ~/.cache/wikianchor; builtin: by rules by name alone; DIR: by a "
            "dataset of `templates` or `sentences`",
        }
    }

    FIRST: ClassVar[tuple[str, ...]] = ("wiki", "dumps", "title", "sentences", "templates")

    siteinfo: str | None = option(
        None,
        metavar="FILE",
        help="the wiki's namespaces as its API gives them (siteinfo-namespaces.json, .gz too); --wikis may be needed",
    )
    # They have language, namespaces and templates; --siteinfo or --wikis serve instead.
    dumps: tuple[str, ...] = ()
    title: str | None = option(None, help="show this page of the dump instead of reading standard input")
    blank_templates: bool = option(
        default=False,
        help="remove every template, even one that carries words, to compare with MediaWiki without templates",
    )
    sentences: bool = option(default=False, help="add the sentences, and why they are dropped")

    def completed(self) -> ExtractOptions:
        """Check that the wiki is known, and a title and a dataset of templates have a dump.

        Raises:
            UsageError: it is not, or has not.
        """
        if not self.dumps and self.wiki is None and self.siteinfo is None:
            raise UsageError("say which wiki the pages are from, with --wikis=uk, --siteinfo=FILE or --dumps=FILES")
        if self.dumps and self.siteinfo is not None:
            raise UsageError("--dumps and --siteinfo both say which wiki the pages are from: give one")
        if self.templates not in TEMPLATES and not self.dumps:
            raise UsageError(f"--templates={self.templates} needs the dump of the same wiki: --dumps=FILES")
        if self.title is not None and not self.dumps:
            raise UsageError(f"--title={self.title} needs the dump that it is in: --dumps=FILES")
        return self
