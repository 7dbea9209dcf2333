"""`wikianchor verify`: a dataset checked against its manifest, its schema, its ledger and the dumps."""
