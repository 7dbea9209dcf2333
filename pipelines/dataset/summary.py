"""Lines that a command prints at its end: what it made, where, in how long, and which command may come next.

In the next command, unknown values are in capitals, such as MODEL.
"""

from __future__ import annotations

import resource
import shlex
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from os.path import basename, dirname
from shutil import which
from typing import Any

from wikianchor.io.output import columns, width
from wikianchor.io.storage import matching
from wikianchor.io.units import size
from wikianchor.pipelines.dataset.reader import Dataset


def made(dataset: Dataset) -> str:
    """Return the line with the rows, the size and the directory of a dataset."""
    # The main config comes first; rows of the ledger are not counted.
    names = sorted(dataset.configs.keys() - {"ledger"}, key=lambda name: (name != dataset.name, name))
    rows = ", ".join(f"{dataset.rows(name):,} {name}{_mean_size(dataset, name)}" for name in names)
    return f"{rows} in {_extent([dataset])}: {dataset.directory}"


def _mean_size(dataset: Dataset, config: str) -> str:
    """Return the bytes that a document takes; "" for a config of other rows."""
    if config != "documents":
        return ""
    return f" of {sum(shard['bytes'] for shard in dataset.configs[config]['shards']) // dataset.rows(config):,} bytes"


def made_together(datasets: Sequence[Dataset], directory: str) -> str:
    """Return the line with the number and the size of the datasets in a directory."""
    return f"{len(datasets)} datasets in {_extent(datasets)}: {directory}"


def _extent(datasets: Sequence[Dataset]) -> str:
    shards = [shard for dataset in datasets for shard in dataset.entries()]
    total = size(sum(shard["bytes"] for shard in shards))
    return f"{len(shards)} shard{'' if len(shards) == 1 else 's'}, {total}"


def spent(start: float, engine: str = "") -> str:
    """Return the time since `start`, of `time.monotonic`, the peak memory of the largest process, and the engine that
    read pages.

    The processes are this one and its workers.
    """
    # Linux counts in kilobytes, macOS in bytes.
    unit = 1 << 20 if sys.platform == "darwin" else 1 << 10
    peak = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)) / unit
    used = f", engine: {engine}" if engine else ""
    return f"{time.monotonic() - start:.1f} seconds, {peak:.0f} MB peak memory{used}"


def next_lines(*commands: Sequence[str], label: str = "next:") -> list[str]:
    """Return lines with the commands that may come next, each as it must be typed here: where no `wikianchor` is on the
    path of the shell, by the path of this program. A command that takes more columns than there are goes on below.

    >>> next_lines(["cat", "my out"])
    ["next: cat 'my out'"]
    """
    lines, limit = list[str](), columns()
    for index, words in enumerate(commands):
        line = f"{'  or:' if index else label} {program() if words[0] == 'wikianchor' else words[0]}"
        for word in map(shlex.quote, words[1:]):
            if width(f"{line} {word} \\") > limit:
                lines.append(f"{line} \\")
                line = " " * len(label)
            line = f"{line} {word}"
        lines.append(line)
    return lines


def program() -> str:
    """Return how this program is called where no `wikianchor` is on the path of the shell."""
    if which("wikianchor"):
        return "wikianchor"
    if sys.argv[0].endswith("wikianchor/__main__.py"):
        return f"{sys.executable} -m wikianchor"
    return sys.argv[0] if basename(sys.argv[0]) == "wikianchor" else "wikianchor"


def after(dataset: Dataset, config: Any) -> list[str]:
    """Return the command that may come after the stage that made a dataset.

    Args:
        dataset: the dataset.
        config: the options of the stage.
    """
    return _AFTER[dataset.name](dataset, config)


def train_ease(pairs: str) -> list[str]:
    """Return the command that trains a model with pairs."""
    return _train("ease", f"--data={pairs}", output=_beside(pairs, "models/ease"))


def _after_sentences(dataset: Dataset, config: Any) -> list[str]:
    wikidata = matching(_beside(config.dumps[0], "wikidata-*.json*"), directories=False)
    # In the layout of a build, sentences are one level below.
    parent = dirname(dataset.directory)
    base = parent if basename(parent) == "sentences" else dataset.directory
    return [
        *("wikianchor", "entities", f"--wikidata={wikidata[0] if wikidata else 'FILES'}"),
        *(f"--wikis={dataset.manifest['options']['wiki']}", f"--output={_beside(base, 'entities')}"),
    ]


def _after_entities(dataset: Dataset, config: Any) -> list[str]:
    sentences = _beside(dataset.directory, "sentences")
    if not matching(sentences, directories=True):
        sentences = "DIRS"
    return [
        *("wikianchor", "pairs", f"--sentences={sentences}", f"--entities={dataset.directory}"),
        *(() if config.wikidata else ("--negatives=0",)),
        f"--output={_beside(dataset.directory, 'pairs')}",
    ]


def after_download(target: str, wikis: Sequence[str], directory: str) -> list[str]:
    """Return the command that reads downloaded dumps.

    Args:
        target: the option --for.
        wikis: the wikis of the dumps.
        directory: that of the dumps.
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
    """Return the path of a name in the same directory as a path."""
    parent = dirname(path)
    return f"{parent}/{name}" if parent else name


def _trains(objective: str, *flags: str) -> Callable[[Dataset, Any], list[str]]:
    """Return a function that returns the command that trains with a dataset; DIR in the flags is its directory."""

    def command(dataset: Dataset, config: Any) -> list[str]:
        filled = [flag.replace("DIR", dataset.directory) for flag in flags]
        return _train(objective, *filled, output=_beside(dataset.directory, f"models/{objective}"))

    return command


_AFTER: Mapping[str, Callable[[Dataset, Any], list[str]]] = {
    "sentences": _after_sentences,
    "entities": _after_entities,
    "pairs": lambda dataset, config: train_ease(dataset.directory),
    "export": lambda dataset, config: ["wikianchor", "verify", dataset.directory],
    "mentions": _trains("mboe", "--data=FILE", "--mentions=DIR"),
    "templates": lambda dataset, config: ["wikianchor", "verify", dataset.directory],
    "documents": lambda dataset, config: ["wikianchor", "verify", dataset.directory],
    "linking": lambda dataset, config: ["wikianchor", "verify", dataset.directory],
    "retrieval": lambda dataset, config: [
        *("wikianchor", "evaluate", "--model=MODEL", f"--data={dataset.directory}", "--tasks=retrieval"),
    ],
    "interlanguage": lambda dataset, config: ["wikianchor", "verify", dataset.directory],
    "mewsc16": lambda dataset, config: [
        *("wikianchor", "evaluate", "--model=MODEL", f"--data={dataset.directory}", "--tasks=mewsc16"),
    ],
    "corpus": _trains("t5", "--data=DIR"),
    "negatives": _trains("sdjc", "--data=DIR"),
}
