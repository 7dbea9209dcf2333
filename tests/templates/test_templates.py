"""`wikianchor templates`, and what `sentences` makes of the templates of its dump."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.dumps import multistream, page, revision
from wikianchor.pipelines.arrays.hashing import hash_string
from wikianchor.pipelines.templates.store import TemplateStore, save_store
from wikianchor.pipelines.templates.tables import changed_templates
from wikianchor.pipelines.wikimedia.wikitext.definitions import BLOCK
from wikianchor.pipelines.wikimedia.wikitext.template_pages import definition_of

Run = Callable[..., Any]
ARTICLE = (
    "The town of {{place|Kyiv}} is {{size}} and lies {{unknown}} there.\n\nIt has {{place|Lviv}} as its neighbour."
)
TEMPLATES = {
    "Place": "[[{{{1}}}]]{{mark}}",
    "Mark": " (a town)",
    "Size": "{{#invoke:Size|main}}",
    "Box": '{| class="box"\n|}',
    "Info": "{{Box}}",
    "Town": "{{Place|{{{1}}}}}",
}


def dump(directory: Path, templates: dict[str, str] = TEMPLATES, changed: tuple[str, ...] = (), pages: int = 1) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / "enwiki-20260201-pages-articles.xml.bz2"
    articles = [page(f"Article {number}", number, ARTICLE) for number in range(1, pages + 1)]
    articles.append(page("Plain", 90, "A sentence of the plain page with a [[link]] stands here for all to read."))
    definitions = [
        page(
            f"Template:{title}",
            number,
            namespace=10,
            revisions=[revision(body, number + (500 if title in changed else 0))],
        )
        for number, (title, body) in enumerate(templates.items(), 100)
    ]
    definitions.append(page("Template:City", 200, redirect="Template:Place", namespace=10))
    path.write_bytes(multistream([*articles, *definitions]))
    return path


def texts(directory: Path) -> list[str]:
    return [
        row
        for path in sorted(directory.glob("data/sentences/*.parquet"))
        for row in pq.read_table(path)["text"].to_pylist()
    ]


def files(directory: Path) -> dict[str, bytes]:
    return {str(path.relative_to(directory)): path.read_bytes() for path in sorted(directory.glob("data/**/*.parquet"))}


def test_sentences_show_what_the_templates_of_the_dump_show(tmp_path: Path, wikianchor: Run) -> None:
    source = dump(tmp_path / "dumps")
    assert wikianchor("sentences", f"--dumps={source}", f"--output={tmp_path}/out").status == 0
    assert "It has Lviv (a town) as its neighbour." in texts(tmp_path / "out")
    manifest = json.loads((tmp_path / "out/manifest.json").read_text())
    assert manifest["configs"]["templates"]["rows"] == 7
    assert manifest["ledger"]["enwiki"]["templates"] == {"size": 1, "unknown": 1}
    checked = wikianchor("verify", tmp_path / "out", f"--against={source}")
    assert checked.status == 0, checked


def test_builtin_rules_alone_on_request(tmp_path: Path, wikianchor: Run) -> None:
    source = dump(tmp_path / "dumps")
    assert wikianchor("sentences", f"--dumps={source}", f"--output={tmp_path}/out", "--templates=builtin").status == 0
    assert len(texts(tmp_path / "out")) == 1
    assert "templates" not in json.loads((tmp_path / "out/manifest.json").read_text())["configs"]


def test_the_command_lists_the_definitions(tmp_path: Path, wikianchor: Run) -> None:
    source = dump(tmp_path / "dumps")
    assert wikianchor("templates", f"--dumps={source}", f"--output={tmp_path}/out").status == 0
    rows = {row["title"]: row for row in pq.read_table(next((tmp_path / "out").rglob("*.parquet"))).to_pylist()}
    assert {title: row["kind"] for title, row in rows.items()} == {
        **{"Place": "text", "Mark": "text", "Size": "server", "Box": "block", "Info": "text", "Town": "text"},
        "City": "redirect",
    }
    assert (rows["City"]["body"], rows["Info"]["first"], rows["Town"]["calls"]) == ("Place", "Box", ["Place"])


@pytest.mark.parametrize("changed", ["Mark", "Place", "Size"])
def test_a_page_is_copied_only_if_no_template_of_it_has_changed(changed: str, tmp_path: Path, wikianchor: Run) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    later = {**TEMPLATES, changed: "somewhere"}
    sources = dump(old / "dumps", pages=3), dump(new / "dumps", later, (changed,), pages=3)
    assert wikianchor("sentences", f"--dumps={sources[0]}", f"--output={old}/out").status == 0
    again = ["sentences", f"--dumps={sources[1]}"]
    assert wikianchor(*again, f"--output={new}/fresh").status == 0
    assert wikianchor(*again, f"--output={new}/out", f"--previous={old}/out").status == 0
    assert files(new / "out") == files(new / "fresh")


def test_a_previous_dataset_without_templates_is_refused(tmp_path: Path, wikianchor: Run) -> None:
    source = dump(tmp_path / "dumps")
    assert wikianchor("sentences", f"--dumps={source}", f"--output={tmp_path}/old", "--templates=builtin").status == 0
    ended = wikianchor("sentences", f"--dumps={source}", f"--output={tmp_path}/new", f"--previous={tmp_path}/old")
    assert ended.status == 2
    assert "was made with another templates: leave it out" in ended.said[-1]


def test_the_store_follows_redirects_and_knows_blocks(tmp_path: Path) -> None:
    rows = [
        *(("A", "text", "a {{{1}}}", None), ("B", "redirect", "A", None), ("C", "redirect", "B", None)),
        *(("D", "redirect", "D", None), ("Box", "block", None, None), ("E", "text", "{{Box}}", "Box")),
        *(
            ("F", "text", "{{E}}", "E"),
            ("H", "redirect", "Box", None),
            ("I", "text", "{{H}}", "H"),
            ("G", "server", None, None),
            ("Ж", "text", "буква", None),
        ),
    ]
    store = TemplateStore(save_store(str(tmp_path), [(*row, False) for row in rows], "en"))
    assert [store.find(title) for title in "ABC"] == ["a {{{1}}}"] * 3
    assert [store.find(title) for title in ("Box", "E", "F", "H", "I")] == [BLOCK] * 5
    assert [store.find(title) for title in ("D", "G", "Nowhere")] == [None] * 3
    assert store.find("Ж") == "буква"
    assert TemplateStore(save_store(str(tmp_path), [], "en")).find("A") is None


def test_templates_that_mark_disambiguation_pages_are_found_by_the_switch_by_redirects_and_by_what_they_begin_with(
    tmp_path: Path,
) -> None:
    pages = {
        "Switch": "may mean:<includeonly>__DISAMBIG__</includeonly>",
        "In articles": "{| class=a\n|}{{#if:{{NAMESPACE}}||[[Category:A]]__DISAMBIG__}}",
        "Beginning": "{{Switch}} [[Category:B]]",
        "By type": "{{#switch: {{{type|}}} | index = | #default = __DISAMBIG__ }}",
        "About it": "Write <nowiki>__DISAMBIG__</nowiki> there.<noinclude>__DISAMBIG__</noinclude>",
        "Calls it": "It is not {{Switch}}.",
    }
    rows = [(title, *definition_of(text, str)) for title, text in pages.items()]
    definitions = [(title, kind, body, first, marks) for title, kind, body, first, _, marks in rows]
    redirects = {"Short": "Switch", "Disambig": "Anlam ayrımı", "Other": "Anlam ayrımı"}
    definitions += [(title, "redirect", target, None, False) for title, target in redirects.items()]
    definitions.append(("Anlam ayrımı", "block", None, None, False))
    store = TemplateStore(save_store(str(tmp_path), definitions, "gag"))
    marking = {title for title, *_ in definitions if store.marks_disambiguation(title)}
    assert marking == {"Switch", "In articles", "Beginning", *redirects, "Anlam ayrımı"}


def test_a_change_reaches_all_that_call_it(tmp_path: Path, wikianchor: Run) -> None:
    shards = []
    # The date of the dump is another one, and other pages may exist.
    templates = {**TEMPLATES, "Now": "in {{CURRENTYEAR}}", "Exists": "{{#ifexist:{{{1}}}|here}}"}
    for name, bodies in (("old", templates), ("new", {**templates, "Mark": " (a city)"})):
        source = dump(tmp_path / name, bodies)
        assert wikianchor("templates", f"--dumps={source}", f"--output={tmp_path}/{name}/out").status == 0
        shards.append([str(path) for path in (tmp_path / name / "out").rglob("*.parquet")])
    changed = changed_templates(*shards).tolist()
    assert changed == sorted(map(hash_string, ("Mark", "Now", "Exists", "Place", "Town", "City")))
    assert changed_templates(shards[0], shards[0]).tolist() == sorted(map(hash_string, ("Now", "Exists")))


def test_messages_of_the_dump_are_shown(tmp_path: Path, wikianchor: Run) -> None:
    text = "The town of {{int:Old_name|Kyiv}} lies there, and it is {{says}} to all who read."
    shards = []
    for name, message in (("old", "Kiev"), ("new", "$1 (Kiev)")):
        pages = [
            page("A", 1, text),
            page("MediaWiki:Old name", 2, message, 8),
            page("MediaWiki:Common.css", 3, namespace=8, redirect="MediaWiki:A"),
            page("Template:Says", 4, "{{int:old name}}", 10),
        ]
        source = tmp_path / name / "enwiki-20260201-pages-articles.xml.bz2"
        source.parent.mkdir()
        source.write_bytes(multistream(pages))
        assert wikianchor("sentences", f"--dumps={source}", f"--output={tmp_path}/{name}/out").status == 0
        shards.append([str(path) for path in (tmp_path / name / "out").glob("data/templates/*.parquet")])
    assert texts(tmp_path / "new/out") == ["The town of Kyiv (Kiev) lies there, and it is $1 (Kiev) to all who read."]
    changed = changed_templates(*shards).tolist()
    assert changed == sorted(map(hash_string, ("MediaWiki:Old name", "Says")))
    given = (f"--dumps={tmp_path}/new/enwiki-20260201-pages-articles.xml.bz2", f"--previous={tmp_path}/old/out")
    assert wikianchor("sentences", *given, f"--output={tmp_path}/updated").status == 0
    assert files(tmp_path / "updated") == files(tmp_path / "new/out")


def test_a_dump_without_templates_is_fine(tmp_path: Path, wikianchor: Run) -> None:
    source = tmp_path / "enwiki-20260201-pages-articles.xml.bz2"
    source.write_bytes(multistream([page("A", 1, "It is a [[link]] of the page here.")]))
    assert wikianchor("sentences", f"--dumps={source}", f"--output={tmp_path}/out").status == 0
    assert wikianchor("templates", f"--dumps={source}", f"--output={tmp_path}/templates").status == 0
    assert wikianchor("verify", f"{tmp_path}/templates").status == 0


def test_a_redirect_is_known_by_its_text(tmp_path: Path, wikianchor: Run) -> None:
    templates = {"Place": "[[{{{1}}}]]", "Other": "#redirect [[:template:place]]", "Numbered": "# One item"}
    source = dump(tmp_path / "dumps", templates)
    assert wikianchor("templates", f"--dumps={source}", f"--output={tmp_path}/out").status == 0
    rows = pq.read_table(tmp_path / "out/data/templates").to_pylist()
    kinds = {row["title"]: (row["kind"], row["body"]) for row in rows if row["title"] in ("Other", "Numbered")}
    assert kinds == {"Other": ("redirect", "Place"), "Numbered": ("block", None)}
