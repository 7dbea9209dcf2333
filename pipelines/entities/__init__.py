"""The datasets `entities` and `sitelinks`, from Wikidata."""
