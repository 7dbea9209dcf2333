"""Data and model meet in datasets only: neither side's code imports the other's, and data needs no torch, but where a
T5 makes it."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TRAINING = {"torch", "transformers", "safetensors", "sklearn", "scipy", "matplotlib"}


# The T5 of `wikianchor negatives`; it imports what it needs when it is made, its search among that.
WITH_A_MODEL = ROOT / "pipelines/text/filler.py"
SEARCH = ROOT / "pipelines/text/beam_search.py"


def imported(room: str) -> dict[str, set[str]]:
    """Return the top-level packages that each file of a room imports; of the file with a model, when it is imported."""
    found = {}
    for path in sorted((ROOT / room).rglob("*.py")):
        names: set[str] = set()
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in tree.body if path == WITH_A_MODEL else ast.walk(tree):
            if isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                names.add(node.module or "")
        found[str(path)] = {name.partition(".")[0] for name in names}
    return found


@pytest.mark.parametrize(
    ("room", "forbidden"),
    [
        ("trainer", {"pipelines", "apache_beam"}),
        ("pipelines", {"trainer", *TRAINING}),
        ("schemas", {"trainer", "pipelines", *TRAINING}),
        ("wikianchor/io", {"trainer", "pipelines", "schemas", "pyarrow", "apache_beam", *TRAINING}),
    ],
)
def test_rooms_keep_apart(room: str, forbidden: set[str]) -> None:
    files = imported(room)
    assert files
    for path, names in files.items():
        assert not names & forbidden - ({"torch"} if path == str(SEARCH) else set()), path


def test_the_console_script_imports_a_side_when_it_runs_it() -> None:
    for path in sorted((ROOT / "wikianchor").glob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            assert not (isinstance(node, ast.ImportFrom) and str(node.module).startswith(("pipelines", "trainer")))


def test_the_search_is_imported_where_a_model_is_made_alone() -> None:
    for path in sorted((ROOT / "pipelines").rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in tree.body if path == WITH_A_MODEL else ast.walk(tree):
            assert not (isinstance(node, ast.ImportFrom) and node.module == "pipelines.text.beam_search"), path
