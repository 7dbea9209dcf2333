"""Released rows of MewsC-16 as pages of Wikinews dumps: the dumps of the released set are gone."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from lib import slices
from lib.measure import ROOT, fresh, run, wikianchor

sys.path.insert(0, str(ROOT))

from tests import wikinews as news


def build(work: Path, languages: Sequence[str]) -> Path:
    """Write the released rows as pages, and return the dataset that the command makes of them."""
    work = fresh(work / "mewsc16")
    work.mkdir(parents=True)
    topics: dict[str, dict[str, list[str]]] = {}
    for language in languages:
        for name, topic in news.TOPICS[language].items():
            topics.setdefault(topic, {}).setdefault(language, []).append(name)
        sentences, labels = (
            (slices.data() / "mewsc16" / f"{language}_{kind}.txt").read_text("utf-8").split("\n")
            for kind in ("sentences", "categories")
        )
        wiki, category = news.News(language), news.SPEECH[language]["category"]
        for number, (sentence, label) in enumerate(zip(sentences, labels, strict=True), 1):
            news.add_page(wiki, number, f"Row {number}", f"{sentence}\n\n[[{category}:{label}]]")
        news.write(wiki, work, pack=False)
    (work / "topics.json").write_text(json.dumps(topics))
    run(wikianchor("mewsc16", f"--dumps={work}/*.xml", f"--topics={work}/topics.json", f"--output={work}/out"))
    return work / "out"
