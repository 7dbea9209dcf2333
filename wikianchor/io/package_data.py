"""Read the data files that are part of the package."""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import Any


@cache
def package_json(package: str, name: str) -> Any:
    """Return the content of a JSON file in the folder `data` of a package. Callers share it and must not change it.

    Args:
        package: without "wikianchor.", such as "pipelines.text".
        name: the name of the file.
    """
    return json.loads((resources.files(f"wikianchor.{package}") / "data" / name).read_bytes())
