"""The dataset `mentions`: names with the items they stand for, and counts."""
