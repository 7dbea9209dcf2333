"""`wikianchor topics`: the topic map of MewsC-16, derived from the wikis' own tables."""
