"""Fill holes in texts with a T5 and beam search. PyTorch, no Apache Beam.

All ranks come from one beam search. A fill may have twice the pieces of the original, or two more: longer ones would be
dropped afterwards, and a small T5 might never end. A batch has sentences with targets of similar length; it depends
only on the sentences, so that results are reproducible. A batch that needs too much memory is halved.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from copy import copy
from typing import Any, NamedTuple

from wikianchor.io.errors import InputError, UsageError
from wikianchor.pipelines.japanese.negatives.fills import continues_noun, filled, is_noun_like
from wikianchor.pipelines.japanese.negatives.options import NegativesOptions
from wikianchor.pipelines.japanese.noun_phrases import is_sound, make_reader, may_begin, may_end, says_nothing
from wikianchor.schemas.sentinels import EOS, PAD, UNKNOWN, Vocabulary

# Maximum of source tokens times beams in a batch: 32 sentences of 64 tokens with 20 beams.
BATCH_TOKENS = 40_960
HEARTBEAT_SECONDS = 10.0
_NO_MEMORY = ("out of memory", "can't allocate memory")


class Holes(NamedTuple):
    """A text, and the spans to fill in it, ascending."""

    text: str
    spans: tuple[tuple[int, int], ...]


# Returns the targets of each source, by rank, given the sources and the maximum number of pieces of each of their
# holes.
Generate = Callable[[Sequence[Sequence[int]], Sequence[Sequence[int]]], list[list[list[int]]]]
Ranked = list[list[str | None]]


class HoleFiller:
    """Fill holes with a generator.

    Args:
        vocabulary: the model's vocabulary.
        generate: the beam search of the model.
        options: `beams`, `fill` and `hole_tokens` are used.
    """

    def __init__(self, vocabulary: Vocabulary, generate: Generate, options: NegativesOptions) -> None:
        self.vocabulary, self._options, self._generate = vocabulary, options, generate

    @property
    def most_holes(self) -> int:
        """The maximum number of holes in a text: one sentinel more closes the last hole."""
        return self.vocabulary.extra - 1

    def fill(self, items: Sequence[Holes]) -> list[Ranked | None]:
        """Return for each text the fills of its holes, by rank; None for a text that alone needs too much memory."""
        return self._each(items) if self._options.fill == "each" else self._at_once(items)

    def _at_once(self, items: Sequence[Holes]) -> list[Ranked | None]:
        sources = [self.vocabulary.with_holes(item.text, item.spans) for item in items]
        max_pieces = [self._max_pieces(item) for item in items]
        tokens = BATCH_TOKENS // self._options.beams
        fills: list[Ranked | None] = [None] * len(items)
        done, next_log = 0, time.monotonic() + HEARTBEAT_SECONDS
        target_lengths = [sum(pieces) + len(pieces) for pieces in max_pieces]
        for rows in batches([len(source) for source in sources], target_lengths, tokens):
            targets = self._split([sources[row] for row in rows], [max_pieces[row] for row in rows])
            for row, ranked in zip(rows, targets, strict=True):
                if ranked is not None:
                    holes = len(items[row].spans)
                    fills[row] = [self.vocabulary.fills(target, holes) for target in ranked]
            done += len(rows)
            if time.monotonic() > next_log:
                next_log = time.monotonic() + HEARTBEAT_SECONDS
                logging.getLogger("wikianchor").info("filled %d of %d sentences", done, len(items))
        return fills

    def _max_pieces(self, item: Holes) -> list[int]:
        """Return the maximum number of pieces of each hole."""
        originals = [len(self.vocabulary.encode(item.text[start:end], inside=True)) for start, end in item.spans]
        return [min(self._options.hole_tokens, max(2 * pieces, pieces + 2)) for pieces in originals]

    def _each(self, items: Sequence[Holes]) -> list[Ranked | None]:
        """Fill the first hole of all texts, then the second hole of the results, and so on.

        Rank r of the result has the fill of rank r in each step, as in the released code of SDJC.
        """
        ranks = self._options.beams
        paths: list[list[list[str | None]] | None] = [[[] for _ in range(ranks)] for _ in items]
        for step in range(max((len(item.spans) for item in items), default=0)):
            requests: dict[Holes, list[tuple[int, int]]] = {}
            for row, item in enumerate(items):
                path = paths[row]
                if path is None or step >= len(item.spans):
                    continue
                for rank in range(ranks):
                    if None not in path[rank]:
                        requests.setdefault(_with_filled(item, path[rank]), []).append((row, rank))
            for owners, ranked in zip(requests.values(), self._at_once(list(requests)), strict=True):
                for row, rank in owners:
                    path = paths[row]
                    if ranked is None:
                        paths[row] = None
                    elif path is not None:
                        path[rank].append(ranked[rank][0] if rank < len(ranked) else None)
        return [
            None if path is None else [fills + [None] * (len(item.spans) - len(fills)) for fills in path]
            for path, item in zip(paths, items, strict=True)
        ]

    def _split(
        self, sources: Sequence[Sequence[int]], max_pieces: Sequence[Sequence[int]]
    ) -> list[list[list[int]] | None]:
        """Generate the targets of a batch; halve it as long as it does not fit in memory."""
        try:
            return list(self._generate(sources, max_pieces))
        except (RuntimeError, MemoryError) as error:
            if not isinstance(error, MemoryError) and not any(sign in str(error).lower() for sign in _NO_MEMORY):
                raise
        _free()
        if len(sources) == 1:
            return [None]
        logging.getLogger("wikianchor").info("out of memory: a batch of %d is halved", len(sources))
        half = len(sources) // 2
        return self._split(sources[:half], max_pieces[:half]) + self._split(sources[half:], max_pieces[half:])


def _with_filled(item: Holes, fills: Sequence[str | None]) -> Holes:
    """Return the text with its first holes filled, and its next hole as the only one."""
    text = filled(item.text, item.spans[: len(fills)], [fill or "" for fill in fills])
    start, end = item.spans[len(fills)]
    shift = len(text) - len(item.text)
    return Holes(text, ((start + shift, end + shift),))


def batches(lengths: Sequence[int], targets: Sequence[int], tokens: int) -> list[list[int]]:
    """Return batches of rows with similar targets, the longest first.

    Args:
        lengths: number of tokens of each source.
        targets: number of tokens of each target.
        tokens: maximum number of source tokens in a batch, with padding; a single row may have more.
    """
    order = sorted(range(len(lengths)), key=lambda row: (-targets[row], -lengths[row], row))
    rows_by_batch: list[list[int]] = []
    longest = 0
    for row in order:
        longest = max(longest, lengths[row])
        if rows_by_batch and longest * (len(rows_by_batch[-1]) + 1) <= tokens:
            rows_by_batch[-1].append(row)
        else:
            rows_by_batch.append([row])
            longest = lengths[row]
    return rows_by_batch


def _free() -> None:
    import torch

    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def load_filler(options: NegativesOptions) -> HoleFiller:
    """Load the T5 that `--model` names.

    Raises:
        InputError: the directory has no T5 with a sentencepiece vocabulary.
        UsageError: the packages are not installed.
    """
    try:
        import torch
        from transformers import T5ForConditionalGeneration
        from transformers import logging as transformers_logging
        from transformers.activations import NewGELUActivation

        from wikianchor.pipelines.japanese.negatives.beam_search import Alphabet, Decoder, search
    except ImportError as error:
        raise UsageError(f"--model needs its packages ({error}): pip install 'wikianchor[t5]'") from error
    transformers_logging.set_verbosity_error()
    transformers_logging.disable_progress_bar()
    device = torch.device(options.device or ("cuda" if torch.cuda.is_available() else "cpu"))
    kind = torch.bfloat16 if device.type == "cuda" else torch.float32
    try:
        vocabulary = Vocabulary.read(options.model)
        model = T5ForConditionalGeneration.from_pretrained(options.model, dtype=kind).to(device).eval()
    except Exception as error:
        # transformers and sentencepiece raise many types of errors for files that are no model.
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise InputError(f"--model={options.model}: no T5 that can be read ({reason}): wikianchor train t5") from error
    if vocabulary.size > int(model.config.vocab_size):
        raise InputError(f"--model={options.model}: {vocabulary.size} ids, and {model.config.vocab_size} vectors")

    # The same function as one kernel instead of eight.
    for module in list(model.modules()):
        for name, child in module.named_children():
            if isinstance(child, NewGELUActivation):
                setattr(module, name, torch.nn.GELU("tanh"))
    decoder = Decoder(model)
    alphabet = Alphabet(vocabulary.sentinel(0), banned_pieces(vocabulary).to(device))

    def generate(sources: Sequence[Sequence[int]], max_pieces: Sequence[Sequence[int]]) -> list[list[list[int]]]:
        # A decoder has the state of its batch, and threads of a worker share the model: so each batch gets a copy.
        with torch.inference_mode():
            return search(copy(decoder), alphabet, sources, max_pieces, options.beams)

    return HoleFiller(vocabulary, generate, options)


def banned_pieces(vocabulary: Vocabulary) -> Any:
    """Return the pieces that a fill must not contain, because its candidate would be dropped afterwards.

    Returns:
        (4, pieces) float32, -inf for pieces that a fill must not continue with, begin with, end with, and consist of.
        A ban that would exclude all pieces is left out.
    """
    import torch

    read = make_reader()
    texts = [vocabulary.decode([piece]).strip() for piece in range(vocabulary.size - vocabulary.extra)]
    words = [read(text) for text in texts]
    later = [not continues_noun(text) for text in texts]
    first = [
        not (morphemes and continues_noun(text) and is_noun_like(text) and may_begin(morphemes[0]))
        for text, morphemes in zip(texts, words, strict=True)
    ]
    last = [bool(morphemes) and not may_end(morphemes[-1]) for morphemes in words]
    alone = [
        is_sound(text) or (bool(morphemes) and says_nothing(morphemes))
        for text, morphemes in zip(texts, words, strict=True)
    ]
    banned = torch.tensor([later, *(later if all(ban) else ban for ban in (first, last, alone))])
    banned[:, [PAD, EOS, UNKNOWN]] = True
    return torch.zeros(banned.shape).masked_fill(banned, -torch.inf)
