"""The table of a wiki's templates, kept in a cache for readers that are no stage: the Python API, `extract`, `verify`.

It is the table that `sentences` makes of the same dumps. Its name is a hash of the paths, sizes and times of the files,
the wiki and the rules of this program, so a table of another dump or of other rules is never used.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from operator import itemgetter
from typing import Any

from wikianchor.io.cache import CACHE_VARIABLE, open_cache
from wikianchor.io.errors import InputError, Truncated
from wikianchor.io.rules import digest_of
from wikianchor.io.storage import file_version, is_local
from wikianchor.pipelines.engine.progress_file import ProgressFile
from wikianchor.pipelines.templates.steps import template_rows
from wikianchor.pipelines.templates.store import COLUMNS, save_store
from wikianchor.pipelines.templates.tables import shard_rows
from wikianchor.pipelines.wikimedia.choices import OFF, ON
from wikianchor.pipelines.wikimedia.dumps import read_range, whole_file
from wikianchor.pipelines.wikimedia.site import Site
from wikianchor.pipelines.wikimedia.wikitext.served import NO_FACTS, DumpFacts

# The only file of a directory in the cache.
TABLE = "table"


def table_key(files: Sequence[str], site: Site, facts: DumpFacts = NO_FACTS) -> str:
    """Return the name of the table in the cache.

    Args:
        files: dumps, or shards of the dataset `templates`.
        site: the wiki.
        facts: what is known of the dumps.

    Raises:
        InputError: there is no such file.
    """
    versions = [(os.path.abspath(path) if is_local(path) else path, *file_version(path)) for path in files]
    parts = json.dumps([versions, site.digest(), *facts, digest_of(("pipelines.templates.cache",))])
    return f"templates-{hashlib.sha256(parts.encode()).hexdigest()[:16]}"


def table_of_dumps(
    dumps: Sequence[str],
    site: Site,
    cache: str,
    before: Callable[[], None] | None = None,
    facts: DumpFacts = NO_FACTS,
) -> str:
    """Return the path of the table of the Template pages in dumps; read them first, in this process, if needed.

    Args:
        dumps: the dumps of the wiki.
        site: the wiki.
        cache: directory of caches, local or a URI.
        before: called before the dumps are read.
        facts: what is known of the dumps.
    """
    lua = ON if facts.lua else OFF

    def rows() -> Iterator[tuple[Any, ...]]:
        if before is not None:
            before()
        for path in dumps:
            # What comes before the damage counts, as in `read_templates`.
            with suppress(InputError, Truncated):
                pages = template_rows(
                    read_range(whole_file(path)), path, site, Counter(), ProgressFile("", ""), lua, "python"
                )
                yield from (itemgetter(*COLUMNS)(row) for row, _ in pages)

    return cached_table(table_key(dumps, site, facts), rows, site, cache, facts)


def table_of_shards(shards: Sequence[str], site: Site, cache: str, facts: DumpFacts = NO_FACTS) -> str:
    """Return the path of the table of a finished dataset, by its shards of the config `templates`."""
    return cached_table(table_key(shards, site, facts), lambda: shard_rows(shards), site, cache, facts)


def find_table(key: str, cache: str) -> str:
    """Return the path of a table in the cache, on a worker.

    Raises:
        InputError: it is not there.
    """

    def missing(_: str) -> None:
        raise InputError(f"{cache}/{key}: is not on this worker: give a cache that all workers reach, such as gs://...")

    return f"{open_cache(cache, key, missing, CACHE_VARIABLE)}/{TABLE}"


def cached_table(
    key: str, rows: Callable[[], Iterable[Any]], site: Site, cache: str, facts: DumpFacts = NO_FACTS
) -> str:
    """Return the path of a table; write it first if it is not in the cache.

    Args:
        key: as `table_key` returns it.
        rows: returns the COLUMNS of each template.
        site: the wiki.
        cache: directory of caches, local or a URI.
        facts: what is known of the dumps.

    Raises:
        InputError: the cache cannot be written.
    """

    def write(directory: str) -> None:
        os.rename(save_store(directory, rows(), site.language, facts), f"{directory}/{TABLE}")

    return f"{open_cache(cache, key, write, CACHE_VARIABLE)}/{TABLE}"
