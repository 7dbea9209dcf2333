"""Build the title index of each wiki, for `pairs` and `mentions`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import apache_beam as beam

from wikianchor.pipelines.dataset.inputs import wiki_of
from wikianchor.pipelines.dataset.reader import Dataset, shards_of
from wikianchor.pipelines.dataset.workspace import WorkPath, Workspace
from wikianchor.pipelines.engine.transforms import GROUP_BYTES, ListElements, RunGroups, groups_of
from wikianchor.pipelines.titles.title_build import build_title_index


class WikiTitles(NamedTuple):
    """A wiki and the datasets that its title index is made of.

    Attributes:
        wiki: database name.
        sentences: directory of its dataset of sentences; "" without one: then only the titles of sitelinks are known.
        entities: directory of the dataset of entities.
    """

    wiki: str
    sentences: str
    entities: str


class IndexBuilt(NamedTuple):
    """The title index of a wiki, on disk.

    Attributes:
        wiki: database name.
        path: the path of the index, with the row groups of `titles`.
        counts: titles by kind.
    """

    wiki: str
    path: WorkPath
    counts: dict[str, int]


def build_index(task: WikiTitles, work: Workspace) -> IndexBuilt:
    """Build the title index of a wiki on disk."""
    titles = shards_of(task.sentences, "titles") if task.sentences else []
    path, counts = build_title_index(titles, shards_of(task.entities, "sitelinks"), task.wiki, work.scratch)
    return IndexBuilt(task.wiki, path, counts)


@dataclass
class BuildIndex(beam.PTransform):
    """Build the title indexes of wikis.

    Attributes:
        sentences: the datasets of sentences, one for each wiki.
        entities: the dataset of entities.
        work: the workspace of the run.
        others: wikis without a dataset of sentences.
    """

    sentences: Sequence[Dataset]
    entities: Dataset
    work: Workspace
    others: Sequence[str] = ()

    def expand(self, begin: Any) -> beam.PCollection[IndexBuilt]:
        datasets = sorted(self.sentences, key=wiki_of)
        directories = [(wiki_of(dataset), dataset.directory) for dataset in datasets]
        directories += [(wiki, "") for wiki in self.others]
        wikis = [WikiTitles(*names, self.entities.directory) for names in directories]
        # Those without titles are known by their sitelinks alone, of which there may be many.
        sizes = [sum(dataset.sizes("titles")) for dataset in datasets] + [GROUP_BYTES] * len(self.others)
        return (
            begin
            | "List wikis" >> ListElements(list, groups_of(wikis, sizes))
            | "Build index" >> RunGroups(build_index, self.work, "index", self.work)
        )
