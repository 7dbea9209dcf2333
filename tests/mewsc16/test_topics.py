"""`topics`: SQL tables of made-up wikis in, the map that they imply out."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from tests.conftest import Ended
from wikianchor.pipelines.mewsc16.topic_map import load_topics
from wikianchor.schemas.mewsc16 import LANGUAGES, TOPICS

Command = Callable[..., Ended]
COLUMNS = {
    "page": "`page_id` int NOT NULL, `page_namespace` int NOT NULL, `page_title` varbinary(255) NOT NULL",
    "langlinks": "`ll_from` int NOT NULL, `ll_lang` varbinary(35) NOT NULL, `ll_title` varbinary(255) NOT NULL",
    "page_props": "`pp_page` int NOT NULL, `pp_propname` varbinary(60) NOT NULL, `pp_value` blob NOT NULL",
}


def write(directory: Path, wiki: str, table: str, rows: Sequence[tuple[object, ...]]) -> None:
    listed = ",".join(
        "(" + ",".join(str(cell) if isinstance(cell, int) else f"'{cell}'" for cell in row) + ")" for row in rows
    )
    (directory / f"{wiki}-20260601-{table}.sql").write_text(
        f"CREATE TABLE `{table}` ({COLUMNS[table]});\nINSERT INTO `{table}` VALUES {listed};\n", "utf-8"
    )


@pytest.fixture
def tables(tmp_path: Path) -> Path:
    write(tmp_path, "enwikinews", "page", [(1, 14, "Sports"), (2, 14, "Health"), (3, 0, "Sports"), (4, 14, "Boats")])
    write(tmp_path, "enwikinews", "langlinks", [(1, "de", "Kategorie:Themenportal_Sport"), (4, "de", "Kategorie:Boot"),
                                                (2, "xx", "X:Y"), (2, "fr", "Catégorie:Santé publique")])  # fmt: skip
    write(tmp_path, "enwikinews", "page_props", [(1, "wikibase_item", "Q5"), (2, "wikibase_item", "Q6"), (1, "x", "y")])
    write(tmp_path, "jawikinews", "page", [(7, 14, "スポーツ"), (8, 0, "スポーツ")])
    write(tmp_path, "jawikinews", "page_props", [(7, "wikibase_item", "Q5"), (8, "wikibase_item", "Q9")])
    return tmp_path


def test_both_routes_lead_to_categories(tables: Path, wikianchor: Command) -> None:
    # What `wikianchor mewsc16` reads may lie beside them.
    (tables / "enwikinews-20260601-categorylinks.sql").write_text("not read")
    ended = wikianchor("topics", f"--sql={tables}/*.sql", f"--output={tables}/map.json")
    assert (ended.status, ended.said) == (0, [])
    derived = json.loads((tables / "map.json").read_text("utf-8"))
    assert derived["items"] == {"Sports": "Q5"}
    assert derived["topics"]["Sports"] == {
        "de": [["Themenportal Sport", "langlinks"]],
        "en": [["Sports", "title"]],
        "ja": [["スポーツ", "wikibase_item"]],
    }
    assert derived["topics"]["Health"]["fr"] == [["Santé publique", "langlinks"]]
    assert load_topics(str(tables / "map.json"))["ja"] == {"スポーツ": "Sports"}
    lines = ended.output.splitlines()
    assert "fr\tHealth\tSanté\tSanté publique" in lines
    assert not any(line.startswith("de\tSports") for line in lines)


MISSING: Mapping[str, tuple[str, str]] = {
    "no pages of the English wiki": ("enwikinews-20260601-page.sql", "enwikinews-...-page.sql.gz"),
    "no pages of another wiki": ("jawikinews-20260601-page.sql", "page.sql.gz of the same wiki"),
}


@pytest.mark.parametrize("case", MISSING)
def test_a_missing_table_is_told(tables: Path, wikianchor: Command, case: str) -> None:
    name, words = MISSING[case]
    (tables / name).unlink()
    ended = wikianchor("topics", f"--sql={tables}/*.sql", f"--output={tables}/map.json")
    assert ended.status == 1
    assert len(ended.said) == 1
    assert words in ended.said[0]


def test_other_files_and_flags_are_refused(tables: Path, wikianchor: Command) -> None:
    other = tables / "enwiki-20260601-page.sql"
    other.write_text("x")
    assert wikianchor("topics", f"--sql={other}", f"--output={tables}/map.json").status == 1
    assert wikianchor("topics", "--sql=", f"--output={tables}/map.json").status == 2
    assert wikianchor("topics", f"--sql={tables}/ja*.sql", f"--output={tables}/map.json", "--runner=X").status == 2


def test_the_map_of_the_project_has_every_language_and_no_name_twice() -> None:
    topics = load_topics()
    assert set(topics) == set(LANGUAGES)
    assert all(set(names.values()) <= set(TOPICS) for names in topics.values())
    assert topics["en"] == {topic: topic for topic in TOPICS}
    assert load_topics(only=["released"])["sv"].keys() < topics["sv"].keys()
