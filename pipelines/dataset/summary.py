"""What a command prints at its end: what it made, where, in how long, and which command comes next.

What is not known is in capitals in the command that comes next, such as MODEL.
"""

from __future__ import annotations

import resource
import shlex
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from os.path import basename, dirname
from typing import Any

from wikianchor.io.storage import matching
from wikianchor.io.units import size
from wikianchor.pipelines.dataset.reader import Dataset


def made(one: Dataset) -> str:
    """Return what a dataset holds, and where it is."""
    dataset, configs = one.manifest["dataset"], one.manifest["configs"]
    # The dataset's own rows come first; a ledger has no rows that anybody asked for.
    names = sorted(configs.keys() - {"ledger"}, key=lambda name: (name != dataset, name))
    rows = ", ".join(f"{configs[name]['rows']:,} {name}" for name in names)
    return f"{rows} in {_extent([one])}: {one.directory}"


def made_together(datasets: Sequence[Dataset], directory: str) -> str:
    """Return what the datasets in a directory come to."""
    return f"{len(datasets)} datasets in {_extent(datasets)}: {directory}"


def _extent(datasets: Sequence[Dataset]) -> str:
    shards = [shard for one in datasets for config in one.manifest["configs"].values() for shard in config["shards"]]
    total = size(sum(shard["bytes"] for shard in shards))
    return f"{len(shards)} shard{'' if len(shards) == 1 else 's'}, {total}"


def spent(start: float) -> str:
    """Return the time since `start`, of `time.monotonic`, and the peak memory of the largest process."""
    # Launcher or worker; macOS counts in bytes.
    unit = 1 << 20 if sys.platform == "darwin" else 1 << 10
    peak = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)) / unit
    return f"{time.monotonic() - start:.1f} seconds, {peak:.0f} MB peak memory"


def next_lines(*commands: Sequence[str]) -> list[str]:
    """Return the lines with the commands that may come next.

    >>> next_lines(["wikianchor", "verify", "my out"])
    ["next: wikianchor verify 'my out'"]
    """
    return [f"{'next:' if not place else '  or:'} {shlex.join(words)}" for place, words in enumerate(commands)]


def after(one: Dataset, config: Any) -> list[str]:
    """Return the command that comes after the stage that made a dataset.

    Args:
        one: the dataset.
        config: what the user asked for.
    """
    return _AFTER[one.manifest["dataset"]](one, config)


def train_ease(pairs: str) -> list[str]:
    """Return the command that trains a model with pairs."""
    return _train("ease", f"--data={pairs}", output=_beside(pairs, "models/ease"))


def _after_sentences(one: Dataset, config: Any) -> list[str]:
    wikidata = matching(_beside(config.dumps[0], "wikidata-*.json*"), directories=False)
    # In the layout of a build, sentences are one level below.
    base = dirname(one.directory) if basename(dirname(one.directory)) == "sentences" else one.directory
    return [
        *("wikianchor", "entities", f"--wikidata={wikidata[0] if wikidata else 'FILES'}"),
        *(f"--wikis={one.manifest['options']['wiki']}", f"--output={_beside(base, 'entities')}"),
    ]


def _after_entities(one: Dataset, config: Any) -> list[str]:
    sentences = _beside(one.directory, "sentences")
    if not matching(sentences, directories=True):
        sentences = "DIRS"
    return [
        *("wikianchor", "pairs", f"--sentences={sentences}", f"--entities={one.directory}"),
        *(() if config.wikidata else ("--negatives=0",)),
        f"--output={_beside(one.directory, 'pairs')}",
    ]


def after_download(target: str, wikis: Sequence[str], directory: str) -> list[str]:
    """Return the command that makes something of dumps that were fetched.

    Args:
        target: what they are for.
        wikis: that they are of.
        directory: where they are.
    """
    tables = f"{directory}/*wikinews-*.sql.gz"
    wiki = wikis[0]
    return {
        "pairs": ["wikianchor", "build", f"--dumps={directory}", f"--wikis={','.join(wikis)}", "--output=out"],
        "sentences": [
            *("wikianchor", "sentences", f"--dumps={directory}/{wiki}-*.xml*", f"--output=out/sentences/{wiki}"),
        ],
        "entities": [
            *("wikianchor", "entities", f"--wikidata={directory}/wikidata-*.json*"),
            *(f"--page_props={directory}/*-page_props.sql.gz", f"--wikis={','.join(wikis)}", "--output=out/entities"),
        ],
        "mewsc16": [
            *("wikianchor", "mewsc16", f"--dumps={directory}/*wikinews-*.xml*", f"--sql={tables}"),
            "--output=out/mewsc16",
        ],
        "topics": ["wikianchor", "topics", f"--sql={tables}", "--output=out/topics.json"],
    }[target]


def _train(objective: str, *flags: str, output: str) -> list[str]:
    return ["wikianchor", "train", objective, *flags, "--model=MODEL", f"--output={output}"]


def _beside(path: str, name: str) -> str:
    """Return the path of something beside a file or directory."""
    parent = dirname(path)
    return f"{parent}/{name}" if parent else name


def _trains(objective: str, *flags: str) -> Callable[[Dataset, Any], list[str]]:
    """Return what gives the command that trains with a dataset; DIR in the flags is its directory."""

    def command(one: Dataset, config: Any) -> list[str]:
        filled = [flag.replace("DIR", one.directory) for flag in flags]
        return _train(objective, *filled, output=_beside(one.directory, f"models/{objective}"))

    return command


_AFTER: Mapping[str, Callable[[Dataset, Any], list[str]]] = {
    "sentences": _after_sentences,
    "entities": _after_entities,
    "pairs": lambda one, config: train_ease(one.directory),
    "mentions": _trains("mboe", "--data=FILE", "--mentions=DIR"),
    "interlanguage": lambda one, config: ["wikianchor", "verify", one.directory],
    "mewsc16": lambda one, config: [
        *("wikianchor", "evaluate", "--model=MODEL", f"--data={one.directory}", "--tasks=mewsc16"),
    ],
    "corpus": _trains("t5", "--data=DIR"),
    "negatives": _trains("sdjc", "--data=DIR"),
}
