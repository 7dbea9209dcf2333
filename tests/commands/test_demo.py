"""The demo's documents go with its dumps: M-BoE finds entities in each, and the same ones in all languages."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from tests.conftest import Ended
from wikianchor.trainer.mboe.detector import bag_of, detect
from wikianchor.trainer.mboe.dictionary import open_dictionary, open_mentions

DEMO = Path(__file__).parents[2] / "demo"


def test_documents_of_all_languages_speak_of_the_same_items(
    demo_build: Path, tmp_path: Path, wikianchor: Callable[..., Ended]
) -> None:
    flags = [f"--sentences={demo_build}/sentences/*", f"--entities={demo_build}/entities"]
    flags.append(f"--output={tmp_path}/mentions")
    assert wikianchor("mentions", *flags).status == 0
    mentions = open_mentions(str(tmp_path / "mentions"))
    dictionaries = {language: open_dictionary(mentions, language, str(tmp_path)) for language in ("en", "de", "ja")}
    items: dict[tuple[str, str], set[int]] = {}
    for line in (DEMO / "documents.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        bag = bag_of(detect(row["text"], dictionaries[row["language"]]))
        assert len(bag.qids), row
        items.setdefault((row["language"], row["label"]), set()).update(bag.qids.tolist())
    labels = {label for _, label in items}
    for label in labels:
        assert items["en", label] >= items["de", label] | items["ja", label]
        # No topic is told by things of another.
        assert not any(items["en", label] & items["en", other] for other in labels - {label})
