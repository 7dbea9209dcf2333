"""The commands as functions: what they return, and what type checkers say of them."""

import subprocess
import sys
from pathlib import Path

import pyarrow.dataset
import pytest

import wikianchor
from tests.stand_in import Item, Page, run_pairs, write_entities, write_sentences
from wikianchor import commands
from wikianchor.io.errors import InputError, UsageError

ACCEPTED = """
from pathlib import Path
import wikianchor
from wikianchor import commands

pairs: wikianchor.OpenDataset = wikianchor.build(dumps=Path("dumps"), output="out", wikis=["kw", "dsb"], workers=2)
commands.sentences(dumps="a", output="b", beam=["--runner=FlinkRunner"])
commands.score(data="x", model="m", output="o")
text: str = wikianchor.verify(directory="out")
config = wikianchor.train_config("ease", data="out/pairs", model="m", output="o", max_steps=3)
model: str = wikianchor.train(config)
wikianchor.train("simcse", data=[{"text": "a"}], model="m", output="o")
wikianchor.evaluate("m", "eval", ["STS12"], sts=["a.tsv"])
"""
REFUSED = (
    'wikianchor.train("eese", data="x")',
    'wikianchor.train("ease", dtaa="x")',
    'wikianchor.export(pairs="p", output="o", kind="leed")',
    'wikianchor.build(dumps="d")',
    'wikianchor.build(dumps="d", output="o", min_links="3")',
    'commands.pairs(sentences="s", entities=3, output="o")',
    'commands.pears(output="o")',
)


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    pages = [
        Page("Oslo", ["Oslo is the capital of Norway.", "It lies at a fjord."]),
        Page("Fjord", ["The capital [[Oslo]] is at a fjord.", "[[Oslo]] is old."]),
    ]
    sentences = write_sentences(tmp_path / "sentences" / "enwiki", "enwiki", pages)
    entities = write_entities(tmp_path / "entities", ["enwiki"], [Item(1, [9], {"enwiki": "Oslo"})])
    run_pairs([sentences], entities, tmp_path / "pairs", negatives=0)
    return tmp_path / "pairs"


def test_a_stage_returns_its_dataset(pairs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    triplets = wikianchor.export(pairs=pairs, output=tmp_path / "out", kind="lead", workers=1)
    assert [row["anchor"] for row in triplets] == ["The capital Oslo is at a fjord."]
    assert "ok  rows" in wikianchor.verify(directory=str(tmp_path / "out"))
    assert "1 rows" in wikianchor.report(directory=tmp_path / "out")
    assert not capsys.readouterr().out


def test_what_verify_finds_is_in_its_error(pairs: Path) -> None:
    shard = next(pairs.glob("data/pairs/*.parquet"))
    shard.write_bytes(shard.read_bytes()[:-1])
    with pytest.raises(InputError, match=shard.name):
        wikianchor.verify(directory=pairs)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"kind": "leed"}, UsageError, r"export\(kind='leed'\): did you mean lead"),
        ({"pair": "x"}, TypeError, "unexpected keyword argument 'pair': did you mean pairs"),
        ({"seed": "a"}, TypeError, r"export\(seed='a'\): must be int"),
        ({"dry_run": True}, TypeError, "unexpected keyword argument 'dry_run'"),
        ({"near_duplicates": 1}, TypeError, "must be bool"),
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


@pytest.mark.slow
def test_type_checkers_know_the_options(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    program = [*ACCEPTED.splitlines(), *REFUSED]
    (tmp_path / "program.py").write_text("\n".join(program), "utf-8")
    root = Path(__file__).parents[2]
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--follow-imports=silent",
        "--hide-error-context",
        "program.py",
    ]
    cache = f"--cache-dir={root / '.mypy_cache'}"
    ended = subprocess.run([*command, cache], cwd=tmp_path, env={"MYPYPATH": str(root)}, capture_output=True, text=True)
    lines = {int(line.split(":")[1]) for line in ended.stdout.splitlines() if ": error:" in line}
    assert lines == set(range(len(program) - len(REFUSED) + 1, len(program) + 1)), ended.stdout + ended.stderr
