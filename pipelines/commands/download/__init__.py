"""`wikianchor download`: the dumps that a target needs, verified."""
