"""Map the titles of a wiki to Wikidata items, and count the links to items."""
