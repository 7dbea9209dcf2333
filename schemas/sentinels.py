"""Vocabulary of a T5 with sentinels: the interface between its training and the command `negatives`.

A T5 is a directory as transformers writes it, with `spiece.model` beside the weights. The ids of sentencepiece come
first, then the sentinels in descending order: `<extra_id_0>` has the highest id, pieces + extra - 1. Text is tokenised
with sentencepiece itself, because T5Tokenizer of transformers 5 returns <unk> for models with byte fallback.

    text      患者は[発熱]を訴え[外来]を受診した      spans to fill in brackets
    source    患者は <0> を訴え <1> を受診した </s>
    target    <0> 発熱 <1> 外来 <2> </s>
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

MODEL_FILE = "spiece.model"
SETTINGS_FILE = "tokenizer_config.json"
EXTRA_IDS = 100
PAD, EOS, UNKNOWN = 0, 1, 2
_BLANK = "▁"


class Vocabulary:
    """The pieces and sentinels of a T5.

    Args:
        model: bytes of a sentencepiece model, with <pad> 0 and </s> 1.
        extra: number of sentinels.
    """

    def __init__(self, model: bytes, extra: int = EXTRA_IDS) -> None:
        from sentencepiece import SentencePieceProcessor

        self.model = model
        self.extra = extra
        self._pieces: Any = SentencePieceProcessor(model_proto=model)
        self.size: int = self._pieces.get_piece_size() + extra
        self._blank = self._pieces.piece_to_id(_BLANK)
        if self._pieces.pad_id() != PAD or self._pieces.eos_id() != EOS:
            raise ValueError("its <pad> is not 0 and its </s> not 1, as those of a T5 are")

    @classmethod
    def read(cls, directory: str) -> Vocabulary:
        """Read the vocabulary from the directory of a model.

        Raises:
            OSError: the directory has no vocabulary.
            ValueError, RuntimeError: the vocabulary is not that of a T5.
        """
        model = Path(directory, MODEL_FILE).read_bytes()
        settings = Path(directory, SETTINGS_FILE)
        stated = json.loads(settings.read_bytes()) if settings.exists() else {}
        return cls(model, int(stated.get("extra_ids", EXTRA_IDS)))

    def settings(self) -> dict[str, Any]:
        """Return the contents of `SETTINGS_FILE`, with which transformers can load its own tokeniser."""
        names = {"eos_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>"}
        return {"tokenizer_class": "T5Tokenizer", "extra_ids": self.extra, **names}

    def sentinel(self, number: int) -> int:
        """Return the token id of a sentinel by its number, from 0.

        Raises:
            ValueError: the vocabulary has fewer sentinels.
        """
        if not 0 <= number < self.extra:
            raise ValueError(f"sentinel {number}, and there are {self.extra}")
        return self.size - 1 - number

    def number(self, piece: int) -> int | None:
        """Return the number of the sentinel with a token id, None for another token."""
        number = self.size - 1 - piece
        return number if 0 <= number < self.extra else None

    def encode(self, text: str, inside: bool = False) -> list[int]:
        """Return the token ids of a text.

        Args:
            text: the text.
            inside: whether it continues a sentence, so that it gets no blank in front.
        """
        pieces: list[int] = self._pieces.encode(text)
        has_blank = inside and pieces and pieces[0] == self._blank and not text[0].isspace()
        return pieces[1:] if has_blank else pieces

    def decode(self, pieces: Sequence[int]) -> str:
        """Return the text of token ids; sentinels and invalid ids are skipped."""
        last = self.size - self.extra
        text = str(self._pieces.decode([piece for piece in pieces if 0 <= piece < last]))
        # Without a blank in its vocabulary, sentencepiece encodes its own sign for one as bytes.
        return text.replace(_BLANK, " ")

    def with_holes(self, text: str, spans: Sequence[tuple[int, int]]) -> list[int]:
        """Return the token ids of a text in which sentinels replace spans, with </s> at the end.

        Args:
            text: the text.
            spans: (start, end) offsets in code points, ascending.

        Raises:
            ValueError: there are more spans than sentinels, or spans overlap.
        """
        tokens: list[int] = []
        position = 0
        for number, (start, end) in enumerate(spans):
            if start < position:
                raise ValueError(f"span {start}..{end} begins before {position}")
            tokens += [*self.encode(text[position:start], inside=position > 0), self.sentinel(number)]
            position = end
        return [*tokens, *self.encode(text[position:], inside=position > 0), EOS]

    def fills(self, target: Sequence[int], holes: int) -> list[str | None]:
        """Return the text that a target has for each of the first `holes` sentinels.

        The text goes from a sentinel to the next one, to </s>, or to the end of the target. It is None for a sentinel
        that is not in the target.
        """
        pieces = [*target, EOS]
        numbers = [self.number(piece) for piece in pieces[: pieces.index(EOS)]]
        marks = [position for position, number in enumerate(numbers) if number is not None]
        texts: dict[int | None, str] = {}
        for mark, after in pairwise([*marks, len(numbers)]):
            # The first text of a sentinel counts.
            texts.setdefault(numbers[mark], self.decode(pieces[mark + 1 : after]))
        return [texts.get(number) for number in range(holes)]
