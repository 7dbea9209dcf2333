"""The released MewsC-16 and collected articles, against verdicts of a person (tests/data/mewsc16_released.json).

The verdicts are the numbers of the faulty rows among 200 of each language, chosen by a hash; hashes of the beginnings
of rows of eight other languages, which were read after the rules were made; and first sentences of articles by a
hash. docs/explanation/studies/released-mewsc16.md has the method and the figures.
"""

from __future__ import annotations

import csv
import hashlib
import html
import json
import os
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from wikianchor.pipelines.mewsc16.editions import wiki_facts
from wikianchor.pipelines.mewsc16.faults import FaultFinder
from wikianchor.pipelines.mewsc16.lead import LeadReader
from wikianchor.pipelines.wikimedia.site import site_for

VERDICTS = Path(__file__).parents[1] / "data/mewsc16_released.json"
DATA = Path(os.environ.get("WIKIANCHOR_DATA", "."))
SAMPLE = 200
# What a plain search for the remains of pictures looks for: options with a bar or glued to a capital.
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


def released(language: str) -> list[str]:
    """Sentences of a language as they were released."""
    return (DATA / f"mewsc16/{language}_sentences.txt").read_text("utf-8").split("\n")


def digest(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


@pytest.mark.real
@pytest.mark.usefixtures("data_dir")
@pytest.mark.slow
def test_faults_of_released_rows_are_found() -> None:
    judged = json.loads(VERDICTS.read_text())["faulty rows"]
    counts: Counter[str] = Counter()
    for language, faulty_rows in judged.items():
        rows = released(language)
        find = FaultFinder(language).fault
        faulty = [find(row) is not None for row in rows]
        options, prefixes = _OPTIONS[language], wiki_facts()["old_prefixes"][language]
        markers = re.compile(rf"(?:Category|{prefixes})\s*:")
        pictures = re.compile(
            rf"\d\s?px(?![a-z])|(?:{options})\||^(?:{options})\s?(?=[A-ZÀ-Ž])|\.(?:jpg|png|svg)|thumb|upright"
        )
        for name, pattern in (("markers", markers), ("pictures", pictures)):
            matches = [number for number, row in enumerate(rows) if pattern.search(row)]
            counts.update({name: len(matches), f"{name} found": sum(faulty[number] for number in matches)})
        sample = sorted(range(len(rows)), key=lambda row: digest(f"judge|{language}|{row}"))[:SAMPLE]
        sound = set(sample) - set(faulty_rows)
        counts.update(sound=len(sound), wrong=sum(faulty[number] for number in sound))
        counts.update({"faulty": len(faulty_rows), "faulty found": sum(faulty[number] for number in faulty_rows)})
    assert counts["sound"] > 500
    assert counts["wrong"] <= 0.005 * counts["sound"]
    # The others are captions, which only the markup of a page shows.
    assert counts["faulty found"] >= 0.7 * counts["faulty"]
    for name in ("markers", "pictures"):
        assert counts[name] > 3_000
        assert counts[f"{name} found"] >= 0.99 * counts[name]


@pytest.mark.real
@pytest.mark.usefixtures("data_dir")
def test_sound_rows_pass_in_languages_that_no_rule_was_made_from() -> None:
    judged = json.loads(VERDICTS.read_text())["rows of set-aside languages"]
    counts: Counter[str] = Counter()
    for language, verdicts in judged.items():
        if not (DATA / f"mewsc16/{language}_sentences.txt").exists():
            continue
        faults = FaultFinder(language)
        verdict_of = {name: kind for kind, names in verdicts.items() for name in names}
        for row in released(language):
            if kind := verdict_of.get(digest(row[:60])):
                counts.update({kind: 1, f"{kind} touched": faults.fault(row) is not None})
    if not counts:
        pytest.skip("none of these languages is there")
    assert counts["sound touched"] <= 0.005 * counts["sound"]


def articles() -> Iterator[tuple[str, str, str]]:
    """Language, title and text of the collected articles, a paragraph a line."""
    folder = DATA / "wikinews"
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


@pytest.mark.real
@pytest.mark.usefixtures("data_dir")
def test_first_sentences_are_right() -> None:
    verdicts = json.loads(VERDICTS.read_text())["sentences"]
    readers = {language: LeadReader(site_for(f"{language}wikinews")) for language in ("en", "fr")}
    counts: Counter[object] = Counter()
    for language, title, text in articles():
        sentence, reason = readers[language].first_sentence(text, title)
        if not reason:
            counts[verdicts.get(digest(sentence))] += 1
    # A sentence without a verdict has to be read and judged.
    assert counts[None] == 0
    assert counts[1] >= 0.98 * counts.total() > 290
