"""`mewsc16` as a whole: made-up Wikinews in, each page under the fate it was written for; bad input in, a line out."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests import dumps
from tests import wikinews as news
from tests.conftest import Ended
from tests.engines import THREADS
from wikianchor.pipelines.dataset.manifest import read_manifest
from wikianchor.pipelines.mewsc16.faults import FaultFinder
from wikianchor.schemas.mewsc16 import ROUTES, SCHEMA, TOPICS

PAGES = 60
Command = Callable[..., Ended]


def rows_of(directory: Path, language: str) -> list[dict[str, Any]]:
    table = pq.read_table(directory / "data" / language)
    assert table.schema.equals(SCHEMA)
    rows: list[dict[str, Any]] = table.to_pylist()
    return rows


def ledger_of(directory: Path) -> dict[str, Any]:
    manifest = read_manifest(str(directory))
    assert manifest is not None
    ledger: dict[str, Any] = manifest["ledger"]
    return ledger


@pytest.fixture(scope="module")
def wikis() -> list[news.News]:
    made = [news.make_news(language, PAGES, news.WITH_BELOW) for language in news.languages()]
    # So few pages of each have every fate several times.
    fates = Counter((page.fate, page.route) for wiki in made for page in wiki.pages)
    assert len(fates) == 12
    assert min(fates.values()) > 10
    return made


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory, wikis: Sequence[news.News]) -> Path:
    directory = tmp_path_factory.mktemp("dumps")
    for number, wiki in enumerate(wikis):
        news.write(wiki, directory, tables=True, pack=number % 2 == 0)
    return directory


MEMBERSHIPS = {
    "direct": ("wikitext",),
    "direct+templates": ("wikitext", "template"),
    "descend-1": ROUTES,
}


@pytest.mark.parametrize("membership", MEMBERSHIPS)
def test_every_page_meets_the_fate_it_was_written_for(
    tmp_path: Path, wikianchor: Command, wikis: Sequence[news.News], written: Path, membership: str
) -> None:
    flags = [f"--dumps={written}/*.xml*", f"--sql={written}/*.sql.gz", f"--membership={membership}"]
    ended = wikianchor("mewsc16", *flags, f"--output={tmp_path}/out")
    assert (ended.status, ended.said) == (0, [])
    check_kept(tmp_path / "out")
    ledger = ledger_of(tmp_path / "out")
    assert len(ledger) >= 8
    for wiki in wikis:
        rows = {row["page_id"]: row for row in rows_of(tmp_path / "out", wiki.language)}
        fates: Counter[str] = Counter()
        for page in wiki.pages:
            known = page.fate != "kept" or page.route in MEMBERSHIPS[membership]
            fates[page.fate if known else "no_topic"] += 1
            row = rows.pop(page.page_id, None)
            if page.fate != "kept" or not known:
                assert row is None, page
                continue
            assert row is not None, page
            assert (row["sentence"], row["label"], row["routes"]) == (page.sentence, page.label, [page.route])
            assert row["topics"] == [page.label]
            assert row["permalink"] == f"https://{wiki.language}.wikinews.org/w/index.php?oldid={row['rev_id']}"
        assert not rows
        pages = ledger[wiki.language]["pages"]
        seen = pages.pop("seen")
        pages.pop("other_namespace")
        assert pages == fates
        assert seen == len(wiki.xml)


def check_kept(output: Path) -> None:
    """Check that what is kept has no fault, no leak and no double."""
    for language in news.languages():
        rows = rows_of(output, language)
        faults = FaultFinder(language)
        assert [row["sentence"] for row in rows if faults.fault(row["sentence"])] == []
        assert len({row["sentence"].casefold() for row in rows}) == len(rows)
        assert {row["label"] for row in rows} <= set(TOPICS)


def test_the_hubs_library_opens_a_language_with_its_classes(tmp_path: Path, wikianchor: Command, written: Path) -> None:
    datasets = pytest.importorskip("datasets")
    flags = [f"--dumps={written}/ja*.xml*,{written}/sv*.xml*", f"--output={tmp_path}/out"]
    assert wikianchor("mewsc16", *flags).status == 0
    expected = rows_of(tmp_path / "out", "ja")
    loaded = datasets.load_dataset(f"{tmp_path}/out", "ja", cache_dir=f"{tmp_path}/cache")["train"]
    classes = loaded.features["label"]
    assert tuple(classes.names) == TOPICS
    assert [classes.int2str(label) for label in loaded["label"]] == [row["label"] for row in expected]
    assert list(loaded["sentence"]) == [row["sentence"] for row in expected]
    assert list(loaded["topics"]) == [row["topics"] for row in expected]


def test_memberships_are_counted_by_who_knows_of_them(tmp_path: Path, wikianchor: Command) -> None:
    wiki = news.make_news("de", PAGES, news.WITH_TABLES)
    path = news.write(wiki, tmp_path, tables=True)
    # A glob for links names this one, too.
    (tmp_path / "dewikinews-20260601-langlinks.sql.gz").write_text("not read")
    flags = [f"--dumps={path}", f"--sql={tmp_path}/*.sql.gz"]
    assert wikianchor("mewsc16", *flags, f"--output={tmp_path}/out").status == 0
    counts = ledger_of(tmp_path / "out")["de"]["memberships"]
    by_template = sum(page.route == "template" for page in wiki.pages)
    assert counts["table_only"] == by_template > 0
    assert counts["both"] > by_template


def test_categories_of_templates_are_learnt_from_the_wikis_own_pages(tmp_path: Path, wikianchor: Command) -> None:
    wiki = news.make_news("ru", 40, [(1, news.by_own_template), (1, news.by_template)])
    dump = f"--dumps={news.write(wiki, tmp_path, pack=False)}"
    with_own_template = {page.page_id for page in wiki.pages if page.page_id in {number for number, _ in wiki.links}}
    assert wikianchor("mewsc16", dump, f"--output={tmp_path}/out").status == 0
    rows = rows_of(tmp_path / "out", "ru")
    assert {row["page_id"] for row in rows} < with_own_template
    assert len(rows) > 10
    assert all(row["routes"] == ["template"] for row in rows)
    # Without their pages, what templates set is not known.
    refused(wikianchor("mewsc16", dump, "--templates=builtin", f"--output={tmp_path}/no"), 1, "no_topic")


def test_words_of_link_templates_are_learnt_from_the_wikis_own_pages(tmp_path: Path, wikianchor: Command) -> None:
    wiki = news.News("tr")
    category = f"[[Kategori:{next(iter(news.TOPICS['tr']))}]]"
    news.add_page(wiki, 1, "Template:Bağ", "[[w:{{{1}}}|{{{2|{{{1}}}}}}]]<noinclude>Yardım</noinclude>", 10)
    news.add_page(wiki, 2, "Page", "{{Bağ|Ankara (il)|Ankara}} kentinde dün çok kar yağdı.\n" + category)
    path = tmp_path / "dump.xml"
    path.write_bytes(news.dump(wiki))
    assert wikianchor("mewsc16", f"--dumps={path}", f"--output={tmp_path}/out").status == 0
    assert [row["sentence"] for row in rows_of(tmp_path / "out", "tr")] == ["Ankara kentinde dün çok kar yağdı."]
    flags = ["--templates=builtin", f"--output={tmp_path}/no"]
    refused(wikianchor("mewsc16", f"--dumps={path}", *flags), 1, "hole")


def test_paper_rows_are_no_days_and_no_captions_in_boxes(tmp_path: Path, wikianchor: Command) -> None:
    wiki = news.News("en")
    category = f"[[Category:{next(iter(news.TOPICS['en']))}]]"
    sentence = "The mayor spoke about snow on Friday."
    heads = [
        "Friday, May 3, 2006\n\n",
        "May 3, 2006\n",
        '<div class="thumb tright">[[File:A.jpg|200px]]<br />A crowd before the hall.</div>\n',
    ]
    for number, head in enumerate(heads, 1):
        news.add_page(wiki, number, f"Page {number}", f"{head}{sentence} It fell.\n{category}")
    path = tmp_path / "dump.xml"
    path.write_bytes(news.dump(wiki))
    flags = [f"--dumps={path}", "--mode=paper", "--min_pages=1", f"--output={tmp_path}/out"]
    assert wikianchor("mewsc16", *flags).status == 0
    assert [row["sentence"] for row in rows_of(tmp_path / "out", "en")] == [sentence] * len(heads)


def test_a_sign_of_publication_that_few_pages_have_drops_no_other(tmp_path: Path, wikianchor: Command) -> None:
    wiki = news.make_news("fr", 30, [(9, news.draft), (1, news.plain)])
    assert wikianchor("mewsc16", f"--dumps={news.write(wiki, tmp_path)}", f"--output={tmp_path}/out").status == 0
    statuses = Counter(row["status"] for row in rows_of(tmp_path / "out", "fr"))
    assert statuses["unknown"] > statuses["published"] > 0


def test_tables_with_titles_in_them_are_read_too(tmp_path: Path, wikianchor: Command) -> None:
    wiki = news.make_news("fr", 60, news.WITH_TABLES)
    path = news.write(wiki, tmp_path)
    table = tmp_path / "frwikinews-20260601-categorylinks.sql"
    table.write_bytes(news.sql_tables(wiki, old=True)["categorylinks"])
    assert wikianchor("mewsc16", f"--dumps={path}", f"--sql={table}", f"--output={tmp_path}/out").status == 0
    routes = ledger_of(tmp_path / "out")["fr"]["routes"]
    assert routes["template"] == sum(page.route == "template" for page in wiki.pages)


def test_the_bytes_do_not_depend_on_how_it_is_run(
    tmp_path: Path, wikianchor: Command, written: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flags = ["mewsc16", f"--dumps={written}/[cd]*.xml*", f"--sql={written}/[cd]*.sql.gz"]
    modes = {
        "one": [],
        "threads": list(THREADS),
        "beam": ["--shuffle=beam"],
    }
    outputs = []
    for name, mode in modes.items():
        assert wikianchor(*flags, f"--output={tmp_path}/{name}", *mode).status == 0
        manifest = read_manifest(str(tmp_path / name))
        assert manifest is not None
        outputs.append((manifest["configs"], manifest["ledger"]))
    monkeypatch.setattr("wikianchor.pipelines.wikimedia.dumps.SMALLEST_RANGE", 20_000)
    assert wikianchor(*flags, f"--output={tmp_path}/cut").status == 0
    assert all(output == outputs[0] for output in outputs)
    for language in ("ca", "cs", "de"):
        assert rows_of(tmp_path / "cut", language) == rows_of(tmp_path / "one", language)


def test_the_paper_rules_keep_what_clean_drops_and_each_fault_shows(tmp_path: Path, wikianchor: Command) -> None:
    path = news.write(news.make_news("sv", 400), tmp_path, pack=False)
    flags = ["mewsc16", f"--dumps={path}", "--mode=paper"]
    assert wikianchor(*flags, f"--output={tmp_path}/paper").status == 0
    pages = ledger_of(tmp_path / "paper")["sv"]["pages"]
    assert "duplicate" not in pages
    assert "hole" not in pages
    assert all(number == 0 or number >= 10 for number in ledger_of(tmp_path / "paper")["sv"]["labels"].values())

    def sentences(*faults: str) -> list[str]:
        output = tmp_path / "-".join(faults)
        assert wikianchor(*flags, f"--faults={','.join(faults)}", "--min_pages=1", f"--output={output}").status == 0
        return [row["sentence"] for row in rows_of(output, "sv")]

    assert any("Kategori:" in sentence for sentence in sentences("category_text", "glued"))
    assert any(sentence.startswith(("Umeå, 2006", "Lund, 2006")) for sentence in sentences("captions"))
    assert any(" till ." in sentence or " i ." in sentence or "i ," in sentence for sentence in sentences("holes"))
    assert any(sentence.endswith("bl.a.") for sentence in sentences("cut"))
    assert len(sentences("line_start")) < len(sentences("all_namespaces"))


def test_drafts_count_where_no_page_tells_of_its_publication(tmp_path: Path, wikianchor: Command) -> None:
    wiki = news.make_news("en", 60, [(1, news.draft)])
    ended = wikianchor("mewsc16", f"--dumps={news.write(wiki, tmp_path)}", f"--output={tmp_path}/out")
    assert ended.status == 0
    assert {row["status"] for row in rows_of(tmp_path / "out", "en")} == {"unknown"}
    assert any("en: no page tells whether it is published" in line for line in ended.progress)


def test_an_old_dump_is_taken_and_said_to_be_old(tmp_path: Path, wikianchor: Command) -> None:
    path = news.write(news.make_news("cs", 80), tmp_path, date="20211101")
    ended = wikianchor("mewsc16", f"--dumps={path}", f"--output={tmp_path}/out")
    assert ended.status == 0
    assert any("made before Wikinews was closed" in line for line in ended.progress)
    manifest = read_manifest(str(tmp_path / "out"))
    assert manifest is not None
    assert manifest["inputs"][0]["before_closure"] is True
    assert manifest["inputs"][0]["date"] == "2021-11-01"


def test_empty_classes_are_told_in_one_line(tmp_path: Path, wikianchor: Command) -> None:
    path = news.write(news.make_news("pl", 3, [(1, news.plain)]), tmp_path)
    ended = wikianchor("mewsc16", f"--dumps={path}", f"--output={tmp_path}/out")
    assert ended.status == 0
    assert sum("pl: no page of" in line for line in ended.progress) == 1


@pytest.fixture
def swedish_dump(tmp_path: Path) -> Path:
    return news.write(news.make_news("sv", 40, news.WITH_TABLES), tmp_path / "dump", tables=True)


def refused(ended: Ended, status: int, *words: str) -> None:
    assert ended.status == status, ended
    assert len(ended.said) == 1, ended.said
    for word in words:
        assert word in ended.said[0], ended.said


def test_a_wikipedia_dump_is_refused(tmp_path: Path, wikianchor: Command) -> None:
    path = tmp_path / "svwiki.xml"
    path.write_bytes(dumps.export([dumps.page("A", 1, "B.")], "svwiki"))
    refused(wikianchor("mewsc16", f"--dumps={path}", f"--output={tmp_path}/out"), 1, "svwiki", "Wikipedia")
    assert not (tmp_path / "out").exists()


def test_a_language_outside_the_map_is_refused(tmp_path: Path, wikianchor: Command) -> None:
    wiki = news.make_news("sv", 5)
    path = tmp_path / "dump.xml"
    path.write_bytes(news.dump(wiki, "nlwikinews"))
    refused(wikianchor("mewsc16", f"--dumps={path}", f"--output={tmp_path}/out"), 1, "nl", "--topics")


def test_missing_tables_are_told(tmp_path: Path, wikianchor: Command, swedish_dump: Path) -> None:
    output, dump = f"--output={tmp_path}/out", f"--dumps={swedish_dump}"
    folder = swedish_dump.parent
    flags = ["--membership=direct+templates", "--templates=builtin"]
    refused(wikianchor("mewsc16", dump, *flags, output), 2, "--sql")
    links = folder / "svwikinews-20260601-categorylinks.sql.gz"
    refused(wikianchor("mewsc16", dump, f"--sql={links}", output), 1, "linktarget.sql.gz")
    targets = folder / "svwikinews-20260601-linktarget.sql.gz"
    refused(wikianchor("mewsc16", dump, f"--sql={targets}", output), 1, "categorylinks.sql.gz")
    refused(wikianchor("mewsc16", dump, f"--sql={folder}/none.sql.gz", output), 1, "none.sql.gz")
    other = folder / "dewikinews-20260601-categorylinks.sql.gz"
    other.write_bytes(links.read_bytes())
    refused(wikianchor("mewsc16", dump, f"--sql={other}", output), 1, "dewikinews")


BAD_MAPS = {
    "an unknown topic": ('{"Sport": {"sv": "Sport"}}', "no topic 'Sport'"),
    "one category for two topics": ('{"Sports": {"sv": "A"}, "Media": {"sv": "A"}}', "both"),
    "two names for one": ('{"Sports": {"sv": "A", "sv": "B"}}', "two entries"),
    "no JSON": ("{", "not JSON"),
    "nested without end": ("[" * 100_000, "not JSON"),
    "no map": ("[]", "has to be like"),
    "no names": ("{}", "names no category"),
    "a number for a name": ('{"Sports": {"sv": [1]}}', "no category name"),
}


@pytest.mark.parametrize("problem", BAD_MAPS)
def test_a_bad_topic_map_is_refused(tmp_path: Path, wikianchor: Command, swedish_dump: Path, problem: str) -> None:
    text, words = BAD_MAPS[problem]
    path = tmp_path / "map.json"
    path.write_text(text)
    refused(wikianchor("mewsc16", f"--dumps={swedish_dump}", f"--topics={path}", f"--output={tmp_path}/out"), 1, words)


def test_a_map_of_ones_own_may_have_other_languages_and_several_names(tmp_path: Path, wikianchor: Command) -> None:
    path = tmp_path / "map.json"
    path.write_text(json.dumps({"Sports": {"nl": ["Sport", "Politik"]}}))
    dump = tmp_path / "dump.xml"
    dump.write_bytes(news.dump(news.make_news("sv", 60), "nlwikinews"))
    ended = wikianchor("mewsc16", f"--dumps={dump}", f"--topics={path}", f"--output={tmp_path}/out")
    assert ended.status == 0, ended.said
    assert {row["label"] for row in rows_of(tmp_path / "out", "nl")} == {"Sports"}


def test_a_cut_off_dump_is_told_and_can_be_taken(tmp_path: Path, wikianchor: Command, swedish_dump: Path) -> None:
    path = tmp_path / "cut.xml"
    whole = news.dump(news.make_news("sv", 40))
    path.write_bytes(whole[: len(whole) * 2 // 3])
    flags = ["mewsc16", f"--dumps={path}", f"--output={tmp_path}/out"]
    refused(wikianchor(*flags), 1, "cut off", "--allow_truncated")
    assert wikianchor(*flags, "--allow_truncated").status == 0


def test_a_page_given_twice_is_told(tmp_path: Path, wikianchor: Command, swedish_dump: Path) -> None:
    again = swedish_dump.parent / "again.xml.bz2"
    again.write_bytes(swedish_dump.read_bytes())
    refused(wikianchor("mewsc16", f"--dumps={swedish_dump},{again}", f"--output={tmp_path}/out"), 1, "given twice")


def test_a_wiki_without_a_topic_leaves_nothing(tmp_path: Path, wikianchor: Command) -> None:
    path = news.write(news.make_news("sv", 10, [(1, news.in_none)]), tmp_path)
    refused(wikianchor("mewsc16", f"--dumps={path}", f"--output={tmp_path}/out"), 1, "no page is left", "no_topic")


def test_flags_that_do_not_go_together_are_refused(tmp_path: Path, wikianchor: Command, swedish_dump: Path) -> None:
    output, dump = f"--output={tmp_path}/out", f"--dumps={swedish_dump}"
    refused(wikianchor("mewsc16", output), 2, "--dumps")
    refused(wikianchor("mewsc16", dump, output, "--faults=holes"), 2, "--mode=paper")
    refused(wikianchor("mewsc16", dump, output, "--mode=paper", "--faults=no"), 2, "no such fault")
    refused(wikianchor("mewsc16", dump, output, "--min_pages=0"), 2, "1 or more")
