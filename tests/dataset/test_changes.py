"""Why a finished dataset is built again, in a few words."""

from typing import Any

import pytest

from wikianchor.pipelines.dataset.changes import difference

A, B = {"path": "a.xml.bz2", "sha1": "1"}, {"dataset": "entities", "wiki": "enwiki"}


@pytest.mark.parametrize(
    ("key", "old", "new", "expected"),
    [
        ("inputs", [A, B], [{**A, "sha1": "2"}, B], "a.xml.bz2 is new or has changed"),
        ("inputs", [A, B], [A], "entities enwiki is gone"),
        ("inputs", [A, B], [B, A], "its inputs are in another order"),
        ("inputs", None, [{"model": "e5"}], "e5 is new or has changed"),
        ("options", {"wikis": ["enwiki", "dewiki"]}, {"wikis": ["enwiki"]}, "--wikis was enwiki,dewiki"),
        ("options", {"wikis": []}, {"wikis": ["enwiki"]}, "--wikis was empty"),
        ("options", {"asides": {"a": 1}}, {"asides": {}}, "--asides was another"),
        ("options", {"split": None}, {"split": True}, "--split was not set"),
        ("options", {"split": True}, {"split": False}, "--split was true"),
        ("options", None, {"seed": 1}, "--seed was not known"),
        ("schema_version", "1.0", "2.0", "its schema version was 1.0"),
        ("made_with", {"rules": "1", "pyarrow": "20"}, {"rules": "1", "pyarrow": "21"}, "made with pyarrow 20"),
        ("made_with", {"wikianchor": "1"}, {"wikianchor": "2"}, ""),
    ],
)
def test_the_first_difference_is_named(key: str, old: Any, new: Any, expected: str) -> None:
    assert difference({"dataset": "pairs", key: old}, {key: new}) == expected


def test_what_the_new_dataset_does_not_say_is_no_difference() -> None:
    assert difference({"options": {"seed": 2}, "inputs": [A]}, {}) == ""
