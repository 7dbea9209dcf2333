"""The kinds of text that anchors and positives are, by the names that `schemas.choices.KINDS` gives them.

A sentence is a row of `pairs`, which links to the entity. A lead, a title, a first sentence and adjacent sentences are
of the entity's own page, label, description and alias of its item in Wikidata.
"""

from __future__ import annotations

from wikianchor.schemas.choices import OF_WIKIDATA

SENTENCE, LEAD, TITLE, FIRST, ADJACENT, NEXT = "sentence", "lead", "title", "first", "adjacent", "next"
# Texts of the entity's own page.
PAGE_TEXTS = (LEAD, TITLE, FIRST, ADJACENT, NEXT)
OF_PAGES = (SENTENCE, *PAGE_TEXTS)
# Too short to tell rows apart.
NAMES = (TITLE, "label", "alias")
# The column of `entities` that has the texts of a kind.
COLUMNS = dict(zip(OF_WIKIDATA, ("labels", "descriptions", "aliases"), strict=True))
