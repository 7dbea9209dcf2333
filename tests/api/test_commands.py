"""The commands as functions: what they return, and what type checkers say of them."""

import json
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow.dataset
import pytest

import wikianchor
from tests.stand_in import Item, Page, run_pairs, write_entities, write_sentences
from wikianchor import commands
from wikianchor.io.errors import InputError, UsageError

ROOT = Path(__file__).parents[2]
# Programs of users, each of which runs by itself in a directory with the demo and its build.
EXAMPLES = sorted((ROOT / "docs/examples").glob("*.py"))
REFUSED = (
    'wikianchor.train("eese", data="x")',
    'wikianchor.train("ease", dtaa="x")',
    'wikianchor.export(pairs="p", output="o", kind="leed")',
    'wikianchor.build(dumps="d")',
    'wikianchor.build(dumps="d", output="o", min_links="3")',
    'commands.pairs(sentences="s", entities=3, output="o")',
    'commands.pears(output="o")',
    "wikianchor.open_wiki(dumps=3)",
    'wikianchor.read_items("d.json", wikis=3)',
    'wikianchor.open_dataset("d").head("3")',
    'wikianchor.open_dataset("d").to_arrow(columns=[1])',
    'wikianchor.extract("text").links[0].titel',
    'wikianchor.train("ease", data="x", max_steps="3")',
    'wikianchor.train_config("mboe", data="x")',
    'wikianchor.evaluate(["a", "b"], data="x")',
    'len(wikianchor.verify(directory="o")["passed"])',
)


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset to be read only."""
    directory = tmp_path_factory.mktemp("pairs")
    pages = [
        Page("Oslo", ["Oslo is the capital of Norway.", "It lies at a fjord."]),
        Page("Fjord", ["The capital [[Oslo]] is at a fjord.", "[[Oslo]] is old."]),
    ]
    sentences = write_sentences(directory / "sentences" / "enwiki", "enwiki", pages)
    entities = write_entities(directory / "entities", ["enwiki"], [Item(1, [9], {"enwiki": "Oslo"})])
    run_pairs([sentences], entities, directory / "pairs", negatives=0)
    return directory / "pairs"


def test_a_stage_returns_its_dataset(pairs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    triplets = wikianchor.export(pairs=pairs, output=tmp_path / "out", kind="lead", workers=1)
    assert [row["anchor"] for row in triplets] == ["The capital Oslo is at a fjord."]
    assert "ok  rows" in wikianchor.verify(directory=str(tmp_path / "out"))
    assert "1 rows" in wikianchor.report(directory=tmp_path / "out")
    assert not capsys.readouterr().out


def test_nothing_is_said_of_what_beam_lacks(pairs: Path, tmp_path: Path) -> None:
    code = f"import wikianchor; print(len(wikianchor.export(pairs={str(pairs)!r}, output='out', workers=1)))"
    ended = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "1\n", "")


def test_what_verify_finds_is_in_its_error(pairs: Path, tmp_path: Path) -> None:
    damaged = Path(shutil.copytree(pairs, tmp_path / "pairs"))
    shard = next(damaged.glob("data/pairs/*.parquet"))
    shard.write_bytes(shard.read_bytes()[:-1])
    with pytest.raises(InputError, match=shard.name):
        wikianchor.verify(directory=damaged)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"kind": "leed"}, UsageError, r"export\(kind='leed'\): did you mean lead"),
        ({"pair": "x"}, TypeError, "unexpected keyword argument 'pair': did you mean pairs"),
        ({"seed": "a"}, TypeError, r"export\(seed='a'\): must be int"),
        ({"dry_run": True}, TypeError, "unexpected keyword argument 'dry_run'"),
        ({"near_duplicates": 1}, TypeError, "must be bool"),
        ({"pairs": 3}, TypeError, r"export\(pairs=3\): must be a text or a path"),
        ({"pairs": ["a", "b"]}, TypeError, "must be a text or a path"),
        ({"output": None}, TypeError, "missing the keyword argument 'output'"),
        ({"max_per_positive": -1}, UsageError, "--max_per_positive=-1"),
        ({"pairs": "/nowhere"}, InputError, "/nowhere: no such directory"),
    ],
)
def test_a_wrong_option_is_one_line(given: dict[str, object], error: type[Exception], message: str) -> None:
    options: dict[str, object] = {"pairs": "p", "output": "o", **given}
    with pytest.raises(error, match=message) as raised:
        wikianchor.export(**options)  # type: ignore[arg-type]
    assert "\n" not in str(raised.value)


def test_a_scan_reads_what_a_filter_needs(pairs: Path) -> None:
    opened = wikianchor.open_dataset(pairs)
    wiki = pyarrow.dataset.field("wiki")
    assert opened.scan().to_table(columns=["title"], filter=wiki == "enwiki").column_names == ["title"]
    assert opened.scan().count_rows(filter=wiki == "dewiki") == 0
    assert opened.scan("entities").count_rows() == opened.rows("entities")


def test_each_function_is_a_command() -> None:
    assert [name for name in commands.__all__ if not callable(getattr(commands, name))] == []
    with pytest.raises(AttributeError, match="pears"):
        commands.pears()  # type: ignore[attr-defined]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs(
    example: Path,
    demo_build: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if "torch" in example.read_text("utf-8") or "train" in example.stem:
        pytest.importorskip("torch", reason="NO TORCH: pip install '.[train,eval]'")
    (tmp_path / "out").mkdir()
    (tmp_path / "out/demo").symlink_to(demo_build)
    (tmp_path / "demo").symlink_to(ROOT / "demo")
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(example), run_name="__main__")
    assert capsys.readouterr().out.strip()


def test_the_notebook_runs(
    demo_build: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its cells one after the other, as a kernel runs them; none has kept its output."""
    (tmp_path / "out").mkdir()
    (tmp_path / "out/demo").symlink_to(demo_build)
    (tmp_path / "demo").symlink_to(ROOT / "demo")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    cells = json.loads((ROOT / "docs/examples/first_look.ipynb").read_text("utf-8"))["cells"]
    for cell in (cell for cell in cells if cell["cell_type"] == "code"):
        assert not cell["outputs"]
        exec("".join(cell["source"]), names)
    printed = capsys.readouterr().out
    assert "pairs" in printed
    assert "BeamSchema" in printed or "wiki='enwiki'" in printed


@pytest.mark.slow
def test_type_checkers_know_the_options(tmp_path: Path) -> None:
    """They accept each of the examples, and refuse each of the lines. With the settings of `make types`, mypy does not
    read the sources of torch; its cache is not that of `make types`, which may run at the same time."""
    pytest.importorskip("mypy")
    head = ["import wikianchor", "from wikianchor import commands"]
    program = tmp_path / "program.py"
    program.write_text("\n".join([*head, *REFUSED]), "utf-8")
    cache = ROOT / ".mypy_cache/examples"
    options = [f"--config-file={ROOT}/pyproject.toml", f"--cache-dir={cache}", "--hide-error-context"]
    command = [sys.executable, "-m", "mypy", *options, "program.py", *map(str, EXAMPLES)]
    ended = subprocess.run(command, cwd=tmp_path, env={"MYPYPATH": str(ROOT)}, capture_output=True, text=True)
    errors = [line.split(":")[:2] for line in ended.stdout.splitlines() if ": error:" in line]
    wanted = [["program.py", str(number)] for number in range(len(head) + 1, len(head) + len(REFUSED) + 1)]
    assert sorted({tuple(error) for error in errors}) == sorted(map(tuple, wanted)), ended.stdout + ended.stderr
    if shutil.which("pyright") is None:
        pytest.skip("NO PYRIGHT: pip install pyright")
    command = ["pyright", "--outputjson", f"--pythonpath={sys.executable}", "program.py", *map(str, EXAMPLES)]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    found = json.loads(ended.stdout)["generalDiagnostics"]
    lines = {each["range"]["start"]["line"] + 1 for each in found if each["severity"] == "error"}
    assert {each["file"] for each in found} == {str(program)}, ended.stdout
    assert lines == set(range(len(head) + 1, len(head) + len(REFUSED) + 1)), ended.stdout
