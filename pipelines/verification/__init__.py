"""Proving a dataset: its files against its manifest, its rows against its schema and each other, its ledger against its
rows, and rows against the dumps they come from. No Beam but in `again`, which reads pages as the pipeline does."""
