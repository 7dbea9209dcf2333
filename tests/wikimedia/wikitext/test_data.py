"""The data that both engines read: Python has a rule for each kind in it, as `cargo test` says of the core."""

from typing import Any

import pytest

from wikianchor.io.package_data import package_json
from wikianchor.pipelines.wikimedia.wikitext import parser_functions, tags, templates


def data(name: str) -> dict[str, Any]:
    content: dict[str, Any] = package_json("pipelines.wikimedia", name)
    return content


@pytest.mark.parametrize(
    ("name", "part", "kinds"),
    [
        (
            "tags.json",
            "extensions",
            {*tags._REPLACEMENTS, "nowiki", "pre"},
        ),
        ("tags.json", "kept", {"nothing", "break"}),
        (
            "tags.json",
            "html",
            {*("inline", "raised", "block", "break", "item", "heading"), *("table", "row", "rows", "cell", "caption")},
        ),
        ("tags.json", "line_feeds", {"soft", "quotation"}),
        ("tags.json", "function", {"gap", "text", "nowiki"}),
        (
            "functions.json",
            "functions",
            {*parser_functions._SHOWN, *parser_functions.SERVED.values(), "number", "prefix", "invoke"},
        ),
        ("functions.json", "functions_of_pages", {*templates._SHOWN, "nothing", "number", "prefix", "server"}),
    ],
)
def test_every_kind_has_a_rule(name: str, part: str, kinds: set[str]) -> None:
    assert set(data(name)[part].values()) <= kinds


def test_names_are_as_calls_and_tags_are_compared() -> None:
    names = {**data("tags.json")["extensions"], **data("tags.json")["html"], **data("functions.json")["functions"]}
    assert [name for name in names if name != name.lower()] == []
