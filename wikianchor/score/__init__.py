"""The command `score`: a dataset `export` with the cosines of a model, filtered and with mined negatives."""
