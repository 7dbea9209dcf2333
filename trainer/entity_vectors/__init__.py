"""`python -m wikianchor.trainer.entity_vectors`: initial vectors of the entities of a dataset."""
