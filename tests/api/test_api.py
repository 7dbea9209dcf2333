"""The public API: what it gives is what the pipelines give."""

import doctest
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow.dataset
import pytest

import wikianchor
from tests.dumps import export, item, json_dump, page
from wikianchor.api import text as api_text
from wikianchor.io.errors import InputError, UsageError
from wikianchor.io.version import program_version
from wikianchor.pipelines.text.writing import MISSING

DEMO = Path(__file__).parents[2] / "demo" / "dumps"
# What the engine, the tables of sites and the splitter may import.
STANDARD = sys.stdlib_module_names


def test_examples() -> None:
    assert doctest.testmod(api_text).failed == 0


def test_nothing_is_imported_until_it_is_used() -> None:
    code = "import sys, wikianchor; assert 'extract' in dir(wikianchor); print(*sys.modules)"
    modules = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert [name for name in modules if name.startswith("wikianchor")] == ["wikianchor"]


def test_text_needs_the_standard_library_only() -> None:
    code = (
        "import sys; before = set(sys.modules); sys.modules['numpy'] = None; import wikianchor\n"
        "wikianchor.extract('a'); assert len(wikianchor.sentences('It was cold. 東 She met him.')) == 2\n"
        "print(*set(sys.modules) - before - {'numpy'})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    packages = {name.partition(".")[0] for name in done.stdout.split()}
    assert packages - {"wikianchor", "wikianchor_core"} <= STANDARD


# Imports the engine, the tables of sites and the splitter, and prints what they make of the demonstration's pages.
EVERYTHING = """
import dataclasses, hashlib, importlib, json, pathlib, pkgutil, sys
sys.path.insert(0, sys.argv[1])
import wikianchor
from wikianchor.pipelines import text
from wikianchor.pipelines.wikimedia import wikitext
for package in (text, wikitext):
    for module in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
        importlib.import_module(module.name)
digest = hashlib.sha256()
for path in sorted(pathlib.Path(sys.argv[1], "demo/source").glob("*.txt")):
    for page in path.read_text("utf-8").split("\\n=== page: "):
        options = {"language": path.name[:2], "title": page.split(" |")[0]}
        results = [wikianchor.extract(page, **options), *wikianchor.sentences(page, **options, include_dropped=True)]
        digest.update(json.dumps([dataclasses.asdict(result) for result in results]).encode())
print("numpy" in sys.modules, digest.hexdigest())
"""


def test_text_is_the_same_without_any_package() -> None:
    """`-S` leaves out site-packages, so that an import of anything but the standard library fails."""
    root = str(DEMO.parents[1])
    shown = [
        subprocess.run(
            [sys.executable, "-I", *flags, "-c", EVERYTHING, root], capture_output=True, text=True, check=True
        ).stdout.split()
        for flags in ((), ("-S",))
    ]
    assert [with_numpy for with_numpy, _ in shown] == ["True", "False"]
    assert shown[0][1] == shown[1][1]


def test_the_home_page_and_the_readme_show_a_row(demo_build: Path) -> None:
    """Their example is a row of the demonstration, and its sentence is whole."""
    dataset = wikianchor.open_dataset(f"{demo_build}/pairs")
    entities = {row["entity_id"]: row for row in dataset.to_arrow("entities").to_pylist()}
    root = DEMO.parents[1]
    home, readme = ((root / name).read_text("utf-8") for name in ("docs/index.md", "README.md"))
    shown = 0
    for row in dataset.to_arrow().to_pylist():
        text, start, end = row["text"], row["mention_start"], row["mention_end"]
        (negative,) = (entities[number] for number in row["hard_negative_ids"])
        entity = entities[row["entity_id"]]
        if f"<dd>{text[:start]}<mark>{text[start:end]}</mark>{text[end:]}</dd>" in home:
            shown += 1
            for each in (entity, negative):
                assert f"<b>{each['label']}</b> <code>Q{each['qid']}</code>" in home
                assert f" {each['label']} (Q{each['qid']})" in readme
            assert f"From the page “{row['title']}”" in home
            assert f"{text[:start]}[{text[start:end]}]{text[end:]}\n" in readme
    assert shown == 1


def test_a_name_that_is_not_there() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = wikianchor.nothing  # type: ignore[attr-defined]
    assert wikianchor.extract("[[a]]", language="commonswiki").text == "a"
    with pytest.raises(UsageError, match="klingonish is not a wiki"):
        wikianchor.extract("text", language="klingonish")


@pytest.mark.parametrize("dump", sorted(DEMO.glob("*.xml*")), ids=lambda path: path.name)
def test_offsets_of_pages(dump: Path) -> None:
    language = dump.name[:2]
    pages = 0
    for each in wikianchor.read_pages(str(dump)):
        if each.redirect is not None:
            continue
        pages += 1
        shown = wikianchor.extract(each.text, language=language, title=each.title)
        assert shown.text == "\n".join(shown.text[block.start : block.end] for block in shown.blocks)
        assert all("\n" not in shown.text[link.start : link.end] for link in shown.links)
        assert [link.start for link in shown.links] == sorted(link.start for link in shown.links)
        assert all(shown.text[gap.offset] == MISSING for gap in shown.gaps)
        assert len(shown.gaps) == shown.text.count(MISSING)
        for sentence in wikianchor.sentences(each.text, language=language, title=each.title):
            assert sentence.text in shown.text
            assert all(0 <= link.start < link.end <= len(sentence.text) for link in sentence.links)
    assert pages


def test_sentences_are_those_of_the_pipeline(demo_build: Path) -> None:
    wiki = wikianchor.open_wiki(next(DEMO.glob("enwiki*.xml*")))
    assert list(wiki.sentences()) == wikianchor.open_dataset(f"{demo_build}/sentences/enwiki").to_arrow().to_pylist()


def test_pages_of_other_namespaces(tmp_path: Path) -> None:
    (tmp_path / "d.xml").write_bytes(export([page("A", 1, "text"), page("Talk:A", 2, "talk", namespace=1)]))
    assert [each.title for each in wikianchor.read_pages(f"{tmp_path}/d.xml")] == ["A"]
    assert len(list(wikianchor.read_pages(f"{tmp_path}/d.xml", None))) == 2
    (tmp_path / "scores.tsv").write_text("1.0\ta\tb\n")
    with pytest.raises(wikianchor.InputError, match="not a MediaWiki XML export"):
        next(wikianchor.read_pages(tmp_path / "scores.tsv"))


def test_items(tmp_path: Path) -> None:
    lines = [item(42, sitelinks={"enwiki": "Ada"}), item(43, sitelinks={"dewiki": "Bob"})]
    (tmp_path / "w.json").write_bytes(json_dump(lines))
    for wikis in (["enwiki"], "enwiki", "en", ["en"]):
        assert [each.qid for each in wikianchor.read_items(tmp_path / "w.json", wikis)] == [42]
    for options, problem in (
        ({"languages": "xx-notalang"}, "xx-notalang is no language"),
        ({"texts": ["label"]}, "label is none of labels"),
    ):
        with pytest.raises(UsageError, match=problem):
            list(wikianchor.read_items(tmp_path / "w.json", "en", **options))  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="no wiki is given"):
        list(wikianchor.read_items(tmp_path / "w.json", ""))
    (tmp_path / "bad.json").write_text('[\n{"id": "Q1", "enwiki"\n]\n')
    with pytest.raises(InputError, match=r"bad.json: entity 1: "):
        list(wikianchor.read_items(f"{tmp_path}/bad.json", ["enwiki"]))


def test_datasets(demo_build: Path) -> None:
    pairs = wikianchor.open_dataset(f"{demo_build}/pairs")
    assert pairs.configs == ("pairs", "entities")
    assert repr(pairs).startswith("<pairs in ")
    stored = pairs.to_arrow()
    assert (
        len(stored)
        == pairs.rows()
        == json.loads(Path(f"{demo_build}/pairs/manifest.json").read_text())["configs"]["pairs"]["rows"]
    )
    entities = {row["entity_id"]: row for row in pairs.to_arrow("entities").to_pylist()}
    shown = pairs.to_arrow(columns=["text", "entity", "hard_negatives"])
    assert shown.column_names == ["text", "entity", "hard_negatives"]
    for row, source in zip(shown.to_pylist(), stored.to_pylist(), strict=True):
        name = entities[source["entity_id"]]
        assert row["entity"] == (name["label"] or f"Q{name['qid']}")
        assert len(row["hard_negatives"]) == len(source["hard_negative_ids"])
        assert row["text"] == source["text"]
    with pytest.raises(InputError, match="no table 'x': choose of pairs, entities"):
        pairs.rows("x")
    with pytest.raises(InputError, match="no finished dataset here"):
        wikianchor.open_dataset(f"{demo_build}/nothing")


def test_other_libraries(demo_build: Path) -> None:
    pairs = wikianchor.open_dataset(f"{demo_build}/pairs")
    columns = ["text", "entity"]
    pytest.importorskip("pandas", reason="NO PANDAS: pip install '.[dev]'")
    assert list(pairs.to_pandas(columns=columns)["text"]) == pairs.to_arrow().column("text").to_pylist()
    pytest.importorskip("polars", reason="NO POLARS: pip install '.[hub-dev]'")
    assert pairs.to_polars(columns=columns).columns == columns
    pytest.importorskip("datasets", reason="NO DATASETS: pip install '.[hub-dev]'")
    assert next(iter(pairs.to_datasets(streaming=True)))["text"] == pairs.to_arrow().column("text")[0].as_py()


def test_training_and_evaluation(demo_build: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="NO TORCH: pip install '.[train,eval]'")
    from wikianchor.trainer.evaluate.report import to_json

    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    options = {"new": "tiny", "max_steps": 2, "softmax_size": 8, "max_length": 16, "device": "cpu", "eval_steps": 0}
    model = wikianchor.train(
        "ease", data=f"{demo_build}/pairs", output=f"{tmp_path}/m", cache=f"{tmp_path}/c", **options
    )
    results = wikianchor.evaluate(model, sts=[f"{DEMO.parent}/sts.tsv"], device="cpu")
    assert [result.task for result in results] == ["STS.sts.tsv"]
    # What `evaluate --json` prints.
    schema = json.loads((DEMO.parents[1] / "schemas/printed.json").read_text("utf-8"))
    pytest.importorskip("jsonschema").validate(json.loads(json.dumps(list(map(to_json, results)))), schema)
    with pytest.raises(TypeError, match="unexpected keyword argument 'nothing'"):
        wikianchor.evaluate(model, nothing=1)
    # One file is not the list of its letters.
    with pytest.raises(InputError, match=r"none\.tsv: no such file"):
        wikianchor.evaluate(Path(model), sts="none.tsv")


def test_a_wrong_objective_is_named() -> None:
    pytest.importorskip("torch", reason="NO TORCH: pip install '.[train,eval]'")
    with pytest.raises(UsageError, match="'eese' is no objective: did you mean ease"):
        wikianchor.train("eese", data="x")


def test_errors_and_the_version_are_in_the_namespace() -> None:
    assert wikianchor.InputError is InputError
    assert wikianchor.UsageError is UsageError
    assert wikianchor.__version__ == program_version()
    assert all(hasattr(wikianchor, name) for name in wikianchor.__all__)


def test_a_dataset_has_a_length_rows_and_a_head(demo_build: Path) -> None:
    pairs = wikianchor.open_dataset(demo_build / "pairs")
    rows = list(pairs)
    assert len(pairs) == pairs.rows() == len(rows)
    assert pairs.head(3) == rows[:3] == pairs.to_arrow().slice(0, 3).to_pylist()


# Examples that train a model.
TRAINING = ("evaluate", "train", "train_config")


@pytest.mark.parametrize("name", [name for name in wikianchor.__all__ if name != "__version__"])
def test_each_name_has_an_example_that_runs(
    name: str, demo_build: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if name in TRAINING:
        pytest.importorskip("torch", reason="NO TORCH: pip install '.[train,eval]'")
    # As the examples say: the sample and its build, and whatever else they write.
    (tmp_path / "out").mkdir()
    (tmp_path / "out/demo").symlink_to(demo_build)
    (tmp_path / "demo").symlink_to(DEMO.parent)
    monkeypatch.chdir(tmp_path)
    value = getattr(wikianchor, name)
    doctests = doctest.DocTestFinder().find(value, name, module=False, globs={name: value})
    assert doctests[0].examples or any(test.name == name and test.examples for test in doctests)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    for each in doctests:
        if ".to_torch" in each.name:
            pytest.importorskip("torch", reason="NO TORCH: pip install '.[train,eval]'")
        assert runner.run(each).failed == 0, each.name


def test_splits_and_filters(demo_build: Path) -> None:
    pairs = wikianchor.open_dataset(demo_build / "pairs")
    assert pairs.splits == {"train": "pairs"}
    assert wikianchor.open_dataset(demo_build / "entities").splits == {"train": "entities"}
    english = pairs.filter(pyarrow.dataset.field("wiki") == "enwiki", columns=["text", "wiki"])
    assert set(english["wiki"].to_pylist()) == {"enwiki"}
    assert english == pairs.filter({"wiki": "enwiki"}, columns=["text", "wiki"])
    assert len(pairs.filter({"wiki": ["enwiki", "dewiki"], "entity_qid": 405})) < len(pairs.filter({})) == len(pairs)
    for call in (lambda: pairs.filter({"wikis": 1}), lambda: pairs.filter({}, columns=["tex"]), lambda: pairs.head(-1)):
        with pytest.raises(UsageError, match=r"did you mean|negative"):
            call()
    with pytest.raises(TypeError, match="must be a mapping"):
        pairs.filter("wiki == enwiki")
    assert {row["label"]: f"Q{row['qid']}" for row in pairs.to_arrow("entities").to_pylist()}["Moon"] == "Q405"
    assert pairs.labels()[405] == "Moon"
    with pytest.raises(UsageError, match="no column 'tex': did you mean text"):
        pairs.to_arrow(columns=["tex"])
    with pytest.raises(InputError, match="no table 'entities': choose of sentences"):
        wikianchor.open_dataset(demo_build / "sentences/enwiki").labels()


def test_workers_of_a_data_loader_share_the_files(demo_build: Path) -> None:
    data = pytest.importorskip("torch.utils.data", reason="NO TORCH: pip install '.[train,eval]'")
    pairs = wikianchor.open_dataset(demo_build / "pairs")
    loader = data.DataLoader(pairs.to_torch(columns=["text"]), batch_size=None, num_workers=2)
    assert sorted(row["text"] for row in loader) == sorted(row["text"] for row in pairs)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: wikianchor.open_wiki(None), "None must be a text or a path"),
        (lambda: wikianchor.open_dataset(b"out/demo"), "b'out/demo' must be a text or a path"),
        (lambda: wikianchor.train(5), r"train\(5\): takes the name of an objective, or what train_config returns"),
    ],
)
def test_a_value_of_another_type_is_named(call: Callable[[], object], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        call()
