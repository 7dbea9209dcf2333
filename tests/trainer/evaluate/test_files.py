"""Files are found by name wherever they lie, and read with what is broken counted."""

from pathlib import Path

import pytest

from tests.trainer.evaluate.conftest import write
from wikianchor.io.errors import InputError
from wikianchor.trainer.evaluate.files import EvaluationFiles, SetSource, split_lines


def test_found_by_the_end_of_the_path(tmp_path: Path) -> None:
    for name in ("deep/er/x.txt", "x.txt", "ax.txt", "x.txt.bak", ".cache/x.txt", "deep/.hidden/x.txt"):
        write(tmp_path / name, ["a"])
    assert list(EvaluationFiles(str(tmp_path)).match(r"x\.txt")) == ["deep/er/x.txt", "x.txt"]
    assert list(EvaluationFiles(f"{tmp_path}/").match(r"er/x\.txt")) == ["deep/er/x.txt"]


def test_copies_are_one_and_versions_are_an_error(tmp_path: Path) -> None:
    write(tmp_path / "a/x.txt", ["same"])
    write(tmp_path / "b/x.txt", ["same"])
    data = EvaluationFiles(str(tmp_path))
    assert data.find(r"x\.txt", "the set") == "a/x.txt"
    assert data.find(r"y\.txt", "the set") is None
    write(tmp_path / "b/x.txt", ["other"])
    with pytest.raises(InputError, match=r"the set is there several times and differs: a/x.txt, b/x.txt"):
        data.find(r"x\.txt", "the set")


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (b"", []),
        (b"a\nb", ["a", "b"]),
        (b"a\nb\n", ["a", "b"]),
        (b"a\r\n\r\nb\r\n", ["a", "", "b"]),
        (b"\xef\xbb\xbfa\n", ["a"]),
        (b"a\n\xff\xfe\nb\n", ["a", None, "b"]),
        ("a\u2028b\x85c\x0bd\n".encode(), ["a\u2028b\x85c\x0bd"]),
    ],
)
def test_lines_end_at_line_feeds(content: bytes, lines: list[str | None]) -> None:
    assert split_lines(content) == lines


def test_what_cannot_be_used(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such directory"):
        EvaluationFiles(str(tmp_path / "none"))
    (tmp_path / "a").write_text("x\n")
    (tmp_path / "b").write_text("x\ny\n")
    with pytest.raises(InputError, match="a has 1, b has 2"):
        EvaluationFiles(str(tmp_path)).aligned(("a", "b"), SetSource())
    with pytest.raises(InputError, match=r"no row of x can be used \(3 rows, 2 without gold, 1 broken\)"):
        SetSource({"f": ""}, rows=3, blank=2, broken=1).check("x")
