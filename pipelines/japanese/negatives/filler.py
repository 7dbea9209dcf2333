"""A T5 that fills holes by beam search: texts with spans in, the fills of every rank out. PyTorch, no Beam.

All ranks of a beam come from one decode. A fill may have twice the pieces of what stood there, or two more: longer ones
are dropped afterwards anyway, and a T5 that knows little never ends. Sentences go through in batches whose targets are
of like length. The make-up depends on the sentences alone, so the result is the same again. A batch that does not fit
into memory is halved.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, NamedTuple

from wikianchor.io.errors import InputError, UsageError
from wikianchor.pipelines.japanese.negatives.fills import continues_noun, is_noun_like
from wikianchor.pipelines.japanese.noun_phrases import is_sound, make_reader, may_begin, may_end, says_nothing
from wikianchor.schemas.sentinels import EOS, PAD, UNKNOWN, Vocabulary

# 32 sentences of 64 tokens with 20 beams.
BATCH_TOKENS = 40_960
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
        batch_tokens: source tokens of a batch times beams.
    """

    beams: int
    ranks: int
    each: bool = False
    hole_tokens: int = 15
    device: str = ""
    batch_tokens: int = BATCH_TOKENS


# Sources and the most pieces of each of their holes in; of each source the targets by rank out.
Generate = Callable[[Sequence[Sequence[int]], Sequence[Sequence[int]]], list[list[list[int]]]]
Ranked = list[list[str | None]]


class HoleFiller:
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
        tokens = self.search.batch_tokens // self.search.beams
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


def load_filler(directory: str, search: Search) -> HoleFiller:
    """Read a T5 from a directory.

    Raises:
        InputError: there is no T5 with a sentencepiece vocabulary.
        UsageError: the packages are not installed.
    """
    try:
        import torch
        from transformers import T5ForConditionalGeneration
        from transformers import logging as transformers_logging
        from transformers.activations import NewGELUActivation

        from wikianchor.pipelines.japanese.negatives.beam_search import Alphabet, Decoder
        from wikianchor.pipelines.japanese.negatives.beam_search import search as beam_search
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
        raise InputError(f"--model={directory}: no T5 that can be read ({reason}): wikianchor train t5") from error
    if vocabulary.size > int(model.config.vocab_size):
        raise InputError(f"--model={directory}: {vocabulary.size} ids, and {model.config.vocab_size} vectors")

    # The same function in one pass instead of eight.
    for module in list(model.modules()):
        for name, child in module.named_children():
            if isinstance(child, NewGELUActivation):
                setattr(module, name, torch.nn.GELU("tanh"))
    decoder = Decoder(model)
    alphabet = Alphabet(vocabulary.sentinel(0), banned_pieces(vocabulary).to(device))

    def generate(sources: Sequence[Sequence[int]], rooms: Sequence[Sequence[int]]) -> list[list[list[int]]]:
        # Threads of a worker share the model, and a decoder holds what it has read: each batch has its own.
        own = copy(decoder)
        with torch.inference_mode():
            return [found[: search.ranks] for found in beam_search(own, alphabet, sources, rooms, search.beams)]

    return HoleFiller(vocabulary, generate, search)


def banned_pieces(vocabulary: Vocabulary) -> Any:
    """Return the pieces that no noun has, (4, pieces) float32: -inf for what a fill must not go on with, must not begin
    with, must not end with and must not be alone, since that is dropped afterwards anyway. A vocabulary without a piece
    that begins, ends or is a noun is not held to that."""
    import torch

    read = make_reader()
    texts = [vocabulary.decode([piece]).strip() for piece in range(vocabulary.size - vocabulary.extra)]
    words = [read(text) for text in texts]
    later = [not continues_noun(text) for text in texts]
    first = [
        not (found and continues_noun(text) and is_noun_like(text) and may_begin(found[0]))
        for text, found in zip(texts, words, strict=True)
    ]
    last = [bool(found) and not may_end(found[-1]) for found in words]
    alone = [is_sound(text) or (bool(found) and says_nothing(found)) for text, found in zip(texts, words, strict=True)]
    banned = torch.tensor([later, *(later if all(ban) else ban for ban in (first, last, alone))])
    banned[:, [PAD, EOS, UNKNOWN]] = True
    return torch.zeros(banned.shape).masked_fill(banned, -torch.inf)
