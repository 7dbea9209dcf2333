"""`--help` of each command: there at once, complete, and without what the command itself needs. So is a mistake in its
command line."""

import json
import re
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.conftest import made_once
from wikianchor.__main__ import main
from wikianchor.pipelines.cli.commands import COMMANDS
from wikianchor.pipelines.cli.commands import TRAINER as TRAINER_COMMANDS

WORDS = [[], *([name] for name in (*COMMANDS, *TRAINER_COMMANDS)), ["train", "ease"], ["train", "mboe"]]
WORDS += [["papers", "tables", "table1"]]
HELP = [[*words, "--help"] for words in WORDS]
# Each takes longer to import than all the help there is to print.
HEAVY = {
    *("apache_beam", "numpy", "pyarrow", "requests", "scipy", "sklearn", "matplotlib"),
    *("torch", "transformers", "spacy", "ginza", "datasets", "mteb"),
}


class Ended(NamedTuple):
    """How a command ended: its exit status, its stdout, the lines of its stderr, and what of `HEAVY` it imported."""

    status: int
    printed: str
    said: list[str]
    imported: list[str]


def run(*words: str) -> Ended:
    """Run a command in a process of its own."""
    command = [sys.executable, "-X", "importtime", "-m", "wikianchor", *words]
    ended = subprocess.run(command, capture_output=True, text=True)
    lines = ended.stderr.splitlines()
    imported = {line.rpartition("|")[2].strip() for line in lines if line.startswith("import time:")}
    assert "argparse" in imported
    said = [line for line in lines if not line.startswith("import time:")]
    return Ended(ended.returncode, ended.stdout, said, sorted(imported & HEAVY))


MISTAKES = [
    *([name] for name in COMMANDS if name not in ("demo", "doctor")),
    ["demo", "--output="],
    ["doctor", "--nosuch=x"],
    ["download", "--wikis=zzz1", "--output=dumps"],
    ["build", "--dumps=dumps", "--wikis=zzz1", "--output=out"],
    ["sentences", "--dumps=nosuch.bz2", "--output=out"],
    ["entities", "--wikis=enwiki", "--wikidata=nosuch.json", "--output=out"],
    ["pairs", "--sentences=s", "--entities=e", "--output=out", "--sample=-1"],
    ["corpus", "--input=nosuch.txt", "--output=out"],
    ["mewsc16", "--dumps=nosuch.bz2", "--output=out"],
]


TRAINER_MISTAKES = [["train"], ["train", "eas"], ["train", "ease", "--nosuch=x"], ["evaluate"]]
# Runs commands one after the other, and prints how each ended; the first that imports a package has imported it.
IN_TURN = """
import io, json, sys
from contextlib import redirect_stderr, redirect_stdout
from wikianchor.__main__ import main

ended, heavy = [], set(json.loads(sys.argv[2]))
for words in json.loads(sys.argv[1]):
    with redirect_stdout(io.StringIO()) as printed, redirect_stderr(io.StringIO()) as said:
        try:
            status = main(words)
        except SystemExit as error:
            status = error.code
    ended.append([status, printed.getvalue(), said.getvalue().splitlines(), sorted(heavy & {*sys.modules})])
    heavy -= {*sys.modules}
print(json.dumps(ended))
"""


@pytest.fixture(scope="module")
def in_turn(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, ...], Ended]:
    """How each command line ends, all in one new process: starting one for each would take most of the time."""
    lines = [*HELP, *MISTAKES, *TRAINER_MISTAKES]

    def make(directory: Path) -> None:
        command = [sys.executable, "-c", IN_TURN, json.dumps(lines), json.dumps([*HEAVY])]
        with (directory / "ended.json").open("w") as file:
            subprocess.run(command, stdout=file, check=True)

    ended = json.loads((made_once(tmp_path_factory, "help", make) / "ended.json").read_text())
    return {tuple(words): Ended(*values) for words, values in zip(lines, ended, strict=True)}


@pytest.mark.parametrize("words", HELP, ids=" ".join)
def test_help_is_there_without_what_the_command_needs(words: list[str], in_turn: dict[tuple[str, ...], Ended]) -> None:
    ended = in_turn[tuple(words)]
    assert (ended.status, ended.said, ended.imported) == (0, [], [])
    assert ended.printed.startswith("usage: ")


@pytest.mark.parametrize("words", MISTAKES, ids=" ".join)
def test_a_mistake_is_told_without_what_the_command_needs(
    words: list[str], in_turn: dict[tuple[str, ...], Ended]
) -> None:
    ended = in_turn[tuple(words)]
    assert ended.status in (1, 2)
    assert (ended.printed, ended.imported) == ("", [])
    assert [line.partition(" ")[0] for line in ended.said] == ["wikianchor:"]


@pytest.mark.parametrize("words", [["build", "--help"], ["train", "ease", "--help"], ["pairs"]], ids=" ".join)
def test_a_process_of_its_own_says_the_same(words: list[str], in_turn: dict[tuple[str, ...], Ended]) -> None:
    assert run(*words) == in_turn[tuple(words)]


@pytest.mark.parametrize("name", COMMANDS)
def test_each_flag_is_explained(name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    with pytest.raises(SystemExit) as ended:
        main([name, "--help"])
    assert ended.value.code == 0
    text = capsys.readouterr().out
    flags = re.findall(r"^  (-\S.*(?:\n {10,}\S.*)?)$", text, re.MULTILINE)
    assert len(flags) >= 2
    assert [flag for flag in flags if not re.search(r"\S(?:  +|\n +)\S", flag)] == []
    assert re.search(rf"examples?:\s+wikianchor {name}", text)


@pytest.mark.parametrize("words", TRAINER_MISTAKES, ids=" ".join)
def test_a_mistake_in_the_trainers_flags_is_told_without_torch(
    words: list[str], in_turn: dict[tuple[str, ...], Ended]
) -> None:
    ended = in_turn[tuple(words)]
    assert (ended.status, ended.printed, ended.imported) == (2, "", [])
    assert ended.said[-1].startswith(("trainer: ", "evaluate: "))


@pytest.mark.parametrize(
    ("words", "extra"),
    [
        (["train", "ease", "--data=x", "--model=y", "--output=z"], "train"),
        (["evaluate", "--model=x", f"--sts={__file__}"], "train,eval"),
        (["mteb", "--data=x", "--output=y"], "mteb"),
        (["papers", "tables", "table1", "--data=x", "--output=y", "--evaluation=z"], "train,eval"),
    ],
)
def test_without_torch_the_extra_is_named(
    words: list[str], extra: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("wikianchor.trainer.command.find_spec", lambda name: None if name == "torch" else name)
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == f"trainer: needs torch: pip install 'wikianchor[{extra}]'"


@pytest.mark.parametrize("words", [[], ["build"], ["extract"], ["verify"], ["completion"]], ids=" ".join)
def test_help_fits_the_terminal(
    words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit) if words else nullcontext():
        main([*words, "--help"])
    assert [line for line in capsys.readouterr().out.splitlines() if len(line) > 80] == []


def test_the_overview_names_all_commands() -> None:
    names = re.findall(r"^  (\w+) ", run("--help").printed, re.MULTILINE)
    assert names == [*COMMANDS, *TRAINER_COMMANDS]
    ended = run("nosuch")
    assert (ended.status, ended.said[0]) == (2, "wikianchor: no command 'nosuch': see wikianchor --help")
