"""The dataset `pairs`: (sentence, linked entity, hard negatives), shuffled."""
