"""Wikimedia formats in pure Python: dumps, pages, wikitext, titles, Wikidata items, SQL tables. No Beam."""
