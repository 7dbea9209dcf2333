"""The steps of `wikianchor corpus`.

`ParseRange` reads, normalises and parses a range of the input and writes its sentences to a file. `FindRepeats` finds
duplicates among all sentences by their hashes, and draws the sample. `write_shard` reads a file of parsed sentences
again and writes those that are kept.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import compress, islice
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from wikianchor.pipelines.arrays.hashing import hash_string, mix
from wikianchor.pipelines.arrays.tables import open_tables, save_tables
from wikianchor.pipelines.dataset.part_writer import Part, PartWriter, write_part
from wikianchor.pipelines.dataset.reader import read_batches
from wikianchor.pipelines.dataset.workspace import WorkPath, Workspace
from wikianchor.pipelines.japanese.choices import SPAN_RULES
from wikianchor.pipelines.japanese.corpus.options import CorpusOptions
from wikianchor.pipelines.japanese.corpus.records import RecordRange, read_records
from wikianchor.pipelines.japanese.duplicates import BANDS, KEPT, NEAR_DUPLICATE, bands, near_pairs, near_rows, repeated
from wikianchor.pipelines.japanese.normalise import cut_paragraph, is_japanese, paragraphs
from wikianchor.pipelines.japanese.noun_spans import noun_spans
from wikianchor.pipelines.japanese.parsing import Parse, Parsed, make_parser
from wikianchor.schemas import corpus

ROW_GROUP = 10_000
# Maximum characters parsed at once: longer paragraphs are cut at full stops, and dropped if they have none. Sudachi
# accepts at most 49,149 bytes.
MAX_CHARACTERS = 2_000
HEARTBEAT_SECONDS = 10.0
NOT_SAMPLED = 3
ANY_KEY = 1 << 64
VERDICTS = ("kept", "duplicate", "near_duplicate", "not_sampled")
# The rows of a parsed range: those of the dataset, and the MinHash bands by which near duplicates are found.
PARSED = pa.schema([*corpus.SCHEMA, pa.field("bands", pa.list_(pa.int64()), nullable=False)])
# Rules that need no tree.
WITHOUT_TREE = ("nouns", "nouns_names")
TOKEN_FIELDS = ("start", "end", "pos", "relation", "head")


class ShardRows(NamedTuple):
    """A shard of a `sentences` dataset, and its wiki."""

    path: str
    wiki: str


class InputRange(NamedTuple):
    """A range of the input, and its number among all."""

    order: int
    part: RecordRange | ShardRows


class ParsedRange(NamedTuple):
    """The parsed sentences of a range: their file ("" without a row), rows, counts by outcome, and problems."""

    order: int
    path: WorkPath
    rows: int
    counts: dict[str, int]
    problems: list[str]

    @property
    def metrics(self) -> dict[str, int]:
        """For Beam's counters."""
        return self.counts


class CorpusWritten(NamedTuple):
    """A finished shard: its file, numbers of sentences by verdict and of tokens, and counts by (word, pos)."""

    parts: tuple[Part, ...]
    counts: dict[str, int]
    tokens: int
    words: dict[tuple[str, str], int]

    @property
    def metrics(self) -> dict[str, int]:
        """For Beam's counters."""
        return self.counts


class ParseRange:
    """The step that parses a range of the input and writes its sentences. The parser is loaded once for each worker.

    Args:
        config: the options.
        work: the directories of the run.
        key_limit: rows of a dataset with this sample key or a greater one are not parsed.
    """

    def __init__(self, config: CorpusOptions, work: Workspace, key_limit: int) -> None:
        self._config, self._work, self._key_limit = config, work, key_limit

    @cached_property
    def _parse(self) -> Parse:
        return make_parser(self._config.parser)

    def __call__(self, task: InputRange) -> ParsedRange:
        counts: Counter[str] = Counter()
        problems: list[str] = []
        rows: list[dict[str, Any]] = []
        config = self._config
        next_log = time.monotonic() + HEARTBEAT_SECONDS
        with PartWriter(self._work.parts, "parsed", task.order, PARSED) as file:
            for source, records in _batches(task.part, config, self._key_limit, problems, counts):
                for number, index, sentence in _sentences(records, self._parse, config.min_tokens, counts):
                    rows.append(_row(source, number, index, sentence, config.parser))
                if len(rows) >= ROW_GROUP:
                    file.write(pa.Table.from_pylist(rows, PARSED))
                    rows.clear()
                if time.monotonic() > next_log:
                    next_log = time.monotonic() + HEARTBEAT_SECONDS
                    logging.getLogger("wikianchor").info("range %d: %d sentences", task.order, counts["sentences:seen"])
            file.write(pa.Table.from_pylist(rows, PARSED))
        part = file.part
        return ParsedRange(task.order, part.path if part else "", part.rows if part else 0, dict(counts), problems)


RECORDS = 256


def _batches(
    part: RecordRange | ShardRows, config: CorpusOptions, key_limit: int, problems: list[str], counts: Counter[str]
) -> Iterator[tuple[str, list[tuple[int, int, str]]]]:
    """Yield batches of a range: the source, and (number of the record, number of its first sentence, text)."""
    if isinstance(part, ShardRows):
        names = ("page_id", "sentence_index", "text")
        for shard_rows in read_batches(part.path, names):
            rows = list(zip(*(shard_rows.column(name).to_pylist() for name in names), strict=True))
            if key_limit < ANY_KEY:
                ids = np.array([sentence_id(text) for _, _, text in rows], np.int64)
                sampled = mix(config.seed, ids) < np.uint64(key_limit)
                rows = list(compress(rows, sampled.tolist()))
                counts["records:seen"] += len(ids) - len(rows)
                counts["records:not_sampled"] += len(ids) - len(rows)
            for start in range(0, len(rows), RECORDS):
                yield part.wiki, rows[start : start + RECORDS]
        return
    source = part.path.rpartition("/")[2]
    records = ((number, 0, text) for number, text in read_records(part, config.column, problems))
    while batch := list(islice(records, RECORDS)):
        yield source, batch


def _sentences(
    records: Sequence[tuple[int, int, str]], parse: Parse, min_tokens: int, counts: Counter[str]
) -> Iterator[tuple[int, int, Parsed]]:
    """Yield (number of the record, number in it, sentence) for the sentences that are kept; count all."""
    texts: list[str] = []
    text_records: list[int] = []
    for index, (_, _, text) in enumerate(records):
        counts["records:seen"] += 1
        cuts = [piece for paragraph in paragraphs(text) for piece in cut_paragraph(paragraph, MAX_CHARACTERS)]
        counts["records:without_text"] += not cuts
        for piece in cuts:
            if len(piece) > MAX_CHARACTERS:
                counts["sentences:seen"] += 1
                counts["sentences:too_long"] += 1
            else:
                texts.append(piece)
                text_records.append(index)
    numbers = [first for _, first, _ in records]
    for index, parsed in zip(text_records, parse(texts), strict=True):
        for sentence in parsed:
            counts["sentences:seen"] += 1
            number, numbers[index] = numbers[index], numbers[index] + 1
            if len(sentence.tokens) < min_tokens:
                counts["sentences:short"] += 1
            elif not is_japanese(sentence.text):
                counts["sentences:not_japanese"] += 1
            else:
                yield records[index][0], number, sentence


def _row(source: str, record: int, index: int, sentence: Parsed, parser: str) -> dict[str, Any]:
    """Return a row as of PARSED. Rules that need trees find no span without them."""
    text, tokens = sentence
    rules = SPAN_RULES if parser == "ginza" else WITHOUT_TREE
    spans = {rule: noun_spans(rule, text, tokens) if rule in rules else [] for rule in SPAN_RULES}
    return {
        "text": text,
        "sentence_id": sentence_id(text),
        "source": source,
        "record": record,
        "sentence_index": index,
        "tokens": [{name: getattr(token, name) for name in TOKEN_FIELDS} for token in tokens],
        "spans": {rule: [{"start": start, "end": end} for start, end in pairs] for rule, pairs in spans.items()},
        "bands": bands(text),
    }


def sentence_id(text: str) -> int:
    """Return the id of a sentence: a hash of its text that fits an int64."""
    return hash_string(text) >> 1


def find_repeats(parsed: Iterable[ParsedRange], config: CorpusOptions, work: Workspace) -> WorkPath:
    """Find the sentences that repeat earlier ones, and those that the sample leaves out.

    Returns:
        The path of tables: `verdict` of all rows, an index into VERDICTS; `orders` of the ranges with rows, and
        the (ranges + 1,) offsets of their rows, `starts`.
    """
    parsed_ranges = sorted((part for part in parsed if part.path), key=lambda part: part.order)
    starts = np.concatenate(([0], np.cumsum([part.rows for part in parsed_ranges], dtype=np.int64)))
    ids = np.empty(int(starts[-1]), np.int64)
    hashed = np.empty((len(ids), BANDS), np.int64)
    done = 0
    for part in parsed_ranges:
        for batch in read_batches(part.path, ["sentence_id", "bands"]):
            rows = slice(done, done + len(batch))
            ids[rows] = batch.column("sentence_id").to_numpy()
            hashed[rows] = batch.column("bands").flatten().to_numpy().reshape(-1, BANDS)
            done = rows.stop
    verdict = repeated(ids)
    if config.near:
        kept = np.flatnonzero(verdict == KEPT)
        pairs = near_pairs(hashed[kept], kept)
        verdict[near_rows(pairs, lambda wanted: _texts(parsed_ranges, starts, wanted), config.near)] = NEAR_DUPLICATE
    if config.sample:
        kept = np.flatnonzero(verdict == KEPT)
        # Ids are hashes of texts and differ between kept rows, so that no two sample keys are equal.
        sample_keys = mix(config.seed, ids[kept])
        verdict[kept[np.argsort(sample_keys, kind="stable")[config.sample :]]] = NOT_SAMPLED
    orders = np.array([part.order for part in parsed_ranges], np.int64)
    return save_tables(work.scratch, "verdict", {"verdict": verdict, "starts": starts, "orders": orders})


def _texts(parsed_ranges: Sequence[ParsedRange], starts: NDArray[np.int64], rows: Sequence[int]) -> Mapping[int, str]:
    """Return the texts of rows, by row number."""
    wanted = np.array(rows, np.int64)
    texts_by_row: dict[int, str] = {}
    for number in np.unique(np.searchsorted(starts, wanted, side="right") - 1).tolist():
        begin = int(starts[number])
        for batch in read_batches(parsed_ranges[number].path, ["text"]):
            inside = wanted[(wanted >= begin) & (wanted < begin + len(batch))]
            texts = batch.column("text").take(pa.array(inside - begin)).to_pylist()
            texts_by_row.update(zip(inside.tolist(), texts, strict=True))
            begin += len(batch)
    return texts_by_row


def write_shard(parsed: ParsedRange, work: Workspace, verdict_path: str) -> CorpusWritten:
    """Write the sentences of a parsed range that are kept, and count their words."""
    if not parsed.path:
        return CorpusWritten((), {}, 0, {})
    stored = open_tables(verdict_path)
    number = int(np.searchsorted(stored["orders"], parsed.order))
    verdict = stored["verdict"][slice(*stored["starts"][number : number + 2])]
    words: Counter[tuple[str, str]] = Counter()
    tokens = done = 0
    with PartWriter(work.parts, "corpus", parsed.order, corpus.SCHEMA) as file:
        for batch in read_batches(parsed.path, corpus.SCHEMA.names):
            kept = pa.array(verdict[done : done + len(batch)] == KEPT)
            done += len(batch)
            table = pa.Table.from_batches([batch]).filter(kept).select(corpus.SCHEMA.names).cast(corpus.SCHEMA)
            for text, listed in zip(table["text"].to_pylist(), table["tokens"].to_pylist(), strict=True):
                tokens += len(listed)
                words.update((text[token["start"] : token["end"]], token["pos"]) for token in listed)
            file.write(table)
    counts = {f"sentences:{name}": int((verdict == kind).sum()) for kind, name in enumerate(VERDICTS)}
    return CorpusWritten((file.part,) if file.part else (), counts, tokens, dict(words))


def write_words(work: Workspace, words: Counter[tuple[str, str]]) -> tuple[Part, ...]:
    """Write the number of occurrences of each word in the corpus, the most frequent first."""
    ordered = sorted(words.items(), key=lambda item: (-item[1], item[0]))
    rows = [{"word": word, "pos": pos, "count": count} for (word, pos), count in ordered]
    return write_part(work.parts, "words", 0, corpus.WORDS, rows)
