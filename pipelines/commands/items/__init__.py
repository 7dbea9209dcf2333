"""`wikianchor items`: a stand-in for Wikidata where there is none."""
