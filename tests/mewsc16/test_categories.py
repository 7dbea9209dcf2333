"""Categories of a page as its wikitext names them, redirects between them, and what follows for its topics."""

from __future__ import annotations

import pytest

from wikianchor.pipelines.mewsc16.categories import CategoryReader, follow
from wikianchor.pipelines.mewsc16.editions import licence, with_aliases
from wikianchor.pipelines.mewsc16.membership import PUBLISHED, Categories, bits_of_names, label_of, topics_of_bits
from wikianchor.pipelines.wikimedia.pages import Page
from wikianchor.pipelines.wikimedia.site import site_for
from wikianchor.schemas.mewsc16 import TOPICS


def reader(language: str) -> CategoryReader:
    return CategoryReader(with_aliases(site_for(f"{language}wikinews")))


@pytest.mark.parametrize(
    ("language", "text", "names"),
    [
        ("de", "[[Kategorie:Themenportal Sport]]", ["Themenportal Sport"]),
        ("de", "[[category:themenportal_Sport|key]] x [[ KATEGORIE : Boot ]]", ["Themenportal Sport", "Boot"]),
        ("es", "[[Categoría:A]][[Category:B]][[CAT:C]]", ["A", "B", "C"]),
        ("ru", "[[К:Спорт]] [[категория:Спорт]]", ["Спорт"]),
        ("ja", "[[カテゴリ:政治]][[Category:政治|せ]]", ["政治"]),
        ("tr", "[[KAT:Spor]]", ["Spor"]),
        ("en", "[[:Category:A]] [[w:Category:A]] [[de:Kategorie:A]] [[File:Category:A.jpg]]", []),
        ("en", "<!-- [[Category:A]] --><nowiki>[[Category:A]]</nowiki> [[Category:B]]", ["B"]),
        ("en", "[[Category:A\n]] [[Category:A]", []),
        ("en", "[[Category:A|{{PAGENAME}}]]\n[[Category:B|\n]]", ["A", "B"]),
        ("en", "[[Category:{{CURRENTYEAR}}]] [[Category:]] [[Category:A&amp;B]]", ["A&B"]),
        ("ar", "[[\u200fتصنيف:سياسة]]", ["سياسة"]),
        ("en", "{{DEFAULTSORT:x}}[[Category:A]][[Category:A]]", ["A"]),
    ],
)
def test_categories_are_read_as_mediawiki_reads_them(language: str, text: str, names: list[str]) -> None:
    assert reader(language).categories(text) == names


def page(text: str, redirect: str | None = None) -> Page:
    return Page("Kategorie:Alt", 14, 1, 1, "", redirect, "wikitext", text)


@pytest.mark.parametrize(
    ("text", "redirect", "target"),
    [
        ("", "Kategorie:Neu", "Neu"),
        ("#REDIRECT [[Kategorie:Neu]]", "", "Neu"),
        ("{{Category redirect|Kategorie:Neu}}", None, "Neu"),
        ("{{category_redirect|1=Neu}}", None, "Neu"),
        ("<!-- x -->\n{{Seecat| [[:Kategorie:Neu]] }}\n[[Kategorie:X]]", None, "Neu"),
        ("Text. {{Category redirect|Neu}}", None, None),
        ("{{Portal|Neu}}", None, None),
        ("", None, None),
    ],
)
def test_redirects_of_categories(text: str, redirect: str | None, target: str | None) -> None:
    assert reader("de").redirect(page(text, redirect)) == target


def test_redirects_are_followed_and_circles_end() -> None:
    assert follow("a", {"a": "b", "b": "c"}) == "c"
    assert follow("a", {"a": "b", "b": "a"}) in ("a", "b")
    assert follow("a", {"a": "a"}) == "a"


def topics(names: list[str], mode: str = "direct", table: list[str] | None = None, **pages: object) -> dict[str, str]:
    categories = Categories(**pages)  # type: ignore[arg-type]
    bits = bits_of_names("en", {"Sports": "Sports", "Health": "Health"}, categories, mode)
    written, listed = (
        sum({bits.get(name, 0) for name in page_names}) for page_names in (names, table or [])
    )  # no two of these names share a bit
    return topics_of_bits(written, listed)


def test_routes_are_told_apart() -> None:
    assert topics(["Sports"], table=["Sports", "Health"]) == {"Sports": "wikitext", "Health": "template"}
    assert topics(["Old"], redirects={"Old": "Sports"}) == {"Sports": "wikitext"}
    # A name of the map that was moved means the same as its new place.
    assert topics(["Sport"], redirects={"Sports": "Sport"}) == {"Sports": "wikitext"}
    assert topics(["Football"], parents={"Football": ("Sports",)}) == {}
    below = {"Football": ("Sports", "Football"), "Cup": ("Football",), "Soccer": ("Health",)}
    assert topics(["Football"], "descend-1", parents=below) == {"Sports": "subcategory"}
    assert topics(["Cup"], "descend-1", parents=below) == {}
    assert topics(["Health", "Football"], "descend-1", parents=below) == {"Sports": "subcategory", "Health": "wikitext"}


def test_the_surest_route_gives_the_label() -> None:
    assert label_of({"Sports": "subcategory", "Health": "wikitext"}) == "Health"
    assert label_of({"Sports": "template", "Health": "wikitext"}) is None
    assert label_of({"Sports": "subcategory"}) == "Sports"
    assert label_of({"Sports": "subcategory", "Health": "subcategory"}) is None


def test_the_sign_of_publication_is_no_topic() -> None:
    bits = bits_of_names("de", {}, Categories(), "direct")
    assert bits == {"Veröffentlicht": PUBLISHED}
    assert topics_of_bits(PUBLISHED, PUBLISHED) == {}
    assert 1 << 2 * len(TOPICS) <= PUBLISHED


@pytest.mark.parametrize(
    ("language", "day", "name"),
    [
        ("en", "2004-12-01T00:00:00Z", "public-domain"),
        ("en", "2005-09-25T00:00:00Z", "cc-by-2.5"),
        ("en", "2025-01-30T00:00:00Z", "cc-by-4.0"),
        ("de", "2026-01-01T00:00:00Z", "cc-by-2.5"),
        ("fr", "2026-01-01T00:00:00Z", "cc-by-sa-4.0"),
        ("ja", "2005-08-01T00:00:00Z", "cc-by-2.1-jp"),
        ("pl", "2005-08-01T00:00:00Z", "gfdl"),
        ("nl", "2010-01-01T00:00:00Z", "cc-by-2.5"),
    ],
)
def test_the_licence_is_that_of_the_wiki_on_the_day(language: str, day: str, name: str) -> None:
    assert licence(language, day) == name
