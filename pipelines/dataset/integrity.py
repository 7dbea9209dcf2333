"""Check the files of a dataset against its manifest."""

from __future__ import annotations

from collections.abc import Iterator

from pyarrow import fs

from wikianchor.io.errors import InputError
from wikianchor.io.storage import checksum, filesystem, reading
from wikianchor.pipelines.dataset.reader import Dataset


def file_problems(dataset: Dataset) -> Iterator[str]:
    """Yield the shards that are missing, damaged or not in the manifest, by reading every byte."""
    files, inner = filesystem(dataset.directory)
    with reading(dataset.directory):
        present = {
            info.path[len(inner) + 1 :]: info
            for info in files.get_file_info(fs.FileSelector(f"{inner}/data", allow_not_found=True, recursive=True))
            if info.type == fs.FileType.File
        }
    listed = {shard["path"]: shard for shard in dataset.entries()}
    for path in sorted(present.keys() - listed.keys()):
        yield f"{dataset.directory}/{path}: is not in the manifest"
    for path, shard in sorted(listed.items()):
        where = f"{dataset.directory}/{path}"
        if path not in present:
            yield f"{where}: is missing"
        elif present[path].size != shard["bytes"]:
            yield f"{where}: has {present[path].size} bytes, the manifest says {shard['bytes']}"
        else:
            try:
                digest = checksum(where, "sha256")
            except InputError as error:
                yield str(error)
                continue
            if digest != shard["sha256"]:
                yield f"{where}: its sha256 is {digest}, the manifest says {shard['sha256']}"
