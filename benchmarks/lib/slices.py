"""Real dumps to measure on: slices under $WIKIANCHOR_DATA, packed as Wikimedia packs them."""

import glob
import os
from collections.abc import Sequence
from pathlib import Path

from lib import generate
from lib.measure import ROOT

# A wiki of a few pages, which measures the start-up of a job.
DEMO = ROOT / "demo/dumps/enwiki-20260101-pages-articles-multistream.xml.bz2"
# By language. Slices are the first pages of their wikis, whose articles are longer than most.
SLICES = {
    "en": ("en/gensim_enwiki-latest-pages-articles1*", "en/wp2txt_testdata_en.2018.bz2", "en/wp2txt*en.2022.bz2"),
    "uk": ("uk/ssvb_ukwiki*.xz",),
    "el": ("el/ssvb_elwiki*.xz",),
    "bn": ("bn/ssvb_bnwiki*.xz",),
    "de": ("de/yago_de_wikitest.xml",),
    "ja": ("ja/nishidy_jawiki-test-5000", "ja/wp2txt_testdata_ja.2018.bz2"),
    "et": ("et/estnltk_wiki.xml",),
    "zh": ("zh/wikidumpreader_zhwiki-test-pages.xml",),
}

# Whole wikis with their own templates, by name: the wiki where the header names none of Wikimedia's, and the file.
WHOLE = {
    "papwiki": (None, "with-templates/papwiki-20220702.xml.bz2"),
    "gagwiki": (None, "with-templates/gagwiki-20220703.xml.bz2"),
    "dsbwiki": (None, "states/dsbwiki-20220701-pages-articles.xml.bz2"),
    "kwwiki": (None, "states/kwwiki-20220701-pages-articles.xml.bz2"),
    "freecad": ("enwiki", "with-templates/freecad-en-20141228.xml.bz2"),
}
# As these, but with Lua modules that their templates need.
WITH_MODULES = {
    "jiaxing-en": ("enwiki", "with-templates/jiaxing-en-fandom_pages_current.xml.bz2"),
    "jiaxing-zh": ("zhwiki", "with-templates/jiaxing-zh-fandom_pages_current.xml.bz2"),
}


def data() -> Path:
    """Return the directory of the real data.

    Raises:
        SystemExit: $WIKIANCHOR_DATA is not set.
    """
    directory = os.environ.get("WIKIANCHOR_DATA")
    if not directory:
        raise SystemExit("WIKIANCHOR_DATA is not set: set it to the directory of the real dumps")
    return Path(directory)


def whole(name: str) -> tuple[str | None, Path]:
    """Return the wiki (where the header does not name it) and the dump of a whole wiki.

    Raises:
        SystemExit: the dump is missing.
    """
    wiki, file = (WHOLE | WITH_MODULES)[name]
    if not (path := data() / file).exists():
        raise SystemExit(f"the dump of {name} is missing: {path}")
    return wiki, path


def paths(language: str) -> list[str]:
    """Return the slices of a language.

    Raises:
        SystemExit: a slice is missing.
    """
    dumps = data() / "wikipedia-xml"
    matches = [path for pattern in SLICES[language] for path in sorted(glob.glob(f"{dumps}/{pattern}"))]
    if len(matches) != len(SLICES[language]):
        raise SystemExit(f"slices of {language} are missing: {dumps}: {', '.join(SLICES[language])}")
    return matches


def dump(work: Path, language: str, megabytes: float = 0, ending: str = "xml.bz2", **copies_are: bool) -> Path:
    """Return a dump of a language's slices under the work directory; write it unless it exists.

    Args:
        work: directory of generated files.
        language: key of `SLICES`.
        megabytes: smallest size of the XML; the slices are copied until it is reached. 0 for the slices alone.
        ending: xml, or xml.bz2 for a multistream dump.
        copies_are: options of `generate.Copier`.
    """
    extent = "-".join([f"{megabytes:g}mb" if megabytes else "slices", *copies_are])

    def write(path: Path) -> None:
        generate.write_dump(generate.read_source(paths(language)), path, megabytes=megabytes, **copies_are)

    return generate.kept(work / f"{language}wiki-{extent}-pages-articles.{ending}", write)


def given_or_whole(given: Sequence[str]) -> list[tuple[str | None, Path]]:
    """Return the wiki and the path of each given dump, or of the whole wikis if none is given."""
    return [wiki_and_dump(words) for words in given] or [whole(name) for name in WHOLE]


WIKI_AND_DUMP = "dumps, as FILE, or as WIKI=FILE where their header names no wiki of Wikimedia"


def wiki_and_dump(given: str) -> tuple[str | None, Path]:
    """Split WIKI=FILE.

    >>> wiki_and_dump("enwiki=a.xml.bz2"), wiki_and_dump("a.xml.bz2")
    (('enwiki', PosixPath('a.xml.bz2')), (None, PosixPath('a.xml.bz2')))
    """
    wiki, equals, path = given.partition("=")
    return (wiki, Path(path)) if equals else (None, Path(given))
