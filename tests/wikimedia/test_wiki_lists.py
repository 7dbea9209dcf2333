"""How flags name wikis."""

import pytest

from wikianchor.io.errors import UsageError
from wikianchor.pipelines.wikimedia.wiki_lists import only_wiki, wiki_named, wikis_named


@pytest.mark.parametrize(
    ("name", "wiki"),
    [
        *(("en", "enwiki"), ("enwiki", "enwiki"), ("enwikinews", "enwikinews"), ("nb", "nowiki"), ("nowiki", "nowiki")),
        *(("yue", "zh_yuewiki"), ("zh-yue", "zh_yuewiki"), ("simple", "simplewiki"), ("be-tarask", "be_x_oldwiki")),
    ],
)
def test_a_wiki_has_a_database_name_and_a_code(name: str, wiki: str) -> None:
    assert wiki_named(name) == wiki


def test_a_project_has_wikis_of_its_own() -> None:
    assert wikis_named("en, jawikinews,en", project="wikinews") == ("enwikinews", "jawikinews")
    with pytest.raises(UsageError, match="--wikis: enwiki is not a wiki in a language"):
        wikis_named("enwiki", project="wikinews")


@pytest.mark.parametrize(
    ("name", "suggestion"),
    [("enwki", "enwiki"), ("zh-yu", "zh-yue"), ("Enwiki", "en"), ("klingon", None), ("commonswiki", None)],
)
def test_a_wiki_that_does_not_exist(name: str, suggestion: str | None) -> None:
    advice = f"did you mean {suggestion}\\?" if suggestion else "write it like en or enwiki"
    with pytest.raises(UsageError, match=f"^--wikis: {name} is not a wiki in a language: {advice}$"):
        wiki_named(name)


def test_one_wiki_may_be_any() -> None:
    assert only_wiki("") is None
    assert only_wiki("uk") == "ukwiki"
    # Not in a language, and with a dump all the same.
    assert only_wiki("commonswiki") == "commonswiki"
