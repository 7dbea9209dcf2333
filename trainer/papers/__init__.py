"""Tables and figures of the papers: recipes, and how the Japanese STS benchmark is made."""
