"""The dataset `retrieval`: passages, queries and which passages are relevant, to score retrieval."""
