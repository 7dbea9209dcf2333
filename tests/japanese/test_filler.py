"""Filling holes: batches that depend on the sentences alone, memory that runs out."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.t5 import TEXTS, learnt, write_t5
from wikianchor.io.errors import InputError
from wikianchor.pipelines.japanese.negatives.filler import (
    HoleFiller,
    Holes,
    banned_pieces,
    batches,
    load_filler,
)
from wikianchor.pipelines.japanese.negatives.options import NegativesOptions
from wikianchor.schemas.sentinels import EOS, PAD, UNKNOWN, Vocabulary

pytest.importorskip("sentencepiece", reason="NO SENTENCEPIECE: pip install '.[t5]'")
pytest.importorskip("sudachipy", reason="NO SUDACHIPY: pip install '.[t5]'")
torch = pytest.importorskip("torch", reason="NO TORCH: pip install '.[t5]'")

TEXT = "患者は発熱を訴えた。"
ITEM = Holes(TEXT, ((0, 2), (3, 5)))


def options(**given: Any) -> NegativesOptions:
    return NegativesOptions(corpus="", output="", **{"model": "", **given})


@pytest.fixture(scope="module")
def vocabulary() -> Vocabulary:
    return Vocabulary(learnt())


def target(vocabulary: Vocabulary, words: Sequence[str]) -> list[int]:
    pieces: list[int] = []
    for number, word in enumerate(words):
        pieces += [vocabulary.sentinel(number), *vocabulary.encode(word, inside=True)]
    return [*pieces, vocabulary.sentinel(len(words)), EOS, PAD, PAD]


def test_batches_are_of_like_length_and_depend_on_nothing_else() -> None:
    lengths, targets = [5, 9, 3, 9, 1, 5], [6, 8, 2, 8, 1, 6]
    assert batches(lengths, targets, 18) == [[1, 3], [0, 5, 2], [4]]
    assert batches(lengths, targets, 1) == [[1], [3], [0], [5], [2], [4]]
    # A long source may come after a short one: the padding counts.
    assert batches([2, 9, 2, 2], [4, 3, 3, 2], 18) == [[0, 1], [2, 3]]
    assert batches([], [], 10) == []


def test_all_ranks_come_from_one_decode(vocabulary: Vocabulary) -> None:
    calls = []

    def generate(sources: Sequence[Sequence[int]], max_pieces_of_all: Sequence[Sequence[int]]) -> list[list[list[int]]]:
        calls.append((len(sources), [list(max_pieces) for max_pieces in max_pieces_of_all]))
        return [[target(vocabulary, ["医師", f"頭痛{rank}"]) for rank in range(3)] for _ in sources]

    filler = HoleFiller(vocabulary, generate, options(beams=3))
    assert filler.fill([ITEM, ITEM]) == [[["医師", f"頭痛{rank}"] for rank in range(3)]] * 2
    # Twice the pieces of what stood there, or two more.
    were = [len(vocabulary.encode(word, inside=True)) for word in ("患者", "発熱")]
    assert calls == [(2, [[max(2 * pieces, pieces + 2) for pieces in were]] * 2)]
    short = HoleFiller(vocabulary, generate, options(beams=3, hole_tokens=2))
    short.fill([ITEM])
    assert calls[-1] == (1, [[2, 2]])


def test_one_hole_after_the_other_goes_on_in_what_came_out(vocabulary: Vocabulary) -> None:
    asked: list[str] = []

    def generate(sources: Sequence[Sequence[int]], max_pieces_of_all: Sequence[Sequence[int]]) -> list[list[list[int]]]:
        assert {len(max_pieces) for max_pieces in max_pieces_of_all} == {1}
        asked.extend(
            "".join("[]" if vocabulary.number(p) == 0 else vocabulary.decode([p]) for p in s[:-1]) for s in sources
        )
        return [[target(vocabulary, [word]) for word in ("薬局", "自宅")] for _ in sources]

    ranked = HoleFiller(vocabulary, generate, options(beams=2, fill="each")).fill([ITEM])
    # The path of a rank takes that rank each time.
    assert ranked == [[["薬局", "薬局"], ["自宅", "自宅"]]]
    assert asked == ["[]は発熱を訴えた。", "薬局は[]を訴えた。", "自宅は[]を訴えた。"]


def test_a_batch_without_memory_is_halved_and_one_sentence_is_given_up(vocabulary: Vocabulary) -> None:
    sizes = []

    def generate(sources: Sequence[Sequence[int]], rooms: Sequence[Sequence[int]]) -> list[list[list[int]]]:
        sizes.append(len(sources))
        if len(sources) > 2 or any(len(source) > 60 for source in sources):
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate")
        return [[target(vocabulary, ["医師", "頭痛"])] for _ in sources]

    filler = HoleFiller(vocabulary, generate, options(beams=1))
    long = Holes("患者は発熱を" + "訴えた。" * 40, ((0, 2), (3, 5)))
    fills = filler.fill([ITEM] * 4 + [long])
    assert fills == [[["医師", "頭痛"]]] * 4 + [None]
    assert max(sizes) == 5

    def other(sources: Sequence[Sequence[int]], rooms: Sequence[Sequence[int]]) -> list[list[list[int]]]:
        raise RuntimeError("shapes do not match")

    with pytest.raises(RuntimeError, match="shapes"):
        HoleFiller(vocabulary, other, options(beams=1)).fill([ITEM])


def test_pieces_that_a_fill_is_not_made_of(vocabulary: Vocabulary) -> None:
    banned = banned_pieces(vocabulary) == -torch.inf
    texts = [vocabulary.decode([piece]) for piece in range(vocabulary.size - vocabulary.extra)]
    columns = zip(texts, *(~banned).tolist(), strict=True)
    known = {text: (first, later, last, alone) for text, later, first, last, alone in columns}
    assert known["を"] == (False, True, False, False)
    assert known["。"][:3] == (False, False, False)
    assert (True, True, True, True) in known.values()
    # A sign of 受診 or 頭痛 may begin a fill, and is none.
    assert (True, True, True, False) in known.values()
    assert bool(banned[:, [PAD, EOS, UNKNOWN]].all())


def test_a_t5_that_knows_nothing_fills_every_hole(tmp_path: Path) -> None:
    directory = write_t5(tmp_path)
    filler = load_filler(options(model=str(directory), beams=4, hole_tokens=3, device="cpu"))
    items = [Holes(text, ((0, 2), (3, 5))) for text in TEXTS[:6]]
    fills = filler.fill(items)
    assert all(len(ranked or []) == 4 and all(None not in words for words in ranked or []) for ranked in fills)
    # In a batch or alone, a sentence has the same fills.
    assert [filler.fill([item])[0] for item in items] == fills


def test_threads_that_share_a_model_do_not_disturb_each_other(tmp_path: Path) -> None:
    filler = load_filler(options(model=str(write_t5(tmp_path / "t5")), beams=4, hole_tokens=3, device="cpu"))
    item_batches = [[Holes(text, ((0, 1), (3, 5))) for text in TEXTS[first : first + 4]] for first in range(0, 24, 4)]
    alone = [filler.fill(batch) for batch in item_batches]
    with ThreadPoolExecutor(3) as threads:
        assert list(threads.map(filler.fill, item_batches)) == alone


def test_no_model_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no T5 that can be read"):
        load_filler(options(model=str(tmp_path), beams=1))
