"""The dictionary of a wiki: its `mentions` as arrays on disk, mapped into memory by whoever looks names up.

    hashes values buckets       the trie of names (`wikianchor.aliases.name_table`)
    starts                      (names + 1,) where the candidates of each name begin
    qids commonness links       by candidate, the most common of a name first
    probability                 (names,) how likely the name is a link

It is written once for a dataset, a wiki and the thresholds, under a name that is the hash of these.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

import wikianchor.schemas.mentions
from wikianchor.aliases.name_table import NameTable, Nodes, merge, nodes_of, table_of
from wikianchor.io.errors import InputError
from wikianchor.io.storage import writing
from wikianchor.trainer.data.shards import check_columns, list_shards, read_manifest, read_table

VERSION = 1
COLUMNS = ("wiki", "key", "qid", "links", "occurrences", "name_links")
ARRAYS = ("hashes", "values", "buckets", "starts", "qids", "commonness", "links", "probability")


@dataclass(frozen=True)
class Mentions:
    """A finished `mentions` dataset: the wiki of each language, the thresholds of its candidates, and a digest."""

    path: str
    manifest: dict[str, Any]
    wikis: Mapping[str, str]
    link_probability: float
    commonness: float
    fingerprint: str

    def wiki(self, language: str) -> str:
        """Return the wiki of a language.

        Raises:
            InputError: the dataset has none.
        """
        if language not in self.wikis:
            known = ", ".join(sorted(self.wikis))
            raise InputError(
                f"{self.path}: no dictionary for the language {language!r}, only for {known}: "
                "build mentions with its wiki, or leave its documents out"
            )
        return self.wikis[language]


def open_mentions(path: str) -> Mentions:
    """Check the manifest of a dataset of `wikianchor mentions`.

    Raises:
        InputError: it is none of a version that is known here.
    """
    path = path.rstrip("/")
    manifest = read_manifest(path, "mentions", wikianchor.schemas.mentions.VERSION)
    try:
        options = manifest["options"]
        wikis = {str(language): str(wiki) for wiki, language in options["languages"].items()}
        thresholds = float(options["link_probability"]), float(options["commonness"])
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"{path}/manifest.json: says nothing of languages and thresholds ({error})") from error
    return Mentions(path, manifest, wikis, *thresholds, list_shards(path, manifest, "mentions")[2])


@dataclass(frozen=True)
class Dictionary:
    """The names of a wiki and what they may stand for; arrays as in the module's docstring."""

    table: NameTable
    starts: NDArray[np.int64]
    qids: NDArray[np.int64]
    commonness: NDArray[np.float32]
    links: NDArray[np.int64]
    probability: NDArray[np.float32]


def open_dictionary(
    mentions: Mentions, language: str, cache: str, link_probability: float = 0.01, commonness: float = 0.05
) -> Dictionary:
    """Return the dictionary of a language, written now if no earlier run has.

    Args:
        mentions: the dataset.
        language: code of the language.
        cache: directory of dictionaries.
        link_probability: names are links at least so often.
        commonness: and such a link leads to the candidate at least so often.

    Raises:
        InputError: the language has no dictionary, or nothing is above the thresholds.
    """
    wiki = mentions.wiki(language)
    stated = (VERSION, mentions.fingerprint, wiki, link_probability, commonness)
    directory = os.path.join(cache, "mentions-" + hashlib.sha256(repr(stated).encode()).hexdigest()[:32])
    if not os.path.isdir(directory):
        with writing(cache, "--cache"):
            os.makedirs(cache, exist_ok=True)
            unfinished = tempfile.mkdtemp(prefix="unfinished-", dir=cache)
            try:
                arrays = _arrays(mentions, wiki, link_probability, commonness)
                for name, array in arrays.items():
                    np.save(os.path.join(unfinished, f"{name}.npy"), array)
                _take_name(unfinished, directory)
            finally:
                shutil.rmtree(unfinished, ignore_errors=True)
    try:
        found = {
            name: np.asarray(np.load(os.path.join(directory, f"{name}.npy"), mmap_mode="r", allow_pickle=False))
            for name in ARRAYS
        }
    except (OSError, EOFError, ValueError) as error:
        raise InputError(f"{directory}: a broken cache ({error}): remove it") from error
    return Dictionary(NameTable(found), *(found[name] for name in ARRAYS[3:]))


def _take_name(unfinished: str, directory: str) -> None:
    try:
        os.rename(unfinished, directory)
    except OSError:
        # Another run was faster; what it wrote is the same.
        if not os.path.isdir(directory):
            raise


def _arrays(mentions: Mentions, wiki: str, link_probability: float, commonness: float) -> dict[str, NDArray[Any]]:
    """Return the arrays of a dictionary."""
    # The view has what is above the dataset's own thresholds.
    view = link_probability >= mentions.link_probability and commonness >= mentions.commonness
    shards = list_shards(mentions.path, mentions.manifest, "candidates" if view else "mentions")[0]
    nodes = [Nodes(np.zeros(0, np.uint64), np.zeros(0, np.int32))]
    columns: dict[str, list[NDArray[Any]]] = {name: [] for name in ("counts", *ARRAYS[4:])}
    names = 0
    for shard in shards:
        check_columns(shard, wikianchor.schemas.mentions.SCHEMA, COLUMNS)
        table = _read(shard, wiki)
        links, name_links = (table[name].to_numpy().astype(np.float64) for name in ("links", "name_links"))
        likely = name_links / np.maximum(table["occurrences"].to_numpy(), 1)
        common = links / np.maximum(name_links, 1)
        fit = (likely.astype(np.float32) >= np.float32(link_probability)) & (
            common.astype(np.float32) >= np.float32(commonness)
        )
        # A name with no link stands for nothing, whatever the thresholds.
        fit &= links > 0
        if not fit.any():
            continue
        keys = table["key"].filter(pa.array(fit)).to_pylist()
        # Rows of a name follow each other, and no name is in two shards.
        first = np.flatnonzero(
            np.fromiter((a != b for a, b in zip(keys, [None, *keys], strict=False)), bool, len(keys))
        )
        nodes.append(nodes_of([keys[place] for place in first.tolist()], names))
        names += len(first)
        columns["counts"].append(np.diff(np.append(first, len(keys))))
        columns["qids"].append(table["qid"].to_numpy()[fit])
        columns["commonness"].append(np.minimum(common[fit], 1).astype(np.float32))
        columns["links"].append(links[fit].astype(np.int64))
        columns["probability"].append(np.minimum(likely[fit][first], 1).astype(np.float32))
    if not names:
        raise InputError(
            f"{mentions.path}: no name of {wiki} is a link as often as {link_probability} and leads to one item as "
            f"often as {commonness}: was it built from text with links? else lower the thresholds"
        )
    joined = {name: np.concatenate(parts) for name, parts in columns.items()}
    joined["starts"] = np.append(0, np.cumsum(joined.pop("counts")))
    return table_of(merge(nodes)) | joined


def _read(shard: str, wiki: str) -> pa.Table:
    table = read_table(shard, wikianchor.schemas.mentions.SCHEMA, COLUMNS)
    return table.filter(pc.equal(table["wiki"], wiki)).combine_chunks()
