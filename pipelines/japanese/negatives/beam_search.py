"""Beam search for a T5 with holes, hole by hole in one decode: sources in, the targets of all ranks out. PyTorch.

    target    <0> pieces <1> pieces ... <n>       a piece or more to a hole; the last sentinel ends it

All hypotheses of a sentence are in the same hole. One runs until the next sentinel closes its hole; the likeliest that
are closed, as many as there are beams, go on to the next. A score is the sum of log-probabilities, so it only falls.
The beam is for both: what runs must be among the likeliest of all that are closed or run, else it is given up. It is
given up too when a quarter of the places is taken, and the least likely in them is far more likely (`far`; Freitag and
Al-Onaizan 2017 prune alike): what comes late then is loops of particles and dots. So there may be fewer targets than
beams.

With `far` out of the way this is, for one hole, what transformers does with early_stopping="never" and
length_penalty=0, but what closes a hole need not be among the likeliest of its step, and does not leave a place to what
runs. For several, transformers compares hypotheses of equal length, whatever hole they are in.

Rows are the hypotheses that run, of all sentences, and no more. Keys and values of the source are there once for each
sentence. Those of the target lie in places of its sentence, and a hypothesis is a list of places: one that goes on from
another copies numbers. Places that no hypothesis has any more are taken again.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch.nn import functional

from wikianchor.schemas.sentinels import PAD

NEVER = -torch.inf
# A hundred times less likely.
FAR = math.log(100)
_PIECE, _NODE = 0, 1


class Alphabet(NamedTuple):
    """Ids of a vocabulary.

    Attributes:
        first: the first sentinel; the next ones are below it.
        banned: (4, pieces) float32: -inf for what a fill must not go on with, begin with, end with, and be alone.
    """

    first: int
    banned: Any


class Beams(NamedTuple):
    """Hypotheses of sentences, the likeliest first.

    Attributes:
        score: (sentences, beams) float32, -inf where there is none.
        lines: (sentences, beams, 2, length) int64: the pieces, and where their keys and values lie.
        length: (sentences, beams) int64, pieces of it.
    """

    score: Any
    lines: Any
    length: Any

    def nodes(self) -> Any:
        """Return where keys and values lie: (sentences, beams, length) int64; 0, the start, where there is no more."""
        return self.lines[:, :, _NODE].where((self.score > NEVER)[:, :, None], 0)

    def take(self, rows: Any) -> Beams:
        """Return those of some sentences."""
        return Beams(*(part[rows] for part in self))

    def narrow(self) -> Beams:
        """Return them without the columns in which no sentence has any."""
        width = int((self.score > NEVER).sum(1).max())
        return Beams(*(part[:, :width] for part in self))

    def widen(self) -> Beams:
        """Return them with room for a piece more."""
        return self._replace(lines=functional.pad(self.lines, (0, 1), value=PAD))

    def pick(self, places: Any, score: Any) -> Beams:
        """Return of each sentence the hypotheses at `places`, (sentences, beams) int64, with other scores."""
        index = places[:, :, None, None].expand(-1, -1, *self.lines.shape[2:])
        return Beams(score, self.lines.gather(1, index), self.length.gather(1, places))

    def append(self, piece: Any) -> Beams:
        """Return them with a piece more, (sentences, beams) int64."""
        lines = self.widen().lines
        lines[:, :, _PIECE].scatter_(2, self.length[:, :, None], piece[:, :, None])
        return Beams(self.score, lines, self.length + 1)


class Decoder:
    """The decoder of a T5, one piece of each row at a time.

    Args:
        model: a T5ForConditionalGeneration of transformers.
    """

    def __init__(self, model: Any) -> None:
        self._model = model
        self._sources: list[Any] = []
        self._pool: Any = None
        self._blocks = [tuple(block.layer) for block in model.decoder.block]
        self._inner = (model.config.num_heads, model.config.d_kv)
        self._own = [torch.cat([part.weight for part in _qkv(own.SelfAttention)]) for own, _, _ in self._blocks]
        scaled = getattr(model.config, "scale_decoder_outputs", model.config.tie_word_embeddings)
        self._scale = model.config.d_model**-0.5 if scaled else 1.0

    def begin(self, sources: Sequence[Sequence[int]], beams: int, longest: int) -> None:
        """Take sources; their targets have up to `longest` pieces."""
        model, device = self._model, self._model.device
        # What an earlier batch left, one without memory too, goes before anything is made.
        self._sources, self._pool = [], None
        ids = torch.full((len(sources), max(map(len, sources))), PAD, dtype=torch.int64)
        for row, source in enumerate(sources):
            ids[row, : len(source)] = torch.tensor(source)
        ids = ids.to(device)
        read = model.encoder(input_ids=ids, attention_mask=(ids != PAD).long()).last_hidden_state
        self._masked = torch.zeros_like(ids, dtype=read.dtype).masked_fill(ids == PAD, NEVER)[:, None, None]
        # Of each layer (sentences, heads, tokens, width).
        self._sources = [
            [
                part(read).unflatten(2, self._inner).transpose(1, 2).contiguous()
                for part in _qkv(cross.EncDecAttention)[1:]
            ]
            for _, cross, _ in self._blocks
        ]
        # (heads, distance): what a piece sees of those before it.
        self._bias = self._blocks[0][0].SelfAttention.compute_bias(longest, longest)[0, :, -1].flip(1)
        # Keys and values of the target, and at which position the piece in a place is.
        heads, width = self._inner
        self._pool = read.new_zeros(len(self._blocks), 2, len(sources), heads, 2 * beams, width)
        self._at = torch.zeros(len(sources), 2 * beams, dtype=torch.int64, device=device)

    def leave(self, stay: Any) -> None:
        """Go on with the sentences that stay, (sentences,) int64."""
        self._masked, self._at, self._pool = self._masked[stay], self._at[stay], self._pool[:, :, stay]
        self._sources = [[part[stay] for part in layer] for layer in self._sources]

    def places(self, beams: int, *lines: Any) -> Any:
        """Return a place for the next piece of each beam, (sentences, beams) int64, that no line has: the lines that
        live are (sentences, any, length) int64."""
        free = torch.ones_like(self._at, dtype=torch.bool)
        for line in lines:
            free.scatter_(1, line.flatten(1), False)
        if int(free.sum(1).min()) < beams:
            self._pool = functional.pad(self._pool, (0, 0, 0, beams))
            self._at, free = (functional.pad(part, (0, beams)) for part in (self._at, free))
            free[:, -beams:] = True
        return free.byte().argsort(dim=1, descending=True, stable=True)[:, :beams]

    def step(self, slots: Any, pieces: Any, lines: Any, own: Any, positions: Any) -> Any:
        """Read a piece of each row.

        Args:
            slots: (rows,) int64, sentence * beams + beam.
            pieces: (rows,) int64.
            lines: (sentences, beams, length) int64, places of the pieces, the new one's included.
            own: (sentences, beams) int64, the place of the new one.
            positions: (sentences, beams) int64, the position of the new one.

        Returns:
            (rows, vocabulary) float32: log-probabilities of the next.
        """
        shape, nodes = own.shape, self._at.shape[1]
        owner, place = slots // shape[1], own.flatten()[slots]
        self._at[owner, place] = positions.flatten()[slots]
        seen = torch.zeros(*shape, nodes, dtype=torch.bool, device=own.device).scatter_(2, lines, True)
        distance = (positions[:, :, None] - self._at[:, None]).clamp(min=0)
        bias = self._bias[:, distance].transpose(0, 1).masked_fill(~seen[:, None], NEVER)
        grid = shape[0] * shape[1]

        def attend(query: Any, keys: Any, values: Any, mask: Any) -> Any:
            """(rows, width) in and out; keys and values are (sentences, heads, places, width)."""
            spread = query.new_zeros(grid, query.shape[1]).index_copy_(0, slots, query)
            spread = spread.view(*shape, *self._inner).transpose(1, 2)
            found = functional.scaled_dot_product_attention(spread, keys, values, mask, scale=1.0)
            return found.transpose(1, 2).reshape(grid, -1).index_select(0, slots)

        found = self._model.decoder.embed_tokens(pieces)
        for layer, (itself, cross, forward) in enumerate(self._blocks):
            new = functional.linear(itself.layer_norm(found), self._own[layer]).view(len(slots), 3, *self._inner)
            pool = self._pool[layer]
            pool[:, owner, :, place] = new[:, 1:]
            found = found + itself.SelfAttention.o(attend(new[:, 0].flatten(1), pool[0], pool[1], bias))
            query = cross.EncDecAttention.q(cross.layer_norm(found))
            keys, values = self._sources[layer]
            found = found + cross.EncDecAttention.o(attend(query, keys, values, self._masked))
            found = forward(found)
        found = self._model.decoder.final_layer_norm(found) * self._scale
        return self._model.lm_head(found).float().log_softmax(1)


def _qkv(attention: Any) -> tuple[Any, Any, Any]:
    return attention.q, attention.k, attention.v


def search(
    decoder: Decoder,
    alphabet: Alphabet,
    sources: Sequence[Sequence[int]],
    rooms: Sequence[Sequence[int]],
    beams: int,
    far: float = FAR,
) -> list[list[list[int]]]:
    """Return of each source its targets, the likeliest first, at most as many as beams: fewer where there are no more.

    Args:
        rooms: most pieces of each hole; one hole at least.
        far: how much more likely what is closed must be for what runs to be given up, a log-probability.
    """
    device = alphabet.banned.device
    longest = max(sum(room) + len(room) for room in rooms) + 2
    most = max(map(len, rooms))
    room = torch.tensor([[*row, *[0] * (most - len(row))] for row in rooms], device=device)
    holes = torch.tensor([len(row) for row in rooms], device=device)
    ids = torch.arange(len(sources), device=device)
    hole, depth = torch.full_like(ids, -1), torch.zeros_like(ids)
    # Every sentence begins with one hypothesis: the start, and the first sentinel next.
    score = torch.full((len(sources), beams), NEVER, device=device)
    score[:, 0] = 0.0
    closed = Beams(score, torch.full((*score.shape, 2, 1), PAD, device=device), torch.ones_like(score).long())
    decoder.begin(sources, beams, longest)
    start = torch.zeros_like(ids)[:, None]
    decoder.step(ids, torch.full_like(ids, PAD), start[:, None], start, start)
    running = closed._replace(score=torch.full_like(score, NEVER)).widen()
    found: list[list[list[int]]] = [[] for _ in sources]
    while True:
        # A hole is done when nothing runs in it: what is closed opens the next.
        over = (running.score == NEVER).all(1)
        hole, depth = hole + over, torch.where(over, 0, depth + 1)
        opened = closed.append((alphabet.first - hole)[:, None].expand_as(closed.length))
        running = Beams(*(torch.where(_like(over, new), new, old) for new, old in zip(opened, running, strict=True)))
        closed = closed._replace(score=closed.score.masked_fill(over[:, None], NEVER)).widen()
        # Where a vocabulary has too few words for a hole, nothing is closed either.
        done = (hole == holes) | (running.score == NEVER).all(1)
        if bool(done.any()):
            _write(found, ids[done].tolist(), running.take(done))
            stay = (~done).nonzero()[:, 0]
            if not len(stay):
                return found
            running, closed = running.take(stay), closed.take(stay)
            ids, hole, depth, room, holes = ids[stay], hole[stay], depth[stay], room[stay], holes[stay]
            decoder.leave(stay)
        left = room.gather(1, hole[:, None])[:, 0] - depth
        running, closed = _step(decoder, alphabet, running.narrow(), closed, alphabet.first - 1 - hole, depth, left)
        running = running._replace(score=_promising(running.score, closed.score, far))


def _like(condition: Any, part: Any) -> Any:
    """Return a condition of sentences, (sentences,), as wide as another tensor."""
    return condition.view(-1, *[1] * (part.dim() - 1))


def _promising(running: Any, closed: Any, far: float) -> Any:
    """Return scores of what runs, (sentences, beams), -inf for what is given up; those of each are in order."""
    beams = running.shape[1]
    ahead = (closed[:, None] >= running[:, :, None]).sum(2) + torch.arange(beams, device=running.device)
    is_closed = closed > NEVER
    least = closed.masked_fill(~is_closed, torch.inf).amin(1)
    some = 4 * is_closed.sum(1) >= beams
    late = some[:, None] & (running < (least - far)[:, None])
    return running.masked_fill((ahead >= beams) | late, NEVER)


def _step(
    decoder: Decoder, alphabet: Alphabet, running: Beams, closed: Beams, sentinel: Any, depth: Any, left: Any
) -> tuple[Beams, Beams]:
    """Return what runs and what is closed when that which runs has a piece more.

    Args:
        sentinel: (sentences,) int64, what closes the hole.
        depth: (sentences,) int64, pieces that the hole has.
        left: (sentences,) int64, how many more it may have.
    """
    beams = closed.score.shape[1]
    slots, before, scores = _read(decoder, running, closed)
    owner, score = slots // running.score.shape[1], running.score.flatten()[slots, None]
    depth, left, pieces = depth[owner, None], left[owner, None], alphabet.banned.shape[1]
    opening = depth == 0
    onward, begin, end, alone = alphabet.banned

    def grid(rows: Any) -> Any:
        """(rows, n) -> (sentences, running * n), with 0 or -inf for what does not run."""
        empty = rows.new_full((running.score.numel(), rows.shape[1]), NEVER if rows.is_floating_point() else 0)
        return empty.index_copy_(0, slots, rows).view(len(running.score), -1)

    # The last piece of what opens is a sentinel, which has no ban.
    last = before.gather(1, running.length.flatten()[slots, None] - 1).clamp(max=pieces - 1)
    ends = end[last] + alone[last].where(depth == 1, 0.0)
    closing = (scores.gather(1, sentinel[owner, None]) + score + ends).masked_fill(opening, NEVER)
    both = Beams(*(torch.cat(pair, 1) for pair in zip(closed, running, strict=True)))
    best, places = torch.cat((closed.score, grid(closing)), 1).topk(beams)
    closed = both.pick(places, best)

    # The last piece that there is room for ends the fill.
    bans = torch.stack((onward, begin, onward + end, begin + end + alone))
    scores = scores[:, :pieces] + bans[(opening + 2 * (left == 1))[:, 0]]
    # No two fills of a target begin alike: one word in several holes is dropped afterwards anyway.
    begun = (before[:, :-1] >= pieces) & opening
    scores.scatter_(1, torch.where(begun, before[:, 1:], PAD), NEVER)
    best, ids = scores.topk(min(beams, pieces))
    each = best.shape[1]
    best = grid((best + score).masked_fill(left == 0, NEVER))
    # There may be fewer than beams.
    best, places = best.topk(min(beams, best.shape[1]))
    short = (0, beams - best.shape[1])
    best, places = functional.pad(best, short, value=NEVER), functional.pad(places, short)
    return running.pick(places // each, best).append(grid(ids).gather(1, places)), closed


def _read(decoder: Decoder, running: Beams, closed: Beams) -> tuple[Any, Any, Any]:
    """Let the decoder read the last piece of what runs. Return its slots, (rows,), its pieces, (rows, length), and
    log-probabilities of the next, (rows, vocabulary)."""
    slots = (running.score > NEVER).flatten().nonzero()[:, 0]
    last = running.length - 1
    own = decoder.places(running.score.shape[1], running.nodes(), closed.nodes())
    lines = running.lines
    lines[:, :, _NODE].scatter_(2, last[:, :, None], own[:, :, None])
    before = lines[:, :, _PIECE].flatten(0, 1)[slots]
    pieces = before.gather(1, last.flatten()[slots, None])[:, 0]
    scores = decoder.step(slots, pieces, lines[:, :, _NODE], own, last)
    return slots, before, scores


def _write(found: list[list[list[int]]], ids: Sequence[int], beams: Beams) -> None:
    """Put the targets of sentences that are done where they belong."""
    counts, lengths = (beams.score > NEVER).sum(1).tolist(), beams.length.tolist()
    for row, lines in enumerate(beams.lines[:, :, _PIECE].tolist()):
        # The first piece is the decoder's start.
        found[ids[row]] = [lines[rank][1 : lengths[row][rank]] for rank in range(counts[row])]
