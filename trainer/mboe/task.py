"""`wikianchor train mboe`: train and score a classifier of documents by their text and their entities.

    wikianchor train mboe --data=documents.jsonl --mentions=out/mentions --model=bert-base-multilingual-cased \\
        --output=models/mboe --seeds=42,43,44

Writes
    OUTPUT/seed-42/model/     encoder, entity vectors and classifier, for each seed
    OUTPUT/scores.md          the scores by language, and scores.json
    OUTPUT/explanations.md    the items with the highest attention weights in single documents
    OUTPUT/detection_rate.md  the scores by detection rate, with several --detection_rate
"""

from __future__ import annotations

import dataclasses
import json
from contextlib import closing
from dataclasses import dataclass
from itertools import islice

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch
from numpy.typing import NDArray
from torch import Tensor

from wikianchor.io.errors import InputError
from wikianchor.io.markdown import markdown_table
from wikianchor.io.storage import write_text
from wikianchor.trainer.card import versions
from wikianchor.trainer.data.named_vectors import fill, given_titles, rows_by_name
from wikianchor.trainer.distributed import choose_device
from wikianchor.trainer.introduction import machine, names, paragraph
from wikianchor.trainer.loop.log import Log
from wikianchor.trainer.mboe import report
from wikianchor.trainer.mboe.bags import make_bag_maker, make_bags, sample_items
from wikianchor.trainer.mboe.config import MboeConfig
from wikianchor.trainer.mboe.detect import candidate_rows
from wikianchor.trainer.mboe.detector import Bag, make_detector
from wikianchor.trainer.mboe.documents import Document, DocumentSet, read_documents
from wikianchor.trainer.mboe.model import Mboe, export
from wikianchor.trainer.mboe.train import EncodedDocuments, encode_documents, labels_of, predict, score_of, train
from wikianchor.trainer.models.encoder import Encoder
from wikianchor.trainer.models.entities import random_vectors
from wikianchor.trainer.models.gpu import training_precision
from wikianchor.trainer.models.vector_files import BrokenLines, read_named_vectors

# Items and characters shown of each document in the report.
ITEMS, EXCERPT = 3, 300
# A split and a language.
Key = tuple[str, str]


@dataclass(frozen=True)
class PreparedData:
    """The data that all seeds share.

    Attributes:
        documents: documents by split and language.
        bags: bags of these documents.
        labels: labels of the training documents, sorted.
        qids: items of the entity table, ascending.
        titles: titles of these items, as (title, item); none without `--titles`.
        multi_label: whether a document may have several labels.
    """

    documents: dict[Key, tuple[Document, ...]]
    bags: dict[Key, list[Bag]]
    labels: tuple[str, ...]
    qids: NDArray[np.int64]
    titles: list[tuple[str, int]]
    multi_label: bool


def prepare(config: MboeConfig, log: Log) -> PreparedData:
    """Read the documents and find their entities."""
    dataset = read_documents(
        config.data,
        config.kind,
        config.language,
        train_size=config.train_size,
        test_documents=config.test_documents,
        titles=config.titles if config.entities == "oracle" else "",
    )
    keys = [("train", config.language), ("dev", config.language)]
    keys += [("test", language) for language in dataset.languages("test")]
    documents = {key: dataset.of(*key) for key in keys}
    labels = tuple(sorted({label for document in documents[keys[0]] for label in document.labels}))
    check_labels(dataset, documents, labels, log)
    bag_maker = make_bag_maker(config)
    bags = {key: make_bags(part, bag_maker, config.max_entities) for key, part in documents.items()}
    qids = np.unique(np.concatenate([bag.qids for part in bags.values() for bag in part]))
    titles = select_titles(config, qids)
    for (split, language), part in bags.items():
        without = sum(not len(bag.qids) for bag in part)
        entities = f"{report.mean_size(part):.1f} entities each, {without:,} without"
        log.say(f"{split} {language}: {len(part):,} documents, {entities}")
    return PreparedData(
        documents=documents, bags=bags, labels=labels, qids=qids, titles=titles, multi_label=dataset.multi_label
    )


def check_labels(
    dataset: DocumentSet, documents: dict[Key, tuple[Document, ...]], labels: tuple[str, ...], log: Log
) -> None:
    """Check that every label occurs in the training documents. In a multi-label set, other labels are not scored.

    Raises:
        InputError: the only label of a document is another, or the training documents have fewer than two labels.
    """
    if len(labels) < 2:
        raise InputError(f"the training documents have {len(labels)} label: there is nothing to tell apart")
    known = set(labels)
    unknown = [
        (document.name, label)
        for part in documents.values()
        for document in part
        for label in document.labels
        if label not in known
    ]
    if unknown and not dataset.multi_label:
        name, label = unknown[0]
        raise InputError(
            f"{name}: its label {label!r} is of no training document, which have "
            f"{', '.join(labels[:10])}{' ...' if len(labels) > 10 else ''}: mend it, or leave it out"
        )
    if unknown:
        log.say(f"{len(unknown):,} labels are of no training document and are not scored")


def run_seed(config: MboeConfig, prepared: PreparedData, seed: int, rate: float, log: Log) -> dict[str, float]:
    """Train one seed at one detection rate, write its model, and return its score in each language."""
    torch.manual_seed(seed)
    encoder = Encoder.load(config.model, "cls_before_pooler", prompt="")
    if config.max_length > encoder.max_length:
        config = dataclasses.replace(config, max_length=encoder.max_length)
    vectors, qids = entity_table(config, prepared, encoder.dim, seed, log)
    model = Mboe(encoder, config, len(prepared.labels), vectors).to(choose_device(config.device))
    parts: dict[Key, EncodedDocuments] = {}
    for key, documents in prepared.documents.items():
        bags = prepared.bags[key]
        if rate < 1:
            pairs = zip(bags, documents, strict=True)
            bags = [sample_items(bag, document, rate, config.seeds[0]) for bag, document in pairs]
        parts[key] = encode_documents(
            documents,
            encoder,
            bags,
            qids=qids,
            labels=prepared.labels,
            max_length=config.max_length,
            multi_label=prepared.multi_label,
        )
    training, dev = parts["train", config.language], parts["dev", config.language]
    epoch = train(model, config, training, dev, seed=seed, log=log)
    scores, explanations = {}, []
    for (split, language), part in parts.items():
        if split != "test":
            continue
        probabilities, weights = predict(model, config, part)
        scores[language] = score_of(part, probabilities, config)
        if seed == config.seeds[0] and rate == max(config.detection_rate):
            rows = zip(prepared.documents[split, language], part.bags, probabilities, weights, strict=True)
            explained = [explain(config, prepared, *row) for row in islice(rows, config.explain)]
            explanations.append(f"## {language}\n\n" + "\n".join(explained))
    in_words = ", ".join(f"{language} {100 * score:.1f}" for language, score in scores.items())
    log.say(f"seed {seed} | best epoch {epoch} | {in_words}")
    directory = f"{config.output}/seed-{seed}" + (f"-rate-{rate:g}" if rate < 1 else "")
    export(model, prepared.labels, qids, multi_label=prepared.multi_label, config=config, target=f"{directory}/model")
    if explanations:
        write_text(f"{config.output}/explanations.md", "\n".join(explanations))
    return scores


def entity_table(
    config: MboeConfig, prepared: PreparedData, dim: int, seed: int, log: Log
) -> tuple[Tensor | None, NDArray[np.int64]]:
    """Return the initial vectors, (items, width), or None for a classifier of the text alone; and their items.

    Items that the file of vectors lacks have random vectors, of the width `dim` where neither a file nor an option
    says another.

    Raises:
        InputError: the file cannot be read, or has none of the items.
    """
    qids = prepared.qids
    if not len(qids):
        if config.entities != "none":
            log.say("no document speaks of any entity: what is trained is the plain classifier")
        return None, qids
    if not config.entity_vectors:
        return random_vectors(len(qids), config.entity_dim or dim, seed), qids
    # Of two titles of an item the first one counts.
    rows_of = rows_by_name(qids.tolist(), prepared.titles)
    vectors, known = fill(read_named_vectors(config.entity_vectors, BrokenLines()), rows_of, len(qids), "float32")
    log.say(f"entity vectors: {known.sum():,} of {len(known):,} are known")
    if config.unknown == "drop":
        return torch.from_numpy(vectors[known]), qids[known]
    table = random_vectors(len(qids), vectors.shape[1], seed)
    table[known] = torch.from_numpy(vectors[known])
    return table, qids


def select_titles(config: MboeConfig, qids: NDArray[np.int64]) -> list[tuple[str, int]]:
    """Return the known titles of items, as (title, item)."""
    titles = given_titles(config)
    if titles is None:
        return []
    selected = titles.filter(pc.is_in(titles["qid"], pa.array(qids)))
    return list(zip(selected["title"].to_pylist(), selected["qid"].to_pylist(), strict=True))


def explain(
    config: MboeConfig,
    prepared: PreparedData,
    document: Document,
    bag: Bag,
    probabilities: NDArray[np.float32],
    weights: NDArray[np.float32],
) -> str:
    """Return the report of a document: its text, its labels, and the items with the highest attention weights.

    Args:
        config: options of the run.
        prepared: labels, and titles of items.
        document: the document.
        bag: its items in the entity table.
        probabilities: (labels,).
        weights: (items,).
    """
    text = " ".join(document.text.split())
    excerpt = text if len(text) <= EXCERPT else f"{text[:EXCERPT]} ..."
    is_predicted = labels_of(probabilities[None], config, prepared.multi_label)[0]
    order = [label for label in np.argsort(-probabilities, kind="stable") if is_predicted[label]]
    predicted = ", ".join(f"{prepared.labels[label]} {probabilities[label]:.2f}" for label in order)
    labels = f"label: {', '.join(document.labels) or 'none'}; predicted: {predicted or 'none'}"
    entities = "1 entity" if len(weights) == 1 else f"{len(weights)} entities"
    head = f"> {excerpt}\n\n{labels}; {entities}\n"
    if not len(weights):
        return head
    top = np.argsort(-weights, kind="stable")[:ITEMS]
    chosen = bag.take(top)
    names = names_in(config, document)
    titles = {**names, **{qid: title for title, qid in prepared.titles}}
    lines = [
        [
            " ".join(titles.get(qid, "").split()),
            f"Q{qid}",
            " ".join(names.get(qid, "").split()),
            f"{commonness:.2f}",
            f"{weight:.3f}",
        ]
        for qid, commonness, weight in zip(chosen.qids.tolist(), chosen.commonness, weights[top], strict=True)
    ]
    return f"{head}\n{markdown_table(['entity', 'item', 'in the text', 'commonness', 'attention'], lines)}\n"


def names_in(config: MboeConfig, document: Document) -> dict[int, str]:
    """Return the first name of each item in a document; none for entities that were not detected by their names."""
    if config.entities != "detected":
        return {}
    candidates = candidate_rows(document.text, make_detector(config)(document.text, document.language))
    return {candidate["qid"]: candidate["surface"] for candidate in reversed(candidates)}


def introduce(config: MboeConfig, prepared: PreparedData) -> str:
    """Return the first paragraph of a run's log: what is trained on what."""
    tested = [language for split, language in prepared.documents if split == "test"]
    seeds = f"seed{'s' if len(config.seeds) > 1 else ''} {', '.join(map(str, config.seeds))}"
    trained = len(prepared.documents["train", config.language])
    return paragraph(
        f"Training mboe: {config.model}{' (its weights stay)' if config.freeze_encoder else ''}, on {trained:,} "
        f"documents in {config.language} with {len(prepared.labels):,} labels and {len(prepared.qids):,} entities, "
        f"of {config.data}; tested in {names(tested)}.",
        f"At most {config.epochs} epochs of {config.step_size} documents a step, learning rate "
        f"{config.learning_rate:g}, {seeds}, on {machine(choose_device(config.device), config.precision)}.",
        f"The scores go to {config.output}/scores.md; all options are in {config.output}/run.json.",
    )


def run(config: MboeConfig) -> str:
    """Train all seeds and return the path of the table of scores."""
    other = report.read_scores(config.compare) if config.compare else None
    precision = config.precision or training_precision(choose_device(config.device))
    config = dataclasses.replace(config, precision=precision)
    with closing(Log(config.output, active=True)) as log:
        prepared = prepare(config, log)
        log.say(introduce(config, prepared))
        _write_json(f"{config.output}/run.json", {"config": dataclasses.asdict(config), "versions": versions()})
        metric = "macro-F1" if prepared.multi_label else "accuracy"
        by_rate = {
            rate: {seed: run_seed(config, prepared, seed, rate, log) for seed in config.seeds}
            for rate in sorted(config.detection_rate)
        }
        scores = by_rate[max(by_rate)]
        sizes = {key[1]: report.mean_size(bags) for key, bags in prepared.bags.items() if key[0] == "test"}
        table = report.score_table(scores, config.language, metric, sizes, other)
        write_text(f"{config.output}/scores.md", table)
        _write_json(f"{config.output}/scores.json", {"metric": metric, "seeds": scores, "entities": sizes})
        if len(by_rate) > 1:
            write_text(f"{config.output}/detection_rate.md", report.curve_table(by_rate, config.language, metric))
        log.say(table)
        return f"{config.output}/scores.md"


def _write_json(path: str, value: object) -> None:
    write_text(path, json.dumps(value, indent=2) + "\n")
