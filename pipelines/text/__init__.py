"""Sentences of a page: boundaries with offsets, regions, and which sentences are unusable. Without Beam."""
