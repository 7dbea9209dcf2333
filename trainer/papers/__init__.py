"""`wikianchor papers`: the tables of the papers."""
