"""Read finished datasets: find and open them, and read the rows of their shards as Arrow batches."""

from __future__ import annotations

import glob
import logging
import os
import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache, partial
from itertools import chain
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from wikianchor.io.errors import InputError, UsageError
from wikianchor.io.manifests import MANIFEST, read_dataset
from wikianchor.io.storage import file_info, files_in, filesystem, is_local, matching
from wikianchor.pipelines.dataset.arrow_memory import release_memory
from wikianchor.pipelines.dataset.manifest import RECIPE, damaged_shard, has_unfinished_work, read_manifest


class Dataset(NamedTuple):
    """A finished dataset: its directory, and what its manifest says of it."""

    directory: str
    manifest: dict[str, Any]

    @property
    def name(self) -> str:
        """What it is, such as "sentences"."""
        return str(self.manifest["dataset"])

    @property
    def options(self) -> dict[str, Any]:
        """The options that it was made with."""
        return self.manifest["options"]

    @property
    def wiki(self) -> str:
        """The wiki that it is of, "" for a dataset of several."""
        return str(self.options.get("wiki") or "")

    @property
    def ledger(self) -> dict[str, Any]:
        """Its counts."""
        return self.manifest["ledger"]

    @property
    def configs(self) -> dict[str, Any]:
        """Rows and shards of each config, by name."""
        return self.manifest["configs"]

    def entries(self) -> list[dict[str, Any]]:
        """Return what the manifest says of each shard: path, rows, bytes, sha256."""
        return [shard for config in self.configs.values() for shard in config["shards"]]

    def shards(self, config: str) -> list[str]:
        """Return the paths of a config's shards, in order; none where the config has no row."""
        shards = self.configs.get(config, {"shards": []})["shards"]
        return [f"{self.directory}/{shard['path']}" for shard in shards]

    def sizes(self, config: str) -> list[int]:
        """Return the bytes of a config's shards, in order."""
        return [shard["bytes"] for shard in self.configs.get(config, {"shards": []})["shards"]]

    def rows(self, config: str) -> int:
        """Return the number of rows of a config."""
        return int(self.configs.get(config, {"rows": 0})["rows"])

    def batches(
        self, config: str, columns: Sequence[str], only: tuple[str, str] | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Yield the row groups of a config's shards, in order, as `read_batches` does."""
        return chain.from_iterable(read_batches(path, columns, only) for path in self.shards(config))

    def iterate(self, config: str, columns: Sequence[str]) -> Iterator[dict[str, Any]]:
        """Yield the rows of a config, in order, with these columns; a row group is in memory as Python values."""
        return (row for batch in self.batches(config, columns) for row in batch.to_pylist())

    def items(self, column: str, qids: Iterable[int]) -> Iterator[dict[str, Any]]:
        """Yield the number and a column of those rows of the config `entities` that are about some items."""
        wanted = pa.array(sorted(qids), pa.int64())
        for batch in self.batches("entities", ["qid", column]):
            yield from batch.filter(pc.is_in(batch["qid"], value_set=wanted)).to_pylist()


def open_datasets(patterns: str, name: str, version: str, flag: str) -> list[Dataset]:
    """Open the datasets that a comma-separated list of directories and globs names, sorted. A directory that contains
    datasets stands for all of them.

    Args:
        patterns: the value of the option.
        name: the name of the dataset, such as "sentences".
        version: the version of the schema that the caller reads; the major version must agree.
        flag: the option, for errors.

    Raises:
        InputError: a directory is missing, unfinished, another dataset or of another version.
    """
    datasets: dict[str, Dataset] = {}
    for pattern in filter(None, (part.strip().rstrip("/") for part in patterns.split(","))):
        directories = matching(pattern, directories=True)
        if not directories:
            raise InputError(f"--{flag}={pattern}: no such directory")
        for directory in directories:
            for path in _datasets_in(directory, name) or [directory]:
                datasets[path] = read_dataset(partial(_open, path, name, version, flag), path)
    return [dataset for _, dataset in sorted(datasets.items())]


def open_one(directory: str, name: str, version: str, flag: str) -> Dataset:
    """Open the dataset that an option names; the arguments, and what is raised, are those of `open_datasets`.

    Raises:
        UsageError: it names several.
    """
    datasets = open_datasets(directory, name, version, flag)
    if len(datasets) != 1:
        raise UsageError(f"--{flag}={directory} names {len(datasets)} datasets: name one")
    return datasets[0]


def _datasets_in(directory: str, name: str) -> list[str]:
    """Return the directories in a directory that contains datasets of this name alone, unfinished ones included."""
    if file_info(f"{directory}/{MANIFEST}").is_file:
        return []
    inner = matching(f"{glob.escape(directory)}/*", directories=True)
    inner = [path for path in inner if not path.rpartition("/")[2].startswith((".", "_"))]
    names = {manifest["dataset"] for path in inner if (manifest := read_manifest(path)) is not None}
    return inner if names == {name} else []


def _open(directory: str, name: str, version: str, flag: str) -> Dataset:
    manifest = read_manifest(directory)
    if manifest is None:
        inner = f"{directory}/{name}"
        is_there = bool(matching(f"{glob.escape(inner)}/{MANIFEST}", directories=False) or _datasets_in(inner, name))
        advice = f"did you mean {inner}?" if is_there else "it is unfinished or no dataset, run its stage again"
        raise InputError(f"--{flag}={directory} has no {MANIFEST}: {advice}")
    if manifest["dataset"] != name:
        raise InputError(f"--{flag}={directory} holds the dataset {manifest['dataset']!r}, not {name!r}")
    built = str(manifest.get("schema_version", "0"))
    if built.split(".")[0] != version.split(".")[0]:
        raise InputError(
            f"--{flag}={directory} has schema version {built}, this program reads {version}: build it again"
        )
    if shard := damaged_shard(directory, manifest):
        raise InputError(f"{shard}: missing or not of the size in the manifest: build its dataset again")
    if has_unfinished_work(directory):
        logging.getLogger("wikianchor").warning(
            "--%s=%s: a rebuild of this dataset has not finished: the dataset that is there is used", flag, directory
        )
    return Dataset(directory, manifest)


def shards_of(directory: str, config: str) -> list[str]:
    """Return the paths of the shards of a config, for workers, which know the directory of a dataset.

    Raises:
        InputError: there is no finished dataset in the directory.
    """
    return dataset_at(directory).shards(config)


class NumberedShard(NamedTuple):
    """A shard: its number among those that a step reads, and its path."""

    order: int
    path: str


def numbered_shards(directories: Iterable[str], config: str) -> list[NumberedShard]:
    """Return the shards of a config of finished datasets, as elements of a graph."""
    paths = [path for directory in directories for path in shards_of(directory, config)]
    return [NumberedShard(order, path) for order, path in enumerate(paths)]


def dataset_at(directory: str) -> Dataset:
    """Return the finished dataset in a directory, for workers.

    Raises:
        InputError: there is none.
    """
    info = file_info(f"{directory}/{MANIFEST}")
    return _dataset(directory, info.mtime_ns, info.size)


# Several steps ask for the manifest of each wiki.
@lru_cache(maxsize=512)
def _dataset(directory: str, written: int | None, size: int) -> Dataset:
    """Read a manifest; `written` and `size` are part of the key of the cache, as a rebuild replaces a manifest."""
    manifest = read_manifest(directory)
    if manifest is None:
        raise InputError(f"{directory} has no {MANIFEST} any more: build its dataset again")
    return Dataset(directory, manifest)


# The order of a build.
ORDER = ("sentences", "entities", "pairs")


def find_datasets(directory: str) -> list[Dataset]:
    """Return the finished datasets in a directory and below it, each after those that it is built from.

    A release repeats a dataset, so it is left out unless it is the directory itself.
    """
    files = set(files_in(directory))
    paths = [path.removesuffix(f"/{MANIFEST}") for path in files if path.endswith(f"/{MANIFEST}")]
    paths = [path for path in paths if path == directory or f"{path}/{RECIPE}" not in files]
    datasets = [Dataset(path, manifest) for path in paths if (manifest := read_manifest(path)) is not None]
    order = {name: index for index, name in enumerate(ORDER)}
    return sorted(datasets, key=lambda dataset: (order.get(dataset.name, len(order)), dataset.directory))


def finished_datasets(directory: str) -> list[Dataset]:
    """Return what `find_datasets` finds.

    Raises:
        InputError: there is no finished dataset.
    """
    datasets = find_datasets(directory)
    if not datasets:
        raise InputError(f"{directory}: no finished dataset here (no {MANIFEST}): run its stage to the end")
    return datasets


def read_batches(path: str, columns: Sequence[str], only: tuple[str, str] | None = None) -> Iterator[pa.RecordBatch]:
    """Yield the row groups of a shard, one batch each, with these columns.

    Args:
        path: that of the shard.
        columns: the columns to read.
        only: a string column and a value: rows with another are left out, and row groups that cannot contain it are
            skipped.

    Raises:
        InputError: the file is missing or damaged.
    """
    groups = None if only is None else groups_that_may_hold(path, *only)
    if groups == {}:
        return
    try:
        with opened_shard(path) as file:
            for group in range(file.num_row_groups) if groups is None else groups:
                # Most wikis have row groups of sitelinks of their own: then the column of wikis need not be read.
                mixed = only if only and _bounds(path, only[0])[group][1] != (only[1], only[1]) else None
                wanted = [*columns, mixed[0]] if mixed else list(columns)
                rows = file.read_row_group(group, columns=wanted, use_threads=False).combine_chunks().to_batches()[0]
                yield rows.filter(pc.equal(rows[mixed[0]], mixed[1])).select(list(columns)) if mixed else rows
    finally:
        # Arrow keeps the memory that it frees: after many shards that is a tenth of a worker's memory.
        release_memory()


def read_rows(path: str, columns: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield the rows of a shard; one at a time is in memory as Python values. Raises as `read_batches`."""
    for batch in read_batches(path, columns):
        for number in range(batch.num_rows):
            yield {name: batch[name][number].as_py() for name in columns}


# A step asks for those of a wiki twice, and several steps do.
@lru_cache(maxsize=1024)
def groups_that_may_hold(path: str, name: str, value: str) -> dict[int, int]:
    """Return the rows of each row group of a shard that may contain a value, by Parquet's statistics.

    Args:
        path: that of the shard.
        name: a string column.
        value: the value.

    Raises:
        InputError: the file is missing or damaged.
    """
    return {
        number: rows
        for number, (rows, bounds) in enumerate(_bounds(path, name))
        if bounds is None or bounds[0] <= value <= bounds[1]
    }


# Sitelinks have a row group for each wiki, and each of 300 wikis asks for its own. The name of a shard has its digest.
@lru_cache(maxsize=1024)
def _bounds(path: str, name: str) -> list[tuple[int, tuple[str, str] | None]]:
    """Return the rows of each row group, and the least and the greatest value of a column where they are known."""
    with opened_shard(path) as file:
        metadata = file.metadata
        index = [metadata.schema.column(leaf).path for leaf in range(metadata.num_columns)].index(name)
        groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
        known = [group.column(index).statistics for group in groups]
        bounds = [(each.min, each.max) if each is not None and each.has_min_max else None for each in known]
        return [(group.num_rows, least_and_most) for group, least_and_most in zip(groups, bounds, strict=True)]


# Shards that a thread keeps open: a step reads one several times, and one of sitelinks for each of 300 wikis. Opening
# one takes longer than reading a row group of a small wiki.
KEPT_OPEN = 4
# Shards of at most SMALL bytes, and of SMALL_ROWS in memory, stay there, up to KEPT_SMALL of them: several steps read
# those of each tiny wiki.
SMALL, SMALL_ROWS, KEPT_SMALL = 1 << 13, 1 << 15, 1024


class _OpenShards(threading.local):
    """The shards that were opened last by this thread, by path, inode, size and time of writing."""

    def __init__(self) -> None:
        self.files: OrderedDict[tuple[str, int, int, int], pq.ParquetFile] = OrderedDict()

    def get(self, path: str) -> pq.ParquetFile:
        if not is_local(path):
            return _open_shard(path)
        info = os.stat(path)
        key = (path, info.st_ino, info.st_size, info.st_mtime_ns)
        if info.st_size <= SMALL and (small := _small_shard(*key)):
            return small
        file = self.files.pop(key, None) or _open_shard(path)
        self.files[key] = file
        # A file that leaves is closed when nobody reads it any more.
        while len(self.files) > KEPT_OPEN:
            self.files.popitem(last=False)
        return file


_open_shards = _OpenShards()


def _open_shard(path: str) -> pq.ParquetFile:
    files, inner = filesystem(path)
    return pq.ParquetFile(files.open_input_file(inner), page_checksum_verification=True)


class _SmallShard(pq.ParquetFile):
    """A shard whose row groups are in memory."""

    def __init__(self, path: str) -> None:
        files, inner = filesystem(path)
        super().__init__(pa.BufferReader(files.open_input_file(inner).read()), page_checksum_verification=True)
        read = super().read_row_group
        self.groups = [read(group, use_threads=False) for group in range(self.num_row_groups)]

    def read_row_group(self, i: int, columns: list[str] | None = None, **_: Any) -> pa.Table:
        names = self.groups[i].schema.names
        wanted = dict.fromkeys(column.partition(".")[0] for column in columns or names)
        return self.groups[i].select([name for name in wanted if name in names])


# As above, the path alone does not tell a shard from the one that replaced it.
@lru_cache(maxsize=KEPT_SMALL)
def _small_shard(path: str, *_version: int) -> _SmallShard | None:
    """Return a small shard, None for one of more than SMALL_ROWS bytes in memory."""
    shard = _SmallShard(path)
    return shard if sum(group.nbytes for group in shard.groups) <= SMALL_ROWS else None


@contextmanager
def opened_shard(path: str) -> Iterator[pq.ParquetFile]:
    """Open a shard for reading; a local one stays open for the next time.

    Raises:
        InputError: the file is missing or damaged.
    """
    try:
        yield _open_shards.get(path)
    except FileNotFoundError as error:
        raise InputError(f"{path}: is gone: if its dataset was built again, run the same command again") from error
    except (OSError, pa.ArrowInvalid) as error:
        raise InputError(f"{path}: cannot be read ({str(error).splitlines()[0]}): build its dataset again") from error
