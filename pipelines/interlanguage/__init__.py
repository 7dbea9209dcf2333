"""The dataset `interlanguage`: which page an item has in which wiki."""
