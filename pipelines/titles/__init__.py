"""Titles of a wiki to Wikidata items, and how often items are linked to."""
