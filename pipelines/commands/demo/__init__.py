"""`wikianchor demo`: a sample of three wikis, built without a network."""
