"""The work of `wikianchor corpus` on a range of its input, and on what all ranges found together.

A range is read, normalised, parsed and written by one worker; through Beam goes a small record that names the file.
Which sentences repeat others is found once, from their hashes; then each file is read again and what stays is written.
"""

from __future__ import annotations

import logging
import time
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from wikianchor.io.storage import filesystem, make_parent, sync_file, writing
from wikianchor.pipelines.arrays.hashing import hash_string, mix
from wikianchor.pipelines.dataset.part_writer import Part, PartWriter
from wikianchor.pipelines.dataset.reader import read_batches
from wikianchor.pipelines.dataset.workspace import Workspace
from wikianchor.pipelines.japanese.choices import SPAN_RULES
from wikianchor.pipelines.japanese.corpus.records import Record, RecordRange, read_records
from wikianchor.pipelines.japanese.duplicates import BANDS, KEPT, NEAR_DUPLICATE, bands, near_pairs, near_rows, repeated
from wikianchor.pipelines.japanese.normalise import is_japanese, paragraphs, pieces
from wikianchor.pipelines.japanese.noun_spans import Spans, Token, noun_spans
from wikianchor.pipelines.japanese.parsing import Parse, Parsed, make_parser
from wikianchor.schemas import corpus

ROW_GROUP = 10_000
# Characters parsed at once. Longer paragraphs are cut at full stops; one without any is no sentence. Sudachi itself
# takes 49,149 bytes.
LONGEST = 2_000
HEARTBEAT_SECONDS = 10.0
NOT_SAMPLED = 3
ANY_KEY = 1 << 64
VERDICTS = ("kept", "duplicate", "near_duplicate", "not_sampled")
# What a range writes for the next step: the rows, and what repeats are told by.
PARSED = pa.schema([*corpus.SCHEMA, pa.field("bands", pa.list_(pa.int64()), False)])
WITHOUT_TREE = ("nouns", "nouns_names")


class ShardRows(NamedTuple):
    """A row group's worth of a `sentences` dataset: which shard, of which wiki."""

    path: str
    wiki: str


class InputRange(NamedTuple):
    """A range of the input and its place among all."""

    order: int
    part: RecordRange | ShardRows


@dataclass(frozen=True)
class CorpusSettings:
    """What decides over the rows.

    Attributes:
        work: of the run.
        column: of a CSV, or key of JSON lines.
        parser: name of the parser.
        min_tokens: sentences with fewer are dropped.
        near: overlap from which a sentence repeats an earlier one; 0 compares none.
        sample: sentences to take; 0 for all.
        seed: of the sample.
        key_limit: rows of a dataset with this sample key or a greater one are not parsed; ANY_KEY for none.
    """

    work: Workspace
    column: str
    parser: str
    min_tokens: int
    near: float
    sample: int
    seed: int
    key_limit: int = ANY_KEY


class ParsedRange(NamedTuple):
    """The parsed sentences of a range: their file ("" without a row), rows, counts by outcome, and problems."""

    order: int
    path: str
    rows: int
    counts: dict[str, int]
    problems: list[str]

    @property
    def metrics(self) -> dict[str, int]:
        """For Beam's counters."""
        return self.counts


class CorpusWritten(NamedTuple):
    """A finished shard: its part, rows by verdict, tokens, and how often each word stands in it."""

    parts: tuple[Part, ...]
    verdicts: dict[str, int]
    tokens: int
    words: dict[tuple[str, str], int]

    @property
    def metrics(self) -> dict[str, int]:
        """For Beam's counters."""
        verdicts = {f"sentences:{name}": number for name, number in self.verdicts.items()}
        return {**verdicts, "bytes:written": sum(part.size for part in self.parts)}


class ParseRange:
    """The step that reads a range; the parser is loaded once a worker."""

    def __init__(self, options: CorpusSettings) -> None:
        self._options = options

    @cached_property
    def _parse(self) -> Parse:
        return make_parser(self._options.parser)

    def __call__(self, task: InputRange) -> ParsedRange:
        return parse_range(task, self._options, self._parse)


def parse_range(task: InputRange, options: CorpusSettings, parse: Parse) -> ParsedRange:
    """Read, parse and write a range."""
    counts: Counter[str] = Counter()
    problems: list[str] = []
    columns = _Columns(options.parser)
    heart = time.monotonic() + HEARTBEAT_SECONDS
    with PartWriter(options.work.parts, "parsed", task.order, PARSED) as file:
        for source, records in _batches(task.part, options, problems, counts):
            for number, index, sentence in _sentences(records, parse, options.min_tokens, counts):
                columns.add(source, number, index, sentence)
            if len(columns.ids) >= ROW_GROUP:
                file.write(columns.take())
            if time.monotonic() > heart:
                heart = time.monotonic() + HEARTBEAT_SECONDS
                logging.getLogger("wikianchor").info("range %d: %d sentences", task.order, counts["sentences:seen"])
        file.write(columns.take())
    part = file.part
    return ParsedRange(task.order, part.path if part else "", part.rows if part else 0, dict(counts), problems)


RECORDS = 256


def _batches(
    part: RecordRange | ShardRows, options: CorpusSettings, problems: list[str], counts: Counter[str]
) -> Iterator[tuple[str, list[tuple[int, int, str]]]]:
    """Yield a source with some of its records: number, number of the first sentence, text."""
    if isinstance(part, ShardRows):
        for batch in read_batches(part.path, ["page_id", "sentence_index", "text"]):
            columns = (batch.column(name).to_pylist() for name in ("page_id", "sentence_index", "text"))
            rows = list(zip(*columns, strict=True))
            if options.key_limit < ANY_KEY:
                ids = np.array([sentence_id(text) for _, _, text in rows], np.int64)
                stays = mix(options.seed, ids) < np.uint64(options.key_limit)
                rows = [row for row, one in zip(rows, stays.tolist(), strict=True) if one]
                counts["records:seen"] += len(ids) - len(rows)
                counts["records:not_sampled"] += len(ids) - len(rows)
            for start in range(0, len(rows), RECORDS):
                yield part.wiki, rows[start : start + RECORDS]
        return
    source = part.path.rpartition("/")[2]
    waiting: list[Record] = []
    for record in read_records(part, options.column, problems):
        waiting.append(record)
        if len(waiting) == RECORDS:
            yield source, [(one.number, 0, one.text) for one in waiting]
            waiting = []
    yield source, [(one.number, 0, one.text) for one in waiting]


def _sentences(
    records: Sequence[tuple[int, int, str]], parse: Parse, min_tokens: int, counts: Counter[str]
) -> Iterator[tuple[int, int, Parsed]]:
    """Yield the sentences that are worth keeping: number of the record, number in it, sentence. Count the others."""
    texts: list[str] = []
    owners: list[int] = []
    for place, (_, _, text) in enumerate(records):
        counts["records:seen"] += 1
        found = [piece for paragraph in paragraphs(text) for piece in pieces(paragraph, LONGEST)]
        counts["records:without_text"] += not found
        for piece in found:
            if len(piece) > LONGEST:
                counts["sentences:seen"] += 1
                counts["sentences:too_long"] += 1
            else:
                texts.append(piece)
                owners.append(place)
    numbers = [first for _, first, _ in records]
    for place, parsed in zip(owners, parse(texts), strict=True):
        for sentence in parsed:
            counts["sentences:seen"] += 1
            number, numbers[place] = numbers[place], numbers[place] + 1
            if len(sentence.tokens) < min_tokens:
                counts["sentences:short"] += 1
            elif not is_japanese(sentence.text):
                counts["sentences:not_japanese"] += 1
            else:
                yield records[place][0], number, sentence


class _Columns:
    """Sentences waiting to be written, as columns."""

    def __init__(self, parser: str) -> None:
        self._rules = SPAN_RULES if parser == "ginza" else WITHOUT_TREE
        self._clear()

    def _clear(self) -> None:
        self.ids: list[int] = []
        self._rows: list[dict[str, Any]] = []

    def add(self, source: str, record: int, index: int, sentence: Parsed) -> None:
        text, tokens = sentence
        spans = {rule: _structs(noun_spans(rule, text, tokens) if rule in self._rules else []) for rule in SPAN_RULES}
        self.ids.append(sentence_id(text))
        self._rows.append(
            {
                "text": text,
                "sentence_id": self.ids[-1],
                "source": source,
                "record": record,
                "sentence_index": index,
                "tokens": [_struct(token) for token in tokens],
                "spans": spans,
                "bands": bands(text),
            }
        )

    def take(self) -> pa.Table:
        table = pa.Table.from_pylist(self._rows, PARSED)
        self._clear()
        return table


def sentence_id(text: str) -> int:
    """Return the id of a sentence: a hash of its text that fits an int64."""
    return hash_string(text) >> 1


def _structs(spans: Spans) -> list[dict[str, int]]:
    return [{"start": start, "end": end} for start, end in spans]


def _struct(token: Token) -> dict[str, Any]:
    return {
        "start": token.start,
        "end": token.end,
        "pos": token.pos,
        "relation": token.relation,
        "head": token.head,
    }


def find_repeats(parsed: Iterable[ParsedRange], options: CorpusSettings) -> str:
    """Find the rows that repeat earlier ones, and those that the sample leaves out; return the file that says so."""
    parsed_ranges = sorted((one for one in parsed if one.path), key=lambda one: one.order)
    starts = np.concatenate(([0], np.cumsum([one.rows for one in parsed_ranges], dtype=np.int64)))
    ids = np.empty(int(starts[-1]), np.int64)
    hashed = np.empty((len(ids), BANDS), np.int64)
    place = 0
    for one in parsed_ranges:
        for batch in read_batches(one.path, ["sentence_id", "bands"]):
            ids[place : place + len(batch)] = batch.column("sentence_id").to_numpy()
            hashed[place : place + len(batch)] = batch.column("bands").flatten().to_numpy().reshape(-1, BANDS)
            place += len(batch)
    verdict = repeated(ids)
    if options.near:
        rows = np.flatnonzero(verdict == KEPT)
        pairs = near_pairs(hashed[rows], rows)
        verdict[near_rows(pairs, lambda wanted: _texts(parsed_ranges, starts, wanted), options.near)] = NEAR_DUPLICATE
    if options.sample:
        rows = np.flatnonzero(verdict == KEPT)
        # Ids are hashes of texts and differ between kept rows, so that no two sample keys are equal.
        sample_keys = mix(options.seed, ids[rows])
        verdict[rows[np.argsort(sample_keys, kind="stable")[options.sample :]]] = NOT_SAMPLED
    path = f"{options.work.scratch}/verdict-{uuid.uuid4().hex}.npz"
    files, inner = filesystem(path)
    with writing(path):
        make_parent(files, inner)
        with files.open_output_stream(inner) as stream:
            orders = np.array([one.order for one in parsed_ranges], np.int64)
            np.savez(stream, verdict=verdict, starts=starts, orders=orders)
    sync_file(path)
    return path


def _texts(parsed_ranges: Sequence[ParsedRange], starts: NDArray[np.int64], rows: Sequence[int]) -> Mapping[int, str]:
    wanted = np.array(rows, np.int64)
    found: dict[int, str] = {}
    for number in np.unique(np.searchsorted(starts, wanted, side="right") - 1).tolist():
        begin = int(starts[number])
        for batch in read_batches(parsed_ranges[number].path, ["text"]):
            inside = wanted[(wanted >= begin) & (wanted < begin + len(batch))]
            texts = batch.column("text").take(pa.array(inside - begin)).to_pylist()
            found.update(zip(inside.tolist(), texts, strict=True))
            begin += len(batch)
    return found


def write_shard(parsed: ParsedRange, options: CorpusSettings, verdict_path: str) -> CorpusWritten:
    """Write the rows of a parsed range that stay, and count their words."""
    if not parsed.path:
        return CorpusWritten((), {}, 0, {})
    files, inner = filesystem(verdict_path)
    with files.open_input_file(inner) as stream:
        stored = np.load(stream)
        number = int(np.searchsorted(stored["orders"], parsed.order))
        begin, end = stored["starts"][number : number + 2]
        verdict = stored["verdict"][begin:end]
    words: Counter[tuple[str, str]] = Counter()
    tokens = place = 0
    with PartWriter(options.work.parts, "corpus", parsed.order, corpus.SCHEMA) as file:
        for batch in read_batches(parsed.path, corpus.SCHEMA.names):
            stays = verdict[place : place + len(batch)] == KEPT
            place += len(batch)
            table = pa.Table.from_batches([batch]).filter(pa.array(stays)).select(corpus.SCHEMA.names)
            table = table.cast(corpus.SCHEMA)
            for text, listed in zip(table["text"].to_pylist(), table["tokens"].to_pylist(), strict=True):
                tokens += len(listed)
                words.update((text[token["start"] : token["end"]], token["pos"]) for token in listed)
            file.write(table)
    verdicts = {VERDICTS[kind]: int((verdict == kind).sum()) for kind in range(len(VERDICTS))}
    return CorpusWritten((file.part,) if file.part else (), verdicts, tokens, dict(words))


def write_words(work: Workspace, words: Counter[tuple[str, str]]) -> Part | None:
    """Write how often each word stands in the corpus, the most frequent first."""
    ordered = sorted(words.items(), key=lambda item: (-item[1], item[0]))
    rows = [{"word": word, "pos": pos, "count": count} for (word, pos), count in ordered]
    with PartWriter(work.parts, "words", 0, corpus.WORDS) as file:
        file.write(pa.Table.from_pylist(rows, corpus.WORDS))
    return file.part
