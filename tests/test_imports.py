"""What is imported only when it is needed. The layers themselves are contracts in pyproject.toml: `make lint`."""

import ast
from pathlib import Path

ROOT = Path(__file__).parents[1]


def imported_first(path: Path) -> set[str]:
    """Return the modules that a file imports when it is imported itself."""
    body = ast.parse(path.read_text(encoding="utf-8")).body
    return {str(node.module) for node in body if isinstance(node, ast.ImportFrom)}


def test_the_console_script_imports_a_side_when_it_runs_it() -> None:
    sides = ("wikianchor.pipelines", "wikianchor.trainer")
    for name in ("__init__.py", "__main__.py"):
        assert not any(module.startswith(sides) for module in imported_first(ROOT / "wikianchor" / name))


def test_the_search_with_torch_is_imported_where_a_model_is_made_alone() -> None:
    search = "wikianchor.pipelines.japanese.negatives.beam_search"
    importers = [path for path in sorted((ROOT / "pipelines").rglob("*.py")) if search in path.read_text("utf-8")]
    assert [path.name for path in importers] == ["filler.py"]
    assert search not in imported_first(importers[0])
