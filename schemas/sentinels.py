"""The contract between who trains a T5 and who lets it fill holes: ids of pieces and sentinels, holes and fills.

A T5 here is a directory of transformers with `spiece.model` beside the weights. Its ids are those of sentencepiece,
then come the sentinels, the first with the highest id: `<extra_id_0>` is pieces + extra - 1. The tokeniser is
sentencepiece itself: T5Tokenizer of transformers 5 breaks byte-fallback models, and gives <unk> where they have none.

    text      患者は[発熱]を訴え[外来]を受診した      holes at the brackets
    source    患者は <0> を訴え <1> を受診した </s>
    target    <0> 発熱 <1> 外来 <2> </s>
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
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
        """Read the vocabulary of a model's directory.

        Raises:
            OSError: there is none. ValueError, RuntimeError: it is not one of a T5.
        """
        with open(os.path.join(directory, MODEL_FILE), "rb") as stream:
            model = stream.read()
        settings = os.path.join(directory, SETTINGS_FILE)
        stated: dict[str, Any] = {}
        if os.path.exists(settings):
            with open(settings, encoding="utf-8") as text:
                stated = json.load(text)
        return cls(model, int(stated.get("extra_ids", EXTRA_IDS)))

    def settings(self) -> dict[str, Any]:
        """Return what `SETTINGS_FILE` says, so that transformers finds its own tokeniser too."""
        names = {"eos_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>"}
        return {"tokenizer_class": "T5Tokenizer", "extra_ids": self.extra, **names}

    def sentinel(self, number: int) -> int:
        """Return the id of a sentinel, counted from 0.

        Raises:
            ValueError: there are not so many.
        """
        if not 0 <= number < self.extra:
            raise ValueError(f"sentinel {number}, and there are {self.extra}")
        return self.size - 1 - number

    def number(self, piece: int) -> int | None:
        """Return which sentinel an id is, or None for a piece."""
        number = self.size - 1 - piece
        return number if 0 <= number < self.extra else None

    def encode(self, text: str, inside: bool = False) -> list[int]:
        """Return the pieces of a text; `inside` where it does not begin a sentence, so that no blank comes before."""
        found: list[int] = self._pieces.encode(text)
        if inside and found and found[0] == self._blank and not text[0].isspace():
            return found[1:]
        return found

    def decode(self, pieces: Sequence[int]) -> str:
        """Return the text of pieces; sentinels and ids that are none are left out."""
        last = self.size - self.extra
        found = str(self._pieces.decode([piece for piece in pieces if 0 <= piece < last]))
        # Where a vocabulary has no blank, sentencepiece spells its own sign for one in bytes.
        return found.replace(_BLANK, " ")

    def with_holes(self, text: str, spans: Sequence[tuple[int, int]]) -> list[int]:
        """Return the source of a text with a sentinel in the place of each span, and </s>.

        Raises:
            ValueError: more spans than there are sentinels, or they overlap.
        """
        found: list[int] = []
        place = 0
        for number, (start, end) in enumerate(spans):
            if start < place:
                raise ValueError(f"span {start}..{end} begins before {place}")
            if start > place:
                found += self.encode(text[place:start], inside=place > 0)
            found.append(self.sentinel(number))
            place = end
        if place < len(text):
            found += self.encode(text[place:], inside=place > 0)
        return [*found, EOS]

    def fills(self, target: Sequence[int], holes: int) -> list[str | None]:
        """Return what a target says of each hole: the text between its sentinel and the next, None where it has no
        sentinel of its own. A target that is cut off ends the hole that it is in."""
        found: list[str | None] = [None] * holes
        current, begin = -1, 0
        pieces = [*target, EOS]
        for place, piece in enumerate(pieces):
            number = self.number(piece)
            if number is None and piece != EOS:
                continue
            if 0 <= current < holes and found[current] is None:
                found[current] = self.decode(pieces[begin:place])
            if piece == EOS:
                break
            current, begin = number if number is not None else -1, place + 1
        return found
