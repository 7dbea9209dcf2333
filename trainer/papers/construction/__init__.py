"""The construction of SDJC's Japanese STS benchmark (section 4.1): translated pairs, filtered by back-translation, and
a comparison of the filtered versions by the error of a regression trained on each."""
