"""What commands print: a summary that fits a terminal, nothing, or JSON by its schema; and what shells complete."""

import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from shutil import which
from typing import Any

import pytest

from tests.conftest import Ended
from wikianchor.__main__ import main as program
from wikianchor.completion import bash, zsh
from wikianchor.io.output import width
from wikianchor.pipelines.cli.commands import COMMANDS

ROOT = Path(__file__).parents[2]
DEMO = ROOT / "demo" / "dumps"
Run = Callable[..., Ended]
jsonschema = pytest.importorskip("jsonschema", reason="NO JSONSCHEMA: pip install '.[dev]'")
SCHEMA = json.loads((ROOT / "schemas/printed.json").read_text("utf-8"))


def test_commands_that_print_json_are_in_the_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    named = {*SCHEMA["$defs"]["made"]["properties"]["command"]["enum"], "verify", "report", "doctor"}
    assert named == {name for name, command in COMMANDS.items() if command.printing}


def commands(build: Path, output: Path) -> dict[str, list[str]]:
    """Return a command line for each of the forms in which a command can end."""
    base = ["build", f"--dumps={DEMO}", f"--output={build}", "--min_links=2"]
    return {
        "build": base,
        "plan": [*base, "--dry_run"],
        "sentences": ["sentences", f"--dumps={next(DEMO.glob('jawiki*.xml*'))}", f"--output={output}/sentences"],
        "entities": ["entities", f"--wikidata={DEMO}/wikidata*", "--wikis=en,de", f"--output={output}/entities"],
        "export": ["export", f"--pairs={build}/pairs", f"--output={output}/export"],
        "verify": ["verify", str(build), f"--against={DEMO}", "--rows=5"],
        "report": ["report", str(build)],
        "doctor": ["doctor"],
    }


FORMS = tuple(commands(Path(), Path()))


@pytest.mark.parametrize("form", FORMS)
def test_a_summary_fits_a_terminal(
    form: str, demo_build: Path, tmp_path: Path, wikianchor: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    # Paths are not broken, and those of tests are long.
    (tmp_path / "b").symlink_to(demo_build)
    monkeypatch.chdir(tmp_path)
    ended = wikianchor(*commands(Path("b"), Path("o"))[form])
    assert (ended.status, ended.said) == (0, [])
    lines = ended.output.splitlines()
    assert [line for line in lines if width(line) > 80 and len(line.split()) > 2] == []
    if form not in ("verify", "report", "doctor"):
        assert len(lines) <= 25
    if form in ("build", "sentences"):
        detailed = wikianchor(*commands(Path("b"), Path("o"))[form], "--details").output
        assert len(detailed.splitlines()) > len(lines)
        assert "\npairs  b/pairs\n" in detailed or form != "build"
        assert ended.output.splitlines()[-1].startswith("more: wikianchor report ")
        assert not any("..  " in line for line in lines)


@pytest.mark.parametrize("form", FORMS)
def test_json_is_valid_and_quiet_is_quiet(form: str, demo_build: Path, tmp_path: Path, wikianchor: Run) -> None:
    words = commands(demo_build, tmp_path)[form]
    ended = wikianchor(*words, "--json")
    assert (ended.status, ended.said) == (0, [])
    printed = json.loads(ended.output)
    jsonschema.validate(printed, SCHEMA)
    assert printed["command"] == words[0]
    assert bool(printed.get("datasets")) == (form not in ("plan", "doctor"))
    assert wikianchor(*words, "--quiet") == (0, "", [], [])


def test_a_check_that_fails_is_in_the_json(tmp_path: Path, wikianchor: Run) -> None:
    assert wikianchor("entities", f"--wikidata={DEMO}/wikidata*", "--wikis=en", f"--output={tmp_path}/e").status == 0
    shard = next(Path(tmp_path).rglob("*.parquet"))
    shard.write_bytes(shard.read_bytes()[:-1] + b"x")
    ended = wikianchor("verify", tmp_path, "--json")
    printed = json.loads(ended.output)
    jsonschema.validate(printed, SCHEMA)
    assert (ended.status, printed["passed"]) == (1, False)
    assert printed["error"] in ended.said[0]
    failed = [check for check in printed["datasets"][0]["checks"] if not check["passed"]]
    assert len(failed) == 1
    assert shard.name in failed[0]["problems"][0]


def test_an_error_is_in_the_json(tmp_path: Path, wikianchor: Run) -> None:
    ended = wikianchor("report", tmp_path, "--json")
    printed = json.loads(ended.output)
    jsonschema.validate(printed, SCHEMA)
    assert ended.status == 1
    assert ended.said == [f"wikianchor: {printed['error']}"]


def on_a_terminal(words: list[str], **environment: str) -> str:
    """Return what a command prints on a terminal."""
    ours, its = pty.openpty()
    env = {**os.environ, "TERM": "xterm", **environment}
    subprocess.run([sys.executable, "-m", "wikianchor", *words], stdout=its, stderr=its, env=env, check=True)
    os.close(its)
    text = b""
    try:
        while block := os.read(ours, 1 << 16):
            text += block
    except OSError:
        pass
    os.close(ours)
    return text.decode()


def test_colours_are_for_terminals_that_want_them(demo_build: Path, wikianchor: Run) -> None:
    words = ["verify", f"{demo_build}/entities"]
    assert "\x1b[32m  ok  manifest\r\n\x1b[0m" in on_a_terminal(words)
    plain = on_a_terminal(words, NO_COLOR="1")
    assert "\x1b" not in plain
    assert plain.replace("\r\n", "\n") == wikianchor(*words).output


# Words of a command line, the last of which is completed, and what it is completed to.
COMPLETED: list[tuple[list[str], set[str]]] = [
    (["bu"], {"build"}),
    (["train", "ea"], {"ease"}),
    (["build", "--templ"], {"--templates="}),
    (["build", "--templates", "="], {"dump", "builtin"}),
    (["build", "--templates", "=", "du"], {"dump"}),
    (["sentences", "--qui"], {"--quiet"}),
    (["train", "ease", "--entity_w"], {"--entity_weight="}),
    (["completion", "z"], {"zsh"}),
]


def test_bash_completes_what_is_declared(tmp_path: Path) -> None:
    script = tmp_path / "completion"
    script.write_text(bash())
    for words, expected in COMPLETED:
        line = ["wikianchor", *words]
        # `compopt` serves within a completion alone.
        code = f"""compopt() {{ :; }}; source {script}; COMP_WORDS=({" ".join(line)}); COMP_CWORD={len(words)}
            _wikianchor wikianchor '{line[-1]}' '{line[-2]}'; echo ${{COMPREPLY[@]}}"""
        ended = subprocess.run(["bash", "-c", code], capture_output=True, text=True, check=True)
        assert (set(ended.stdout.split()), ended.stderr) == (expected, ""), words


def test_zsh_reads_its_script(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert program(["completion", "zsh"]) == 0
    script = capsys.readouterr().out
    assert script == zsh()
    assert "'*--templates=[" in script
    if which("zsh") is None:
        pytest.skip("NO ZSH: apt-get install zsh")
    (tmp_path / "completion").write_text(script)
    subprocess.run(["zsh", "-n", str(tmp_path / "completion")], check=True)


def test_a_shell_that_is_not_known(capsys: pytest.CaptureFixture[str]) -> None:
    words: list[Any] = ["completion", "bsh"]
    with pytest.raises(SystemExit) as ended:
        program(words)
    assert ended.value.code == 2
    assert "did you mean bash?" in capsys.readouterr().err
