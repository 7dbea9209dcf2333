"""The search against one written plainly, against transformers' own, and over the kinds of T5 there are."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest

from wikianchor.schemas.sentinels import EOS, PAD, UNKNOWN

torch = pytest.importorskip("torch", reason="NO TORCH: pip install '.[t5]'")
transformers = pytest.importorskip("transformers", reason="NO TRANSFORMERS: pip install '.[t5]'")
# It imports torch itself.
beam_search = pytest.importorskip("wikianchor.pipelines.japanese.negatives.beam_search")
NEVER, Alphabet, Decoder, search = (getattr(beam_search, name) for name in ("NEVER", "Alphabet", "Decoder", "search"))

PIECES, EXTRA, UNUSED = 12, 6, 3
FIRST = PIECES + EXTRA - 1
SOURCES = [[5, FIRST, 7, FIRST - 1, 9, EOS], [FIRST, 4, 8, 8, 3, FIRST - 1, 5, FIRST - 2, EOS], [6, FIRST, EOS]]
ROOMS = [[2, 3], [1, 2, 2], [4]]
KINDS: dict[str, dict[str, Any]] = {
    "tied": {},
    "gated, not tied": {"feed_forward_proj": "gated-gelu", "tie_word_embeddings": False},
    "heads wider than the model": {"d_kv": 16, "num_layers": 1, "relative_attention_max_distance": 8},
}


def t5(kind: str = "tied", seed: int = 1) -> Any:
    torch.manual_seed(seed)
    shape = {"num_layers": 2, "d_model": 16, "num_heads": 2, "d_kv": 8, "d_ff": 32, "relative_attention_num_buckets": 8}
    special = {"pad_token_id": PAD, "eos_token_id": EOS, "decoder_start_token_id": PAD}
    config = transformers.T5Config(vocab_size=FIRST + 1 + UNUSED, **special, **(shape | KINDS[kind]))
    model = transformers.T5ForConditionalGeneration(config).eval()
    with torch.no_grad():
        # Weights at which the position and the source matter, and no distribution is flat.
        for weight in model.parameters():
            weight.mul_(2)
    return model


def alphabet(
    first: Sequence[int] = (), later: Sequence[int] = (), last: Sequence[int] = (), alone: Sequence[int] = ()
) -> Any:
    """An alphabet in which fills do not begin with, do not go on with, do not end with and are not some pieces."""
    banned = torch.zeros(4, PIECES)
    banned[:, [PAD, EOS, UNKNOWN, *later]] = NEVER
    banned[1, list(first)] = NEVER
    banned[2, list(last)] = NEVER
    banned[3, list(alone)] = NEVER
    return Alphabet(FIRST, banned)


def log_probabilities(model: Any, source: Sequence[int], targets: Sequence[Sequence[int]]) -> list[list[float]]:
    """Of the piece after each target, by transformers' forward without a cache."""
    longest = max(map(len, targets))
    ids = torch.tensor([[PAD, *target, *[PAD] * (longest - len(target))] for target in targets])
    logits = model(input_ids=torch.tensor([source] * len(targets)), decoder_input_ids=ids).logits.float()
    last = logits[torch.arange(len(targets)), torch.tensor([len(target) for target in targets])]
    listed: list[list[float]] = last.log_softmax(1).tolist()
    return listed


def allowed(letters: Any, target: Sequence[int]) -> list[int]:
    """Pieces, not sentinels, that may follow a target."""
    opening = target[-1] >= PIECES
    begun = {after for before, after in pairwise(target) if before >= PIECES}
    banned = letters.banned[int(opening)].tolist()
    return [piece for piece in range(PIECES) if banned[piece] == 0 and not (opening and piece in begun)]


def score(model: Any, source: Sequence[int], target: Sequence[int]) -> float:
    """The sum of log-probabilities after the first sentinel."""
    before = [target[:length] for length in range(1, len(target))]
    return sum(row[piece] for row, piece in zip(log_probabilities(model, source, before), target[1:], strict=True))


def may_end(letters: Any, piece: int, pieces: int) -> bool:
    """Whether a fill of so many pieces may end with one."""
    return bool(letters.banned[2, piece] == 0 and (pieces > 1 or letters.banned[3, piece] == 0))


def plainly(
    model: Any, letters: Any, source: Sequence[int], max_pieces: Sequence[int], beams: int, far: float
) -> list[tuple[float, list[int]]]:
    """The search as its docstring says it, with lists and no cache."""
    closed: list[tuple[float, list[int]]] = [(0.0, [FIRST])]
    for hole, most in enumerate(max_pieces):
        running, closed = closed, []
        for depth in range(most + 1):
            longer: list[tuple[float, list[int]]] = []
            if not running:
                break
            known = log_probabilities(model, source, [target for _, target in running])
            for (before, target), after in zip(running, known, strict=True):
                if depth and may_end(letters, target[-1], depth):
                    closed.append((before + after[FIRST - 1 - hole], [*target, FIRST - 1 - hole]))
                if depth < most:
                    ends = depth == most - 1
                    may = [piece for piece in allowed(letters, target) if not ends or may_end(letters, piece, most)]
                    longer += [(before + after[piece], [*target, piece]) for piece in may]
            closed = sorted(closed, reverse=True)[:beams]
            # The beam is for both, and what is far behind a quarter of it is given up.
            best = sorted([*((*target, 0) for target in longer), *((*target, 1) for target in closed)], reverse=True)[
                :beams
            ]
            least = closed[-1][0] - far if 4 * len(closed) >= beams else NEVER
            running = [(after, target) for after, target, is_closed in best if not is_closed and after >= least]
    return closed


@torch.no_grad()
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("beams", [1, 4, 7])
@pytest.mark.parametrize("far", [0.3, 100])
def test_it_finds_what_a_plain_search_finds(kind: str, beams: int, far: float) -> None:
    model, letters = t5(kind), alphabet(first=[5, 6], later=[7], last=[8, 9], alone=[3, 11])
    targets = search(Decoder(model), letters, SOURCES, ROOMS, beams, far)
    plain = [
        plainly(model, letters, source, max_pieces, beams, far)
        for source, max_pieces in zip(SOURCES, ROOMS, strict=True)
    ]
    assert targets == [[target for _, target in hypotheses] for hypotheses in plain]
    assert all(targets)


@torch.no_grad()
def test_in_a_batch_or_alone_a_sentence_has_the_same_targets() -> None:
    model, letters = t5(seed=4), alphabet()
    together = search(Decoder(model), letters, SOURCES, ROOMS, 5)
    alone = [
        search(Decoder(model), letters, [source], [max_pieces], 5)[0]
        for source, max_pieces in zip(SOURCES, ROOMS, strict=True)
    ]
    assert together == alone


class Frame:
    """The same targets for transformers' search, whose end is the last sentinel."""

    def __init__(self, letters: Any, max_pieces: Sequence[int]) -> None:
        self.letters, self.room = letters, max_pieces

    def __call__(self, ids: Any, scores: Any) -> Any:
        masked = torch.full_like(scores, NEVER)
        for row, target in enumerate(ids[:, 1:].tolist()):
            opened = sum(piece >= PIECES for piece in target)
            depth = next(index for index, piece in enumerate(reversed(target)) if piece >= PIECES)
            may = [FIRST - opened] if depth else []
            if depth < self.room[min(opened, len(self.room)) - 1]:
                may += allowed(self.letters, target)
            masked[row, may] = scores[row, may]
        return masked


def by_transformers(
    model: Any, letters: Any, source: Sequence[int], max_pieces: Sequence[int], beams: int
) -> list[list[int]]:
    last = FIRST - len(max_pieces)
    generated = model.generate(
        input_ids=torch.tensor([source]),
        decoder_input_ids=torch.tensor([[PAD, FIRST]]),
        num_beams=beams,
        num_return_sequences=beams,
        early_stopping="never",
        length_penalty=0.0,
        max_new_tokens=sum(max_pieces) + len(max_pieces),
        eos_token_id=last,
        do_sample=False,
        logits_processor=transformers.LogitsProcessorList([Frame(letters, max_pieces)]),
    )[:, 1:].tolist()
    return [target[: target.index(last) + 1] for target in generated if last in target]


@torch.no_grad()
@pytest.mark.parametrize("kind", KINDS)
def test_where_all_targets_fit_into_the_beams_transformers_finds_the_same(kind: str) -> None:
    model, letters = t5(kind, seed=2), alphabet(later=[3, 4, 5, 6, 7, 8])
    # Three pieces: 3 and 9 fills of the first hole, and two beginnings of the second.
    source, max_pieces = SOURCES[0], [2, 1]
    ours = search(Decoder(model), letters, [source], [max_pieces], 24)[0]
    assert len(ours) == 24
    assert ours == by_transformers(model, letters, source, max_pieces, 24)


@torch.no_grad()
def test_in_one_hole_every_rank_is_as_likely_as_that_of_transformers() -> None:
    letters, source, max_pieces = alphabet(), SOURCES[2], ROOMS[2]
    for seed in range(3):
        model = t5(seed=seed)
        ours = search(Decoder(model), letters, [source], [max_pieces], 6)[0]
        theirs = by_transformers(model, letters, source, max_pieces, 6)
        assert len(ours) == len(theirs) == 6
        for mine, other in zip(ours, theirs, strict=True):
            assert score(model, source, mine) >= score(model, source, other) - 1e-4


@torch.no_grad()
def test_targets_fill_each_hole_once_and_begin_no_two_alike() -> None:
    letters = alphabet(first=[3, 4])
    ranked = search(Decoder(t5(seed=5).to(torch.bfloat16)), letters, SOURCES, ROOMS, 4)
    for targets, max_pieces in zip(ranked, ROOMS, strict=True):
        assert len(targets) == 4
        for target in targets:
            indices = [index for index, piece in enumerate(target) if piece >= PIECES]
            assert [target[index] for index in indices] == [FIRST - number for number in range(len(max_pieces) + 1)]
            sizes = [after - before - 1 for before, after in pairwise(indices)]
            assert all(1 <= size <= most for size, most in zip(sizes, max_pieces, strict=True))
            begins = [target[index + 1] for index in indices[:-1]]
            assert len(set(begins)) == len(begins)
            assert not {3, 4} & set(begins)


@torch.no_grad()
def test_fewer_targets_than_beams_and_none() -> None:
    only = alphabet(later=[3, 4, 5, 6, 7, 8, 9])
    # Two pieces, one of which the second hole begins with.
    ranked = search(Decoder(t5()), only, SOURCES[:2], [[1, 1], [1, 1, 1]], 8)
    assert sorted(ranked[0]) == [[FIRST, 10, FIRST - 1, 11, FIRST - 2], [FIRST, 11, FIRST - 1, 10, FIRST - 2]]
    assert ranked[1] == []
