"""`wikianchor doctor`: the state of an installation."""
