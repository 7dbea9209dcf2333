"""The rows of a dataset `mewsc16` by language, and balanced subsets of them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from wikianchor.io.errors import InputError
from wikianchor.pipelines.arrays.hashing import hash_string, mix
from wikianchor.pipelines.dataset.reader import Dataset, open_datasets, read_batches
from wikianchor.schemas import mewsc16 as schema
from wikianchor.trainer.evaluate.languages import short

COLUMNS = ("page_id", "sentence", "label")


def open_mewsc16(directory: str) -> Dataset:
    """Open a finished dataset with clean sentences.

    Args:
        directory: the directory of the dataset, a path or a URI.

    Raises:
        InputError: there is no finished dataset `mewsc16`, a shard is missing, or it was built with --mode=paper.
    """
    datasets = open_datasets(directory, "mewsc16", schema.VERSION, "data")
    if len(datasets) != 1:
        raise InputError(f"--data={directory} holds {len(datasets)} datasets: name one of them")
    mode = datasets[0].manifest.get("options", {}).get("mode")
    if mode != "clean":
        raise InputError(f"--data={directory} was built with --mode={mode}: the tasks are of clean sentences")
    return datasets[0]


def choose_languages(dataset: Dataset, languages: Sequence[str]) -> tuple[str, ...]:
    """Return two-letter codes, sorted.

    Args:
        dataset: must have rows in each of them.
        languages: codes of two or three letters, such as ja or jpn; none for all sixteen.

    Raises:
        InputError: a language is none of MewsC-16's, or the dataset has no rows in it.
    """
    chosen = sorted({short(language) for language in languages} or schema.LANGUAGES)
    if unknown := [language for language in chosen if language not in schema.LANGUAGES]:
        raise InputError(f"--languages={','.join(unknown)}: MewsC-16 is in {', '.join(schema.LANGUAGES)}")
    if missing := [language for language in chosen if not dataset.rows(language)]:
        present = ",".join(language for language in schema.LANGUAGES if dataset.rows(language))
        raise InputError(
            f"{dataset.directory}: no rows in {', '.join(missing)}: build them with `wikianchor mewsc16`, or choose "
            f"those that are there, --languages={present}"
        )
    return tuple(chosen)


def read_rows(dataset: Dataset, language: str) -> pa.Table:
    """Return the rows of a language, with `COLUMNS`.

    Raises:
        InputError: a shard cannot be read, or all rows have the same label.
    """
    batches = [batch for path in dataset.shards(language) for batch in read_batches(path, COLUMNS)]
    rows = pa.Table.from_batches(batches)
    if len(rows["label"].unique()) < 2:
        raise InputError(f"{dataset.directory}: {language} has one label: there is nothing to cluster")
    return rows


def balanced(rows: pa.Table, language: str, most: int) -> pa.Table:
    """Return at most `most` rows of each label, in their order.

    Those with the smallest hashes of language and page id are kept, so the subset depends neither on the order of the
    rows nor on those of other labels.

    >>> rows = pa.table({"page_id": range(9), "label": list("aaaaaabbc")})
    >>> balanced(rows, "ja", 2)["label"].to_pylist()
    ['a', 'a', 'b', 'b', 'c']
    """
    hashes = mix(hash_string(f"MewsC-16, balanced: {language}"), rows["page_id"].to_numpy())
    labels = rows["label"].to_pylist()
    by_label: dict[str, list[int]] = {}
    for number in np.argsort(hashes, kind="stable"):
        by_label.setdefault(labels[number], []).append(int(number))
    return rows.take(sorted(number for numbers in by_label.values() for number in numbers[:most]))


def revision(dataset: Dataset) -> str:
    """Return a hash of the contents of all shards, 40 hexadecimal digits."""
    configs = dataset.manifest["configs"]
    digests = [shard["sha256"] for config in sorted(configs) for shard in configs[config]["shards"]]
    return hashlib.sha256("\n".join(digests).encode()).hexdigest()[:40]
