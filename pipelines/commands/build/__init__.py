"""`wikianchor build`: dumps in, training pairs out, by way of `sentences`, `entities` and `pairs`."""
