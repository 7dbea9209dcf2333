"""What a dataset comes from, to the end: the stages behind it, and the dumps that they read.

The manifest has the stages behind the datasets that were read as `made_of`, each with its own inputs, options and
versions, and all files that these read as `dumps`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from wikianchor.pipelines.wikimedia.dump_names import dump_date

MADE_OF = "made_of"


def stages_of(manifest: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the stages that a dataset came from, in the order in which they ran; the last one made the dataset."""
    last = {name: manifest.get(name) for name in ("dataset", "inputs", "options", "made_with")}
    return [*manifest.get(MADE_OF, ()), last]


def dumps_of(manifest: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the files that a dataset came from: path, date (YYYYMMDD, "" where the name has none), bytes and sha1."""
    sources = (source for stage in stages_of(manifest) for source in stage["inputs"] or () if "path" in source)
    files = {source["path"]: source for source in sources}
    return [
        {"path": path, "date": dump_date(path), "bytes": source.get("bytes"), "sha1": source.get("sha1")}
        for path, source in sorted(files.items())
    ]
