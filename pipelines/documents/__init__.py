"""The dataset `documents`: the documents of `sentences` with the items of their pages and links."""
