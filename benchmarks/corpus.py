"""`wikianchor corpus` against GiNZA's plain pipeline: speed for a core, equal spans, and direct objects that are found.

Needs the extra `ja` and $WIKIANCHOR_DATA, or --text. OMP_NUM_THREADS=1 keeps both to one core.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import measure

from wikianchor.pipelines.japanese.choices import SPAN_RULES
from wikianchor.pipelines.japanese.normalise import paragraphs
from wikianchor.pipelines.japanese.noun_spans import RELEASED_RELATIONS, Token, chunks, noun_spans
from wikianchor.pipelines.japanese.parsing import Parsed, make_parser


def main() -> None:
    arguments = measure.parser(__doc__)
    default = Path(os.environ.get("WIKIANCHOR_DATA", "."), "sdjc-corpora/clinic_corpus.txt")
    arguments.add_argument("--text", type=Path, default=default, help="a text, a sentence a line")
    arguments.add_argument("--lines", type=int, default=200, help="lines of it, evenly spread (200)")
    flags = arguments.parse_args()
    lines = [line for raw in flags.text.read_text(encoding="utf-8").splitlines() for line in paragraphs(raw)]
    texts = lines[:: max(1, len(lines) // flags.lines)][: flags.lines]
    speed(texts, flags.rounds)
    objects(texts)


def speed(texts: list[str], rounds: int) -> None:
    """Print the CPU of GiNZA as it comes and of ours, spans of all rules included."""
    import spacy

    plain, ours = spacy.load("ja_ginza"), make_parser("ginza")
    theirs: list[list[str]] = []
    found: list[list[Parsed]] = []

    def run_plain() -> None:
        theirs[:] = [[chunk.text for chunk in doc.noun_chunks] for doc in plain.pipe(texts)]

    def run_ours() -> None:
        found[:] = list(ours(texts))
        for sentences in found:
            for one in sentences:
                for rule in SPAN_RULES:
                    noun_spans(rule, one.text, one.tokens)

    cases = {"plain": lambda: measure.seconds(run_plain), "ours": lambda: measure.seconds(run_ours)}
    taken = measure.rounds_of(rounds, cases)
    mine = [[one.text[a:b] for one in some for a, b in chunks(one.tokens, RELEASED_RELATIONS)] for some in found]
    equal = sum(one == other for one, other in zip(theirs, mine, strict=True))
    rows: list[list[Any]] = [[name, len(texts) / min(taken[name])] for name in cases]
    table = measure.table(["pipeline", "lines a CPU second"], rows)
    ratio = measure.ratio(taken["plain"], taken["ours"])
    measure.report(
        "Parsing Japanese",
        f"{table}\n\nOurs is {ratio:.2f} times as fast; noun chunks are equal on {equal} of {len(texts)} lines.",
    )


def objects(texts: list[str]) -> None:
    """Print which share of direct objects each rule finds, and how many spans it gives."""
    counts: dict[str, list[int]] = {rule: [0, 0] for rule in SPAN_RULES}
    total = sentences = 0
    for parsed in make_parser("ginza")(texts):
        for one in parsed:
            sentences += 1
            heads = [
                token for token in one.tokens if token.relation == "obj" and token.pos in ("NOUN", "PROPN", "PRON")
            ]
            total += len(heads)
            for rule in SPAN_RULES:
                spans = noun_spans(rule, one.text, one.tokens)
                counts[rule][0] += sum(_covered(head, spans) for head in heads)
                counts[rule][1] += len(spans)
    rows: list[list[Any]] = [
        [rule, 100 * found / max(1, total), spans / max(1, sentences)] for rule, (found, spans) in counts.items()
    ]
    table = measure.table(["rule", "objects found, per cent", "spans a sentence"], rows)
    measure.report("Noun spans", f"{table}\n\n{total} direct objects in {sentences} sentences.")


def _covered(head: Token, spans: list[tuple[int, int]]) -> bool:
    """Whether a span ends with the head: then it is what is masked, and not something that the head stands in."""
    return any(start <= head.start and head.end == end for start, end in spans)


if __name__ == "__main__":
    main()
