"""`wikianchor train mboe`: documents in, a classifier that knows entities out, with its scores and reports.

    wikianchor train mboe --data=documents.jsonl --mentions=out/mentions --model=bert-base-multilingual-cased \\
        --output=models/mboe --seeds=10

OUTPUT/seed-42/model/  the encoder, the entity vectors and the classifier; OUTPUT/scores.md, scores.json
OUTPUT/explanations.md what the attention chose; OUTPUT/detection_rate.md where several rates were asked for
"""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch
from numpy.typing import NDArray
from torch import Tensor

from wikianchor.io.errors import InputError
from wikianchor.io.storage import writing
from wikianchor.trainer.card import versions
from wikianchor.trainer.command import run_command
from wikianchor.trainer.distributed import choose_device
from wikianchor.trainer.introduction import machine, names, paragraph
from wikianchor.trainer.loop.log import Log
from wikianchor.trainer.mboe import report
from wikianchor.trainer.mboe.bags import Bags, make_bags, make_source, thinned
from wikianchor.trainer.mboe.config import MboeConfig, make, mboe_parser, rates
from wikianchor.trainer.mboe.detector import detect
from wikianchor.trainer.mboe.dictionary import open_dictionary, open_mentions
from wikianchor.trainer.mboe.documents import Document, DocumentSet, read_documents
from wikianchor.trainer.mboe.export import export
from wikianchor.trainer.mboe.model import Mboe
from wikianchor.trainer.mboe.train import Part, labels_of, make_part, predict, score_of, train
from wikianchor.trainer.mboe.vectors import initial_vectors, read_titles
from wikianchor.trainer.models.encoder import Encoder

# A split and a language.
Key = tuple[str, str]


@dataclass(frozen=True)
class Prepared:
    """What all seeds share.

    Attributes:
        documents: by split and language.
        bags: theirs.
        labels: of the training documents, sorted.
        qids: items of the entity table, ascending.
        titles: `qid` and `title`, or None.
        multi_label: whether a document may have several labels.
    """

    documents: dict[Key, tuple[Document, ...]]
    bags: dict[Key, Bags]
    labels: tuple[str, ...]
    qids: NDArray[np.int64]
    titles: pa.Table | None
    multi_label: bool


def prepare(config: MboeConfig, log: Log) -> Prepared:
    """Read the documents and find their entities."""
    found = read_documents(config.data, config.kind, config.language, config.train_size, config.test_documents)
    keys = [("train", config.language), ("dev", config.language)]
    keys += [("test", language) for language in found.languages("test")]
    documents = {key: found.of(*key) for key in keys}
    labels = tuple(sorted({label for one in documents[keys[0]] for label in one.labels}))
    check_labels(found, documents, labels, log)
    source = make_source(config)
    bags = {key: make_bags(members, source, config.max_entities) for key, members in documents.items()}
    titles = read_titles(config.titles, config.titles_wiki) if config.titles else None
    qids = np.unique(np.concatenate([one.qids for one in bags.values()]))
    for key, members in documents.items():
        sizes = bags[key].sizes()
        log.say(
            f"{key[0]} {key[1]}: {len(members):,} documents, {sizes.mean():.1f} entities each, "
            f"{(sizes == 0).sum():,} without"
        )
    return Prepared(documents, bags, labels, qids, titles, found.multi_label)


def check_labels(
    found: DocumentSet, documents: dict[Key, tuple[Document, ...]], labels: tuple[str, ...], log: Log
) -> None:
    """Check that all labels are those of training documents.

    Raises:
        InputError: a document has one label, and it is another. Where there may be several, others are not scored.
    """
    if len(labels) < 2:
        raise InputError(f"the training documents have {len(labels)} label: there is nothing to tell apart")
    known, strange = set(labels), 0
    for members in documents.values():
        for one in members:
            for label in one.labels:
                if label in known:
                    continue
                if not found.multi_label:
                    raise InputError(
                        f"{one.name}: its label {label!r} is of no training document, which have "
                        f"{', '.join(labels[:10])}{' ...' if len(labels) > 10 else ''}: mend it, or leave it out"
                    )
                strange += 1
    if strange:
        log.say(f"{strange:,} labels are of no training document and are not scored")


def run_seed(config: MboeConfig, prepared: Prepared, seed: int, rate: float, log: Log) -> dict[str, float]:
    """Train one seed at one detection rate, write its model, and return its score in each language."""
    device = choose_device(config.device)
    torch.manual_seed(seed)
    encoder = Encoder.load(config.model, "cls_before_pooler")
    if config.max_length > encoder.max_length:
        config = dataclasses.replace(config, max_length=encoder.max_length)
    vectors, qids = entity_table(config, prepared, encoder.dim, seed, log)
    model = Mboe(encoder, config, len(prepared.labels), vectors).to(device)
    parts = {
        key: make_part(
            documents,
            encoder,
            thinned(prepared.bags[key], documents, rate, config.seed) if rate < 1 else prepared.bags[key],
            qids,
            prepared.labels,
            config.max_length,
        )
        for key, documents in prepared.documents.items()
    }
    source, multi = config.language, prepared.multi_label
    epoch = train(model, config, parts["train", source], parts["dev", source], multi, seed, log)
    scores = {}
    place = f"{config.output}/seed-{seed}" + (f"-rate-{rate:g}" if rate < 1 else "")
    explained = []
    for (split, language), part in parts.items():
        if split != "test":
            continue
        probabilities, weights = predict(model, config, part, multi)
        scores[language] = score_of(part, probabilities, config, multi)
        if seed == config.seed and rate == max(rates(config)):
            explained.append(explain(config, prepared, part, language, probabilities, weights))
    log.say(
        f"seed {seed} | best epoch {epoch} | " + ", ".join(f"{name} {100 * one:.1f}" for name, one in scores.items())
    )
    export(model, prepared.labels, qids, multi, config, f"{place}/model")
    if explained:
        _write(f"{config.output}/explanations.md", "\n".join(explained))
    return scores


def entity_table(
    config: MboeConfig, prepared: Prepared, dim: int, seed: int, log: Log
) -> tuple[Tensor | None, NDArray[np.int64]]:
    """Return the vectors and the items that they are of; None for the plain classifier."""
    if config.entities == "none":
        return None, np.zeros(0, np.int64)
    width = config.entity_dim or dim
    if not len(prepared.qids):
        log.say("no document speaks of any entity: what is trained is the plain classifier")
        return None, prepared.qids
    vectors, known = initial_vectors(config.entity_vectors, prepared.qids, prepared.titles, width, seed)
    if config.entity_vectors:
        log.say(f"entity vectors: {known.sum():,} of {len(known):,} are known")
        if config.unknown == "drop":
            return vectors[torch.from_numpy(known)], prepared.qids[known]
    return vectors, prepared.qids


def explain(
    config: MboeConfig,
    prepared: Prepared,
    part: Part,
    language: str,
    probabilities: NDArray[np.float32],
    weights: Sequence[NDArray[np.float32]],
) -> str:
    """Return the report of the first documents of a language."""
    chosen = labels_of(probabilities, config, prepared.multi_label)
    pieces = [f"## {language}\n"]
    for row in range(min(config.explain, len(part))):
        document = part.documents[row]
        first, last = part.bags.starts[row : row + 2].tolist()
        heaviest = np.argsort(-weights[row], kind="stable")[: config.top]
        qids = part.bags.qids[first:last][heaviest]
        names, titles = names_in(config, document), titles_of(prepared.titles, qids)
        items = [
            (qid, titles.get(qid, names.get(qid, "")), names.get(qid, ""), float(common), float(weight))
            for qid, common, weight in zip(
                qids.tolist(), part.bags.commonness[first:last][heaviest], weights[row][heaviest], strict=True
            )
        ]
        order = np.argsort(-probabilities[row], kind="stable")
        predicted = [
            (prepared.labels[label], float(probabilities[row, label])) for label in order if chosen[row, label]
        ]
        pieces.append(report.explanation(document.text, document.labels, predicted, items, last - first))
    return "\n".join(pieces)


def names_in(config: MboeConfig, document: Document) -> dict[int, str]:
    """Return how each item is called in a document, the first time; nothing for a linker's."""
    if config.entities != "detected":
        return {}
    thresholds = config.link_probability, config.commonness
    dictionary = open_dictionary(open_mentions(config.mentions), document.language, config.cache, *thresholds)
    found = detect(document.text, dictionary, config.all_spans)
    names: dict[int, str] = {}
    for qid, start, end in zip(found.qids.tolist(), found.starts.tolist(), found.ends.tolist(), strict=True):
        names.setdefault(qid, document.text[start:end])
    return names


def titles_of(titles: pa.Table | None, qids: NDArray[np.int64]) -> dict[int, str]:
    """Return the titles of items, where they are known."""
    if titles is None:
        return {}
    found = titles.filter(pc.is_in(titles["qid"], pa.array(qids)))
    return dict(zip(found["qid"].to_pylist(), found["title"].to_pylist(), strict=True))


def introduce(config: MboeConfig, prepared: Prepared) -> str:
    """Return the paragraph that a run begins with."""
    tested = [language for split, language in prepared.documents if split == "test"]
    seeds = f"seed {config.seed}" if config.seeds == 1 else f"seeds {config.seed} to {config.seed + config.seeds - 1}"
    trained = len(prepared.documents["train", config.language])
    return paragraph(
        f"Training mboe: {config.model}{' (its weights stay)' if config.freeze_encoder else ''}, on {trained:,} "
        f"documents in {config.language} with {len(prepared.labels):,} labels and {len(prepared.qids):,} entities, "
        f"of {config.data}; tested in {names(tested)}.",
        f"At most {config.epochs} epochs of {config.batch_size} documents a step, learning rate "
        f"{config.learning_rate:g}, {seeds}, on {machine(choose_device(config.device), config.precision)}.",
        f"The scores go to {config.output}/scores.md; all options are in {config.output}/run.json.",
    )


def run(config: MboeConfig) -> str:
    """Train as the config says and return the path of the table of scores."""
    other = report.read_scores(config.compare) if config.compare else None
    precision = config.precision or ("bf16" if choose_device(config.device).type == "cuda" else "fp32")
    config = dataclasses.replace(config, precision=precision)
    log = Log(config.output, "", True)
    try:
        prepared = prepare(config, log)
        log.say(introduce(config, prepared))
        _write(
            f"{config.output}/run.json",
            json.dumps({"config": dataclasses.asdict(config), "versions": versions()}, indent=2),
        )
        metric = "macro-F1" if prepared.multi_label else "accuracy"
        seeds = range(config.seed, config.seed + config.seeds)
        by_rate = {
            rate: {seed: run_seed(config, prepared, seed, rate, log) for seed in seeds}
            for rate in sorted(rates(config))
        }
        scores = by_rate[max(by_rate)]
        sizes = report.mean_sizes({key[1]: bags for key, bags in prepared.bags.items() if key[0] == "test"})
        table = report.score_table(scores, config.language, metric, sizes, other)
        _write(f"{config.output}/scores.md", table)
        _write(
            f"{config.output}/scores.json", json.dumps({"metric": metric, "seeds": scores, "entities": sizes}, indent=2)
        )
        if len(by_rate) > 1:
            _write(f"{config.output}/detection_rate.md", report.curve_table(by_rate, config.language, metric))
        log.say(table)
        return f"{config.output}/scores.md"
    finally:
        log.close()


def _write(path: str, text: str) -> None:
    with writing(path):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8", errors="replace") as stream:
            stream.write(text.rstrip("\n") + "\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Return the exit status."""
    return run_command("trainer", lambda: run(make(vars(mboe_parser().parse_args(argv)))))
