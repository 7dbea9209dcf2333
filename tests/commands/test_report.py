"""The demo, end to end, as its user sees it: the report of a build."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from wikianchor.pipelines.cli.command_line import main
from wikianchor.pipelines.commands.report.model import Grid, GridRow
from wikianchor.pipelines.commands.report.text import _grid

DEMO = Path(__file__).parents[2] / "demo" / "dumps"


def test_the_report_of_the_demo(demo_build: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(demo_build)]) == 0
    shown = capsys.readouterr().out
    for words in (
        "enwiki",
        "dewiki",
        "jawiki",
        "articles",
        "sentences:",
        "links:",
        "entities in their table",
        "https://en.wikipedia.org/w/index.php?oldid=",
        ".parquet",
    ):
        assert words in shown
    assert shown.count("\n           = ") == 5
    # The product comes first, then the details.
    order = [
        "pairs from 3 wikis",
        "What became of the links",
        "From links to pairs",
        "How frequent",
        "sentences dewiki",
    ]
    places = [shown.index(words) for words in order]
    assert places == sorted(places)


def test_the_headline_and_the_coverage_say_the_same_number_of_entities(
    demo_build: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    linked = len(set(pq.read_table(demo_build / "pairs" / "data" / "pairs")["entity_id"].to_pylist()))
    table = pq.read_table(demo_build / "pairs" / "data" / "entities").num_rows
    assert linked < table
    assert main(["report", str(demo_build / "pairs")]) == 0
    shown = capsys.readouterr().out
    assert f" pairs, {linked} linked entities, " in shown
    coverage = shown.partition("How frequent the entities are")[2].splitlines()
    assert coverage[1].split()[:2] == ["linked", "entities"]
    assert coverage[2].split()[:2] == ["all", str(linked)]
    assert f", {table} entities in their table\n" in shown


def test_the_demo_builds_pairs_in_each_of_its_languages(demo_build: Path) -> None:
    rows = pq.read_table(demo_build / "pairs" / "data" / "pairs").to_pylist()
    assert {row["wiki"] for row in rows} == {"dewiki", "enwiki", "jawiki"}
    for row in rows:
        assert row["text"][row["mention_start"] : row["mention_end"]].strip()
        assert len(row["hard_negative_ids"]) == 1
        assert row["entity_id"] not in row["hard_negative_ids"]


def test_a_dataset_opens_with_its_configs_by_its_card(demo_build: Path) -> None:
    card = (demo_build / "pairs" / "README.md").read_text(encoding="utf-8")
    assert "config_name: pairs" in card
    assert "path: data/pairs/train-*.parquet" in card
    assert "CC BY-SA" in card


def test_a_second_build_skips_what_is_done(demo_build: Path, capsys: pytest.CaptureFixture[str]) -> None:
    manifest = (demo_build / "pairs" / "manifest.json").read_bytes()
    assert main(["build", f"--dumps={DEMO}", f"--output={demo_build}", "--min_links=2"]) == 0
    assert capsys.readouterr().err.count("up to date, skipped") == 5
    assert (demo_build / "pairs" / "manifest.json").read_bytes() == manifest


def test_a_directory_without_a_dataset(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(tmp_path)]) == 1
    assert "no finished dataset" in capsys.readouterr().err


def test_a_table_of_hundreds_of_wikis_shows_the_largest() -> None:
    rows = [GridRow(f"w{number}", [number], [number], number) for number in range(300)]
    grid = Grid("links", "", ["links"], ["pairs"], 1, [GridRow("all", [44850], [44850], 44850), *rows])
    lines = list(_grid(grid, 80))
    assert [line.split()[0] for line in lines[3:-1]] == ["all", *(f"w{number}" for number in range(280, 300))]
    wide = Grid("links", "", ["links"], ["pairs", "no entity", "in no prose"], 1, [GridRow("all", [3], [1, 1, 1], 3)])
    assert list(_grid(wide, 26))[2:] == [
        "       links  pairs",
        "  all      3     33",
        "       no entity",
        "  all         33",
        "       in no prose",
        "  all           33",
    ]
    assert lines[-1] == "  and 280 wikis more, which `report --html` shows"
