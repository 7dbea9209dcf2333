"""What `python -m tools.budget` counts."""

from pathlib import Path

import pytest

from tools import budget

CODE = '''"""A module."""

def add(a: int, b: int, *, twice: bool) -> int:
    """Add.

    Args:
        a: of the numbers.
        b: the second number.
    """
    place = a + b
    return send(1, 2, 3, 4, 5, True)
'''


@pytest.mark.parametrize(
    ("measure", "places"),
    [
        # The function, the assignment and the return, without docstrings.
        ("statements", [3, 10, 11]),
        ("positional", [11]),
        ("booleans", [11]),
        ("entries", [7, 8]),
        ("fragments", [7]),
        ("vague_names", [10]),
    ],
)
def test_each_measure_counts_its_places(
    measure: str, places: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("code.py").write_text(CODE)
    assert [counted.line for counted in budget.MEASURES[measure](["code.py"])] == places


def test_an_option_is_counted_where_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    folder = Path("pipelines/buses")
    folder.mkdir(parents=True)
    (folder / "options.py").write_text('class Buses:\n    page_props: str = option(help="a table")\n')
    for name in ("graph", "steps", "plan"):
        (folder / f"{name}.py").write_text("def run(config):\n    return config.page_props\n")
    # A table, a parameter and a field of something else have its name by chance.
    (folder / "sql.py").write_text('def read(page_props):\n    return "page_props", call(page_props=page_props)\n')
    (folder / "sources.py").write_text("class Sources:\n    page_props: str\n    size = row.page_props\n")
    monkeypatch.setattr(budget, "tracked", lambda names: sorted(map(str, folder.iterdir())))
    assert list(budget.option_files(budget.tracked([]))) == []
    (folder / "rates.py").write_text("class Rates:\n    size = property(lambda self: self._options.page_props)\n")
    (place,) = budget.option_files(budget.tracked([]))
    assert place.text.startswith("page_props: 5 files: pipelines/buses/graph.py pipelines/buses/options.py")


def test_a_count_above_its_bound_fails() -> None:
    assert budget.judge({"options": 3, "booleans": 1}, {"options": 3}) == (["options: 3 (at most 3)", "booleans: 1"], 0)
    assert budget.judge({"options": 4}, {"options": 3}) == (["options: 4 (at most 3): TOO MANY"], 1)
