"""Datasets as batches: shards, texts, tokens, the order of rows, the feed."""
