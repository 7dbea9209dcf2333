"""The dataset `corpus`: clean sentences of a domain text, parsed once, with their noun spans."""
