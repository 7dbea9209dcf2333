"""Prepare a dataset for publication: its shards, a config for each language, a card and a Croissant description.

A release is a directory of its own. Its shards are hard links where the filesystem allows it. Rows of `pairs` get the
labels of their entities, and the shards of a shuffled dataset mix languages, so these rows are written once more.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from wikianchor.io.errors import UsageError
from wikianchor.io.manifests import MANIFEST
from wikianchor.io.storage import duplicate, writing
from wikianchor.io.version import program_version
from wikianchor.pipelines.dataset.card import card
from wikianchor.pipelines.dataset.croissant import croissant
from wikianchor.pipelines.dataset.entity_labels import LABELLED, entity_labels, labelled
from wikianchor.pipelines.dataset.manifest import (
    CARD,
    CROISSANT,
    RECIPE,
    claim,
    commit,
    damaged_shard,
    is_shard_path,
    read_manifest,
)
from wikianchor.pipelines.dataset.part_writer import Part, PartWriter
from wikianchor.pipelines.dataset.reader import Dataset, read_batches
from wikianchor.pipelines.dataset.split_configs import split_config, split_of
from wikianchor.pipelines.dataset.workspace import UNFINISHED
from wikianchor.pipelines.wikimedia.languages import language_of_wiki
from wikianchor.schemas import pairs

# Name of the workspace of a release; an interrupted release is not continued, because a new one is cheap.
WORK = "release"
# The key of releases in their manifests: the version that made it.
RELEASE = "release"
# Rows of a shard that is written once more, and of the card.
ROWS_PER_SHARD, EXAMPLES = 250_000, 3
# Datasets whose main config has a column `wiki`.
BY_WIKI = ("pairs", "sentences", "mentions")


def make_release(dataset: Dataset, output: str, url: str, date: str) -> Dataset:
    """Write a release of a dataset, unless it exists already.

    Args:
        dataset: a local dataset.
        output: directory of the release.
        url: where the dataset is published, for its description.
        date: the date of publication, YYYY-MM-DD.

    Raises:
        UsageError: the directory contains something else, or the dataset is not Parquet.
        InputError: the directory cannot be written.
    """
    if other := next((shard["path"] for shard in dataset.entries() if not shard["path"].endswith(".parquet")), None):
        raise UsageError(
            f"{dataset.directory}/{other}: a release is Parquet: export with --format=sentence-transformers"
        )
    made_by = program_version()
    recipe = {"manifest": dataset.manifest, "url": url, "made_by": made_by}
    if (done := _done(output, recipe)) is not None:
        return done
    with suppress(FileNotFoundError):
        os.unlink(f"{output}/{RECIPE}")
        os.unlink(f"{output}/{CROISSANT}")
    with claim(output, dataset.name, flag="--release"):
        has_labels = dataset.name != "pairs" or RELEASE in dataset.manifest
        labels = None if has_labels else entity_labels(dataset)
        parts: list[Part] = []
        for name, config in dataset.configs.items():
            if labels is not None and split_of(name)[0] == dataset.name:
                parts += _written(dataset, name, name, output, labels)
            else:
                parts += [
                    _linked(f"{dataset.directory}/{shard['path']}", output, name, order, shard)
                    for order, shard in enumerate(config["shards"])
                ]
        is_by_wiki = dataset.name in BY_WIKI
        languages, more = _language_parts(dataset, dataset.name, output, labels) if is_by_wiki else ({}, [])
        head = {key: value for key, value in dataset.manifest.items() if key != "configs"}
        head |= {RELEASE: made_by} | ({"languages": languages} if languages else {})
        manifest = commit(output, f"{output}/{UNFINISHED}/{WORK}", [*parts, *more], head)
    schemas = {name: _schema(output, config) for name, config in manifest["configs"].items() if config["shards"]}
    release = Dataset(output, manifest)
    text = card(manifest, url.removeprefix("https://huggingface.co/datasets/"), schemas, _first_rows(release))
    _write(f"{output}/{CARD}", text)
    _write(
        f"{output}/{CROISSANT}",
        json.dumps(croissant(manifest, schemas, url, date), indent=1, ensure_ascii=False) + "\n",
    )
    _write(f"{output}/{RECIPE}", json.dumps(recipe, sort_keys=True))
    return release


def _first_rows(release: Dataset) -> list[dict[str, Any]]:
    """Return the first rows of the main config, for the card."""
    paths = release.shards(release.name) or release.shards(next(iter(release.configs), ""))
    batches = (batch for path in paths[:1] for batch in read_batches(path, pq.read_schema(path).names))
    return next((batch.slice(0, EXAMPLES).to_pylist() for batch in batches), [])


def _done(output: str, recipe: Mapping[str, Any]) -> Dataset | None:
    try:
        with open(f"{output}/{RECIPE}", encoding="utf-8") as file:
            if json.load(file) != recipe:
                return None
    except (OSError, ValueError):
        return None
    manifest = read_manifest(output)
    return None if manifest is None or damaged_shard(output, manifest) else Dataset(output, manifest)


def _write(path: str, text: str) -> None:
    with writing(path, "--release"), open(path, "w", encoding="utf-8") as file:
        file.write(text)


def _schema(output: str, config: Mapping[str, Any]) -> pa.Schema:
    return pq.read_schema(f"{output}/{config['shards'][0]['path']}")


def _linked(source: str, output: str, config: str, order: int, shard: Mapping[str, Any]) -> Part:
    path = f"{output}/{UNFINISHED}/{WORK}/{config}-{order:06d}.parquet"
    with writing(path, "--release"):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        duplicate(source, path)
    return Part(config, order, path, rows=shard["rows"], size=shard["bytes"], sha256=shard["sha256"])


def _language_parts(
    dataset: Dataset, name: str, output: str, labels: pa.Array | None
) -> tuple[dict[str, str], list[Part]]:
    """Write the rows of each language, and return the config of each language and the new parts. A split of the dataset
    is a config of its own, and so are the splits of a language."""
    wikis = sorted(dataset.ledger.get("links", {}) if name == "pairs" else _wikis(dataset))
    if len(wikis) <= 1:
        return {_language(wiki): name for wiki in wikis}, []
    parts = [
        part
        for wiki in wikis
        for config in dataset.configs
        if split_of(config)[0] == name
        for part in _written(
            dataset, config, split_config(_language(wiki), split_of(config)[1]), output, labels, wiki=wiki
        )
    ]
    languages = sorted({split_of(part.config)[0] for part in parts})
    return {language: language for language in languages}, parts


def _wikis(dataset: Dataset) -> list[str]:
    options = dataset.options
    return [options["wiki"]] if "wiki" in options else list(options.get("wikis", ()))


def _language(wiki: str) -> str:
    """Return the name of the config of a wiki's language. Simple English has its own."""
    return "simple" if wiki.startswith("simple") else language_of_wiki(wiki)


def _written(
    dataset: Dataset, source: str, config: str, output: str, labels: pa.Array | None, *, wiki: str = ""
) -> list[Part]:
    """Write the rows of a config once more, in their order.

    Args:
        dataset: the dataset.
        source: the config of the rows.
        config: that of the new parts.
        output: directory of the release.
        labels: of `pairs`, the labels of entities by dense id.
        wiki: the wiki whose rows are taken, "" for all.
    """
    parts: list[Part] = []
    stored = _schema(dataset.directory, dataset.configs[source])
    schema, repeating = (stored, True) if labels is None else (pairs.PUBLISHED, [*pairs.REPEATING, "entity"])
    waiting: list[pa.Table] = []

    def flush() -> None:
        with PartWriter(f"{output}/{UNFINISHED}/{WORK}", config, len(parts), schema, repeating) as file:
            for batch in pa.concat_tables(waiting).combine_chunks().to_batches(20_000):
                file.write(batch)
        if file.part is not None:
            parts.append(file.part)
        waiting.clear()

    for batch in dataset.batches(source, stored.names):
        rows = pa.Table.from_batches([batch.filter(pc.equal(batch["wiki"], wiki)) if wiki else batch])
        for name, ids in LABELLED.items() if labels is not None else ():
            rows = rows.append_column(name, labelled(rows[ids].combine_chunks(), labels))
        waiting.append(rows.select(schema.names).cast(schema))
        if sum(table.num_rows for table in waiting) >= ROWS_PER_SHARD:
            flush()
    if waiting:
        flush()
    return parts


def is_release_file(name: str) -> bool:
    """Return whether a path in a repository is one that a release may write and remove."""
    return name in (MANIFEST, CARD, CROISSANT) or is_shard_path(name)
