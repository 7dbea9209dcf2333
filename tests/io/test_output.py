"""What is printed has no power over the terminal, whatever titles, labels and file names hold."""

from __future__ import annotations

import doctest
import io
import os
import sys
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import wikianchor.io.flags
import wikianchor.io.output
import wikianchor.io.units
from tests.dumps import export, item, json_dump, page
from wikianchor.io.output import CleanStream, clean_output, printable, printable_json
from wikianchor.pipelines.cli.command_line import main
from wikianchor.pipelines.engine.progress import LINE_UP, Progress

# Erase the screen, ring, set the title of the window; C1's CSI and next line; DEL; a bidirectional override.
EVIL = "a\x1b[2J\x07\x1b]0;x\x07\x9b31m\x85\x7f\u202eb"
TEXT = (
    f"The [[{EVIL}|Moon {EVIL}]] goes around the [[Earth]]. It is far away from the [[Sun|star]], as everybody knows."
)
SHOWN = r"a\x1b[2J\x07\x1b]0;x\x07\x9b31m\x85\x7f\u202eb"


def is_harmless(text: str) -> bool:
    """Whether a text has no control or format character but newline and tab."""
    return all(unicodedata.category(sign) not in ("Cc", "Cf", "Zl", "Zp") or sign in "\n\t" for sign in text)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Dumps whose titles, labels and sentences would command the terminal."""
    monkeypatch.chdir(tmp_path)
    titles = ["Earth", "Sun", "Venus", "Mars", "Pluto", EVIL]
    other = TEXT.replace("Venus", "Mars").replace("Sun", "Pluto").replace("Earth", "Moon")
    pages = [page(title, number, other if number % 2 else TEXT) for number, title in enumerate(titles, 1)]
    (tmp_path / "dumps").mkdir()
    (tmp_path / "dumps/dump.xml").write_bytes(export(pages))
    items = [item(number, {"enwiki": title}, [5], {"en": f"{EVIL}{number}"}) for number, title in enumerate(titles, 1)]
    (tmp_path / "dumps/wikidata.json").write_bytes(json_dump(items))
    return tmp_path


def test_build_and_report(folder: Path, wikianchor: Callable[..., Any]) -> None:
    build = wikianchor("build", "--dumps=dumps", "--output=out", "--min_links=0", "--negatives=1")
    report = wikianchor("report", "out")
    for ended in (build, report):
        assert ended.status == 0
        assert is_harmless(ended.output)
        assert is_harmless("\n".join([*ended.said, *ended.progress]))
        # Seen, and not left out.
        assert r"\x9b31m\x85\x7f\u202eb" in ended.output
        assert rf"= {SHOWN}" in ended.output


def test_an_error_that_quotes_a_title(folder: Path, wikianchor: Callable[..., Any]) -> None:
    data = export([page("\x9b2J\x85Bus", 1, TEXT)]).replace(b"</text>", b"")
    (folder / "dumps/dump.xml").write_bytes(data)
    ended = wikianchor("sentences", "--dumps=dumps/dump.xml", "--output=out")
    assert ended.status == 1
    assert len(ended.said) == 1
    assert is_harmless(ended.said[0])
    assert "Bus" in ended.said[0]


def test_an_error_that_quotes_a_file_name_is_one_line(folder: Path, wikianchor: Callable[..., Any]) -> None:
    ended = wikianchor("report", "no\nsuch\x1b[2J")
    assert ended.said == [
        r"wikianchor: no\nsuch\x1b[2J: no finished dataset here (no manifest.json): run its stage to the end"
    ]


def test_a_page_on_the_terminal(folder: Path, wikianchor: Callable[..., Any]) -> None:
    for flags in ((), ("--sentences",)):
        ended = wikianchor("extract", "--dumps=dumps/dump.xml", "--title=Sun", *flags)
        assert ended.status == 0
        assert is_harmless(ended.output)
        assert r"\x9b31m" in ended.output


def test_the_trainer(capfd: pytest.CaptureFixture[str]) -> None:
    from wikianchor.io.errors import InputError
    from wikianchor.trainer.command import run_command

    def fail() -> str:
        print(f"at work on {EVIL}", file=sys.stderr)
        raise InputError(f"{EVIL}: no such file")

    assert run_command("trainer", lambda: f"scores of {EVIL}") == 0
    assert run_command("trainer", fail) == 1
    output, errors = capfd.readouterr()
    assert output == f"scores of {SHOWN}\n"
    assert errors == f"at work on {SHOWN}\ntrainer: {SHOWN}: no such file\n"


def test_a_terminal_of_another_encoding(
    folder: Path, wikianchor: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    title = "Łódź 東京 é"
    text = f"In [[{title}]] it rains in autumn, as everybody knows."
    (folder / "dumps/dump.xml").write_bytes(export([page("Earth", 1, text), page(title, 2, "")]))
    items = [item(number, {"enwiki": name}, [5], {"en": name}) for number, name in ((1, "Earth"), (2, title))]
    (folder / "dumps/wikidata.json").write_bytes(json_dump(items))
    assert wikianchor("build", "--dumps=dumps", "--output=out", "--min_links=0", "--negatives=0").status == 0
    for encoding in ("ascii", "latin-1", "cp1252", "utf-16"):
        written = io.BytesIO()
        terminal = io.TextIOWrapper(written, encoding)
        with monkeypatch.context() as patch:
            patch.setattr("sys.stdout", terminal)
            assert main(["report", "out"]) == 0
        terminal.flush()
        shown = title.encode(encoding, "backslashreplace").decode(encoding)
        printed = written.getvalue().decode(encoding)
        assert f"= {shown} (Q2), not any" in printed, encoding


def test_streams_that_are_closed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("stdout", "stderr"):
        with monkeypatch.context() as patch:
            patch.setattr(f"sys.{name}", None)
            assert main(["extract", "--dumps=dumps/dump.xml", "--title=Sun"]) == 0
            assert main(["report", "nowhere"]) == 1


def test_names_that_are_not_unicode_can_be_printed(capfd: pytest.CaptureFixture[str]) -> None:
    with clean_output():
        print(os.fsdecode(b"out\xff"))
    assert capfd.readouterr().out == "out\\udcff\n"


def test_bars_are_still_redrawn() -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    seconds = iter(range(100))
    with Progress(CleanStream(terminal), lambda: float(next(seconds))) as progress:  # type: ignore[arg-type]
        progress.begin(EVIL, 100)
        progress.advance(EVIL, 10)
        progress.advance(EVIL, 10)
    drawn = terminal.getvalue()
    assert drawn.count(LINE_UP) == 2
    assert is_harmless(drawn.replace(LINE_UP, ""))


def test_json_says_the_same() -> None:
    import json

    text = json.dumps({"title": EVIL}, ensure_ascii=False)
    assert is_harmless(printable_json(text))
    assert json.loads(printable_json(text)) == {"title": EVIL}


def test_what_is_harmless_stays() -> None:
    for text in ("Łódź\t東京\n", "עברית", "a\u200cb", "👩‍👧"):
        assert printable(text) == text


@pytest.mark.parametrize("module", [wikianchor.io.flags, wikianchor.io.output, wikianchor.io.units])
def test_examples(module: Any) -> None:
    printed_text = doctest.testmod(module)
    assert printed_text.attempted
    assert not printed_text.failed
