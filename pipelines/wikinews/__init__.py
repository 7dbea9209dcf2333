"""Wikinews, in pure Python: topics, categories, publication, licences, and the first sentence of an article."""
