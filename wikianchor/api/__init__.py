"""The public API, by topic; `import wikianchor` gives all of its names."""
