"""The tables of benchmarks/RESULTS.md: each says what code it measured, by the flags that users get."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
import results

ROOT = Path(__file__).parent.parent
PAGE = """# Results

<!-- speed -->
### speed

Measured on commit {commit}, 2026-01-02, a processor.

`python old.py`.

| old |
<!-- /speed -->

After it.
"""
TABLES = """[speed]
title = "speed"
command = "python speed.py $PLACE"
measures = ["code"]
minutes = 1
note = "Fast."
"""


@pytest.fixture
def project(tmp_path: Path) -> Callable[..., str]:
    """A repository whose page has a table of its first commit; a function that runs git in it."""

    def git(*arguments: str) -> str:
        names = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
        return subprocess.run(
            ["git", "-C", tmp_path, *names, *arguments], check=True, capture_output=True, text=True
        ).stdout.strip()

    for name in ("benchmarks", "code"):
        (tmp_path / name).mkdir()
    (tmp_path / "code/a.py").write_text("1")
    (tmp_path / "speed.py").write_text("import sys; print('### title\\n\\n| new |', sys.argv[1], '\\n\\n### more')")
    (tmp_path / "benchmarks/tables.toml").write_text(TABLES)
    git("init", "--quiet")
    git("add", ".")
    git("commit", "--quiet", "--message=First")
    (tmp_path / "benchmarks/RESULTS.md").write_text(PAGE.format(commit=git("log", "-1", "--format=%h")))
    return git


def change(root: Path, git: Callable[..., str]) -> None:
    (root / "code/a.py").write_text("2")
    git("commit", "--quiet", "--all", "--message=Second")


def test_a_table_that_is_older_than_its_code_fails_unless_it_says_so(
    project: Callable[..., str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert results.main(["--check"], tmp_path) == 0
    change(tmp_path, project)
    assert results.main(["--check"], tmp_path) == 1
    assert "RESULTS.md: speed: is older than code: make results TABLES=speed" in capsys.readouterr().out
    for _ in range(2):
        assert results.main(["--mark"], tmp_path) == 0
        assert ", 2026-01-02, a processor, before changes to code.\n" in (tmp_path / "benchmarks/RESULTS.md").read_text(
            "utf-8"
        )
    assert results.main(["--check"], tmp_path) == 0


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Measured on commit ", "Measured on commit abcdef0, "),
        ("Measured on commit", "Measured"),
        ("<!-- speed -->", ""),
    ],
)
def test_a_table_without_a_commit_or_a_registration_fails(
    project: Callable[..., str], tmp_path: Path, old: str, new: str
) -> None:
    page = tmp_path / "benchmarks/RESULTS.md"
    page.write_text(page.read_text("utf-8").replace(old, new, 1))
    assert results.main(["--check"], tmp_path) == 1


def test_without_a_history_it_says_that_it_cannot_check(
    project: Callable[..., str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    change(tmp_path, project)
    project("add", ".")
    project("commit", "--quiet", "--message=Page")
    project("clone", "--quiet", "--depth=1", f"file://{tmp_path}", str(tmp_path / "shallow"))
    project("worktree", "add", "--quiet", str(tmp_path / "plain"))
    (tmp_path / "plain/.git").unlink()
    for name in ("shallow", "plain"):
        assert results.main(["--check"], tmp_path / name) == 0
        assert "cannot check" in capsys.readouterr().out


def test_a_measured_table_replaces_the_old_one(
    project: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("PLACE", raising=False)
    assert results.main(["speed"], tmp_path) == 0
    assert "speed: skipped: PLACE is not set" in capsys.readouterr().err
    monkeypatch.setenv("PLACE", "here")
    assert results.main(["speed"], tmp_path) == 0
    page = (tmp_path / "benchmarks/RESULTS.md").read_text("utf-8")
    commit = project("log", "-1", "--format=%h")
    assert re.search(
        rf"^### speed\n\nMeasured on commit {commit}, [\d-]+, .* cores, Python [\d.]+\.$", page, re.MULTILINE
    )
    assert "`python speed.py $PLACE`. Fast.\n\n| new | here \n\n#### more\n<!-- /speed -->\n\nAfter it.\n" in page
    assert "old" not in page
    (tmp_path / "code/a.py").write_text("3")
    assert results.main(["speed"], tmp_path) == 1
    assert "uncommitted changes in code" in capsys.readouterr().err


def test_tables_are_measured_by_the_flags_that_users_get() -> None:
    tables = results.read_tables()
    assert len(tables) > 15
    for table in tables.values():
        _, script, *words = table.command.split()
        part = words[0] if words and not words[0].startswith("-") else "__main__"
        assert part in (ROOT / script).read_text("utf-8")
        assert all((ROOT / path).exists() for path in table.measures)
        assert not re.search(r"--(templates|direct_\w+|runner|engine)\b", table.command)


def test_lines_of_the_page_are_short() -> None:
    lines = results.PAGE.read_text("utf-8").splitlines()
    assert max(map(len, lines)) < 350


def test_benchmarks_that_the_docs_name_have_these_parts_and_flags() -> None:
    shared = "".join(path.read_text("utf-8") for path in (ROOT / "benchmarks/lib").glob("*.py"))
    pages = [*ROOT.glob("*.md"), ROOT / "benchmarks/README.md", *(ROOT / "docs").rglob("*.md")]
    commands = set()
    for page in pages:
        # Figures of an older commit name it behind the command.
        commands |= set(re.findall(r"python (benchmarks/\w+\.py)([^`\n]*)`(?! of commit)", page.read_text("utf-8")))
    assert len(commands) > 20
    for script, words in commands:
        source = (ROOT / script).read_text("utf-8") + shared
        names = [word.partition("=")[0] for word in words.split() if re.match("--|[a-z]+$", word)]
        assert [name for name in names if f'"{name}"' not in source] == [], f"{script}{words}"
