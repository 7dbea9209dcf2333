"""Japanese domain text: the datasets `corpus` and `negatives`, and pictures of words."""
