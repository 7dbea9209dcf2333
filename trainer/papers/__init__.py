"""`wikianchor papers`: tables and figures of the papers, and how the Japanese STS benchmark is made."""
