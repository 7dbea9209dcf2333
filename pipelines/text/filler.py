"""A T5 that fills holes by beam search: texts with spans in, the fills of every rank out. PyTorch, no Beam.

All ranks of a beam come from one decode. A fill may have twice the pieces of what stood there, or two more: longer ones
are dropped afterwards anyway, and a T5 that knows little never ends. Sentences go through in batches whose targets are
of like length, since a batch takes as long as its longest. The make-up depends on the sentences and the kind of device
alone, so the result is the same again. A batch that does not fit into memory is halved.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from pipelines.errors import InputError, UsageError
from pipelines.text.fills import begins_noun, continues_noun
from schemas.sentinels import EOS, PAD, UNKNOWN, Vocabulary

# Tokens of a batch, source times beams: 16 sentences of 64 tokens with 20 beams. A core of a CPU does no more rows at
# once than one after the other, and in small batches fewer wait for the longest.
BATCH_TOKENS = {"cuda": 20_480, "cpu": 2_560}
HEARTBEAT_SECONDS = 10.0
_NO_MEMORY = ("out of memory", "can't allocate memory")


class Holes(NamedTuple):
    """A text and the spans to fill in it, in order."""

    text: str
    spans: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Search:
    """How holes are filled.

    Attributes:
        beams: width of the search.
        ranks: candidates of a text, at most as many as beams.
        each: one hole after the other, each rank on its own path, instead of all at once.
        hole_tokens: most tokens of a hole, whatever stood there.
        device: "" for cuda where there is one.
        batch_tokens: source tokens times beams of a batch; 0 for what suits the device.
    """

    beams: int
    ranks: int
    each: bool = False
    hole_tokens: int = 15
    device: str = ""
    batch_tokens: int = 0


# Sources and the most pieces of each of their holes in; of each source the targets by rank out.
Generate = Callable[[Sequence[Sequence[int]], Sequence[Sequence[int]]], list[list[list[int]]]]
Ranked = list[list[str | None]]


class Filler:
    """A vocabulary and what generates."""

    def __init__(self, vocabulary: Vocabulary, generate: Generate, search: Search) -> None:
        self.vocabulary, self.search, self._generate = vocabulary, search, generate

    @property
    def most_holes(self) -> int:
        """Holes that a text can have: one sentinel closes the last."""
        return self.vocabulary.extra - 1

    def fill(self, items: Sequence[Holes]) -> list[Ranked | None]:
        """Return of each text the fills of its holes, rank by rank; None where one text alone takes too much memory."""
        return self._each(items) if self.search.each else self._at_once(items)

    def _at_once(self, items: Sequence[Holes]) -> list[Ranked | None]:
        sources = [self.vocabulary.with_holes(item.text, item.spans) for item in items]
        rooms = [self._rooms(item) for item in items]
        tokens = (self.search.batch_tokens or BATCH_TOKENS["cpu"]) // self.search.beams
        found: list[Ranked | None] = [None] * len(items)
        done, heart = 0, time.monotonic() + HEARTBEAT_SECONDS
        for rows in batches([len(source) for source in sources], [sum(room) + len(room) for room in rooms], tokens):
            targets = self._split([sources[row] for row in rows], [rooms[row] for row in rows])
            for row, ranked in zip(rows, targets, strict=True):
                if ranked is not None:
                    holes = len(items[row].spans)
                    found[row] = [self.vocabulary.fills(target, holes) for target in ranked]
            done += len(rows)
            if time.monotonic() > heart:
                heart = time.monotonic() + HEARTBEAT_SECONDS
                logging.getLogger("wikianchor").info("filled %d of %d sentences", done, len(items))
        return found

    def _rooms(self, item: Holes) -> list[int]:
        """Return the most pieces of each hole."""
        were = [len(self.vocabulary.encode(item.text[start:end], inside=True)) for start, end in item.spans]
        return [min(self.search.hole_tokens, max(2 * pieces, pieces + 2)) for pieces in were]

    def _each(self, items: Sequence[Holes]) -> list[Ranked | None]:
        """Fill the first hole of all texts, then the second in what came out, and so on; the path of rank r takes rank
        r in each step, as the released code does."""
        ranks = self.search.ranks
        paths: list[list[list[str | None]] | None] = [[[] for _ in range(ranks)] for _ in items]
        for step in range(max((len(item.spans) for item in items), default=0)):
            asked: dict[Holes, list[tuple[int, int]]] = {}
            for row, item in enumerate(items):
                path = paths[row]
                if path is None or step >= len(item.spans):
                    continue
                for rank in range(ranks):
                    if None not in path[rank]:
                        asked.setdefault(_with_filled(item, path[rank]), []).append((row, rank))
            for owners, ranked in zip(asked.values(), self._at_once(list(asked)), strict=True):
                for row, rank in owners:
                    path = paths[row]
                    if ranked is None:
                        paths[row] = None
                    elif path is not None:
                        path[rank].append(ranked[rank][0] if rank < len(ranked) else None)
        return [
            None if path is None else [_whole(fills, len(item.spans)) for fills in path]
            for path, item in zip(paths, items, strict=True)
        ]

    def _split(self, sources: Sequence[Sequence[int]], rooms: Sequence[Sequence[int]]) -> list[list[list[int]] | None]:
        try:
            return list(self._generate(sources, rooms))
        except (RuntimeError, MemoryError) as error:
            if not isinstance(error, MemoryError) and not any(sign in str(error).lower() for sign in _NO_MEMORY):
                raise
        _free()
        if len(sources) == 1:
            return [None]
        logging.getLogger("wikianchor").info("out of memory: a batch of %d is halved", len(sources))
        half = len(sources) // 2
        return self._split(sources[:half], rooms[:half]) + self._split(sources[half:], rooms[half:])


def _with_filled(item: Holes, fills: Sequence[str | None]) -> Holes:
    """Return the text with its first holes filled, and the next hole in it."""
    parts, place, length = [], 0, 0
    for (start, end), fill in zip(item.spans, fills, strict=False):
        parts += [item.text[place:start], fill or ""]
        place = end
    length = sum(map(len, parts)) - place
    start, end = item.spans[len(fills)]
    return Holes("".join([*parts, item.text[place:]]), ((start + length, end + length),))


def _whole(fills: list[str | None], holes: int) -> list[str | None]:
    return fills + [None] * (holes - len(fills))


def batches(lengths: Sequence[int], targets: Sequence[int], tokens: int) -> list[list[int]]:
    """Return rows in batches of like targets, the longest first, each of at most `tokens` of source with its padding,
    or one row. The make-up depends on the lengths of sources and targets alone."""
    order = sorted(range(len(lengths)), key=lambda row: (-targets[row], -lengths[row], row))
    found: list[list[int]] = []
    longest = 0
    for row in order:
        longest = max(longest, lengths[row])
        if found and longest * (len(found[-1]) + 1) <= tokens:
            found[-1].append(row)
        else:
            found.append([row])
            longest = lengths[row]
    return found


def _free() -> None:
    import torch

    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def load_filler(directory: str, search: Search) -> Filler:
    """Read a T5 from a directory.

    Raises:
        InputError: there is no T5 with a sentencepiece vocabulary.
        UsageError: the packages are not installed.
    """
    try:
        import torch
        from transformers import T5ForConditionalGeneration
        from transformers import logging as transformers_logging
    except ImportError as error:
        raise UsageError(f"--model needs its packages ({error}): pip install 'wikianchor[t5]'") from error
    transformers_logging.set_verbosity_error()
    transformers_logging.disable_progress_bar()
    device = torch.device(search.device or ("cuda" if torch.cuda.is_available() else "cpu"))
    kind = torch.bfloat16 if device.type == "cuda" else torch.float32
    try:
        vocabulary = Vocabulary.read(directory)
        model = T5ForConditionalGeneration.from_pretrained(directory, dtype=kind).to(device).eval()
    except Exception as error:
        # transformers and sentencepiece raise many kinds; each means that there is no model here.
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise InputError(
            f"--model={directory}: no T5 that can be read ({reason}): python -m trainer.task t5"
        ) from error
    if vocabulary.size > int(model.config.vocab_size):
        raise InputError(f"--model={directory}: {vocabulary.size} ids, and {model.config.vocab_size} vectors")

    def generate(sources: Sequence[Sequence[int]], rooms: Sequence[Sequence[int]]) -> list[list[list[int]]]:
        return _generate(model, vocabulary, sources, rooms, search, pieces)

    pieces = noun_pieces(vocabulary, device)
    tokens = search.batch_tokens or BATCH_TOKENS.get(device.type, BATCH_TOKENS["cuda"])
    return Filler(vocabulary, generate, replace(search, batch_tokens=tokens))


def _generate(
    model: Any,
    vocabulary: Vocabulary,
    sources: Sequence[Sequence[int]],
    rooms: Sequence[Sequence[int]],
    search: Search,
    pieces: NounPieces,
) -> list[list[list[int]]]:
    import torch
    from transformers import LogitsProcessorList

    ids = torch.full((len(sources), max(map(len, sources))), PAD, dtype=torch.int64)
    for row, source in enumerate(sources):
        ids[row, : len(source)] = torch.tensor(source)
    ids = ids.to(model.device)
    most = max(map(len, rooms))
    table = torch.tensor([[*room, *[0] * (most - len(room))] for room in rooms], device=model.device)
    frame = Frame(vocabulary, table.repeat_interleave(search.beams, 0), pieces)
    with torch.inference_mode():
        found = model.generate(
            input_ids=ids,
            attention_mask=ids != PAD,
            num_beams=search.beams,
            num_return_sequences=search.ranks,
            max_new_tokens=2 + max(sum(room) + len(room) for room in rooms),
            do_sample=False,
            early_stopping=True,
            logits_processor=LogitsProcessorList([frame]),
        )
    # The first token is the decoder's start.
    listed = found[:, 1:].tolist()
    return [listed[start : start + search.ranks] for start in range(0, len(listed), search.ranks)]


class NounPieces(NamedTuple):
    """Which pieces of a vocabulary, (pieces,) bool, a fill must not begin with, and must not go on with."""

    not_first: Any
    not_later: Any


def noun_pieces(vocabulary: Vocabulary, device: Any) -> NounPieces:
    """Return the pieces that no noun has. A vocabulary without a piece that begins a noun is not held to that."""
    import torch

    texts = [vocabulary.decode([piece]) for piece in range(vocabulary.size - vocabulary.extra)]
    later = [not continues_noun(text) for text in texts]
    first = [not begins_noun(text) for text in texts]
    return NounPieces(torch.tensor(later if all(first) else first, device=device), torch.tensor(later, device=device))


class Frame:
    """Keeps a search to targets that fill each hole once: the sentinels in their order, a piece or more after each but
    the last, and </s> after that. A T5 that has seen little of a domain leaves holes out, or fills one for ever. A fill
    begins as a noun does and ends no sentence: what does not is dropped afterwards anyway, and takes a rank.

    Args:
        vocabulary: of the model.
        rooms: (rows, holes) int64, most pieces of each hole, 0 past the last; rows of one source follow each other.
        pieces: what a fill is not made of.
    """

    def __init__(self, vocabulary: Vocabulary, rooms: Any, pieces: NounPieces) -> None:
        self._first, self._pieces = vocabulary.size - 1, vocabulary.size - vocabulary.extra
        self._rooms, self._holes = rooms, (rooms > 0).sum(1)
        self._not_first, self._not_later = pieces

    def __call__(self, ids: Any, scores: Any) -> Any:
        """ids: (rows, length) int64, the decoder's start included; scores: (rows, vocabulary); returns scores with
        -inf for what must not come next."""
        import torch

        sentinel = ids >= self._pieces
        opened = sentinel.sum(1)
        places = torch.arange(ids.shape[1], device=ids.device)
        last = torch.where(sentinel, places, -1).amax(1)
        since = ids.shape[1] - 1 - last
        closed = opened > self._holes
        # Which sentinel is next; none is allowed in a hole that is empty.
        due = self._first - opened
        may_close = (opened == 0) | (since >= 1)
        current = (opened - 1).clamp(0, self._rooms.shape[1] - 1)
        must_close = (opened == 0) | (since >= self._rooms.gather(1, current[:, None])[:, 0])
        own = scores.gather(1, due[:, None])[:, 0]
        masked = scores.clone()
        masked[:, self._pieces :] = -torch.inf
        begins = (since == 0)[:, None]
        masked[:, : self._pieces].masked_fill_(torch.where(begins, self._not_first, self._not_later), -torch.inf)
        masked[:, [PAD, EOS, UNKNOWN]] = -torch.inf
        masked[must_close | closed] = -torch.inf
        masked.scatter_(1, due[:, None], torch.where(may_close & ~closed, own, -torch.inf)[:, None])
        # A beam that has ended is padded.
        ended = closed & (since >= 1)
        masked[:, EOS] = torch.where(closed & ~ended, scores[:, EOS], -torch.inf)
        masked[:, PAD] = torch.where(ended, torch.zeros_like(own), -torch.inf)
        return masked
