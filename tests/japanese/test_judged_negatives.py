"""The verdicts on 200 hard negatives (`tests/data/japanese_negatives.json`) are those of the study about them.

The negatives depend on a trained T5, so no test makes them again; docs/explanation/studies/japanese-negatives.md has
the method.
"""

import json
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_study_has_the_figures_of_the_verdicts() -> None:
    verdicts = json.loads((ROOT / "tests/data/japanese_negatives.json").read_text())
    rows = [dict(zip(verdicts["columns"], row, strict=True)) for row in verdicts["rows"]]
    study = (ROOT / "docs/explanation/studies/japanese-negatives.md").read_text()
    assert len({(row["sentence_id"], row["rank"]) for row in rows}) == 200
    for title, name in (
        ("grammatical", "grammatical"),
        ("differs in meaning", "differs_in_meaning"),
        ("same frame", "same_frame"),
    ):
        assert f"| {title} | {sum(row[name] for row in rows)} |" in study
    columns = verdicts["columns"][2:]
    assert f"| all three | {sum(all(row[name] for name in columns) for row in rows)} |" in study
