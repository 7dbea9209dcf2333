"""Files between servers and here: dumps in, datasets out. No Beam."""
