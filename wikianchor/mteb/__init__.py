"""MewsC-16 as clustering tasks of mteb, over a dataset that `wikianchor mewsc16` made, and retrieval over one of
`wikianchor retrieval`.

    import mteb
    from sentence_transformers import SentenceTransformer
    from wikianchor.mteb import MewsC16Clustering

    mteb.evaluate(SentenceTransformer("models/ease/model"), [MewsC16Clustering("out/mewsc16")], cache=None)

MewsC16Clustering           all texts of the dataset
MewsC16BalancedClustering   at most 100 texts of each class
WikiRetrieval               all queries of a dataset of `wikianchor retrieval`

`wikianchor mteb` writes descriptive statistics of the first two, and the scores of a model. Needs the extra `mteb`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wikianchor.mteb.retrieval import WikiRetrieval
    from wikianchor.mteb.tasks import MewsC16BalancedClustering, MewsC16Clustering

__all__ = ["MewsC16BalancedClustering", "MewsC16Clustering", "WikiRetrieval"]


def __getattr__(name: str) -> Any:
    # PEP 562: `wikianchor mteb --help` needs neither mteb nor torch.
    if name not in __all__:
        raise AttributeError(f"module 'wikianchor.mteb' has no attribute {name!r}")
    module = "retrieval" if name == "WikiRetrieval" else "tasks"
    return getattr(importlib.import_module(f"wikianchor.mteb.{module}"), name)


def __dir__() -> list[str]:
    return __all__
