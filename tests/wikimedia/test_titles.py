"""Titles and link targets, as MediaWiki reads them."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wikianchor.pipelines.wikimedia.site import Site, site_for
from wikianchor.pipelines.wikimedia.titles import LinkTarget, normalise_title, parse_target

EN = site_for("enwiki")
DE = site_for("dewiki")
SITES = {wiki: site_for(wiki) for wiki in ("enwiki", "dewiki", "trwiki", "kawiki", "zhwiki", "enwiktionary", "fawiki")}


def test_half_a_surrogate_pair_is_no_title() -> None:
    assert normalise_title("a\ud800b", EN) is None
    assert parse_target("a#\udfff", EN) is None


def test_a_target_without_end_is_refused() -> None:
    assert parse_target("en:" * 1_000_000 + "x", EN) is None
    assert parse_target("en:" * 1_000 + "x", EN) == LinkTarget(0, "X", "", "", True)


@pytest.mark.parametrize(
    ("site", "raw", "target"),
    [
        (EN, "dog", LinkTarget(0, "Dog", "", "", False)),
        (EN, "Dog#Life_span", LinkTarget(0, "Dog", "Life span", "", False)),
        (EN, "Dog#a#b", LinkTarget(0, "Dog", "a#b", "", False)),
        (EN, "#top", LinkTarget(0, "", "top", "", False)),
        (EN, "#", LinkTarget(0, "", "", "", False)),
        (EN, "category : _dogs", LinkTarget(14, "Category:Dogs", "", "", False)),
        (EN, ":category:dogs", LinkTarget(14, "Category:Dogs", "", "", True)),
        (EN, "IMAGE:dog.jpg", LinkTarget(6, "File:Dog.jpg", "", "", False)),
        (EN, "Imagem:dog.jpg", LinkTarget(0, "Imagem:dog.jpg", "", "", False)),
        (DE, "bild:hund.jpg", LinkTarget(6, "Datei:Hund.jpg", "", "", False)),
        (DE, "File:hund.jpg", LinkTarget(6, "Datei:Hund.jpg", "", "", False)),
        (DE, "Benutzerin:x", LinkTarget(2, "Benutzer:X", "", "", False)),
        (site_for("jawiki"), "画像:犬.jpg", LinkTarget(6, "ファイル:犬.jpg", "", "", False)),
        (site_for("fawiki"), "رده:سگ", LinkTarget(14, "رده:سگ", "", "", False)),
        (EN, "fr:chien#vie", LinkTarget(0, "chien", "vie", "fr", False)),
        (EN, ":fr:chien", LinkTarget(0, "chien", "", "fr", True)),
        (EN, "FR :chien", LinkTarget(0, "chien", "", "fr", False)),
        (EN, "de:Kategorie:Hund", LinkTarget(0, "Kategorie:Hund", "", "de", False)),
        (EN, "wikt:", LinkTarget(0, "", "", "wikt", False)),
        (EN, "doom_wiki:x", LinkTarget(0, "x", "", "doom wiki", False)),
        (EN, "en:category:dogs", LinkTarget(14, "Category:Dogs", "", "", True)),
        (EN, "en:", None),
        (DE, "w:dog", LinkTarget(0, "dog", "", "w", False)),
        (EN, "Category:", None),
        (EN, "Category:#x", None),
        (EN, "Talk:File:x", None),
        (EN, "Talk:fr:x", None),
        (EN, "Talk:Foo:x", LinkTarget(1, "Talk:Foo:x", "", "", False)),
        (EN, "Talk::x", None),
        (EN, "Category:Talk:x", LinkTarget(14, "Category:Talk:x", "", "", False)),
        (EN, "wikipedia:x", LinkTarget(4, "Wikipedia:X", "", "", False)),
        (site_for("enwikinews"), "wikipedia:x", LinkTarget(0, "x", "", "wikipedia", False)),
    ],
)
def test_parse_target(site: Site, raw: str, target: LinkTarget | None) -> None:
    assert parse_target(raw, site) == target


# Pieces that make rules meet each other more often than random text does.
PIECES = st.sampled_from(
    [
        *(
            ":",
            "#",
            "%",
            "%41",
            "%C3",
            "&",
            "&amp;",
            "&#",
            "39;",
            ";",
            "_",
            " ",
            ".",
            "/",
            "~",
            "\u0301",
            "\u0307",
            "\u0345",
        ),
        *(
            "i",
            "ı",
            "ǆ",
            "ɐ",
            "ა",
            "é",
            "Category",
            "File",
            "talk",
            "en",
            "fr",
            "w",
            "\u200e",
            "\u200c",
            "\u00a0",
            "日本",
            "=",
        ),
    ]
)
RAW = st.text(max_size=30) | st.lists(PIECES | st.characters(), max_size=12).map("".join)


@given(RAW, st.sampled_from(sorted(SITES)))
def test_normalise_title_is_idempotent(raw: str, wiki: str) -> None:
    site = SITES[wiki]
    title = normalise_title(raw, site)
    if title is not None:
        assert normalise_title(title, site) == title


@given(RAW, st.sampled_from(sorted(SITES)))
def test_what_comes_out_can_be_a_title(raw: str, wiki: str) -> None:
    site = SITES[wiki]
    target = parse_target(raw, site)
    if target is None:
        assert normalise_title(raw, site) is None
        return
    title = target.title
    assert title == title.strip(" ")
    assert not set("#<>[]{}|_\u00a0\n") & set(title)
    assert unicodedata.is_normalized("NFC", title)
    assert len(title.encode()) <= 255 + 40
    assert title or target.interwiki or target.namespace == 0
    if not target.interwiki:
        assert normalise_title(raw, site) == (title or None)
        assert (target.namespace == 0) or title.startswith(site.namespace_names[target.namespace] + ":")


@given(st.text(alphabet="abcABC éЖж東ა.,'()-", min_size=1, max_size=80))
def test_spelling_with_underscores_or_escapes_is_the_same_page(title: str) -> None:
    expected = normalise_title(title, EN)
    assert normalise_title(title.replace(" ", "_"), EN) == expected
    assert normalise_title("".join(f"%{byte:02X}" for byte in title.encode()), EN) == expected
    assert normalise_title("".join(f"&#{ord(character)};" for character in title), EN) == expected
    assert normalise_title(":" + title, EN) == expected
