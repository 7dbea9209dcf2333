"""The kinds of text that anchors and positives are, by the names that `schemas.choices.KINDS` gives them.

A sentence is a row of `pairs`, which links to the entity. A lead, a title, a first sentence, adjacent sentences, and
the path of a heading with the passage below it are of the entity's own page; label, description and alias are of its
item in Wikidata.
"""

from __future__ import annotations

from wikianchor.schemas.choices import OF_WIKIDATA

SENTENCE, LEAD, TITLE, FIRST, ADJACENT, NEXT = "sentence", "lead", "title", "first", "adjacent", "next"
HEADING, PASSAGE = "heading", "passage"
# Texts of the entity's own page; those that are read in `documents`.
PAGE_TEXTS = (LEAD, TITLE, FIRST, ADJACENT, NEXT, HEADING, PASSAGE)
OF_DOCUMENTS = (HEADING, PASSAGE)
OF_PAGES = (SENTENCE, *PAGE_TEXTS)
# Too short to tell rows apart.
NAMES = (TITLE, HEADING, "label", "alias")
# The column of `entities` that has the texts of a kind.
COLUMNS = dict(zip(OF_WIKIDATA, ("labels", "descriptions", "aliases"), strict=True))
