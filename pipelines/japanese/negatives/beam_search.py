"""Beam search for a T5 that fills holes, hole by hole. PyTorch.

    target    <0> pieces <1> pieces ... <n>       at least one piece for each hole; the last sentinel ends the target

All hypotheses of a sentence are in the same hole. A hypothesis is active until the next sentinel closes its hole. When
no hypothesis is active, the most likely closed ones, at most as many as beams, open the next hole. The score is the sum
of log-probabilities, so it only decreases. Active hypotheses are pruned when they are not among the most likely of all,
active and closed; and, once a quarter of the beam is closed, when they are far less likely than the worst closed one
(`far`; relative threshold pruning of Freitag and Al-Onaizan 2017), because such late ones are loops of particles and
full stops. So there may be fewer targets than beams.

Without `far`, for one hole, this is the search of transformers with early_stopping="never" and length_penalty=0, except
that a hypothesis may be closed without being among the most likely of its step, and frees no place in the beam. For
several holes, transformers compares hypotheses of equal length, whatever hole they are in.

Only active hypotheses are rows of a decoding step. The keys and values of a source are stored once for each sentence.
Those of the target are slots of a pool of the sentence, and a hypothesis is a list of slots: to extend one, only
numbers are copied. Slots that no hypothesis uses are reused.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch.nn import functional

from wikianchor.schemas.sentinels import PAD

NEVER = -torch.inf
# A hundredth of the probability.
FAR = math.log(100)
_PIECE, _NODE = 0, 1


class Alphabet(NamedTuple):
    """Ids of a vocabulary.

    Attributes:
        first: the first sentinel; the following ones have lower ids.
        banned: (4, pieces) float32, -inf for pieces that a fill must not continue with, begin with, end with, and
            consist of.
    """

    first: int
    banned: Any


class Beams(NamedTuple):
    """Hypotheses of sentences, the most likely first.

    Attributes:
        score: (sentences, beams) float32, -inf for no hypothesis.
        lines: (sentences, beams, 2, length) int64: the pieces, and the slots of their keys and values.
        length: (sentences, beams) int64, number of pieces.
    """

    score: Any
    lines: Any
    length: Any

    def nodes(self) -> Any:
        """Return the slots of keys and values, (sentences, beams, length) int64; 0, the start, for no hypothesis."""
        return self.lines[:, :, _NODE].where((self.score > NEVER)[:, :, None], 0)

    def take(self, rows: Any) -> Beams:
        """Return the hypotheses of some sentences."""
        return Beams(*(part[rows] for part in self))

    def narrow(self) -> Beams:
        """Return the hypotheses without the beams in which no sentence has any."""
        width = int((self.score > NEVER).sum(1).max())
        return Beams(*(part[:, :width] for part in self))

    def widen(self) -> Beams:
        """Return the hypotheses with a longer last dimension, for one more piece."""
        return self._replace(lines=functional.pad(self.lines, (0, 1), value=PAD))

    def pick(self, places: Any, score: Any) -> Beams:
        """Return the hypotheses at `places`, (sentences, beams) int64, with new scores."""
        index = places[:, :, None, None].expand(-1, -1, *self.lines.shape[2:])
        return Beams(score, self.lines.gather(1, index), self.length.gather(1, places))

    def append(self, piece: Any) -> Beams:
        """Return the hypotheses extended by a piece each, (sentences, beams) int64."""
        lines = self.widen().lines
        lines[:, :, _PIECE].scatter_(2, self.length[:, :, None], piece[:, :, None])
        return Beams(self.score, lines, self.length + 1)


class Decoder:
    """The decoder of a T5, which reads one piece of each row in a step.

    Args:
        model: a T5ForConditionalGeneration of transformers.
    """

    def __init__(self, model: Any) -> None:
        self._model = model
        self._sources: list[Any] = []
        self._pool: Any = None
        self._blocks = [tuple(block.layer) for block in model.decoder.block]
        self._inner = (model.config.num_heads, model.config.d_kv)
        self._self_qkv = [
            torch.cat([part.weight for part in _qkv(layer.SelfAttention)]) for layer, _, _ in self._blocks
        ]
        scaled = getattr(model.config, "scale_decoder_outputs", model.config.tie_word_embeddings)
        self._scale = model.config.d_model**-0.5 if scaled else 1.0

    def begin(self, sources: Sequence[Sequence[int]], beams: int, longest: int) -> None:
        """Start a batch.

        Args:
            sources: ids of the pieces of each sentence.
            beams: beam width.
            longest: maximum number of pieces of a target.
        """
        model, device = self._model, self._model.device
        # Free the memory of the batch before, which may have failed for lack of it.
        self._sources, self._pool = [], None
        ids = torch.full((len(sources), max(map(len, sources))), PAD, dtype=torch.int64)
        for row, source in enumerate(sources):
            ids[row, : len(source)] = torch.tensor(source)
        ids = ids.to(device)
        read = model.encoder(input_ids=ids, attention_mask=(ids != PAD).long()).last_hidden_state
        self._masked = torch.zeros_like(ids, dtype=read.dtype).masked_fill(ids == PAD, NEVER)[:, None, None]
        # For each layer: (sentences, heads, tokens, width).
        self._sources = [
            [
                part(read).unflatten(2, self._inner).transpose(1, 2).contiguous()
                for part in _qkv(cross.EncDecAttention)[1:]
            ]
            for _, cross, _ in self._blocks
        ]
        # (heads, distance): relative position bias.
        self._bias = self._blocks[0][0].SelfAttention.compute_bias(longest, longest)[0, :, -1].flip(1)
        # Keys and values of the target, and the position of the piece in each slot.
        heads, width = self._inner
        self._pool = read.new_zeros((len(self._blocks), 2, len(sources), heads, 2 * beams, width))
        self._at = torch.zeros(len(sources), 2 * beams, dtype=torch.int64, device=device)

    def leave(self, stay: Any) -> None:
        """Keep only the sentences `stay`, (sentences,) int64."""
        self._masked, self._at, self._pool = self._masked[stay], self._at[stay], self._pool[:, :, stay]
        self._sources = [[part[stay] for part in layer] for layer in self._sources]

    def free_slots(self, beams: int, *lines: Any) -> Any:
        """Return free slots for the next piece of each beam, (sentences, beams) int64.

        Args:
            beams: beam width.
            lines: the slots in use, (sentences, any, length) int64 each.
        """
        free = torch.ones_like(self._at, dtype=torch.bool)
        for line in lines:
            free.scatter_(1, line.flatten(1), value=False)
        if int(free.sum(1).min()) < beams:
            self._pool = functional.pad(self._pool, (0, 0, 0, beams))
            self._at, free = (functional.pad(part, (0, beams)) for part in (self._at, free))
            free[:, -beams:] = True
        return free.byte().argsort(dim=1, descending=True, stable=True)[:, :beams]

    def step(self, rows: Any, pieces: Any, lines: Any, new_slots: Any, positions: Any) -> Any:
        """Read a piece of each row.

        Args:
            rows: (rows,) int64, sentence * beams + beam.
            pieces: (rows,) int64.
            lines: (sentences, beams, length) int64, slots of all pieces, that of the new one included.
            new_slots: (sentences, beams) int64, slot of the new piece.
            positions: (sentences, beams) int64, position of the new piece.

        Returns:
            (rows, vocabulary) float32: log-probabilities of the next piece.
        """
        shape, pool_size = new_slots.shape, self._at.shape[1]
        sentence, slot = rows // shape[1], new_slots.flatten()[rows]
        self._at[sentence, slot] = positions.flatten()[rows]
        seen = torch.zeros(*shape, pool_size, dtype=torch.bool, device=new_slots.device).scatter_(2, lines, value=True)
        distance = (positions[:, :, None] - self._at[:, None]).clamp(min=0)
        bias = self._bias[:, distance].transpose(0, 1).masked_fill(~seen[:, None], NEVER)
        grid = shape[0] * shape[1]

        def attend(query: Any, keys: Any, values: Any, mask: Any) -> Any:
            """Attend from (rows, width) to keys and values, (sentences, heads, slots, width)."""
            spread = query.new_zeros(grid, query.shape[1]).index_copy_(0, rows, query)
            spread = spread.view(*shape, *self._inner).transpose(1, 2)
            context = functional.scaled_dot_product_attention(spread, keys, values, mask, scale=1.0)
            return context.transpose(1, 2).reshape(grid, -1).index_select(0, rows)

        hidden = self._model.decoder.embed_tokens(pieces)
        for layer, (itself, cross, forward) in enumerate(self._blocks):
            new = functional.linear(itself.layer_norm(hidden), self._self_qkv[layer]).view(len(rows), 3, *self._inner)
            pool = self._pool[layer]
            pool[:, sentence, :, slot] = new[:, 1:]
            hidden = hidden + itself.SelfAttention.o(attend(new[:, 0].flatten(1), pool[0], pool[1], bias))
            query = cross.EncDecAttention.q(cross.layer_norm(hidden))
            keys, values = self._sources[layer]
            hidden = hidden + cross.EncDecAttention.o(attend(query, keys, values, self._masked))
            hidden = forward(hidden)
        hidden = self._model.decoder.final_layer_norm(hidden) * self._scale
        return self._model.lm_head(hidden).float().log_softmax(1)


def _qkv(attention: Any) -> tuple[Any, Any, Any]:
    return attention.q, attention.k, attention.v


def search(
    decoder: Decoder,
    alphabet: Alphabet,
    sources: Sequence[Sequence[int]],
    max_pieces: Sequence[Sequence[int]],
    beams: int,
    far: float = FAR,
) -> list[list[list[int]]]:
    """Return the targets of each source, the most likely first, at most as many as beams.

    Args:
        decoder: the model's decoder.
        alphabet: ids of its vocabulary.
        sources: ids of the pieces of each source.
        max_pieces: maximum number of pieces of each hole, for at least one hole.
        beams: beam width.
        far: difference of log-probability at which active hypotheses are pruned.

    Returns:
        For each source, the ids of its targets, without the start.
    """
    device = alphabet.banned.device
    longest = max(sum(row) + len(row) for row in max_pieces) + 2
    most_holes = max(map(len, max_pieces))
    limits = torch.tensor([[*row, *[0] * (most_holes - len(row))] for row in max_pieces], device=device)
    holes = torch.tensor([len(row) for row in max_pieces], device=device)
    ids = torch.arange(len(sources), device=device)
    hole, depth = torch.full_like(ids, -1), torch.zeros_like(ids)
    # Each sentence starts with one hypothesis, which the first sentinel follows.
    score = torch.full((len(sources), beams), NEVER, device=device)
    score[:, 0] = 0.0
    closed = Beams(score, torch.full((*score.shape, 2, 1), PAD, device=device), torch.ones_like(score).long())
    decoder.begin(sources, beams, longest)
    start = torch.zeros_like(ids)[:, None]
    decoder.step(ids, torch.full_like(ids, PAD), start[:, None], start, start)
    active = closed._replace(score=torch.full_like(score, NEVER)).widen()
    targets: list[list[list[int]]] = [[] for _ in sources]
    while True:
        # Where no hypothesis is active, the closed ones open the next hole.
        over = (active.score == NEVER).all(1)
        hole, depth = hole + over, torch.where(over, 0, depth + 1)
        opened = closed.append((alphabet.first - hole)[:, None].expand_as(closed.length))
        active = Beams(*(torch.where(_like(over, new), new, old) for new, old in zip(opened, active, strict=True)))
        closed = closed._replace(score=closed.score.masked_fill(over[:, None], NEVER)).widen()
        # With too few pieces for a hole in the vocabulary, no hypothesis is closed either.
        done = (hole == holes) | (active.score == NEVER).all(1)
        if bool(done.any()):
            _write(targets, ids[done].tolist(), active.take(done))
            stay = (~done).nonzero()[:, 0]
            if not len(stay):
                return targets
            active, closed = active.take(stay), closed.take(stay)
            ids, hole, depth, limits, holes = ids[stay], hole[stay], depth[stay], limits[stay], holes[stay]
            decoder.leave(stay)
        left = limits.gather(1, hole[:, None])[:, 0] - depth
        active, closed = _step(
            decoder,
            alphabet,
            active.narrow(),
            closed,
            sentinel=alphabet.first - 1 - hole,
            depth=depth,
            left=left,
        )
        active = active._replace(score=_promising(active.score, closed.score, far))


def _like(condition: Any, part: Any) -> Any:
    """Return a condition, (sentences,), with dimensions to broadcast it to another tensor."""
    return condition.view(-1, *[1] * (part.dim() - 1))


def _promising(active: Any, closed: Any, far: float) -> Any:
    """Return the descending scores of active hypotheses, (sentences, beams), -inf for pruned ones."""
    beams = active.shape[1]
    ahead = (closed[:, None] >= active[:, :, None]).sum(2) + torch.arange(beams, device=active.device)
    is_closed = closed > NEVER
    least = closed.masked_fill(~is_closed, torch.inf).amin(1)
    some = 4 * is_closed.sum(1) >= beams
    late = some[:, None] & (active < (least - far)[:, None])
    return active.masked_fill((ahead >= beams) | late, NEVER)


def _step(
    decoder: Decoder, alphabet: Alphabet, active: Beams, closed: Beams, sentinel: Any, depth: Any, left: Any
) -> tuple[Beams, Beams]:
    """Extend the active hypotheses by a piece; return the active and the closed hypotheses.

    Args:
        decoder: the model's decoder.
        alphabet: ids of its vocabulary.
        active: the hypotheses to extend.
        closed: the closed hypotheses of the same hole.
        sentinel: (sentences,) int64, closes the hole.
        depth: (sentences,) int64, number of pieces in the hole.
        left: (sentences,) int64, number of pieces that may follow.
    """
    beams = closed.score.shape[1]
    rows, before, scores = _read(decoder, active, closed)
    owner, score = rows // active.score.shape[1], active.score.flatten()[rows, None]
    depth, left, pieces = depth[owner, None], left[owner, None], alphabet.banned.shape[1]
    opening = depth == 0
    onward, begin, end, alone = alphabet.banned

    def grid(values: Any) -> Any:
        """Return (rows, n) as (sentences, beams * n), with 0 or -inf where no hypothesis is active."""
        empty = values.new_full((active.score.numel(), values.shape[1]), NEVER if values.is_floating_point() else 0)
        return empty.index_copy_(0, rows, values).view(len(active.score), -1)

    # The last piece of a hypothesis that opens a hole is a sentinel, for which there is no ban.
    last = before.gather(1, active.length.flatten()[rows, None] - 1).clamp(max=pieces - 1)
    ends = end[last] + alone[last].where(depth == 1, 0.0)
    closing = (scores.gather(1, sentinel[owner, None]) + score + ends).masked_fill(opening, NEVER)
    both = Beams(*(torch.cat(pair, 1) for pair in zip(closed, active, strict=True)))
    best, places = torch.cat((closed.score, grid(closing)), 1).topk(beams)
    closed = both.pick(places, best)

    # The last piece that is allowed ends the fill.
    bans = torch.stack((onward, begin, onward + end, begin + end + alone))
    scores = scores[:, :pieces] + bans[(opening + 2 * (left == 1))[:, 0]]
    # No two fills of a target begin with the same piece: the same word in several holes is dropped afterwards.
    begun = (before[:, :-1] >= pieces) & opening
    scores.scatter_(1, torch.where(begun, before[:, 1:], PAD), NEVER)
    best, ids = scores.topk(min(beams, pieces))
    each = best.shape[1]
    best = grid((best + score).masked_fill(left == 0, NEVER))
    # There may be fewer candidates than beams.
    best, places = best.topk(min(beams, best.shape[1]))
    short = (0, beams - best.shape[1])
    best, places = functional.pad(best, short, value=NEVER), functional.pad(places, short)
    return active.pick(places // each, best).append(grid(ids).gather(1, places)), closed


def _read(decoder: Decoder, active: Beams, closed: Beams) -> tuple[Any, Any, Any]:
    """Let the decoder read the last piece of each active hypothesis.

    Returns:
        The rows of the step, (rows,); their pieces, (rows, length); and the log-probabilities of the next piece,
        (rows, vocabulary).
    """
    rows = (active.score > NEVER).flatten().nonzero()[:, 0]
    last = active.length - 1
    new_slots = decoder.free_slots(active.score.shape[1], active.nodes(), closed.nodes())
    lines = active.lines
    lines[:, :, _NODE].scatter_(2, last[:, :, None], new_slots[:, :, None])
    before = lines[:, :, _PIECE].flatten(0, 1)[rows]
    pieces = before.gather(1, last.flatten()[rows, None])[:, 0]
    scores = decoder.step(rows, pieces, lines[:, :, _NODE], new_slots, last)
    return rows, before, scores


def _write(targets: list[list[list[int]]], ids: Sequence[int], beams: Beams) -> None:
    """Set the targets of finished sentences.

    Args:
        targets: the targets of all sentences.
        ids: numbers of the finished ones.
        beams: their hypotheses.
    """
    counts, lengths = (beams.score > NEVER).sum(1).tolist(), beams.length.tolist()
    for row, lines in enumerate(beams.lines[:, :, _PIECE].tolist()):
        # The first piece is the decoder's start.
        targets[ids[row]] = [lines[rank][1 : lengths[row][rank]] for rank in range(counts[row])]
