"""The passages of `retrieval`: those of the pages of targets, and the corpus."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from wikianchor.pipelines.arrays.hashing import hash_string, mix
from wikianchor.pipelines.dataset.part_writer import PartWriter
from wikianchor.pipelines.dataset.reader import NumberedShard, read_rows
from wikianchor.pipelines.dataset.sections import section_paths
from wikianchor.pipelines.retrieval.candidates import any_keys
from wikianchor.pipelines.retrieval.tables import (
    PASSAGES_OF_PAGE,
    Chosen,
    Merged,
    Passage,
    Passages,
    RetrievalTask,
    Targets,
    passages_of,
    read_table,
    sentences_of,
)
from wikianchor.schemas.retrieval import CORPUS, LEAD, OTHER

ROW_GROUP = 10_000
COLUMNS = (
    *("wiki", "page_id", "rev_id", "timestamp", "title", "qid", "sections", "blocks", "text", "sentences", "links"),
)


def find_targets(shard: NumberedShard, merged: Merged) -> Targets:
    """Find what the pages of targets say of the candidates."""
    rows = read_table(merged.path)
    by_target: dict[int, list[int]] = {}
    for number, row in enumerate(rows):
        by_target.setdefault(row["target_qid"], []).append(number)
    keys = any_keys(rows)
    numbers, evidence, repeated, total = list[int](), list[list[int]](), list[int](), 0
    for document in read_rows(shard.path, COLUMNS):
        passages = passages_of(document)
        total += len(passages)
        if not passages or document["qid"] not in by_target:
            continue
        linked = frozenset[int]().union(*(passage.links for passage in passages[:PASSAGES_OF_PAGE]))
        on_page = np.unique(any_keys([{"sentence": text} for text in sentences_of(document)]))
        for number in by_target[document["qid"]]:
            row = rows[number]
            numbers.append(number)
            evidence.append(sorted(linked.intersection(row["hints"])))
            if np.isin(keys[number], on_page).any():
                repeated.append(number)
    return Targets(numbers, evidence, repeated, total)


def write_passages(shard: NumberedShard, task: RetrievalTask, chosen: Chosen) -> Passages:
    """Write the passages of the corpus that a shard has."""
    corpus = _Corpus(task, chosen)
    rows: list[dict[str, Any]] = []
    with PartWriter(task.work.parts, "corpus", shard.order, CORPUS) as writer:
        for document in read_rows(shard.path, COLUMNS):
            rows += corpus.rows(document)
            if len(rows) >= ROW_GROUP:
                writer.write(pa.Table.from_pylist(rows, CORPUS))
                rows = []
        writer.write(pa.Table.from_pylist(rows, CORPUS))
    parts = (writer.part,) if writer.part else ()
    return Passages(shard.order, parts, corpus.graded, sorted(corpus.items), +corpus.counts)


class _Corpus:
    """The passages that a corpus has, and counts of the others by reason."""

    def __init__(self, task: RetrievalTask, chosen: Chosen) -> None:
        self._task, self._share = task, chosen.share
        self._queries = read_table(chosen.path)
        self._sources = {(row["wiki"], row["page_id"]) for row in self._queries}
        self._source_items = {row["qid"] for row in self._queries} - {None}
        self._distractors = {qid for row in self._queries for qid in row["distractors"]}
        self._by_target: dict[int, list[dict[str, Any]]] = {}
        for row in self._queries:
            self._by_target.setdefault(row["target_qid"], []).append(row)
        self._keys = np.unique(any_keys(self._queries))
        self.graded: list[tuple[int, str, int]] = []
        self.items: set[int] = set()
        self.counts: Counter[str] = Counter()

    def rows(self, document: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Return the rows of a document."""
        passages, kept = passages_of(document), list[dict[str, Any]]()
        reason = self._why_not(document)
        self._count(document, "passages", "seen", len(passages))
        if reason:
            self._count(document, "passages", reason, len(passages))
            return kept
        self._count(document, "passages", "enough_passages", len(passages[PASSAGES_OF_PAGE:]))
        paths, qid, is_target = section_paths(document["sections"]), document["qid"], document["qid"] in self._by_target
        repeated = self._repeated(document) if passages else ()
        for number, passage in enumerate(passages[:PASSAGES_OF_PAGE]):
            is_lead = is_target and number == 0
            if not is_lead and (reason := self._answers(document, passage, repeated)):
                self._count(document, "passages", reason, 1)
                continue
            self._count(document, "passages", "kept", 1)
            block = passage.block
            name = f"{document['wiki']}:{document['page_id']}:{block['start']}"
            if is_target:
                self.graded.append((qid, name, LEAD if is_lead else OTHER))
            elif qid in self._distractors:
                self.items.add(qid)
            section = paths[block["section"]] if block["section"] >= 0 else []
            head = {key: document[key] for key in ("wiki", "page_id", "rev_id", "timestamp", "qid")}
            title = " – ".join([document["title"], *section])
            bounds = {key: block[key] for key in ("start", "end")}
            kept.append({"id": name, "title": title, "text": passage.text, **head, "section": section, **bounds})
        return kept

    def _count(self, document: Mapping[str, Any], kind: str, bucket: str, number: int) -> None:
        self.counts[f"{kind}:{document['wiki']}:{bucket}"] += number

    def _why_not(self, document: Mapping[str, Any]) -> str:
        """Return why no passage of a document is in the corpus, "" for one that is."""
        page, qid = (document["wiki"], document["page_id"]), document["qid"]
        if page in self._sources or qid in self._source_items:
            return "query_page"
        if qid in self._by_target or qid in self._distractors:
            return ""
        key = mix(self._task.config.seed, hash_string(page[0]), page[1])[0]
        return "" if int(key) / 2**64 < self._share else "over_max_passages"

    def _repeated(self, document: Mapping[str, Any]) -> list[int]:
        """Return the offsets of the sentences of a document that are nearly those of queries."""
        keys = any_keys([{"sentence": text} for text in sentences_of(document)])
        near = np.flatnonzero(np.isin(keys, self._keys).any(1)).tolist()
        return [document["sentences"][number]["start"] for number in near]

    def _answers(self, document: Mapping[str, Any], passage: Passage, repeated: Sequence[int]) -> str:
        """Return why a passage of another page may answer a query too, "" if it does not.

        It links to the target, and to the page of the query or to all other items that its sentence links to; or it has
        nearly the same sentence. Pairs of a query and a passage that links to the target alone are counted.
        """
        if any(passage.block["start"] <= start < passage.block["end"] for start in repeated):
            return "near_duplicate"
        queries = [row for qid in passage.links if qid != document["qid"] for row in self._by_target.get(qid, ())]
        for row in queries:
            if row["qid"] in passage.links or (row["others"] and passage.links.issuperset(row["others"])):
                return "answer"
        self._count(document, "unjudged", "links_to_target", len(queries))
        return ""
