"""SDJC: an encoder adapted to a domain by sentences and their hard negatives."""
