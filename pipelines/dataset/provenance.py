"""What a dataset comes from, to the end: the stages behind it, and the dumps that they read.

The manifest has the stages behind the datasets that were read as `made_of`, each with its own inputs, options and
versions, and all files that these read as `dumps`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from wikianchor.pipelines.wikimedia.dump_names import dump_date

MADE_OF = "made_of"
SOURCE = "https://github.com/wikianchor/wikianchor"
# Versions of Python by their Unicode tables.
_PYTHONS = {"13.0.0": "3.10", "14.0.0": "3.11", "15.0.0": "3.12", "15.1.0": "3.13", "16.0.0": "3.14"}


def stages_of(manifest: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the stages that a dataset came from, in the order in which they ran; the last one made the dataset."""
    last = {name: manifest.get(name) for name in ("dataset", "inputs", "options", "made_with")}
    return [*manifest.get(MADE_OF, ()), last]


def dumps_of(manifest: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the files that a dataset came from: path, date (YYYYMMDD, "" where the name has none), bytes and sha1."""
    sources = (source for stage in stages_of(manifest) for source in stage.get("inputs") or () if "path" in source)
    files = {source["path"]: source for source in sources}
    return [
        {"path": path, "date": dump_date(path), "bytes": source.get("bytes"), "sha1": source.get("sha1")}
        for path, source in sorted(files.items())
    ]


def install_line(made_with: Mapping[str, str]) -> str:
    """Return the command that installs what made a dataset; the version of a checkout has its commit.

    >>> install_line({"wikianchor": "0.1.0", "pyarrow": "25.0.1", "unicode": "14.0.0"})
    "pip install 'wikianchor==0.1.0' 'pyarrow==25.0.1'  # on Python 3.11, which has Unicode 14.0.0"
    """
    version, unicode = made_with.get("wikianchor", "VERSION"), made_with.get("unicode", "unknown")
    commit = re.search(r"\+g([0-9a-f]+)", version)
    package = f"git+{SOURCE}@{commit[1]}" if commit else f"wikianchor=={version}"
    python = f"on Python {_PYTHONS.get(unicode, '?')}, which has Unicode {unicode}"
    return f"pip install '{package}' 'pyarrow=={made_with.get('pyarrow', 'VERSION')}'  # {python}"
