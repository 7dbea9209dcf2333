"""Apache Beam pipelines from Wikimedia dumps to entity-anchored training data."""

if __name__ != "wikianchor.pipelines":
    raise ImportError("this package is wikianchor.pipelines: a second copy of it under another name would not be equal")
