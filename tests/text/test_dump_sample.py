"""What the first articles of a dump tell of how its language is written."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from unicodedata import category

import pytest

from tests.real_pages import site_of
from wikianchor.io.errors import InputError
from wikianchor.pipelines.cli.command_line import main
from wikianchor.pipelines.dataset.manifest import read_manifest
from wikianchor.pipelines.sentences.wiki import open_wiki
from wikianchor.pipelines.text.dump_sample import _lines, writing_of_dump, writing_of_text
from wikianchor.pipelines.text.fragments import core_fragment_rules, scripts_of
from wikianchor.pipelines.wikimedia.site import Writing

PAGE = "<page><title>{}</title><ns>{}</ns><id>{}</id><revision><text>{}</text></revision></page>"
# Bytes of a dump that are read; a sign that ends so many paragraphs, and this part of them, ends sentences; but these
# end lines before lists, and markup.
SAMPLE, FEWEST_PARAGRAPHS, PART_OF_PARAGRAPHS = 1 << 18, 5, 0.03
ENDS_OF_OTHER_LINES = ":;,、，：；|{}=>/*-–—#"
LATIN = "Azul ay amddakkwl inu, ha nn argaz iffegh s umadal ann n tmazirt. "


def _dump(path: Path, *texts: str) -> Path:
    pages = (PAGE.format(f"Page {number}", 0, number + 1, text) for number, text in enumerate(texts))
    path.write_text(f"<mediawiki>{''.join(pages)}</mediawiki>", encoding="utf-8")
    return path


@pytest.mark.parametrize("engine", ["python", "core"])
def test_a_wiki_in_another_script_than_the_table_says_has_sentences(tmp_path: Path, engine: str) -> None:
    if engine == "core":
        pytest.importorskip("wikianchor_core")
    dump = _dump(tmp_path / "pages.xml", *[LATIN * 4] * 12)
    assert scripts_of("zgh") == ["Tifinagh"]
    wiki = open_wiki(dump, wiki="zghwiki", engine=engine, cache=str(tmp_path))
    assert wiki.site.writing.scripts == ("Latin",)
    assert len(list(wiki.sentences())) == 48


def test_a_small_dump_tells_no_script(tmp_path: Path) -> None:
    assert writing_of_dump([str(_dump(tmp_path / "pages.xml", LATIN))], "zgh") == Writing()


def test_a_broken_dump_tells_what_comes_before_the_fault(tmp_path: Path) -> None:
    dump = _dump(tmp_path / "pages.xml", *[LATIN * 4] * 12)
    dump.write_text(dump.read_text() + "<page><title>A</title><ns>x</ns>", encoding="utf-8")
    assert writing_of_dump([str(dump)], "zgh").scripts == ("Latin",)


def test_the_earlier_dataset_says_how_a_language_is_written(tmp_path: Path) -> None:
    first = _dump(tmp_path / "zghwiki-20260101-pages-articles.xml", *[LATIN * 4] * 12)
    later = _dump(tmp_path / "zghwiki-20260201-pages-articles.xml", LATIN)
    flags = ["--wikis=zghwiki", "--templates=builtin"]
    assert main(["sentences", f"--dumps={first}", f"--output={tmp_path}/first", *flags]) == 0
    assert (
        main(["sentences", f"--dumps={later}", f"--output={tmp_path}/later", f"--previous={tmp_path}/first", *flags])
        == 0
    )
    manifest = read_manifest(str(tmp_path / "later"))
    assert manifest is not None
    assert manifest["options"]["writing"]["scripts"] == ["Latin"]
    assert manifest["configs"]["sentences"]["rows"] == 1
    wiki = open_wiki(later, wiki="zghwiki", templates="builtin", cache=str(tmp_path))
    assert wiki.site.writing == Writing()
    assert wiki.as_in(manifest["options"]).site.writing.scripts == ("Latin",)


def _paragraphs(stop: str) -> Iterator[str]:
    for number in range(60):
        # Words of their own before and after each abbreviation.
        before, after = f"b{chr(97 + number % 26)}{chr(97 + number // 26)}n", f"{chr(97 + number % 26)}{number}x"
        yield f"The {before}e {stop} {after} was long. It was the {before}o end. A house is there."


def test_an_abbreviation_never_ends_a_paragraph_and_always_has_its_full_stop() -> None:
    writing = writing_of_text("\n".join(_paragraphs("Zbr.")), "xx")
    assert (writing.never, writing.rarely) == ((), ("Zbr",))
    capitals = "\n".join(_paragraphs("Zbr.")).replace("Zbr. ", "Zbr. K")
    assert writing_of_text(capitals, "xx").never == ("Zbr",)
    # A word that is written without the full stop as often.
    assert writing_of_text("\n".join([*_paragraphs("Zbr."), *_paragraphs("Zbr")]), "xx")[1:3] == ((), ())
    # One context, however often: a sentence of a bot.
    assert writing_of_text("\n".join(["The city Zbr. 1900 was long. It is there."] * 200), "xx")[1:3] == ((), ())


def test_a_small_letter_without_full_stops_is_a_word() -> None:
    text = "\n".join(["He and y went to the town."] * 30 + ["Section b. was cut."] * 30)
    assert writing_of_text(text, "xx").words == ("y",)


def test_a_dataset_the_api_and_extract_have_the_same_facts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = _dump(tmp_path / "zghwiki-20260101-pages-articles.xml", *[LATIN * 4] * 12)
    later = _dump(tmp_path / "zghwiki-20260201-pages-articles.xml", LATIN)
    template = PAGE.format("Template:A", 10, 99, "a")
    for dump in (first, later):
        dump.write_text(dump.read_text().replace("</mediawiki>", f"{template}</mediawiki>"), encoding="utf-8")
    assert main(["sentences", f"--dumps={first}", f"--output={tmp_path}/first", "--wikis=zghwiki"]) == 0
    manifest = read_manifest(str(tmp_path / "first"))
    assert manifest is not None
    derived = open_wiki(first, wiki="zghwiki", cache=str(tmp_path)).site.writing
    assert derived.to_json() == manifest["options"]["writing"]
    # With the templates of a dataset, its facts.
    given = open_wiki(later, wiki="zghwiki", templates=f"{tmp_path}/first", cache=str(tmp_path))
    assert given.site.writing == derived
    capsys.readouterr()
    flags = [f"--dumps={later}", "--wikis=zghwiki", "--title=Page 0", "--sentences"]
    assert main(["extract", *flags, f"--templates={tmp_path}/first"]) == 0
    assert "Azul" in capsys.readouterr().out


@pytest.mark.real
def test_no_table_of_scripts_contradicts_a_dump_at_hand(data_dir: Path) -> None:
    contradicted = []
    for path in sorted(path for path in data_dir.rglob("*") if path.is_file()):
        try:
            site = site_of(str(path))
            scripts = writing_of_dump([str(path)], site.language).scripts
        except InputError:
            continue
        listed = scripts_of(site.language)
        if listed and scripts and set(scripts).isdisjoint(listed):
            contradicted.append(f"{path}: {site.language} is {', '.join(scripts)}, the table says {', '.join(listed)}")
    assert contradicted == []


@pytest.mark.real
def test_no_table_of_terminators_contradicts_a_dump_at_hand(data_dir: Path) -> None:
    ends: dict[str, Counter[str]] = defaultdict(Counter)
    for path in sorted(path for path in data_dir.rglob("*") if path.is_file()):
        try:
            language = site_of(str(path)).language
            lines = list(_lines([str(path)], SAMPLE))
        except InputError:
            continue
        closers = str(core_fragment_rules(language, Writing())["closers"])
        ends[language].update(line.rstrip().rstrip(closers + " ")[-1:] for line in lines)
    contradicted = {
        f"{language}: {sign} ends {number} of {counts.total()} paragraphs"
        for language, counts in ends.items()
        for sign, number in counts.items()
        if sign
        and number >= FEWEST_PARAGRAPHS
        and number > PART_OF_PARAGRAPHS * counts.total()
        and category(sign)[0] not in "LMZC"
        and category(sign) != "Nd"
        and sign not in ENDS_OF_OTHER_LINES + str(core_fragment_rules(language, Writing())["terminators"])
    }
    assert contradicted == set()
