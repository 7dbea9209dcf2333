"""Graphs at the largest size that a user has: 18 wikis of 7,000 shards in all. Nothing in a graph grows with them."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apache_beam as beam
import pytest

from wikianchor.pipelines.dataset.reader import Dataset
from wikianchor.pipelines.dataset.workspace import Workspace
from wikianchor.pipelines.engine import transforms
from wikianchor.pipelines.entities import graph as entities
from wikianchor.pipelines.entities.options import EntitiesOptions
from wikianchor.pipelines.export import graph as export
from wikianchor.pipelines.export.options import ExportOptions
from wikianchor.pipelines.interlanguage import graph as interlanguage
from wikianchor.pipelines.interlanguage.options import InterlanguageOptions
from wikianchor.pipelines.japanese.corpus import graph as corpus
from wikianchor.pipelines.japanese.corpus.options import CorpusInput, CorpusOptions
from wikianchor.pipelines.linking import graph as linking
from wikianchor.pipelines.linking.options import LinkingOptions
from wikianchor.pipelines.mentions import graph as mentions
from wikianchor.pipelines.mentions.options import MentionsOptions
from wikianchor.pipelines.pairs import graph as pairs
from wikianchor.pipelines.pairs.options import PairChoices, PairsOptions
from wikianchor.pipelines.retrieval import graph as retrieval
from wikianchor.pipelines.retrieval.options import RetrievalOptions
from wikianchor.pipelines.sentences import graph as sentences
from wikianchor.pipelines.sentences.options import SentencesOptions
from wikianchor.pipelines.wikimedia.inventory import read_site

HOOKS = {"setup", "start_bundle", "process", "finish_bundle", "teardown"}
WIKIS = tuple(f"{chr(ord('a') + number)}{chr(ord('a') + number)}wiki" for number in range(18))
SHARDS = 7_000
MOST_BYTES, MOST_SECONDS = 2 << 20, 5
DUMP = next((Path(__file__).parent.parent.parent / "demo/dumps").glob("enwiki*.xml*"))
HEAD: dict[str, Any] = {"options": {}, "inputs": []}


def dataset(directory: str, name: str, configs: tuple[str, ...], shards: int, **options: Any) -> Dataset:
    """A dataset of which there is nothing but the manifest."""
    listed = {
        config: {
            "rows": shards,
            "shards": [
                {
                    "path": f"data/{config}/train-{n:05d}-of-{shards:05d}.parquet",
                    "rows": 1,
                    "bytes": 1,
                    "sha256": "0" * 64,
                }
                for n in range(shards)
            ],
        }
        for config in configs
    }
    return Dataset(directory, {"dataset": name, "options": options, "configs": listed, "ledger": {}})


def wikis() -> list[Dataset]:
    both = ("sentences", "titles")
    return [
        dataset(f"/data/out/sentences/{wiki}", "sentences", both, SHARDS // len(WIKIS), wiki=wiki, language="en")
        for wiki in WIKIS
    ]


NAMES = ("documents", "mentions")


def items() -> Dataset:
    both = ("entities", "sitelinks")
    return dataset("/data/out/entities", "entities", both, SHARDS, wikis=list(WIKIS), labels=["en"])


def pairs_graph(pipeline: Any, work: Workspace, folder: Path) -> None:
    checks = {"split": (0.1, 0.1), "max_near_duplicates": 10, "exclude_text": ("t",)}
    choices = PairChoices(sample=1_000_000, max_per_entity=10, **checks)
    config = PairsOptions(sentences="s", entities="e", output="/data/out/pairs", choices=choices)
    pairs.build(pipeline, HEAD, work, config, wikis(), items())


def export_graph(pipeline: Any, work: Workspace, folder: Path) -> None:
    config = ExportOptions(pairs="p", output="/data/out/train").completed()
    rows = dataset("/data/out/pairs", "pairs", ("pairs", "entities"), SHARDS, negatives=3)
    rows.manifest["ledger"]["links"] = {wiki: {} for wiki in WIKIS}
    export.build(pipeline, HEAD, work, config, rows, export.Sources(wikis(), items()))


def interlanguage_graph(pipeline: Any, work: Workspace, folder: Path) -> None:
    config = InterlanguageOptions(entities="e", output="/data/out/interlanguage", sentences="s")
    interlanguage.build(pipeline, HEAD, work, config, wikis(), items())


def linking_graph(pipeline: Any, work: Workspace, folder: Path) -> None:
    config = LinkingOptions(documents="d", mentions="m", entities="e", output="/data/out/linking", previous="p")
    documents, mentions = (dataset(f"/data/out/{name}", name, (name,), SHARDS, wikis=list(WIKIS)) for name in NAMES)
    linking.build(pipeline, HEAD, work, config, documents, mentions, items(), [documents])


def retrieval_graph(pipeline: Any, work: Workspace, folder: Path) -> None:
    config = RetrievalOptions(documents="d", mentions="m", entities="e", output="/data/out/retrieval", previous="p")
    names = {name: f"/data/out/{name}" for name in ("documents", "corpus", "previous", "mentions", "entities")}
    retrieval.build(pipeline, HEAD, work, config=config, **names)


def mentions_graph(pipeline: Any, work: Workspace, folder: Path) -> None:
    config = MentionsOptions(sentences="s", entities="e", output="/data/out/mentions")
    mentions.build(pipeline, HEAD, work, config, wikis(), items())


def sentences_graph(pipeline: Any, work: Workspace, folder: Path) -> None:
    dump = folder / "dump.xml"
    # A sparse file of many ranges: nothing but its size is looked at.
    with dump.open("wb") as file:
        file.truncate(100 << 30)
    config = SentencesOptions(dumps=(str(dump),), output="/data/out/s")
    sentences.build(pipeline, HEAD, work, config, read_site([str(DUMP)], None)[0], frozenset())


def entities_graph(pipeline: Any, work: Workspace, folder: Path) -> None:
    dump = folder / "wikidata.json"
    with dump.open("wb") as file:
        file.truncate(1 << 40)
    config = EntitiesOptions(wikidata=(str(dump),), wikis=WIKIS, output="/data/out/entities")
    entities.build(pipeline, HEAD, work, config)


def corpus_graph(pipeline: Any, work: Workspace, folder: Path) -> None:
    config = CorpusOptions(
        input=CorpusInput(datasets=tuple(one.directory for one in wikis())), output="/data/out/corpus"
    )
    corpus.build(pipeline, HEAD, work, config, wikis(), 1 << 64)


GRAPHS: dict[str, Callable[[Any, Workspace, Path], None]] = {
    "pairs": pairs_graph,
    "export": export_graph,
    "interlanguage": interlanguage_graph,
    "linking": linking_graph,
    "retrieval": retrieval_graph,
    "mentions": mentions_graph,
    "sentences": sentences_graph,
    "entities": entities_graph,
    "corpus": corpus_graph,
}


@pytest.mark.parametrize("shuffle", ["files", "beam"])
@pytest.mark.parametrize("name", GRAPHS)
def test_a_graph_does_not_grow_with_the_shards(name: str, shuffle: str, tmp_path: Path) -> None:
    begin = time.process_time()
    pipeline = beam.Pipeline(runner="FnApiRunner")
    GRAPHS[name](pipeline, Workspace("/data/out/w", "/data/out/w", shuffle), tmp_path)
    size = len(pipeline.to_runner_api().SerializeToString())
    assert size < MOST_BYTES
    assert time.process_time() - begin < MOST_SECONDS


def test_beam_looks_for_states_in_the_methods_of_a_step_alone() -> None:
    kinds = [kind for kind in vars(transforms).values() if isinstance(kind, type) and issubclass(kind, beam.DoFn)]
    assert len(kinds) == 4
    for kind in kinds:
        assert issubclass(kind, transforms._Stateless)
        assert HOOKS & {*vars(kind)} <= {*dir(kind.__new__(kind))} < HOOKS
