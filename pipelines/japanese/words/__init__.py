"""`wikianchor words`: a picture of the most frequent words of a corpus."""
