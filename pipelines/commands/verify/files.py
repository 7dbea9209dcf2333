"""The files of a dataset against its manifest: all there, nothing else, every byte as it was written."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pyarrow import fs

from wikianchor.io.errors import InputError
from wikianchor.io.storage import filesystem, reading
from wikianchor.pipelines.dataset.reader import Dataset
from wikianchor.pipelines.dataset.target import checksum

# A path of a manifest is opened: one that leads out of the dataset is not.
_SHARD = re.compile(r"data/[\w.-]+/train-\d{5,}-of-\d{5,}\.parquet")
_HEX = re.compile(r"[0-9a-f]{64}")


def check_manifest(one: Dataset) -> Iterator[str]:
    """Yield what is wrong with the shape of a manifest; nothing else may be checked before this is right."""
    for key, kind in (("inputs", list), ("options", dict), ("ledger", dict), ("schema_version", str)):
        if not isinstance(one.manifest.get(key), kind):
            yield f"manifest.json: {key!r} is missing"
    for name, config in one.manifest["configs"].items():
        shards = config.get("shards") if isinstance(config, dict) else None
        if not isinstance(shards, list) or not isinstance(config.get("rows"), int):
            yield f"manifest.json: the config {name!r} has no rows or no shards"
            continue
        for shard in shards:
            if not isinstance(shard, dict) or not _is_shard(shard):
                yield f"manifest.json: {name!r} has a shard that is none of ours: {shard!r:.200}"
                return
        if sum(shard["rows"] for shard in shards) != config["rows"]:
            yield f"manifest.json: the shards of {name!r} have other than {config['rows']} rows together"


def _is_shard(shard: dict[str, object]) -> bool:
    return (
        isinstance(shard.get("path"), str)
        and _SHARD.fullmatch(str(shard["path"])) is not None
        and ".." not in str(shard["path"])
        and all(isinstance(shard.get(key), int) for key in ("rows", "bytes"))
        and _HEX.fullmatch(str(shard.get("sha256"))) is not None
    )


def check_files(one: Dataset) -> Iterator[str]:
    """Yield the shards that are missing, damaged or not in the manifest."""
    files, inner = filesystem(one.directory)
    with reading(one.directory):
        found = {
            info.path[len(inner) + 1 :]: info
            for info in files.get_file_info(fs.FileSelector(f"{inner}/data", allow_not_found=True, recursive=True))
            if info.type == fs.FileType.File
        }
    listed = {shard["path"]: shard for config in one.manifest["configs"].values() for shard in config["shards"]}
    for path in sorted(found.keys() - listed.keys()):
        yield f"{one.directory}/{path}: is not in the manifest"
    for path, shard in sorted(listed.items()):
        where = f"{one.directory}/{path}"
        if path not in found:
            yield f"{where}: is missing"
        elif found[path].size != shard["bytes"]:
            yield f"{where}: has {found[path].size} bytes, the manifest says {shard['bytes']}"
        else:
            try:
                digest = checksum(where, "sha256")
            except InputError as error:
                yield str(error)
                continue
            if digest != shard["sha256"]:
                yield f"{where}: its sha256 is {digest}, the manifest says {shard['sha256']}"
