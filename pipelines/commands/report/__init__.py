"""`wikianchor report`: what is in datasets, on the terminal or as an HTML page."""
