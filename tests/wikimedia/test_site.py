"""The site of a wiki, from the head of a dump or from its name."""

import pickle
import re
from bz2 import BZ2File
from collections.abc import Callable
from gzip import GzipFile
from io import BufferedIOBase
from lzma import LZMAFile
from pathlib import Path

import pytest

from wikianchor.io.errors import InputError, UsageError
from wikianchor.pipelines.wikimedia.site import fold_name, site_for, site_from_header
from wikianchor.pipelines.wikimedia.titles import normalise_title, parse_target

MODERN = """<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" version="0.11" xml:lang="uk">
  <siteinfo>
    <sitename>Вікіпедія</sitename>
    <dbname>ukwiki</dbname>
    <base>https://uk.wikipedia.org/wiki/%D0%93</base>
    <generator>MediaWiki 1.44.0-wmf.8</generator>
    <case>first-letter</case>
    <namespaces>
      <namespace key="-2" case="first-letter">Медіа</namespace>
      <namespace key="-1" case="first-letter">Спеціальна</namespace>
      <namespace key="0" case="first-letter" />
      <namespace key="1" case="first-letter">Обговорення</namespace>
      <namespace key="4" case="first-letter">Вікіпедія</namespace>
      <namespace key="6" case="first-letter">Файл</namespace>
      <namespace key="14" case="first-letter">Категорія</namespace>
      <namespace key="100" case="first-letter">Портал &amp; більше</namespace>
      <namespace key="2302" case="case-sensitive">Визначення додатка</namespace>
    </namespaces>
  </siteinfo>
  <page>
"""


def header(base: str = "", dbname: str = "", case: str = "first-letter", language: str = "", extra: str = "") -> str:
    """A head as old dumps have it: no case at the namespaces, and only a few of them."""
    return (
        f'<mediawiki version="0.3"{language and f" xml:lang={chr(34)}{language}{chr(34)}"}>\n<siteinfo>\n'
        + (dbname and f"<dbname>{dbname}</dbname>\n")
        + (base and f"<base>{base}</base>\n")
        + f'<case>{case}</case>\n<namespaces>\n<namespace key="0" />\n<namespace key="2">User</namespace>\n'
        f'<namespace key="14">Category</namespace>\n{extra}</namespaces>\n</siteinfo>\n'
    )


def test_modern_header() -> None:
    site = site_from_header(MODERN)
    assert (site.wiki, site.language, 0 in site.case_sensitive) == ("ukwiki", "uk", False)
    assert site.namespaces["файл"] == site.namespaces["file"] == site.namespaces["зображення"] == 6
    assert site.namespaces["вікіпедія"] == site.namespaces["project"] == site.namespaces["wikipedia"] == 4
    assert site.namespaces["портал & більше"] == 100
    assert site.namespace_names[14] == "Категорія"
    assert site.case_sensitive == {2302}
    match = site.link_trail.match("[[Київ]]ський.", 8)
    assert match
    assert match[0] == "ський"
    assert site.link_prefix == "„«"
    assert "#ПЕРЕНАПРАВЛЕННЯ" in site.redirect_words


def test_a_site_can_be_pickled_hashed_and_compared() -> None:
    site = site_from_header(MODERN)
    assert pickle.loads(pickle.dumps(site)) == site
    assert hash(site) == hash(site_from_header(MODERN))
    assert site != site_for("ukwiki")


@pytest.mark.parametrize(
    ("base", "wiki"),
    [
        ("http://ja.wikipedia.org/wiki/%E3%83%A1", "jawiki"),
        ("https://en.wikinews.org/wiki/Main_Page", "enwikinews"),
        ("https://commons.wikimedia.org/wiki/Main_Page", "commonswiki"),
        ("http://be-x-old.wikipedia.org/wiki/x", "be_x_oldwiki"),
        ("https://be-tarask.wikipedia.org/wiki/x", "be_x_oldwiki"),
        ("https://yue.wikipedia.org/wiki/x", "zh_yuewiki"),
        ("https://no.wikipedia.org/wiki/x", "nowiki"),
        ("https://simple.wikipedia.org/wiki/x", "simplewiki"),
        ("https://en.wikipedia.org/wiki/x", "enwiki"),
        ("https://www.wikidata.org/wiki/x", "wikidatawiki"),
        ("https://www.mediawiki.org/wiki/x", "mediawikiwiki"),
        ("https://wikisource.org/wiki/x", "sourceswiki"),
        ("//de.wiktionary.org/wiki/x", "dewiktionary"),
    ],
)
def test_old_headers_tell_their_wiki_by_the_address(base: str, wiki: str) -> None:
    assert site_from_header(header(base=base)).wiki == wiki


@pytest.mark.parametrize(
    ("language", "wiki", "expected"),
    [("nb", "nowiki", "nb"), ("en", "simplewiki", "en"), ("", "be_x_oldwiki", "be-tarask"), ("xx", "nlwiki", "nl")],
)
def test_language_comes_from_the_header_if_it_is_known(language: str, wiki: str, expected: str) -> None:
    assert site_from_header(header(dbname=wiki, language=language)).language == expected


def test_case_of_old_headers_holds_for_all_namespaces_but_those_of_users() -> None:
    site = site_from_header(header(base="http://en.wiktionary.org/", case="case-sensitive"))
    assert 0 in site.case_sensitive
    assert site.case_sensitive == {0, 14}
    assert normalise_title("category:foo", site) == "Category:foo"
    assert normalise_title("user:foo", site) == "User:Foo"


def test_no_siteinfo() -> None:
    with pytest.raises(InputError, match=r"dumps/x\.xml has no <siteinfo>.*--wikis=enwiki"):
        site_from_header("<page>\n<title>A</title>", source="dumps/x.xml")
    assert site_from_header("<page>\n<title>A</title>", wiki="skwiki") == site_for("skwiki")


def test_broken_siteinfo() -> None:
    with pytest.raises(InputError, match=r"x\.xml: <siteinfo> has no end"):
        site_from_header(MODERN[:300], source="x.xml")
    with pytest.raises(InputError, match="lists no namespaces"):
        site_from_header("<siteinfo><dbname>enwiki</dbname></siteinfo>")


def test_a_wiki_of_unknown_address_must_be_named() -> None:
    local = header(base="http://localhost/index.php/Main_Page", extra='<namespace key="100">Gate</namespace>\n')
    with pytest.raises(InputError, match=r"<base>http://localhost/.*--wikis=enwiki"):
        site_from_header(local)
    site = site_from_header(local, wiki="elwikivoyage")
    assert (site.wiki, site.language) == ("elwikivoyage", "el")
    assert site.namespace_names[14] == "Category"
    assert site.namespaces["gate"] == 100
    assert site.namespaces["κατηγορία"] == 14


def test_the_wiki_given_wins_over_a_header_that_contradicts_it() -> None:
    site = site_from_header(MODERN, wiki="dewiki")
    assert (site.wiki, site.language) == ("dewiki", "de")
    assert site.namespace_names[14] == "Kategorie"
    assert site.namespaces["категорія"] == site.namespaces["kategorie"] == site.namespaces["category"] == 14
    assert normalise_title("портал & більше: x", site) == "Портал & більше:X"
    assert normalise_title("категорія:x", site) == "Kategorie:X"


def test_the_wiki_given_may_agree_with_the_header() -> None:
    assert site_from_header(MODERN, wiki="ukwiki") == site_from_header(MODERN)


@pytest.mark.parametrize("wiki", ["en", "enwiki-20240101", "ENWIKI", "", "wiki", "en.wikipedia.org"])
def test_a_name_that_is_no_database_name(wiki: str) -> None:
    with pytest.raises(UsageError, match="write it like enwiki"):
        site_for(wiki)
    with pytest.raises(UsageError):
        site_from_header(MODERN, wiki=wiki)


def test_site_without_a_header() -> None:
    site = site_for("dewiki")
    assert site.namespace_names[6] == "Datei"
    assert site.namespace_names[4] == "Wikipedia"
    assert site.namespaces["bild"] == site.namespaces["image"] == 6
    assert site_for("dewikinews").namespace_names[5] == "Wikinews talk"
    assert 0 in site_for("dewiktionary").case_sensitive
    assert 0 in site_for("jbowiki").case_sensitive
    assert site_for("commonswiki").language == "en"
    assert site_for("zhwiki").link_trail.match("abc") is None
    assert site_for("trwiki").dotted_i


def test_interwiki_prefixes() -> None:
    site = site_for("dewiki")
    assert {"en", "fr", "be-tarask", "simple"} <= site.interlanguage <= site.interwiki
    assert {
        "wikt",
        "w",
        "s",
        "b",
        "q",
        "n",
        "v",
        "voy",
        "c",
        "commons",
        "m",
        "meta",
        "d",
        "mw",
        "doi",
    } <= site.interwiki
    assert not {"wikt", "c", "doi"} & site.interlanguage
    assert site.local_interwiki == {"de"}
    assert "de" not in site.interwiki
    assert site_for("enwiki").local_interwiki == {"en", "w"}
    assert site_for("simplewiki").local_interwiki == {"simple"}
    assert site_for("nowiki").local_interwiki == {"no", "nb"}
    assert site_for("commonswiki").local_interwiki == set()


def test_fold_name() -> None:
    assert fold_name("_User_talk ") == "user talk"


PACKED: dict[str, Callable[[Path], BufferedIOBase]] = {".bz2": BZ2File, ".gz": GzipFile, ".xz": LZMAFile}


def head_of(path: Path) -> str:
    """The beginning of a dump, in whatever it is packed and written."""
    with PACKED.get(path.suffix, open_plain)(path) as file:
        data = file.read(1 << 16)
    return data.decode("utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8", errors="replace")


def open_plain(path: Path) -> BufferedIOBase:
    return path.open("rb")


@pytest.mark.real
@pytest.mark.parametrize(
    ("name", "wiki"),
    [
        ("de/yago_de_wikitest.xml", "dewiki"),
        ("en/pignlproc_enwiki-20090902-pages-articles-sample.xml", "enwiki"),
        ("en/jodaiber_wikien.xml.gz", "enwiki"),
        ("ja/wp2txt_testdata_ja.2018.bz2", "jawiki"),
        ("ja/nishidy_jawiki-test-5000", "jawiki"),
        ("uk/ssvb_ukwiki-truncated-100k.xml.xz", "ukwiki"),
        ("bn/ssvb_bnwiki-truncated-100k.xml.xz", "bnwiki"),
        ("el/ssvb_elwiki-truncated-100k.xml.xz", "elwiki"),
        ("bg/gensim_bgwiki-latest-pages-articles-shortened.xml.bz2", "bgwiki"),
        ("sv/wikiforia_svminidump.xml", "svwiki"),
        ("et/estnltk_wiki.xml", "etwiki"),
        ("zh/wikidumpreader_zhwiki-test-pages.xml", "zhwiki"),
        ("nl/semanticizest_nlwiki-20140927-pages-articles-sample.xml", "nlwiki"),
        ("sk/sample_skwiki_latest_pages_articles.xml", "skwiki"),
        ("simple/camchenry_simplewiki.xml.bz2", "simplewiki"),
        ("aa/aawiki-20260101-pages-meta-current.xml.bz2", "aawiki"),
        ("commons/refinery_MediawikiDumperOutputTest.Commonswiki.Sample.xml", "commonswiki"),
        ("operations-dumps-tests/stub-history-sample.xml.gz", "elwikivoyage"),
    ],
)
def test_real_dumps(data_dir: Path, name: str, wiki: str) -> None:
    """The wiki is told, and every title and redirect of the dump is normal and in the namespace the dump says."""
    text = head_of(data_dir / "wikipedia-xml" / name)
    site = site_from_header(text, source=name)
    assert site.wiki == wiki
    listed = re.findall(r'<namespace key="(-?\d+)"[^>]*>([^<]+)</namespace>', text)
    assert len(listed) >= 18
    for key, spelled in listed:
        assert site.namespaces[fold_name(spelled)] == int(key)
    pages = re.findall(r"<title>([^<&]+)</title>\s*(?:<ns>(\d+)</ns>)?", text)
    assert pages
    for title, namespace in pages:
        target = parse_target(title, site)
        assert target is not None, title
        assert target.title == title
        assert namespace in ("", str(target.namespace))
    for title in re.findall(r'<redirect title="([^"&]+)"', text):
        target = parse_target(title, site)
        assert target is not None, title
        # A few redirects, made before that was forbidden, lead to other wikis.
        assert target.interwiki or target.title == title
