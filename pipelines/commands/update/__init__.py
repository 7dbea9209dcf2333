"""`wikianchor update`: the dump of a later day, from a dump and the adds-changes dumps of the days since."""
