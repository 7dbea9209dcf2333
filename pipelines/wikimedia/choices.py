"""Names that flags choose from, where they can be read without what they name."""

from __future__ import annotations

# What reads wikitext: `mwparser.make_extractor`.
PARSERS = ("wikianchor", "mwparserfromhell")
