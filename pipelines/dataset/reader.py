"""Reading our datasets: a directory in, its shards and their rows as Arrow batches out."""

from __future__ import annotations

import glob
import logging
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from wikianchor.io.errors import InputError
from wikianchor.io.storage import files_in, filesystem, matching, reading
from wikianchor.pipelines.dataset.arrow_memory import give_back
from wikianchor.pipelines.dataset.manifest import MANIFEST, RECIPE, damaged_shard, has_unfinished_work, read_manifest


class Dataset(NamedTuple):
    """A finished dataset."""

    directory: str
    manifest: dict[str, Any]

    def shards(self, config: str) -> list[str]:
        """Return the paths of a config's shards, in order; none where the config has no row."""
        found = self.manifest["configs"].get(config, {"shards": []})["shards"]
        return [f"{self.directory}/{shard['path']}" for shard in found]

    def rows(self, config: str) -> int:
        """Return the number of rows of a config."""
        return int(self.manifest["configs"].get(config, {"rows": 0})["rows"])


def open_datasets(patterns: str, name: str, version: str, flag: str) -> list[Dataset]:
    """Open the datasets that a comma-separated list of directories and globs names, sorted. A directory of datasets
    stands for all of them.

    Args:
        patterns: what the user gave.
        name: the dataset they must be, such as "sentences".
        version: of the schema that is read here; the major version must agree.
        flag: the option that named them, for the error.

    Raises:
        InputError: a directory is missing, unfinished, another dataset or of another version.
    """
    found: dict[str, Dataset] = {}
    for pattern in filter(None, (part.strip().rstrip("/") for part in patterns.split(","))):
        directories = matching(pattern, directories=True)
        if not directories:
            raise InputError(f"--{flag}={pattern}: no such directory")
        for directory in directories:
            for dataset in _datasets_in(directory, name) or [directory]:
                found[dataset] = _open(dataset, name, version, flag)
    return [found[directory] for directory in sorted(found)]


def _datasets_in(directory: str, name: str) -> list[str]:
    """Return the directories in one that holds datasets of a name, unfinished ones too; none if it is another one."""
    if read_manifest(directory) is not None:
        return []
    inner = [path for path in matching(f"{glob.escape(directory)}/*", directories=True) if not _is_hidden(path)]
    names = {manifest["dataset"] for path in inner if (manifest := read_manifest(path)) is not None}
    return inner if names == {name} else []


def _is_hidden(path: str) -> bool:
    return path.rpartition("/")[2].startswith((".", "_"))


def _open(directory: str, name: str, version: str, flag: str) -> Dataset:
    manifest = read_manifest(directory)
    if manifest is None:
        inner = f"{directory}/{name}"
        is_there = bool(matching(f"{glob.escape(inner)}/{MANIFEST}", directories=False) or _datasets_in(inner, name))
        advice = f"did you mean {inner}?" if is_there else "it is unfinished or no dataset, run its stage again"
        raise InputError(f"--{flag}={directory} has no {MANIFEST}: {advice}")
    if manifest["dataset"] != name:
        raise InputError(f"--{flag}={directory} holds the dataset {manifest['dataset']!r}, not {name!r}")
    found = str(manifest.get("schema_version", "0"))
    if found.split(".")[0] != version.split(".")[0]:
        raise InputError(
            f"--{flag}={directory} has schema version {found}, this program reads {version}: build it again"
        )
    if shard := damaged_shard(directory, manifest):
        raise InputError(f"{shard}: missing or not of the size in the manifest: build its dataset again")
    if has_unfinished_work(directory):
        logging.getLogger("wikianchor").warning(
            "--%s=%s: a rebuild of this dataset has not finished: the older dataset there is used", flag, directory
        )
    return Dataset(directory, manifest)


def shards_of(directory: str, config: str) -> list[str]:
    """Return the paths of the shards of a config, for workers that are given the directory of a dataset.

    Raises:
        InputError: there is no finished dataset.
    """
    files, inner = filesystem(f"{directory}/{MANIFEST}")
    with reading(f"{directory}/{MANIFEST}"):
        info = files.get_file_info(inner)
    return _dataset(directory, info.mtime_ns, info.size).shards(config)


@lru_cache(maxsize=64)
def _dataset(directory: str, written: int | None, size: int) -> Dataset:
    """Read a manifest; `written` and `size` tell it from one that was there before."""
    manifest = read_manifest(directory)
    if manifest is None:
        raise InputError(f"{directory} has no {MANIFEST} any more: build its dataset again")
    return Dataset(directory, manifest)


# The order of a build.
ORDER = ("sentences", "entities", "pairs")


def find_datasets(directory: str) -> Iterator[Dataset]:
    """Yield the finished datasets in a directory and below it, a dataset before those after it in a build."""
    # A release says again what a dataset says; only who asks for one by name gets it.
    files = set(files_in(directory))
    places = [path.removesuffix(f"/{MANIFEST}") for path in files if path.endswith(f"/{MANIFEST}")]
    places = [path for path in places if path == directory or f"{path}/{RECIPE}" not in files]
    found = [Dataset(path, manifest) for path in places if (manifest := read_manifest(path)) is not None]
    names = {name: place for place, name in enumerate(ORDER)}
    yield from sorted(found, key=lambda one: (names.get(one.manifest["dataset"], len(ORDER)), one.directory))


def read_batches(path: str, columns: Sequence[str], only: tuple[str, str] | None = None) -> Iterator[pa.RecordBatch]:
    """Yield the row groups of a shard, one batch each, with these columns.

    Args:
        path: of the shard.
        columns: to read.
        only: a string column and a value: row groups that cannot hold it are passed over.

    Raises:
        InputError: the file is missing or damaged.
    """
    files, inner = filesystem(path)
    try:
        with pq.ParquetFile(files.open_input_file(inner), page_checksum_verification=True) as file:
            for group in range(file.num_row_groups):
                if only is not None and not _may_hold(file.metadata.row_group(group), *only):
                    continue
                yield (
                    file.read_row_group(group, columns=list(columns), use_threads=False)
                    .combine_chunks()
                    .to_batches()[0]
                )
    except (OSError, pa.ArrowInvalid) as error:
        raise InputError(f"{path}: cannot be read ({str(error).splitlines()[0]}): build its dataset again") from error
    finally:
        # Arrow keeps what it frees: after many shards that is a tenth of a worker's memory.
        give_back()


def _may_hold(group: pq.RowGroupMetaData, name: str, value: str) -> bool:
    for number in range(group.num_columns):
        column = group.column(number)
        if column.path_in_schema == name and column.statistics is not None and column.statistics.has_min_max:
            return bool(column.statistics.min <= value <= column.statistics.max)
    return True
