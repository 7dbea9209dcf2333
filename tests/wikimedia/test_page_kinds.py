"""Disambiguation pages and lists, told by template and title."""

import pytest

from wikianchor.pipelines.wikimedia.page_kinds import PageKinds


@pytest.mark.parametrize(
    ("language", "title", "text", "flags"),
    [
        ("en", "Mercury", "'''Mercury''' may be:\n* a planet\n{{disambiguation}}", ["disambiguation"]),
        ("en", "Mercury", "{{Human name disambiguation|x}}", ["disambiguation"]),
        ("en", "Mercury", "{{ Disambig\n|a }}", ["disambiguation"]),
        ("en", "Mercury (planet)", "{{about|the planet}} It is a planet.", []),
        ("en", "Mercury", "text __DISAMBIG__", ["disambiguation"]),
        ("en", "List of planets", "{{short description|x}}", ["list"]),
        ("en", "Listeria", "It is a bacterium.", []),
        ("de", "Merkur", "{{Begriffsklärung}}", ["disambiguation"]),
        ("de", "Liste der Planeten", "", ["list"]),
        ("ja", "水星 (曖昧さ回避)", "{{Aimai}}", ["disambiguation"]),
        ("ja", "惑星の一覧", "", ["list"]),
        ("uk", "Меркурій", "{{DisambigG}} {{неоднозначність}}", ["disambiguation"]),
        ("be-tarask", "Мэркурый", "{{неадназначнасць}}", ["disambiguation"]),
        # Above an article: other meanings are on another page.
        ("ca", "Berlín", "{{polisèmia|Berlin}} És una ciutat.", []),
        ("ca", "Berlin", "{{desambiguació}}", ["disambiguation"]),
        ("xx", "Mercury", "{{disambig}}", ["disambiguation"]),
    ],
)
def test_flags(language: str, title: str, text: str, flags: list[str]) -> None:
    assert PageKinds(language).flags(title, text) == flags


def test_a_template_marks_disambiguation_pages_by_the_wikis_own_definition() -> None:
    kinds = PageKinds("xx", {"ambiguous", "Many things"}.__contains__)
    assert kinds.flags("A", "It may be {{bold|b}}.\n{{ambiguous|c=d}}") == ["disambiguation"]
    assert (
        kinds.flags("A", "{{Many things\n| c}}") == ["disambiguation"] == kinds.flags("A", "{{many}} {{Many things}}")
    )
    assert kinds.flags("A", "{{b|ambiguous}} ambiguous") == []
