"""The dataset `negatives`: sentences of a corpus with other nouns, filled in by a T5."""
