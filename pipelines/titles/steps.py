"""The step that builds the title index of a wiki: used by `pairs` and by `mentions`."""

from __future__ import annotations

from typing import NamedTuple

from wikianchor.pipelines.arrays.tables import save_tables
from wikianchor.pipelines.dataset.reader import shards_of
from wikianchor.pipelines.dataset.workspace import Workspace
from wikianchor.pipelines.titles.row_groups import row_groups
from wikianchor.pipelines.titles.title_build import build_title_index


class WikiTitles(NamedTuple):
    """A wiki and the datasets that its title index is made of: its own, and that of the entities."""

    wiki: str
    sentences: str
    entities: str


class IndexBuilt(NamedTuple):
    """Where the title index of a wiki is, where the table of the row groups of `titles` is, and what went into it."""

    wiki: str
    path: str
    groups: str
    counts: dict[str, int]


def build_index(task: WikiTitles, work: Workspace) -> IndexBuilt:
    """Build the title index of a wiki on disk."""
    titles = shards_of(task.sentences, "titles")
    path, counts = build_title_index(titles, shards_of(task.entities, "sitelinks"), task.wiki, work.scratch)
    groups = save_tables(work.scratch, f"groups-{task.wiki}", row_groups(titles))
    return IndexBuilt(task.wiki, path, groups, counts)
