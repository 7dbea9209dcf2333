"""Figures 6 and 7 of SDJC's paper: words that make pairs similar, and positions of pairs in the vector space."""
