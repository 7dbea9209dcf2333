"""`wikianchor extract`: the wikitext engine alone."""
