"""Arithmetic of `wikianchor score`: vectors of texts on disk, filters by cosines, and mined hard negatives.

The command is `wikianchor.score`, which reads and writes datasets.
"""
