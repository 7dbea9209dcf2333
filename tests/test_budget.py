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


def test_a_count_above_its_bound_fails() -> None:
    assert budget.judge({"options": 3, "booleans": 1}, {"options": 3}) == (["options: 3 (at most 3)", "booleans: 1"], 0)
    assert budget.judge({"options": 4}, {"options": 3}) == (["options: 4 (at most 3): TOO MANY"], 1)
