"""Names that flags choose from, where they can be read without what they name."""

from __future__ import annotations

# What parses Japanese: `parsing.make_parser`.
PARSERS = ("ginza", "sudachi")
# How noun spans are told; the columns of `spans` in the dataset `corpus`. With the parser sudachi only the first two
# are there.
SPAN_RULES = ("nouns", "nouns_names", "chunks", "bunsetu", "released")
