"""The labels of entities as columns of `pairs`, beside their numbers."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc

from wikianchor.pipelines.dataset.reader import Dataset

# Column of labels -> column of dense ids that it is made of.
LABELLED: Mapping[str, str] = {"entity": "entity_id", "hard_negatives": "hard_negative_ids"}


def entity_labels(dataset: Dataset) -> pa.Array:
    """Return the label of each entity of `pairs` by its dense id, its item, such as Q42, where it has none."""
    labels = [pa.array([], pa.string())]
    for batch in dataset.batches("entities", ["label", "qid"]):
        items = pc.binary_join_element_wise("Q", pc.cast(batch["qid"], pa.string()), "")
        labels.append(pc.coalesce(batch["label"], items))
    return pa.concat_arrays(labels)


def labelled(ids: pa.Array, labels: pa.Array) -> pa.Array:
    """Return the labels of dense ids, or of lists of them."""
    if isinstance(ids, pa.ListArray):
        return pa.ListArray.from_arrays(pc.subtract(ids.offsets, ids.offsets[0]), labels.take(ids.flatten()))
    return labels.take(ids)
