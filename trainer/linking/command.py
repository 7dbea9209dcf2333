"""`wikianchor link`: the scores of linkers on mentions, as a table.

A method ranks the candidates of a mention. Its scores, over all mentions with an item, also those whose item is no
candidate:

    accuracy     the first one is the item
    recall@k     the item is among the first k; recall@30 of `prior` is the recall of the candidates

A mention of a dataset `linking` is a link that the counts of names have seen: its own link is taken out of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from wikianchor.io.errors import InputError
from wikianchor.io.markdown import markdown_table
from wikianchor.trainer.command import TRAIN, need, run_command
from wikianchor.trainer.linking.knowledge import (
    Linking,
    Name,
    find_titles,
    held_out,
    key_of,
    open_linking,
    read_names,
    read_texts,
)
from wikianchor.trainer.linking.mentions import Mention, read_mentions
from wikianchor.trainer.linking.options import LinkOptions, parse

RANKS = (1, 5, 30)
# The score of a candidate is log(prior + FLOOR) + WEIGHT * cosine.
FLOOR, WEIGHT = 0.01, 2.0
# Characters of the context that a model reads on each side.
WINDOW = 200
Candidates = tuple[tuple[int, float], ...]


def main(argv: Sequence[str]) -> int:
    """Return the exit status."""
    return run_command("link", lambda: run(parse(argv)))


def run(options: LinkOptions) -> str:
    """Return the table of scores.

    Raises:
        UsageError, InputError: the dataset or a file cannot be used, or there is no mention.
    """
    if options.model:
        need(TRAIN)
    linking = open_linking(options.linking)
    language = options.languages[0] if len(options.languages) == 1 else "en"
    read = read_mentions(options.data, language) if options.data else held_out(linking, options.sample, options.seed)
    mentions = [mention for mention in read if not options.languages or mention.language in options.languages]
    titles = find_titles(linking, {mention.title for mention in mentions if mention.title})
    mentions = [replace(mention, qid=mention.qid or titles.get(mention.title, 0)) for mention in mentions]
    without = Counter((mention.source, mention.language) for mention in mentions if not mention.qid)
    mentions = [mention for mention in mentions if mention.qid]
    if not mentions:
        source = f"--data={options.data}" if options.data else f"--linking={options.linking}"
        raise InputError(f"{source}: no mention with an item{' in these languages' if options.languages else ''}")
    candidates = candidates_of(linking, mentions)
    ranks = {"prior": [rank_of(mention, of_name) for mention, of_name in zip(mentions, candidates, strict=True)]}
    if any(mention.answers is not None for mention in mentions):
        ranks["answers"] = [rank_in(mention.answers or (), mention.qid) for mention in mentions]
    for model in options.model:
        ranks[f"prior + {model}"] = ranks_by_model(linking, mentions, candidates, model, options)
    return table(mentions, ranks, without)


def candidates_of(linking: Linking, mentions: Sequence[Mention]) -> list[Candidates]:
    """Return the candidates of each mention, the most frequent first; none in a language without a wiki."""
    keys = [(linking.wikis.get(mention.language, ""), key_of(mention)) for mention in mentions]
    names = read_names(linking, set(keys))
    return [
        without_own_link(mention, names[key]) if key in names else ()
        for mention, key in zip(mentions, keys, strict=True)
    ]


def without_own_link(mention: Mention, name: Name) -> Candidates:
    """Return the candidates of a name as they are if the link of the mention is not counted.

    >>> mention = Mention(source="", language="en", left="", surface="It", right="", qid=2, is_counted=True)
    >>> without_own_link(mention, Name(4, ((2, 0.5), (3, 0.25), (4, 0.25))))
    ((2, 0.3333333333333333), (3, 0.3333333333333333), (4, 0.3333333333333333))
    """
    if not mention.is_counted:
        return name.candidates
    counts = [(qid, round(prior * name.links) - (qid == mention.qid)) for qid, prior in name.candidates]
    kept = [(qid, max(0, links)) for qid, links in counts if qid != mention.qid or mention.is_candidate]
    left = sorted(kept, key=lambda candidate: (-candidate[1], candidate[0]))
    return tuple((qid, links / max(1, name.links - 1)) for qid, links in left)


def rank_of(mention: Mention, candidates: Candidates) -> int:
    """Return the rank of the item, from 0; -1 if it is no candidate."""
    return rank_in([qid for qid, _ in candidates], mention.qid)


def rank_in(qids: Sequence[int], qid: int) -> int:
    """Return the index of an item, -1 for one that is not there."""
    return qids.index(qid) if qid in qids else -1


def ranks_by_model(
    linking: Linking, mentions: Sequence[Mention], candidates: Sequence[Candidates], model: str, options: LinkOptions
) -> list[int]:
    """Return the ranks of the items by prior and cosine."""
    # Deferred: a score by priors alone needs no torch.
    from wikianchor.trainer.distributed import choose_device
    from wikianchor.trainer.models.encoder import Encoder

    encoder = Encoder.load(model, device=choose_device(options.device))
    ranks = [rank_of(mention, of_name) for mention, of_name in zip(mentions, candidates, strict=True)]
    for language in sorted({mention.language for mention in mentions}):
        # The rank of an only candidate stays.
        rows = [
            row for row, mention in enumerate(mentions) if mention.language == language and len(candidates[row]) > 1
        ]
        qids = sorted({qid for row in rows for qid, _ in candidates[row]})
        texts = read_texts(linking, qids, language)
        contexts = [
            f"{mentions[row].left[-WINDOW:]}{mentions[row].surface}{mentions[row].right[:WINDOW]}" for row in rows
        ]
        vectors = encoder.encode(contexts + [texts.get(qid, "") for qid in qids], options.batch_size)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True).clip(min=1e-9)
        of_items: Mapping[int, int] = {qid: len(rows) + number for number, qid in enumerate(qids)}
        for number, row in enumerate(rows):
            cosines = vectors[[of_items[qid] for qid, _ in candidates[row]]] @ vectors[number]
            priors = np.array([prior for _, prior in candidates[row]])
            order = np.argsort(-(np.log(priors + FLOOR) + WEIGHT * cosines), kind="stable")
            ranks[row] = rank_in([candidates[row][index][0] for index in order.tolist()], mentions[row].qid)
    return ranks


def table(
    mentions: Sequence[Mention], ranks: Mapping[str, Sequence[int]], without: Mapping[tuple[str, str], int]
) -> str:
    """Return the scores of each set, language and method."""
    sets = sorted({(mention.source, mention.language) for mention in mentions})
    head = ["set", "language", "method", "mentions", "without an item", "accuracy"]
    lines = [line for key in sets for line in _lines(key, mentions, ranks, without.get(key, 0))]
    return markdown_table([*head, *(f"recall@{most}" for most in RANKS[1:])], lines)


def _lines(
    key: tuple[str, str], mentions: Sequence[Mention], ranks: Mapping[str, Sequence[int]], without: int
) -> Iterator[list[object]]:
    rows = [row for row, mention in enumerate(mentions) if (mention.source, mention.language) == key]
    for method, of_method in ranks.items():
        if method == "answers" and all(mentions[row].answers is None for row in rows):
            continue
        hits = [sum(0 <= of_method[row] < most for row in rows) for most in RANKS]
        yield [*key, method, len(rows), without, *(f"{hit / len(rows):.3f}" for hit in hits)]
