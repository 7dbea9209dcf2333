"""Arrays on disk and keyed hashes: what joins and samples are made of. NumPy, no Beam."""
