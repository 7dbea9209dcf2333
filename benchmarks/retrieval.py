"""Do typed hard negatives help to find an entity that was not trained on?

    WIKIANCHOR_DATA=data python benchmarks/retrieval.py [--pairs=DIR --entities=DIR]

MiniLM is trained further by sentence-transformers on `wikianchor export --positive=description`, in three ways: with
in-batch negatives alone, with a random description as a further negative, and with the description of a typed hard
negative. Without --pairs, rows are the links of the English slices to the 500 or so real items of Wikidata that are at
hand.

The task: a sentence asks for the entity that it links to, among all entities of its type, by their descriptions, which
do not contain the name. A keyed hash of the seed holds out a share of the entities and of the pages. A query has a
held-out entity on a held-out page; no training row has a held-out entity, as positive or negative, or a held-out page.
A seed draws what is held out, the random negatives and the order of rows; the three ways share all of it.
"""

from __future__ import annotations

import bz2
import gzip
import json
import os
import tempfile
from argparse import Namespace
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import mean, stdev
from typing import Any

os.environ["TOKENIZERS_PARALLELISM"] = "false"

import datasets
import numpy as np
import orjson
import pyarrow as pa
import torch
from lib import real_pairs, slices
from lib.measure import fresh, parser, report, run, table, wikianchor
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer, SentenceTransformerTrainingArguments
from sentence_transformers.losses import MultipleNegativesRankingLoss

from wikianchor.api.datasets import open_dataset
from wikianchor.pipelines.arrays.hashing import mix
from wikianchor.pipelines.wikimedia.wikidata import iter_lines

ITEMS = ("wikibrain_testDump.json.bz2", "opentapioca_sample_wikidata_items.json.bz2", "qrank_twenty_entities.json.bz2")
BATCH, RATE, LENGTH = 32, 2e-5, 64
# The quantile 0.975 of Student's t by degrees of freedom.
STUDENT = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262}
WAYS = ("not trained", "in-batch", "random", "typed")


def main() -> None:
    """Train and score with each seed, and print the table."""
    flags = parser(__doc__)
    flags.add_argument("--pairs", type=Path, help="a `pairs` dataset (built from the slices)")
    flags.add_argument("--entities", type=Path, help="its `entities` dataset, with descriptions")
    flags.add_argument("--seeds", default="1,2,3,4,5", help="(1,2,3,4,5)")
    flags.add_argument("--steps", type=int, default=12, help=f"steps of training, of {BATCH} rows (12)")
    flags.add_argument("--held_out", type=float, default=0.4, help="share of the entities and of the pages (0.4)")
    arguments = flags.parse_args()
    # Several threads that wait for each other are slow on a busy machine.
    torch.set_num_threads(1)
    if arguments.pairs is None:
        arguments.pairs, arguments.entities = real_items(arguments.work)
    seeds = [int(seed) for seed in arguments.seeds.split(",")]
    scores = [compare(seed, arguments) for seed in seeds]
    lines: list[list[Any]] = []
    for way in WAYS:
        values = [[score[way][metric] for score in scores] for metric in (0, 1)]
        lines.append([way, *map(interval, values)])
    for other in ("in-batch", "random"):
        gains = [[score["typed"][metric] - score[other][metric] for score in scores] for metric in (0, 1)]
        lines.append([f"typed above {other}", *map(interval, gains)])
    sizes = [f"{mean(score['sizes'][column] for score in scores):.0f}" for column in range(3)]
    title = f"held-out entities of one type: {sizes[0]} training rows, {sizes[1]} queries, {sizes[2]} candidates"
    report(f"export: {title} (means of {len(seeds)} seeds)", table(["negatives", "accuracy@1, %", "MRR, %"], lines))


def interval(values: Sequence[float]) -> str:
    """Return the mean and its 95 % confidence interval over seeds, in per cent."""
    mid = 100 * mean(values)
    if len(values) < 2:
        return f"{mid:.1f}"
    half = 100 * STUDENT[len(values) - 1] * stdev(values) / len(values) ** 0.5
    return f"{mid:.1f} ({mid - half:.1f} to {mid + half:.1f})"


def real_items(work: Path) -> tuple[Path, Path]:
    """Return `pairs` and `entities` of the English slices and the real items of Wikidata; build them unless they
    exist."""
    dumps = work / "retrieval-dumps"
    dumps.mkdir(parents=True, exist_ok=True)
    slices.dump(dumps, "en", stubs=True)
    items = dumps / "wikidata-samples.json.gz"
    if not items.exists():
        lines: dict[str, bytes] = {}
        for name in ITEMS:
            with bz2.open(slices.data() / "wikidata" / name) as file:
                lines |= {orjson.loads(line)["id"]: line for line in iter_lines([file.read()], name)}
        items.write_bytes(gzip.compress(b"[\n" + b",\n".join(lines.values()) + b"\n]\n"))
    output = work / "retrieval-data"
    choices = ["--min_links=0", "--negatives=4", "--texts=labels,descriptions"]
    run(wikianchor("build", f"--dumps={dumps}", "--wikis=enwiki", f"--output={output}", *choices))
    return output / "pairs", output / "entities"


def compare(seed: int, arguments: Namespace) -> dict[str, Any]:
    """Return (accuracy, mean reciprocal rank) by way of training, and under `sizes` the numbers of training rows, of
    queries and the mean number of candidates."""
    pairs = open_dataset(str(arguments.pairs))
    rows = pairs.to_arrow("pairs")
    is_held = held_out(seed, arguments.held_out)
    entity, page = is_held(1, rows["entity_qid"].to_numpy()), is_held(2, rows["page_id"].to_numpy())
    described = descriptions(arguments.entities)
    queries = [row for row in rows.filter(pa.array(entity & page)).to_pylist() if row["entity_qid"] in described]
    of_type: dict[int, list[int]] = defaultdict(list)
    for row in pairs.to_arrow("entities").to_pylist():
        for kind in row["types"]:
            if row["qid"] in described:
                of_type[kind].append(row["qid"])
    with tempfile.TemporaryDirectory(dir=arguments.work) as scratch:
        subset = training_rows(
            arguments.pairs, rows.filter(pa.array(~entity & ~page)), is_held, Path(scratch) / "pairs"
        )
        flags = [f"--pairs={subset}", f"--entities={arguments.entities}", f"--seed={seed}", "--positive=description"]
        run(wikianchor("export", *flags, f"--output={fresh(Path(scratch) / 'train')}"))
        train = datasets.Dataset(pa.table(open_dataset(f"{scratch}/train").to_arrow("export")))
        scores: dict[str, Any] = {}
        for way in WAYS:
            model = SentenceTransformer(real_pairs.minilm(), device="cpu")
            model.max_seq_length = LENGTH
            if way != "not trained":
                learn(model, with_negatives(train, way, seed), seed, arguments.steps, scratch)
            scores[way] = score(model, queries, of_type, described)
            print(f"seed {seed}, {way}: {scores[way]}", flush=True)
    sizes = len(train), len(queries), mean(len(of_type[row["type_qid"]]) for row in queries)
    return {**scores, "sizes": sizes}


def held_out(seed: int, share: float) -> Callable[[int, Any], Any]:
    """Return a function that says which ids are held out; its first argument keeps items and pages apart."""
    return lambda kind, ids: (mix(seed, np.full(len(ids), kind), ids) >> np.uint64(11)).astype(float) < share * 2.0**53


def descriptions(entities: Path) -> dict[int, str]:
    """Return the first description of each item that has one."""
    columns = open_dataset(str(entities)).to_arrow("entities", ["qid", "descriptions"]).to_pylist()
    return {row["qid"]: row["descriptions"][0]["text"] for row in columns if row["descriptions"]}


def training_rows(data: Path, rows: pa.Table, is_held: Callable[[int, Any], Any], output: Path) -> Path:
    """Write a `pairs` dataset of rows with one hard negative each, the first that is not held out."""
    kept, chosen = [], []
    for number, qids in enumerate(rows["hard_negative_qids"].to_pylist()):
        if len(places := np.flatnonzero(~is_held(1, np.array(qids)))):
            kept.append(number)
            chosen.append(int(places[0]))
    rows = rows.take(pa.array(kept, pa.int64()))
    for name in ("hard_negative_ids", "hard_negative_qids"):
        column = rows.schema.get_field_index(name)
        values = [[value[place]] for value, place in zip(rows[name].to_pylist(), chosen, strict=True)]
        rows = rows.set_column(column, rows.schema.field(name), pa.array(values, rows.schema.field(name).type))
    real_pairs.subset(data, rows, output)
    manifest = json.loads((output / "manifest.json").read_text())
    manifest["options"]["negatives"] = 1
    (output / "manifest.json").write_text(json.dumps(manifest))
    return output


def with_negatives(train: Any, way: str, seed: int) -> Any:
    """Return the rows with the negatives of a way of training."""
    if way == "typed":
        return train
    rows = train.remove_columns("negative_1")
    if way == "in-batch":
        return rows
    texts = sorted(set(train["positive"]))
    draws = mix(seed, np.arange(len(train)), 3).tolist()
    negatives = []
    for draw, positive in zip(draws, train["positive"], strict=True):
        others = [text for text in texts if text != positive]
        negatives.append(others[draw % len(others)])
    return rows.add_column("negative_1", negatives)


def learn(model: Any, rows: Any, seed: int, steps: int, scratch: str) -> None:
    """Train a model."""
    settings = SentenceTransformerTrainingArguments(
        output_dir=f"{scratch}/run",
        max_steps=steps,
        per_device_train_batch_size=BATCH,
        learning_rate=RATE,
        warmup_steps=steps // 10,
        # Rows of one entity in a batch would be negatives of each other.
        batch_sampler="no_duplicates",
        seed=seed,
        use_cpu=True,
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
    )
    SentenceTransformerTrainer(model, settings, rows, loss=MultipleNegativesRankingLoss(model)).train()


def score(
    model: Any, queries: Sequence[Mapping[str, Any]], of_type: Mapping[int, Sequence[int]], described: Mapping[int, str]
) -> tuple[float, float]:
    """Return accuracy at 1 and mean reciprocal rank. Equal descriptions count as one candidate."""
    texts = sorted({described[qid] for row in queries for qid in of_type[row["type_qid"]]})
    place = {text: number for number, text in enumerate(texts)}
    options = {"normalize_embeddings": True, "batch_size": 64, "show_progress_bar": False}
    vectors = model.encode(texts, **options)
    ranks = []
    for row, vector in zip(queries, model.encode([row["text"] for row in queries], **options), strict=True):
        candidates = sorted({place[described[qid]] for qid in of_type[row["type_qid"]]})
        scores = vectors[candidates] @ vector
        gold = scores[candidates.index(place[described[row["entity_qid"]]])]
        ranks.append(1 + int((scores > gold).sum()))
    return mean(rank == 1 for rank in ranks), mean(1 / rank for rank in ranks)


if __name__ == "__main__":
    main()
