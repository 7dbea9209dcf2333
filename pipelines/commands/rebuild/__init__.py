"""`wikianchor rebuild`: a dataset once more, from what its manifest says."""
