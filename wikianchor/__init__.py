"""The console script `wikianchor`, above the pipelines and the trainer, which do not import each other."""
