"""From Wikimedia dumps to sentence embeddings that know entities.

The public API. Each function is imported when it is first used, so `import wikianchor` costs nothing:

open_wiki               a wiki by its dump: the rows of `wikianchor sentences`, its pages and templates
extract, sentences      wikitext to text, blocks, links and sentences without a dump (standard library only)
read_pages, read_items  iterators over dumps of Wikipedia and Wikidata
build, export           what `wikianchor build` and `wikianchor export` do; all commands are in `wikianchor.commands`
report, verify          a summary of datasets, and checks of them, as text
open_dataset            a finished dataset as Arrow, pandas, polars or `datasets`
train, evaluate         what `wikianchor train` and `wikianchor evaluate` do (the extras `train` and `eval`)
InputError, UsageError  what is raised where an input is bad, and where arguments are
"""

from __future__ import annotations

import importlib

# Importing `typing` would double the time in which Ctrl-C prints a traceback of Python's own.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from wikianchor.api.datasets import OpenDataset, open_dataset
    from wikianchor.api.dumps import PageRows, Wiki, open_wiki, read_items, read_pages
    from wikianchor.api.text import PageText, TextBlock, TextGap, TextLink, TextSentence, extract, sentences
    from wikianchor.io.errors import InputError, UsageError
    from wikianchor.signatures import build, evaluate, export, report, train, train_config, verify

    __version__: str

# Name -> module of `wikianchor`.
_MODULES = {
    **dict.fromkeys(
        ("PageText", "TextBlock", "TextGap", "TextLink", "TextSentence", "extract", "sentences"), "api.text"
    ),
    **dict.fromkeys(("PageRows", "Wiki", "open_wiki", "read_items", "read_pages"), "api.dumps"),
    **dict.fromkeys(("OpenDataset", "open_dataset"), "api.datasets"),
    **dict.fromkeys(("evaluate", "train", "train_config"), "api.models"),
    **dict.fromkeys(("build", "export", "report", "verify"), "commands"),
    **dict.fromkeys(("InputError", "UsageError"), "io.errors"),
}
__all__ = [
    "InputError",
    "OpenDataset",
    "PageRows",
    "PageText",
    "TextBlock",
    "TextGap",
    "TextLink",
    "TextSentence",
    "UsageError",
    "Wiki",
    "__version__",
    "build",
    "evaluate",
    "export",
    "extract",
    "open_dataset",
    "open_wiki",
    "read_items",
    "read_pages",
    "report",
    "sentences",
    "train",
    "train_config",
    "verify",
]


def __getattr__(name: str) -> Any:
    # PEP 562.
    if name == "__version__":
        return importlib.import_module("wikianchor.io.version").program_version()
    if name not in _MODULES:
        raise AttributeError(f"module 'wikianchor' has no attribute {name!r}")
    return getattr(importlib.import_module(f"wikianchor.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
