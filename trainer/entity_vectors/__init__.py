"""`wikianchor vectors`: initial vectors of the entities of a dataset."""
