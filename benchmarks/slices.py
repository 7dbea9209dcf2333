"""The real dumps that are measured: slices under $WIKIANCHOR_DATA, packed as Wikimedia packs them."""

from __future__ import annotations

import glob
import os
from pathlib import Path

import generate

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


def data() -> Path:
    """Return the directory of the real data.

    Raises:
        SystemExit: nobody says where it is.
    """
    found = os.environ.get("WIKIANCHOR_DATA")
    if not found:
        raise SystemExit("WIKIANCHOR_DATA: set it to the directory of the real dumps, or give dumps of your own")
    return Path(found)


def paths(language: str) -> list[str]:
    """Return the slices of a language.

    Raises:
        SystemExit: they are not there.
    """
    dumps = data() / "wikipedia-xml"
    found = [path for pattern in SLICES[language] for path in sorted(glob.glob(f"{dumps}/{pattern}"))]
    if len(found) != len(SLICES[language]):
        raise SystemExit(f"{dumps}: the slices of {language} are not all there")
    return found


def dump(work: Path, language: str, megabytes: float = 0, stubs: bool = False, ending: str = "xml.bz2") -> Path:
    """Return a dump of a language's slices under the work directory, made unless it is there.

    Args:
        work: directory of generated files.
        language: key of `SLICES`.
        megabytes: of XML at least; the slices are copied until there is so much. 0 for the slices alone.
        stubs: add short pages for link targets that have none.
        ending: .xml, .xml.gz, or .xml.bz2 for a multistream dump.
    """
    extent = f"{megabytes:g}mb" if megabytes else "slices"
    path = work / f"{language}wiki-{extent}{'-stubs' if stubs else ''}-pages-articles.{ending}"
    if not path.exists():
        unfinished = path.with_name(f"unfinished-{path.name}")
        source = generate.read_source(paths(language))
        generate.write_dump(source, unfinished, 1, megabytes=megabytes, stubs=stubs)
        unfinished.rename(path)
        index = unfinished.with_name(unfinished.name.replace(".xml.bz2", "-index.txt.bz2"))
        if ending == "xml.bz2":
            index.rename(path.with_name(index.name.removeprefix("unfinished-")))
    return path


def nothing(work: Path, language: str) -> Path:
    """Return a dump of one short article: what a job takes for it is what it takes to start."""
    path = work / f"{language}wiki-one-pages-articles.xml.bz2"
    if not path.exists():
        source = generate.read_source(paths(language))
        page = source.pages[0]._replace(title="Article", namespace=0, redirect=None, text="This is [[one]] article.")
        generate.write_dump(generate.Source(source.head, source.site, [page]), path)
    return path
