"""`wikianchor release`: from dumps to a published model, by the other commands."""
