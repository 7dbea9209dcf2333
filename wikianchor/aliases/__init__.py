"""Fold and tokenise names, and find them in text. `mentions` and M-BoE's detector both use it."""
