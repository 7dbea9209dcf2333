"""Write demo/documents.jsonl: short documents on four topics, with which M-BoE is tried out on the demo dumps.

    python demo/documents.py           write demo/documents.jsonl
    python demo/documents.py --check   say whether it is what this script gives (exit status 1 if not)

What tells the topic is the things that a document names; the words around them are the same for all topics. So a text
encoder can learn the English documents, and what carries over to the other languages is the entities. The training and
dev documents are English; German and Japanese have test documents alone.
"""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path

FILE = Path(__file__).with_name("documents.jsonl")
LANGUAGES = ("en", "de", "ja")
THINGS = {
    "sky": [
        ("Mars", "Mars", "火星"),
        ("Venus", "Venus", "金星"),
        ("Jupiter", "Jupiter", "木星"),
        ("Saturn", "Saturn", "土星"),
        ("Neptune", "Neptun", "海王星"),
        ("Uranus", "Uranus", "天王星"),
        ("Pluto", "Pluto", "冥王星"),
        ("the Moon", "der Mond", "月"),
    ],
    "matter": [
        ("hydrogen", "Wasserstoff", "水素"),
        ("helium", "Helium", "ヘリウム"),
        ("carbon", "Kohlenstoff", "炭素"),
        ("nitrogen", "Stickstoff", "窒素"),
        ("oxygen", "Sauerstoff", "酸素"),
        ("iron", "Eisen", "鉄"),
    ],
    "places": [
        ("Italy", "Italien", "イタリア"),
        ("France", "Frankreich", "フランス"),
        ("Spain", "Spanien", "スペイン"),
        ("Japan", "Japan", "日本"),
        ("Prague", "Prag", "プラハ"),
        ("Florence", "Florenz", "フィレンツェ"),
        ("London", "London", "ロンドン"),
        ("Paris", "Paris", "パリ"),
    ],
    "people": [
        ("Galileo Galilei", "Galileo Galilei", "ガリレオ・ガリレイ"),
        ("Nicolaus Copernicus", "Nikolaus Kopernikus", "ニコラウス・コペルニクス"),
        ("Albert Einstein", "Albert Einstein", "アルベルト・アインシュタイン"),
        ("Johannes Kepler", "Johannes Kepler", "ヨハネス・ケプラー"),
        ("Tycho Brahe", "Tycho Brahe", "ティコ・ブラーエ"),
        ("Christiaan Huygens", "Christiaan Huygens", "クリスティアーン・ホイヘンス"),
        ("Caroline Herschel", "Caroline Herschel", "カロライン・ハーシェル"),
    ],
}
SENTENCES = {
    "en": (
        "Today's page is about {} and {}.",
        "Everyone in class wrote something about {}.",
        "The book has a long chapter on {}, and a short one on {}.",
        "We talked about {} until late in the evening.",
        "She had a question about {} that nobody could answer.",
    ),
    "de": (
        "Auf dieser Seite geht es um {} und {}.",
        "Alle in der Klasse schrieben etwas zum Stichwort {}.",
        "Das Buch hat ein langes Kapitel über {} und ein kurzes über {}.",
        "Wir sprachen bis spät am Abend über {}.",
        "Zum Stichwort {} hatte sie eine Frage, die niemand beantworten konnte.",
    ),
    "ja": (
        "今日のページは{}と{}の話です。",
        "クラスの全員が{}について何か書いた。",
        "その本には{}についての長い章と、{}についての短い章がある。",
        "私たちは夜遅くまで{}の話をした。",
        "{}について、誰も答えられない質問があった。",
    ),
}
SIZES = (("en", "train", 60), ("en", "dev", 20), ("en", "test", 40), ("de", "test", 40), ("ja", "test", 40))


def lines() -> list[str]:
    """Return the documents as lines of JSON, the same every time."""
    found = []
    for language, split, count in SIZES:
        draw = random.Random(f"{language} {split}")
        place = LANGUAGES.index(language)
        for number in range(count):
            label = sorted(THINGS)[number % len(THINGS)]
            text = []
            for sentence in draw.sample(SENTENCES[language], 2):
                things = draw.sample(THINGS[label], sentence.count("{}"))
                text.append(sentence.format(*(names[place] for names in things)))
            row = {
                "id": f"{language}-{split}-{number}",
                "language": language,
                "split": split,
                "label": label,
                "text": ("" if language == "ja" else " ").join(text),
            }
            found.append(json.dumps(row, ensure_ascii=False))
    return found


def main() -> int:
    """Write or check the file."""
    text = "".join(f"{line}\n" for line in lines())
    if "--check" in sys.argv[1:]:
        if FILE.read_text("utf-8") == text:
            return 0
        print(f"{FILE} is not what {Path(__file__).name} gives")
        return 1
    FILE.write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
