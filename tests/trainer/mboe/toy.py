"""A corpus in three languages that share no word. What its documents are about shows in the things they name, and these
are the same in all three. Written by hand; the fillers say nothing of the topic."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

from tests.trainer.mboe.mentions import Name, write_mentions

TOPICS: dict[str, list[tuple[int, str, str, str]]] = {
    "sky": [
        (1, "morning star", "Abendstern", "明けの明星"),
        (2, "red planet", "Kriegsgott", "火星"),
        (3, "comet", "Schweifstern", "彗星"),
        (4, "milky way", "Milchstraße", "銀河"),
    ],
    "food": [
        (11, "bread", "Brot", "麺麭"),
        (12, "cheese", "Käse", "乾酪"),
        (13, "apple cake", "Apfelkuchen", "林檎餅"),
        (14, "soup", "Suppe", "汁物"),
    ],
    "music": [
        (21, "violin", "Geige", "提琴"),
        (22, "opera house", "Oper", "歌劇場"),
        (23, "drum", "Trommel", "太鼓"),
        (24, "choir", "Gesangverein", "合唱団"),
    ],
    "sea": [
        (31, "lighthouse", "Leuchtturm", "灯台"),
        (32, "sailing ship", "Segler", "帆船"),
        (33, "tide", "Ebbe", "潮汐"),
        (34, "harbour", "Hafen", "港湾"),
    ],
}
LANGUAGES = ("en", "de", "ja")
FILLERS = {
    "en": ["we saw", "near the", "and then a", "people like the", "there was", "today it is", "they spoke of the"],
    "de": ["wir sahen", "neben", "und danach", "alle mögen", "dort war", "heute ist", "man sprach von"],
    "ja": ["私は見た", "の近く", "それから", "皆が好む", "があった", "今日は", "話をした"],
}
# A name of a thing of another topic, which is named less often so: nothing but attention tells that it is unlikely.
SENSES = {"comet": (12, 0.1), "Brot": (33, 0.1), "太鼓": (2, 0.1)}


def names(language: str) -> list[Name]:
    """Return the names of a language with their counts."""
    column = LANGUAGES.index(language)
    collected: list[Name] = []
    for things in TOPICS.values():
        for qid, *words in things:
            word = words[column]
            collected.append((word, qid, 90, 120))
            if word in SENSES:
                other, share = SENSES[word]
                collected.append((word, other, int(90 * share), 120))
    return collected


def documents(language: str, split: str, count: int, several: bool = False) -> list[dict[str, Any]]:
    """Return documents as lines of JSON say them, the same in every run."""
    draw = random.Random(f"{language} {split}")
    column = LANGUAGES.index(language)
    topics = sorted(TOPICS)
    collected = []
    for number in range(count):
        labels = draw.sample(topics, draw.randint(1, 2)) if several else [topics[number % len(topics)]]
        things = [thing for label in labels for thing in draw.choices(TOPICS[label], k=3)]
        draw.shuffle(things)
        words = [f"{draw.choice(FILLERS[language])} {thing[1 + column]}" for thing in things]
        words += draw.choices(FILLERS[language], k=2)
        said = {"labels": labels} if several else {"label": labels[0]}
        row = {"text": ", ".join(words) + ".", **said, "language": language, "split": split}
        collected.append(
            {"id": f"{language}-{split}-{number}", **row, "entities": sorted({thing[0] for thing in things})}
        )
    return collected


def write_toy(column: Path, several: bool = False, size: int = 1) -> tuple[Path, Path]:
    """Write the documents and their `mentions`; return both."""
    rows = documents("en", "train", 80 * size, several) + documents("en", "dev", 40, several)
    for language in LANGUAGES:
        rows += documents(language, "test", 60, several)
    path = column / "documents.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path, write_mentions(column / "mentions", {language: names(language) for language in LANGUAGES})


def words() -> list[str]:
    """Return all words of the corpus, for a tokenizer; Japanese ones are characters."""
    collected: set[str] = set()
    for language in LANGUAGES:
        for row in documents(language, "test", 60) + documents(language, "train", 120):
            text = row["text"]
            collected.update(text if language == "ja" else text.replace(",", " ").replace(".", " ").split())
    return sorted(collected)
