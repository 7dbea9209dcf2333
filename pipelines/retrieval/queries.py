"""The queries of `retrieval`: which candidates are taken, and which items are their distractors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence, Set
from itertools import chain
from typing import Any

import numpy as np

from wikianchor.pipelines.arrays.hashing import mix
from wikianchor.pipelines.arrays.minhash import fold
from wikianchor.pipelines.dataset.part_writer import Part, write_part
from wikianchor.pipelines.dataset.reader import NumberedShard, dataset_at, read_rows
from wikianchor.pipelines.retrieval.candidates import any_keys
from wikianchor.pipelines.retrieval.tables import (
    OF_PAGE,
    OF_TARGET,
    Chosen,
    Merged,
    Near,
    Passages,
    RetrievalTask,
    Targets,
    read_table,
    sentences_of,
    write_table,
)
from wikianchor.schemas.retrieval import QRELS, QUERIES

# Items of a type that distractors are taken from, and those taken for each that is wanted: some have no passage.
POOL, SPARE = 256, 2
SENTENCES_AT_ONCE = 20_000
# Letters and digits in a row: two sentences on one subject seldom have half of these in common.
WINDOW = 16


def find_near(shard: NumberedShard, merged: Merged) -> Near:
    """Find the candidates whose sentence earlier documents nearly have: the same page in its text, or any page as a
    sentence."""
    rows = read_table(merged.path)
    by_page: dict[tuple[str, int], list[int]] = {}
    for number, row in enumerate(rows):
        by_page.setdefault((row["wiki"], row["page_id"]), []).append(number)
    keys = any_keys(rows)
    known: set[int] = set()
    earlier: list[dict[str, Any]] = []
    # A comparison costs as much for one sentence as for thousands.
    for document in chain(read_rows(shard.path, ["wiki", "page_id", "text", "sentences"]), (None,)):
        if document:
            earlier += [{"sentence": text} for text in sentences_of(document)]
            numbers = by_page.get((document["wiki"], document["page_id"]), ())
            on_page = windows(document["text"]) if numbers else set()
            known.update(number for number in numbers if is_near(rows[number]["sentence"], on_page))
        if len(earlier) >= SENTENCES_AT_ONCE or not document:
            known.update(np.flatnonzero(np.isin(keys, any_keys(earlier)).any(1)).tolist())
            earlier = []
    return Near(sorted(known))


def windows(text: str) -> set[str]:
    """Return all runs of WINDOW letters and digits of a text, whatever is between them; a shorter text is one."""
    letters = "".join(filter(str.isalnum, fold(text)))
    return {letters[start : start + WINDOW] for start in range(max(1, len(letters) - WINDOW + 1))}


def is_near(sentence: str, on_page: Set[str]) -> bool:
    """Return whether a page has at least half of the windows of a sentence.

    >>> page = windows("She has been the queen since the death of her father in 1952.")
    >>> is_near("She is queen since the death of her father in 1952!", page), is_near("The king died then.", page)
    (True, False)
    """
    of_sentence = windows(sentence)
    return 2 * len(of_sentence & on_page) >= len(of_sentence)


def choose_queries(task: RetrievalTask, merged: Merged, near: Iterable[Near], targets: Sequence[Targets]) -> Chosen:
    """Choose candidates in the order of the hashes of their pages.

    A page that has a query has no passage in the corpus, so it cannot be a target too.
    """
    rows = read_table(merged.path)
    known = {number for shard in near for number in shard.numbers}
    repeated = {number for shard in targets for number in shard.repeated}
    evidence: dict[int, set[int]] = {}
    for shard in targets:
        for number, items in zip(shard.numbers, shard.evidence, strict=True):
            evidence.setdefault(number, set()).update(items)
    keys = any_keys(rows)
    counts: Counter[str] = Counter()
    kept: list[dict[str, Any]] = []
    of_page, of_target = Counter[Any](), Counter[int]()
    sentences: set[Any] = set()
    taken: set[int] = set()
    for number, row in enumerate(rows):
        page = row["qid"] or (row["wiki"], row["page_id"])
        sentence = (row["wiki"], row["page_id"], row["sentence_index"])
        if number in known:
            reason = "near_previous"
        elif number not in evidence:
            reason = "no_passage"
        elif not evidence[number]:
            reason = "no_evidence"
        elif number in repeated or not taken.isdisjoint(keys[number].tolist()):
            reason = "near_duplicate"
        elif page in of_target or row["target_qid"] in of_page:
            reason = "other_side"
        elif sentence in sentences or of_page[page] >= OF_PAGE or of_target[row["target_qid"]] >= OF_TARGET:
            reason = "enough_queries"
        elif task.config.sample and len(kept) >= task.config.sample:
            reason = "not_sampled"
        else:
            reason = "kept"
            of_page[page] += 1
            of_target[row["target_qid"]] += 1
            sentences.add(sentence)
            taken.update(keys[number].tolist())
            kept.append({**row, "evidence": sorted(evidence[number])})
        counts[f"links:{row['wiki']}:{reason}"] += 1
    sources = {row["qid"] for row in kept} - {None}
    others = distractors_of(task, {row["target_qid"] for row in kept}, sources)
    kept = [{**row, "distractors": others[row["target_qid"]]} for row in kept]
    passages = sum(shard.passages for shard in targets)
    share = min(1.0, task.config.max_passages / max(1, passages))
    return Chosen(write_table(task.work, "queries", 0, kept), share, +counts)


def distractors_of(task: RetrievalTask, targets: set[int], sources: set[int]) -> dict[int, list[int]]:
    """Return items of a type of each target, those of its rarest type first, by the item that is looked for."""
    dataset = dataset_at(task.entities)
    types = {row["qid"]: row["types"] for row in dataset.items("types", targets)}
    pools: dict[int, list[tuple[int, int]]] = {kind: [] for of_item in types.values() for kind in of_item}
    sizes: Counter[int] = Counter()
    for batch in dataset.batches("entities", ["qid", "types"]):
        hashes = mix(task.config.seed, batch["qid"].to_numpy()).tolist()
        for key, qid, kinds in zip(hashes, batch["qid"].to_pylist(), batch["types"].to_pylist(), strict=True):
            for kind in pools.keys() & kinds if qid not in sources else ():
                sizes[kind] += 1
                pools[kind].append((key, qid))
                if len(pools[kind]) > 2 * POOL:
                    pools[kind] = sorted(pools[kind])[:POOL]
    chosen: dict[int, list[int]] = {}
    for target in sorted(targets):
        ranked: dict[int, None] = {}
        for kind in sorted(types.get(target, ()), key=lambda kind: (sizes[kind], kind)):
            qids = [qid for _, qid in sorted(pools[kind])[:POOL] if qid != target]
            keys = mix(task.config.seed, np.full(len(qids), target), np.array(qids, np.int64)).tolist() if qids else []
            ranked.update(dict.fromkeys(qid for _, qid in sorted(zip(keys, qids, strict=True))))
        chosen[target] = list(ranked)[: task.config.negatives * SPARE]
    return chosen


def write_queries(task: RetrievalTask, chosen: Chosen, shards: Sequence[Passages]) -> list[Part]:
    """Write queries and grades, and return their parts."""
    rows = read_table(chosen.path)
    present = {qid for shard in shards for qid in shard.items}
    graded: dict[int, list[tuple[str, int]]] = {}
    for shard in shards:
        for qid, name, grade in shard.graded:
            graded.setdefault(qid, []).append((name, grade))
    queries, qrels = list[dict[str, Any]](), list[dict[str, Any]]()
    for row in rows:
        name = f"{row['wiki']}:{row['page_id']}:{row['link']}"
        others = [qid for qid in row["distractors"] if qid in present or qid in graded][: task.config.negatives]
        queries.append({**{key: row.get(key) for key in QUERIES.names}, "id": name, "distractors": others})
        for passage, grade in graded[row["target_qid"]]:
            qrels.append({"query-id": name, "corpus-id": passage, "score": grade})
    directory = task.work.parts
    written = write_part(directory, "queries", 0, QUERIES, queries), write_part(directory, "qrels", 0, QRELS, qrels)
    return list(chain(*written))
