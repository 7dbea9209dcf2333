"""A T5 that fills holes by beam search: texts with spans in, the fills of every rank out. PyTorch, no Beam.

All ranks of a beam come from one decode. Sentences go through in batches of like length, whose make-up depends on the
sentences alone, so the result is the same wherever they are run. A batch that does not fit into memory is halved.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from pipelines.errors import InputError, UsageError
from schemas.sentinels import EOS, PAD, UNKNOWN, Vocabulary

# Tokens of a batch, source times beams: 16 sentences of 64 tokens with 20 beams.
BATCH_TOKENS = 20_480
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
        hole_tokens: most tokens of a hole.
        device: "" for cuda where there is one.
        batch_tokens: source tokens times beams of a batch.
    """

    beams: int
    ranks: int
    each: bool = False
    hole_tokens: int = 15
    device: str = ""
    batch_tokens: int = BATCH_TOKENS


# Sources and the number of their holes in; of each source the targets by rank out.
Generate = Callable[[Sequence[Sequence[int]], Sequence[int]], list[list[list[int]]]]
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
        found: list[Ranked | None] = [None] * len(items)
        done, heart = 0, time.monotonic() + HEARTBEAT_SECONDS
        for rows in batches([len(source) for source in sources], self.search.batch_tokens // self.search.beams):
            targets = self._split([sources[row] for row in rows], [len(items[row].spans) for row in rows])
            for row, ranked in zip(rows, targets, strict=True):
                if ranked is not None:
                    holes = len(items[row].spans)
                    found[row] = [self.vocabulary.fills(target, holes) for target in ranked]
            done += len(rows)
            if time.monotonic() > heart:
                heart = time.monotonic() + HEARTBEAT_SECONDS
                logging.getLogger("wikianchor").info("filled %d of %d sentences", done, len(items))
        return found

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

    def _split(self, sources: Sequence[Sequence[int]], holes: Sequence[int]) -> list[list[list[int]] | None]:
        try:
            return list(self._generate(sources, holes))
        except (RuntimeError, MemoryError) as error:
            if not isinstance(error, MemoryError) and not any(sign in str(error).lower() for sign in _NO_MEMORY):
                raise
        _free()
        if len(sources) == 1:
            return [None]
        logging.getLogger("wikianchor").info("out of memory: a batch of %d is halved", len(sources))
        half = len(sources) // 2
        return self._split(sources[:half], holes[:half]) + self._split(sources[half:], holes[half:])


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


def batches(lengths: Sequence[int], tokens: int) -> list[list[int]]:
    """Return rows in batches of like length, the longest first, each of at most `tokens` with its padding, or one row.
    The make-up depends on the lengths alone."""
    order = sorted(range(len(lengths)), key=lambda row: (-lengths[row], row))
    found: list[list[int]] = []
    for row in order:
        if found and lengths[found[-1][0]] * (len(found[-1]) + 1) <= tokens:
            found[-1].append(row)
        else:
            found.append([row])
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

    def generate(sources: Sequence[Sequence[int]], holes: Sequence[int]) -> list[list[list[int]]]:
        return _generate(model, vocabulary, sources, holes, search)

    return Filler(vocabulary, generate, search)


def _generate(
    model: Any, vocabulary: Vocabulary, sources: Sequence[Sequence[int]], holes: Sequence[int], search: Search
) -> list[list[list[int]]]:
    import torch
    from transformers import LogitsProcessorList

    ids = torch.full((len(sources), max(map(len, sources))), PAD, dtype=torch.int64)
    for row, source in enumerate(sources):
        ids[row, : len(source)] = torch.tensor(source)
    ids = ids.to(model.device)
    frame = Frame(
        vocabulary, torch.tensor(holes, device=model.device).repeat_interleave(search.beams), search.hole_tokens
    )
    with torch.inference_mode():
        found = model.generate(
            input_ids=ids,
            attention_mask=ids != PAD,
            num_beams=search.beams,
            num_return_sequences=search.ranks,
            max_new_tokens=2 + max(holes) * (1 + search.hole_tokens),
            do_sample=False,
            early_stopping=True,
            logits_processor=LogitsProcessorList([frame]),
        )
    # The first token is the decoder's start.
    listed = found[:, 1:].tolist()
    return [listed[start : start + search.ranks] for start in range(0, len(listed), search.ranks)]


class Frame:
    """Keeps a search to targets that fill each hole once: the sentinels in their order, a piece or more after each but
    the last, and </s> after that. A T5 that has seen little of a domain leaves holes out, or fills one for ever.

    Args:
        vocabulary: of the model.
        holes: (rows,) int64, of each row of the search; rows of one source follow each other.
        most: pieces of a hole.
    """

    def __init__(self, vocabulary: Vocabulary, holes: Any, most: int) -> None:
        self._first, self._pieces = vocabulary.size - 1, vocabulary.size - vocabulary.extra
        self._holes, self._most = holes, most

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
        must_close = (opened == 0) | (since >= self._most)
        own = scores.gather(1, due[:, None])[:, 0]
        masked = scores.clone()
        masked[:, self._pieces :] = -torch.inf
        masked[:, [PAD, EOS, UNKNOWN]] = -torch.inf
        masked[must_close | closed] = -torch.inf
        masked.scatter_(1, due[:, None], torch.where(may_close & ~closed, own, -torch.inf)[:, None])
        # A beam that has ended is padded.
        ended = closed & (since >= 1)
        masked[:, EOS] = torch.where(closed & ~ended, scores[:, EOS], -torch.inf)
        masked[:, PAD] = torch.where(ended, torch.zeros_like(own), -torch.inf)
        return masked
