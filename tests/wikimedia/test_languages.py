"""The facts of languages, and which wiki has which language."""

import json
import re
import warnings
from pathlib import Path

import pytest

from wikianchor.pipelines.wikimedia.languages import (
    is_language_edition,
    language_facts,
    language_of_wiki,
    language_table,
    split_wiki,
)


def trail(code: str, text: str) -> str:
    pattern = language_facts(code).link_trail
    match = re.match(pattern, text) if pattern else None
    return match[0] if match else ""


@pytest.mark.parametrize(
    ("code", "text", "expected"),
    [
        ("en", "es are", "es"),
        ("en", "és", ""),
        ("eo", "ojn", "ojn"),
        ("de", "ßen.", "ßen"),
        ("gsw", "ä", "ä"),
        ("bar", "ß", "ß"),  # by its fallback, German
        ("fr", "ÉS", "É"),
        ("ru", "ами", "ами"),
        ("uk", "ї»,", "ї»"),
        ("zh", "s", ""),
        ("lzh", "s", ""),
        ("ca", "'s", "'s"),
        ("ca", "a''s", "a"),  # two apostrophes are italics
        ("br", "c’hX", "c’hX"),
        ("fa", "ها\u200cی", "ها\u200cی"),
        ("ar", "انِ", "انِ"),
        ("hi", "ों।", "ों"),
        ("is", "a–b-c", "a–b-c"),
        ("mr", "\u200dया", "\u200dया"),
    ],
)
def test_link_trail(code: str, text: str, expected: str) -> None:
    assert trail(code, text) == expected


def test_only_some_languages_have_a_link_prefix() -> None:
    assert language_facts("en").link_prefix == ""
    assert language_facts("ru").link_prefix == ""
    assert re.fullmatch(f"[{language_facts('ar').link_prefix}]+", "ال")
    assert re.fullmatch(f"[{language_facts('uk').link_prefix}]+", "«„")
    assert not re.match(f"[{language_facts('uk').link_prefix}]", "а")
    assert re.fullmatch(f"[{language_facts('hy').link_prefix}]+", "«Հ")


def test_names_come_from_the_language_then_its_fallbacks_then_english() -> None:
    german, bavarian = language_facts("de"), language_facts("bar")
    assert german.namespaces[6] == "Datei"
    assert german.namespace_aliases["Bild"] == 6
    assert german.namespace_aliases["Benutzerin"] == 2
    assert bavarian.fallbacks == ("de",)
    assert bavarian.namespaces[14] == "Kategorie"
    assert language_facts("simple").namespaces[14] == "Category"
    assert language_facts("ja").namespace_aliases["画像"] == 6
    assert language_facts("ru").namespace_aliases["Изображение"] == 6


def test_names_of_variants_are_aliases() -> None:
    assert language_facts("zh").variants[:3] == ("zh", "zh-hans", "zh-hant")
    assert language_facts("zh").namespace_aliases["分类"] == 14
    assert language_facts("zh").namespace_aliases["分類"] == 14
    assert language_facts("sr").namespace_aliases["Datoteka"] == 6
    assert language_facts("en").variants == ()
    assert "ban-bali" in language_facts("ban").variants  # some of its variants have no facts of their own


def test_words() -> None:
    japanese = language_facts("ja")
    assert {"#REDIRECT", "#転送", "＃転送", "#リダイレクト"} <= set(japanese.redirect_words)
    assert {"__NOTOC__", "__目次非表示__", "＿＿目次非表示＿＿", "__DISAMBIG__"} <= japanese.switches
    german = language_facts("de")
    assert {"thumb", "mini", "miniatur"} <= set(german.image_words["img_thumbnail"])
    assert "hochkant=$1" in german.image_words["img_upright"]
    assert "rechts" in german.image_words["img_right"]


def test_a_switch_can_not_be_an_ordinary_word() -> None:
    for code in language_table()["languages"]:
        for word in language_facts(code).switches:
            assert word[0] in "_＿", (code, word)
            assert word[-1] in "_＿", (code, word)


def test_first_letter() -> None:
    assert [c for c in ("tr", "az", "kaa", "gag", "en", "crh", "kk") if language_facts(c).dotted_i] == [
        *("tr", "az", "kaa", "gag")
    ]


@pytest.mark.parametrize(
    ("code", "known"),
    [
        ("be-x-old", "be-tarask"),
        ("zh_yue", "yue"),
        ("no", "nb"),
        ("als", "gsw"),
        ("zh-min-nan", "nan"),
        ("roa-rup", "rup"),
        ("bat-smg", "sgs"),
        ("fiu-vro", "vro"),
        ("zh-classical", "lzh"),
        ("simple", "en"),
        ("PT-BR", "pt-br"),
    ],
)
def test_old_codes(code: str, known: str) -> None:
    assert language_facts(code) == language_facts(known)
    assert language_facts(code).code == known


def test_unknown_codes_fall_back() -> None:
    assert language_facts("de-xx-yy").namespaces == language_facts("de").namespaces
    assert language_facts("qqqq").link_trail == "[a-z]+"
    for code in ("nds-nl", "crh", "map-bms", "cbk-zam", "roa-tara", "eml", "nrm"):
        assert code in language_table()["languages"]


def test_every_language_loads_and_its_patterns_compile() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for code in language_table()["languages"]:
            facts = language_facts(code)
            re.compile(facts.link_trail)
            re.compile(f"[{facts.link_prefix or 'x'}]")
            assert set(facts.namespaces) == {-2, -1, 1, 2, 3, *range(6, 16)}, code
            assert "#REDIRECT" in facts.redirect_words, code


@pytest.mark.parametrize(
    ("wiki", "language"),
    [
        ("enwiki", "en"),
        ("simplewiki", "en"),
        ("be_x_oldwiki", "be-tarask"),
        ("zh_min_nanwiki", "nan"),
        ("zh_classicalwiki", "lzh"),
        ("nowiki", "nb"),
        ("nowikinews", "nb"),
        ("alswiki", "gsw"),
        ("zh_yuewiki", "yue"),
        ("frwiktionary", "fr"),
        ("dewikiquote", "de"),
        ("elwikivoyage", "el"),
        ("tddwiki", "tdd"),
        ("nds_nlwiki", "nds-nl"),
    ],
)
def test_language_editions(wiki: str, language: str) -> None:
    assert is_language_edition(wiki)
    assert language_of_wiki(wiki) == language


@pytest.mark.parametrize(
    "wiki",
    [
        *("commonswiki", "specieswiki", "wikidatawiki", "metawiki", "mediawikiwiki", "sourceswiki", "incubatorwiki"),
        *("outreachwiki", "wikimaniawiki", "foundationwiki", "testwiki", "test2wiki", "tenwiki", "loginwiki"),
        *("en", "", "bdwikimedia", "enwiki-2020", "betawikiversity", "labswiki", "wikimania2005wiki"),
    ],
)
def test_not_language_editions(wiki: str) -> None:
    assert not is_language_edition(wiki)
    assert language_of_wiki(wiki) == "en"


def test_split_wiki() -> None:
    assert split_wiki("be_x_oldwiki") == ("be-x-old", "wiki")
    assert split_wiki("enwikibooks") == ("en", "wikibooks")
    assert split_wiki("mediawikiwiki") == ("mediawiki", "wiki")
    assert split_wiki("wiki") == ("", "")
    assert split_wiki("en wiki") == ("", "")


@pytest.mark.real
def test_facts_agree_with_what_real_wikis_answer(data_dir: Path) -> None:
    paths = sorted((data_dir / "siteinfo" / "parsoid-baseconfig-2").glob("*wiki.json"))
    assert len(paths) >= 10
    for path in paths:
        answer = json.loads(path.read_text(encoding="utf-8"))["query"]
        general = answer["general"]
        facts = language_facts(general["lang"])
        assert tuple(v["code"] for v in general.get("variants", ())) == facts.variants, path.name

        letters = [chr(code) for code in range(0x3000)]
        match = re.fullmatch(r"/\^(.*)\(\.\*\)\$/\w+", general["linktrail"])
        assert match
        pattern = re.sub(r"\\x\{(\w{4})\}", r"\\u\1", match[1])
        expected = {c for c in letters if re.fullmatch(pattern, c)}
        assert {c for c in letters if trail(facts.code, c) == c} == expected, path.name

        namespaces = {**facts.namespace_aliases, **{name: key for key, name in facts.namespaces.items()}}
        told_names = [(ns["name"], ns["id"]) for ns in answer["namespaces"].values()]
        told_names += [(alias["alias"], alias["id"]) for alias in answer["namespacealiases"]]
        for name, key in told_names:
            # What namespaces of users are called, and abbreviations, are matters of a wiki, not of its language.
            if key in (-2, -1, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15) and len(name) > 3:
                assert namespaces.get(name) == key, (path.name, name)
        words = {m["name"]: set(m["aliases"]) for m in answer["magicwords"]}
        assert words["redirect"] <= set(facts.redirect_words), path.name
        for option, known in facts.image_words.items():
            assert words[option] <= set(known), (path.name, option)
