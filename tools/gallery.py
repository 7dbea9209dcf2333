"""Write docs/gallery.md, what the datasets of the demo hold of one page: part of `make docs`.

    python -m tools.gallery [PAGE]

PAGE is another file to write instead.
"""

from __future__ import annotations

import html
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from wikianchor import open_dataset

ROOT = Path(__file__).parent.parent
WIKI, TITLE = "enwiki", "Venus"
HEAD = f"""<!-- Written by tools/gallery.py from the demo: run `make docs`. -->

# What the datasets hold

One page of the [demo](tutorial.md), “{TITLE}”, in three datasets. Columns: [reference](reference/datasets.md).
"""


def main(target: str = "docs/gallery.md") -> None:
    """Build the demo and write the page."""
    with tempfile.TemporaryDirectory() as work:
        flags = ["--dumps=demo/dumps", f"--output={work}", "--min_links=2", "--documents", "--quiet"]
        subprocess.run([sys.executable, "-m", "wikianchor", "build", *flags], cwd=ROOT, check=True)
        Path(target).write_text(gallery(Path(work)), "utf-8")


def gallery(build: Path) -> str:
    """Return the page, from the directory of a build."""
    sentence, *_ = _rows(build / f"sentences/{WIKI}", "sentences")
    pair, *_ = _rows(build / "pairs", "pairs")
    (document,) = _rows(build / "documents", "documents")
    labels = {
        row["qid"]: next(label["text"] for label in row["labels"] if label["language"] == "en")
        for row in open_dataset(str(build / "entities")).to_arrow("entities", ["qid", "labels"]).to_pylist()
    }
    named = {qid: f"<b>{html.escape(labels[qid])}</b> <code>Q{qid}</code>" for qid in labels}
    marked = _marked(pair["text"], [{"start": pair["mention_start"], "end": pair["mention_end"]}])
    negatives = ", ".join(named[qid] for qid in pair["hard_negative_qids"])
    sections = ["the lead", *(f"“{html.escape(section['title'])}”" for section in document["sections"])]
    blocks = [
        (f"{block['kind']}<span>in {sections[block['section'] + 1]}</span>", _shortened(document["text"], block))
        for block in document["blocks"]
    ]
    return "\n".join(
        [
            HEAD,
            _figure("A sentence with its links", "sentences", _links(sentence)),
            _figure(
                "A pair: a sentence, an entity that it links to, and a hard negative",
                "pairs",
                [
                    ("text", marked),
                    ("entity", named[pair["entity_qid"]]),
                    ("hard negative", f"{negatives}<span>of the type {named.get(pair['type_qid'], '')}</span>"),
                ],
            ),
            _figure("A document in blocks", "documents", blocks),
        ]
    )


def _rows(dataset: Path, config: str) -> list[dict[str, Any]]:
    """Return the rows of the page, in the order of the dataset."""
    rows = open_dataset(str(dataset)).to_arrow(config).to_pylist()
    return [row for row in rows if row["title"] == TITLE and row.get("wiki", WIKI) == WIKI]


def _links(sentence: Mapping[str, Any]) -> list[tuple[str, str]]:
    targets = [(f"link {number}", html.escape(link["target"])) for number, link in enumerate(sentence["links"], 1)]
    return [("text", _marked(sentence["text"], sentence["links"])), *targets]


def _marked(text: str, spans: Iterable[Mapping[str, int]]) -> str:
    """Return a text in which spans, which ascend, are marked."""
    parts, done = [], 0
    for span in spans:
        start, end = span["start"], span["end"]
        parts += [html.escape(text[done:start]), f"<mark>{html.escape(text[start:end])}</mark>"]
        done = end
    return "".join([*parts, html.escape(text[done:])])


def _shortened(text: str, block: Mapping[str, int]) -> str:
    shown = text[block["start"] : block["end"]]
    return html.escape(shown if len(shown) < 90 else f"{shown[:90].rpartition(' ')[0]} …")


def _figure(title: str, config: str, entries: Iterable[tuple[str, str]]) -> str:
    lines = "\n".join(f"<dt>{name}</dt>\n<dd>{value}</dd>" for name, value in entries)
    anchor = f"<figcaption>A row of <code>{config}</code>.</figcaption>"
    return f'## {title}\n\n<figure class="row-of-data">\n<dl>\n{lines}\n</dl>\n{anchor}\n</figure>\n'


if __name__ == "__main__":
    main(*sys.argv[1:])
