"""The values that flags accept, in a module that imports nothing."""

from __future__ import annotations

# Readers of wikitext: `mwparser.make_extractor`.
PARSERS = ("wikianchor", "mwparserfromhell")
# Sentence splitters: `text.splitter.make_splitter`.
SPLITTERS = ("rules", "icu", "polyglot")
