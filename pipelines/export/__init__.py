"""The dataset `export`: (anchor, positive, negatives) as text."""
