"""The contract between the pipelines and whoever reads their datasets: one module per dataset. Imports nothing of
ours."""

if __name__ != "wikianchor.schemas":
    raise ImportError("this package is wikianchor.schemas: a second copy of it under another name would not be equal")
