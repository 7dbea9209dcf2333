"""`wikianchor publish`: a dataset with its card, onto the Hub or into a bucket."""
