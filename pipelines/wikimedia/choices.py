"""The values that flags accept, in a module that imports nothing."""

from __future__ import annotations

# Readers of wikitext: `extractors.make_extractor`.
PARSERS = ("wikianchor", "mwparserfromhell")
# What runs the parser `wikianchor` and the splitter `rules`: Python, or the compiled core.
ENGINES = ("python", "core")
# Sentence splitters: `text.splitter.make_splitter`.
SPLITTERS = ("rules", "icu", "polyglot")
# Where it is known what templates show: from the dump's own pages, or from `wikitext.template_rules` alone.
FROM_DUMP, BUILTIN = "dump", "builtin"
TEMPLATES = (FROM_DUMP, BUILTIN)
# Whether the Lua modules of the dump are run: `wikitext.modules`.
ON, OFF = "on", "off"
LUA = (OFF, ON)
