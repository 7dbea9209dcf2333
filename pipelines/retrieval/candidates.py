"""Candidates for queries: sentences with a link to an item that the earlier dump lacks, and their masked names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from wikianchor.aliases.folding import code_points, cut, fold, is_chinese
from wikianchor.pipelines.arrays.hashing import hash_string, mix
from wikianchor.pipelines.arrays.minhash import OF_ANY, band_keys
from wikianchor.pipelines.arrays.spill import Spill, hash_range
from wikianchor.pipelines.arrays.tables import distinct, find, open_tables, save_pieces
from wikianchor.pipelines.dataset.reader import NumberedShard, dataset_at, read_rows, shards_of
from wikianchor.pipelines.dataset.workspace import WorkPath
from wikianchor.pipelines.retrieval.tables import (
    CANDIDATES_OF_QUERY,
    LEFT,
    PARAGRAPH,
    SENTENCE,
    Found,
    Merged,
    RetrievalTask,
    read_table,
    sentences_of,
    text_keys,
    write_table,
)

MASK = "___"
OPENING, CLOSING = "([（［", ")]）］"
# An item to which more than this share of the pages links, and more than so many, tells little.
COMMON, FEW = 0.02, 20
# Approximate number of hashes of a partition, and the largest number of partitions; sentences of a page, about.
ROWS_AT_ONCE, MOST_PARTS, SENTENCES_OF_PAGE = 1 << 20, 1 << 12, 16
COLUMNS = ("wiki", "page_id", "rev_id", "timestamp", "title", "qid", "blocks", "text", "sentences", "links")
_KEY = np.dtype([("key", np.uint64)])


def index_previous(directory: str, task: RetrievalTask) -> WorkPath:
    """Write the hashes of all sentences of earlier documents; return the path, "" without these."""
    if not directory:
        return ""
    parts = min(MOST_PARTS, 1 + SENTENCES_OF_PAGE * dataset_at(directory).rows("documents") // ROWS_AT_ONCE)
    with Spill(_KEY, parts, task.work.scratch) as spill:
        for path in shards_of(directory, "documents"):
            for document in read_rows(path, ["text", "sentences"]):
                keys = text_keys(sentences_of(document))
                if len(keys):
                    spill.add(keys.view(_KEY), hash_range(keys, parts))
        lengths = {"key": sum(len(distinct(spill.read(part)["key"])) for part in range(parts))}
        pieces = ({"key": distinct(spill.read(part)["key"])} for part in range(parts))
        return save_pieces(task.work.scratch, "previous", lengths, pieces)


def find_candidates(shard: NumberedShard, task: RetrievalTask, previous: str) -> Found:
    """Write the links of sentences that the earlier dump lacks: those of the pages of smallest hash."""
    earlier = open_tables(previous)["key"] if previous else np.zeros(0, np.uint64)
    counts: Counter[str] = Counter()
    rows: list[dict[str, Any]] = []
    most = task.config.sample * CANDIDATES_OF_QUERY
    for document in read_rows(shard.path, COLUMNS):
        of_page = list(links_of(document))
        counts[f"links:{document['wiki']}:seen"] += len(of_page)
        usable = [row for row in of_page if SENTENCE[0] <= len(row["sentence"].encode()) <= SENTENCE[1]]
        counts[f"links:{document['wiki']}:length"] += len(of_page) - len(usable)
        weak = sum(map(is_weak, usable))
        counts[f"links:{document['wiki']}:weak_anchor"] += weak
        usable = [row for row in usable if not is_weak(row)] if weak else usable
        known = find(earlier, text_keys([row["sentence"] for row in usable])) >= 0
        counts[f"links:{document['wiki']}:previous"] += int(known.sum())
        page = mix(task.config.seed, hash_string(document["wiki"]), document["page_id"])[0]
        for row, is_known in zip(usable, known.tolist(), strict=True):
            if not is_known:
                rows.append({**row, "rank": int(page), "order": int(mix(task.config.seed, int(page), row["link"])[0])})
        if most and len(rows) > 2 * most:
            rows = _smallest(rows, most, counts)
    if most:
        rows = _smallest(rows, most, counts)
    return Found(shard.order, write_table(task.work, "candidates", shard.order, rows), +counts)


def is_weak(row: Mapping[str, Any]) -> bool:
    """Return whether the link has no letter, such as a year, or is in brackets, such as a gloss."""
    before = row["sentence"][: row["link"] - row["start"]]
    in_brackets = sum(map(before.count, OPENING)) > sum(map(before.count, CLOSING))
    return in_brackets or not any(map(str.isalpha, row["surface"])) or not any(map(str.isalpha, row["target"]))


def _smallest(rows: list[dict[str, Any]], most: int, counts: Counter[str]) -> list[dict[str, Any]]:
    """Return the rows of smallest rank, in order, and count the others."""
    rows.sort(key=lambda row: (row["rank"], row["order"]))
    counts.update(f"links:{row['wiki']}:not_sampled" for row in rows[most:])
    return rows[:most]


def links_of(document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the links to items in sentences of paragraphs, each with the sentence and its other links."""
    text, blocks = document["text"], document["blocks"]
    sentences = iter(document["sentences"])
    sentence = next(sentences, None)
    by_sentence: dict[int, list[dict[str, Any]]] = {}
    bounds: dict[int, Mapping[str, Any]] = {}
    # Both are in order. Cells and captions follow all other blocks, and their sentences all others.
    for link in document["links"]:
        while sentence is not None and sentence["end"] <= link["start"]:
            sentence = next(sentences, None)
        if sentence is None:
            break
        inside = sentence["start"] <= link["start"] and link["end"] <= sentence["end"]
        if inside and link["qid"] is not None and blocks[link["block"]]["kind"] == PARAGRAPH:
            by_sentence.setdefault(sentence["sentence_index"], []).append(link)
            bounds[sentence["sentence_index"]] = sentence
    head = {name: document[name] for name in ("wiki", "page_id", "rev_id", "timestamp", "title", "qid")}
    for index, links in by_sentence.items():
        start, end = bounds[index]["start"], bounds[index]["end"]
        for link in links:
            if link["qid"] == document["qid"]:
                continue
            others = sorted({other["qid"] for other in links} - {link["qid"]})
            yield {
                **head,
                "sentence_index": index,
                "start": start,
                "end": end,
                "sentence": text[start:end],
                "link": link["start"],
                "surface": text[link["start"] : link["end"]],
                "target": link["target"],
                "target_qid": link["qid"],
                "others": others,
            }


def merge_candidates(task: RetrievalTask, shards: Sequence[Found]) -> Merged:
    """Write the candidates of all shards, as many as are looked at, with masked names and with hints."""
    counts: Counter[str] = Counter()
    rows: list[dict[str, Any]] = []
    most = task.config.sample * CANDIDATES_OF_QUERY
    for shard in sorted(shards):
        rows += read_table(shard.path)
        if most:
            rows = _smallest(rows, most, counts)
    rows.sort(key=lambda row: (row["rank"], row["order"]))
    names = names_of(task, {row["target_qid"] for row in rows})
    common = common_items(task)
    kept = []
    for row in rows:
        forms = names.get((row["wiki"], row["target_qid"]), set()) | names.get(("", row["target_qid"]), set())
        chinese = is_chinese(row["wiki"])
        spellings = (row["surface"], row["target"], row["target"].partition(" (")[0])
        forms = forms | {fold(form, chinese) for form in spellings}
        title, _ = mask(row["title"], forms, chinese)
        text, masked = mask(row["sentence"], forms, chinese)
        if len("".join(filter(str.isalnum, text)).encode()) < LEFT or MASK not in text:
            counts[f"links:{row['wiki']}:masked"] += 1
        else:
            hints = sorted({*row["others"], row["qid"] or 0} - common - {0, row["target_qid"]})
            kept.append({**row, "text": f"{title}: {text}", "masked": masked, "hints": hints})
    return Merged(write_table(task.work, "merged", 0, kept), +counts)


def names_of(task: RetrievalTask, qids: Iterable[int]) -> dict[tuple[str, int], set[str]]:
    """Return the folded names of items by wiki and item; labels and aliases, of all languages, by "" and item."""
    names: dict[tuple[str, int], set[str]] = {}
    wanted = pa.array(sorted(qids), pa.int64())
    for batch in dataset_at(task.mentions).batches("mentions", ["wiki", "key", "qid"]):
        for row in batch.filter(pc.is_in(batch["qid"], value_set=wanted)).to_pylist():
            names.setdefault((row["wiki"], row["qid"]), set()).add(row["key"])
    for column in ("labels", "aliases"):
        for row in dataset_at(task.entities).items(column, wanted.to_pylist()):
            names.setdefault(("", row["qid"]), set()).update(fold(text["text"]) for text in row[column] or ())
    return names


def common_items(task: RetrievalTask) -> set[int]:
    """Return the items to which more pages link than to one that says something of them."""
    most = max(FEW, COMMON * dataset_at(task.documents).rows("documents"))
    links: Counter[int] = Counter()
    for batch in dataset_at(task.mentions).batches("mentions", ["qid", "linked_documents"]):
        for qid, number in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            links[qid] += number
    return {qid for qid, number in links.items() if number > most}


def mask(text: str, names: Iterable[str], chinese: bool = False) -> tuple[str, list[str]]:
    """Return a text with MASK for every occurrence of a folded name, and what was masked, in order.

    >>> mask("Rome is the capital of Italy; Romans love ROME.", {"rome", "roman forum"})
    ('___ is the capital of Italy; Romans love ___.', ['Rome', 'ROME'])
    """
    folded = cut(code_points(text), chinese)
    line = folded.points.tobytes().decode("utf-32-le", "surrogatepass")
    hidden = np.zeros(len(line) + 1, np.bool_)
    for name in sorted(names):
        first = line.find(name) if name else -1
        while first >= 0:
            if folded.on_atoms(np.array([first]), np.array([first + len(name)]))[0]:
                hidden[first : first + len(name)] = True
            first = line.find(name, first + 1)
    edges = np.flatnonzero(np.diff(np.concatenate(([False], hidden)).astype(np.int8)))
    pieces, masked, end = list[str](), list[str](), 0
    for first, last in edges.reshape(-1, 2).tolist():
        start, stop = int(folded.offsets[first]), int(folded.offsets[last])
        pieces += [text[end:start], MASK]
        masked.append(text[start:stop])
        end = stop
    return "".join([*pieces, text[end:]]), masked


def any_keys(rows: Sequence[Mapping[str, Any]]) -> np.ndarray[Any, np.dtype[np.uint64]]:
    """Return (rows, bands) keys; nearly equal sentences, whatever their pages, have at least one in common."""
    return band_keys([row["sentence"] for row in rows], np.zeros(len(rows), np.uint64), OF_ANY)
