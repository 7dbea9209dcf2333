"""From pairs to sentence embeddings, and from embeddings to scores. Imports schemas, never pipelines."""

if __name__ != "wikianchor.trainer":
    raise ImportError("this package is wikianchor.trainer: a second copy of it under another name would not be equal")
