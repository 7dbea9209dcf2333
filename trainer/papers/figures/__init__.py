"""Figures of SDJC's paper that look into models: which words make a pair similar, and how pairs lie in space."""
