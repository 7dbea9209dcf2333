"""Arrow schemas of the datasets, one module per dataset: the interface between the pipelines and those who read their
datasets. Schemas import neither the pipelines nor the trainer."""

if __name__ != "wikianchor.schemas":
    raise ImportError("this package is wikianchor.schemas: a second copy of it under another name would not be equal")
