"""The pages in docs/papers: each command that they name exists, and its arguments are valid.

A command stands between backticks. It is parsed here, in this process, and not run.
"""

import contextlib
import re
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from wikianchor.io.errors import UsageError
from wikianchor.mteb import options as mteb_options
from wikianchor.pipelines.cli.commands import COMMANDS, command_parser
from wikianchor.trainer import options as trainer_options
from wikianchor.trainer.entity_vectors import options as vectors_options
from wikianchor.trainer.evaluate import options as evaluate_options
from wikianchor.trainer.papers import options as papers_options

ROOT = Path(__file__).parent.parent
PAGES = sorted((ROOT / "docs" / "papers").glob("*.md"))
COMMAND = re.compile(r"`((?:wikianchor|python -m wikianchor\.[\w.]+|python benchmarks/\w+\.py)(?: [^`]*)?)`")
# Tables and figures of each page, by the names in its first columns.
LISTED = {
    "ease": [
        *(f"table {number}:" for number in (1, 2, 3, 6, 8, 9, 10, 11, 12, 13, 14, 15)),
        *("tables 4 and 5:", "table 7: ablation, monolingual", "table 7: ablation, multilingual"),
        *(f"| 4.{number}" for number in (4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14)),
        *("| 1 (thesis 4.1):", "| 2 (4.3):", "| 3 (4.2):"),
    ],
    "m-boe": [*(f"table 3.{number}" for number in range(1, 9)), *(f"3.{number}:" for number in range(1, 5))],
    "mewsc-16": ["table 13 (thesis 4.4)", "table 3 (4.9)"],
    "sdjc": [
        *(f"table {number}: " for number in range(1, 9)),
        *("| 1, 4: ", "| 2, 3: ", "| 5: ", "| 6: ", "| 7: JACSTS", "| 7: QABot"),
    ],
}

MODULES: dict[str, Callable[[Sequence[str]], object]] = {}
TRAINERS: dict[str, Callable[[Sequence[str]], object]] = {
    "evaluate": evaluate_options.parse,
    "mteb": mteb_options.parse,
    "papers": papers_options.parse,
    "vectors": vectors_options.parse,
    "train": trainer_options.parse,
}


def parse_command(command: str) -> None:
    """Parse a command as its program does.

    Raises:
        UsageError: there is no such command, or its arguments are invalid.
    """
    words = shlex.split(command)
    if words[0] == "wikianchor" and len(words) == 2:
        words.append("--help")
    if words[1] == "-m":
        if words[2] not in MODULES:
            raise UsageError(f"no program {words[2]}")
        MODULES[words[2]](words[3:])
    elif words[0] == "python":
        text = (ROOT / words[1]).read_text("utf-8") if (ROOT / words[1]).exists() else ""
        if not all(f'"{word}"' in text or f"def {word}(" in text for word in words[2:]) or not text:
            raise UsageError(f"{words[1]} has no {' '.join(words[2:])}")
    elif words[1] in TRAINERS:
        TRAINERS[words[1]](words[2:])
    elif words[1] in COMMANDS:
        command_parser(words[1]).parse_args(words[2:])
    else:
        raise UsageError(f"no command {words[1]}")


def commands() -> list[tuple[str, str]]:
    """Return all commands as (name of the page, command)."""
    return [(page.stem, command) for page in PAGES for command in COMMAND.findall(page.read_text("utf-8"))]


def test_every_command_of_the_papers_exists_and_takes_its_arguments() -> None:
    assert len(commands()) > 50
    for page, command in commands():
        try:
            # Help ends a program with 0.
            with contextlib.suppress(SystemExit):
                parse_command(command)
        except UsageError as error:
            pytest.fail(f"docs/papers/{page}.md: {command}: {error}")


@pytest.mark.parametrize(
    "command",
    [
        "wikianchor nonsense",
        "wikianchor nonsense --output=o",
        "wikianchor evaluate --nonsense=1",
        "wikianchor negatives --spans=verbs",
        "wikianchor train mboe --nonsense=1",
        "wikianchor papers tables table0 --data=d --evaluation=e --output=o",
        "wikianchor papers tables sdjc --nonsense=1",
        "wikianchor papers figures words",
        "python -m wikianchor.trainer.nonsense",
        "python benchmarks/nonsense.py",
        "python benchmarks/evaluation.py nonsense",
    ],
)
def test_a_command_that_does_not_exist_is_found(command: str) -> None:
    with pytest.raises(UsageError):
        parse_command(command)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_table_and_figure_is_listed(page: Path) -> None:
    rows = [line for line in page.read_text("utf-8").splitlines() if line.startswith("| ")]
    assert [name for name in LISTED[page.stem] if not any(name in row for row in rows)] == []
