"""The dictionary of a wiki: its `mentions` as memory-mapped arrays.

    hashes values buckets       the trie of names (`wikianchor.aliases.name_table`)
    starts                      (names + 1,) where the candidates of each name begin
    qids commonness links       (candidates,) the most common of a name first
    probability                 (names,) probability that an occurrence of the name is a link

It is written once for a dataset, a wiki and the thresholds, to a directory named by their hash.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

import wikianchor.schemas.mentions
from wikianchor.aliases.folding import is_chinese
from wikianchor.aliases.name_table import NameTable, Nodes, merge, nodes_of, table_of
from wikianchor.io.cache import open_cache
from wikianchor.io.errors import InputError
from wikianchor.io.manifests import reread
from wikianchor.io.parsing import malformed
from wikianchor.trainer.data.cache import map_arrays, save_arrays
from wikianchor.trainer.data.shards import check_columns, list_shards, read_manifest, read_table

VERSION = 1
COLUMNS = ("wiki", "key", "qid", "links", "occurrences", "name_links")
ARRAYS = ("hashes", "values", "buckets", "starts", "qids", "commonness", "links", "probability")


@dataclass(frozen=True)
class Mentions:
    """A finished `mentions` dataset.

    Attributes:
        path: its directory.
        manifest: the content of manifest.json.
        wikis: the wiki of each language.
        link_probability, commonness: the thresholds of the config `candidates`.
        fingerprint: equal for equal rows.
    """

    path: str
    manifest: dict[str, Any]
    wikis: Mapping[str, str]
    link_probability: float
    commonness: float
    fingerprint: str


@reread
def open_mentions(path: str) -> Mentions:
    """Check the manifest of a dataset of `wikianchor mentions`.

    Raises:
        InputError: the directory holds no finished `mentions` dataset of a supported version.
    """
    manifest = read_manifest(path, {"mentions": wikianchor.schemas.mentions.VERSION})
    with malformed(f"{path}/manifest.json: says nothing of languages and thresholds"):
        options = manifest["options"]
        wikis = {str(language): str(wiki) for wiki, language in options["languages"].items()}
        thresholds = float(options["link_probability"]), float(options["commonness"])
    return Mentions(path, manifest, wikis, *thresholds, list_shards(path, manifest, "mentions")[2])


@dataclass(frozen=True)
class Dictionary:
    """The names of a wiki and their candidates; the arrays of the module's docstring.

    `chinese` says whether traditional characters are folded to simplified ones, in the names and in text.
    """

    table: NameTable
    starts: NDArray[np.int64]
    qids: NDArray[np.int64]
    commonness: NDArray[np.float32]
    links: NDArray[np.int64]
    probability: NDArray[np.float32]
    chinese: bool = field(kw_only=True)


def open_dictionary(
    mentions: Mentions, language: str, cache: str, link_probability: float = 0.01, commonness: float = 0.05
) -> Dictionary:
    """Return the dictionary of a language; if no earlier run wrote it, write it now.

    Args:
        mentions: the dataset.
        language: code of the language.
        cache: directory of dictionaries.
        link_probability: lowest probability that an occurrence of a name is a link.
        commonness: lowest probability that a link with the name leads to the candidate.

    Raises:
        InputError: the language has no dictionary, or no candidate reaches the thresholds.
    """
    if language not in mentions.wikis:
        raise InputError(
            f"{mentions.path}: no dictionary for the language {language!r}, only for "
            f"{', '.join(sorted(mentions.wikis))}: build mentions with its wiki, or leave its documents out"
        )
    wiki = mentions.wikis[language]
    stated = (VERSION, mentions.fingerprint, wiki, link_probability, commonness)
    directory = open_cache(
        cache,
        "mentions-" + hashlib.sha256(repr(stated).encode()).hexdigest()[:32],
        lambda unfinished: save_arrays(unfinished, _arrays(mentions, wiki, link_probability, commonness)),
    )
    arrays = map_arrays(directory, ARRAYS)
    return Dictionary(NameTable(arrays), *(arrays[name] for name in ARRAYS[3:]), chinese=is_chinese(language))


def _arrays(mentions: Mentions, wiki: str, link_probability: float, commonness: float) -> dict[str, NDArray[Any]]:
    """Return the arrays of a dictionary."""
    # The config `candidates` has the rows above the dataset's thresholds.
    filtered = link_probability >= mentions.link_probability and commonness >= mentions.commonness
    shards = list_shards(mentions.path, mentions.manifest, "candidates" if filtered else "mentions")[0]
    check_columns(shards, wikianchor.schemas.mentions.SCHEMA, COLUMNS)
    nodes = [Nodes(np.zeros(0, np.uint64), np.zeros(0, np.int32))]
    columns: dict[str, list[NDArray[Any]]] = {name: [] for name in ("counts", *ARRAYS[4:])}
    names = 0
    for shard in shards:
        table = read_table(shard, wikianchor.schemas.mentions.SCHEMA, COLUMNS)
        rows = table.filter(pc.equal(table["wiki"], wiki)).combine_chunks()
        keys, values = _candidates(rows, link_probability, commonness)
        if not keys:
            continue
        # Rows of a name are consecutive, and all in one shard.
        changes = (a != b for a, b in zip(keys, [None, *keys], strict=False))
        first = np.flatnonzero(np.fromiter(changes, bool, len(keys)))
        nodes.append(nodes_of([keys[row] for row in first.tolist()], names))
        names += len(first)
        columns["counts"].append(np.diff(np.append(first, len(keys))))
        columns["probability"].append(values.pop("probability")[first])
        for name, column in values.items():
            columns[name].append(column)
    if not names:
        raise InputError(
            f"{mentions.path}: no name of {wiki} is a link as often as {link_probability} and leads to one item as "
            f"often as {commonness}: was it built from text with links? else lower the thresholds"
        )
    joined = {name: np.concatenate(parts) for name, parts in columns.items()}
    joined["starts"] = np.append(0, np.cumsum(joined.pop("counts")))
    return table_of(merge(nodes)) | joined


def _candidates(
    table: pa.Table, link_probability: float, commonness: float
) -> tuple[list[str], dict[str, NDArray[Any]]]:
    """Return the names and the columns of the rows of `mentions` that reach the thresholds."""
    links, name_links = (table[name].to_numpy().astype(np.float64) for name in ("links", "name_links"))
    likely = name_links / np.maximum(table["occurrences"].to_numpy(), 1)
    common = links / np.maximum(name_links, 1)
    # A name without links has no candidates, even if both thresholds are 0.
    kept = (
        (likely.astype(np.float32) >= np.float32(link_probability))
        & (common.astype(np.float32) >= np.float32(commonness))
        & (links > 0)
    )
    return table["key"].filter(pa.array(kept)).to_pylist(), {
        "qids": table["qid"].to_numpy()[kept],
        "commonness": np.minimum(common[kept], 1).astype(np.float32),
        "links": links[kept].astype(np.int64),
        "probability": np.minimum(likely[kept], 1).astype(np.float32),
    }
