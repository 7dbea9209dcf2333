"""Each call of the C library may fail: the commit in full with `make chaos`, a sample here."""

import shutil
from pathlib import Path

import pytest

from tests.engine.failing_calls import run_cases

pytestmark = [
    pytest.mark.skipif(shutil.which("cc") is None, reason="NO COMPILER: install cc to let calls of the C library fail"),
    pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc, for the path of a file descriptor"),
]


@pytest.mark.parametrize("older", [[], ["--older"]], ids=["first", "rebuild"])
def test_a_commit_survives_a_failing_call(older: list[str], tmp_path: Path) -> None:
    """Every 23rd case: of each kind of call and each error some."""
    outcomes = run_cases("commit", tmp_path, "--every", "--step=23", *older)
    assert len(outcomes) > 12
    assert {outcome.status for outcome in outcomes} == {0, 1}
    assert [outcome for outcome in outcomes if outcome.problem] == []


def test_a_stage_survives_a_failing_call(tmp_path: Path) -> None:
    outcomes = run_cases("entities", tmp_path, "--older", "--first=2", "--step=9")
    assert len(outcomes) > 3
    assert [outcome for outcome in outcomes if outcome.problem] == []


@pytest.mark.nightly
@pytest.mark.parametrize("older", [[], ["--older"]], ids=["first", "rebuild"])
def test_a_commit_survives_each_failing_call(older: list[str], tmp_path: Path) -> None:
    """Each call with each error."""
    outcomes = run_cases("commit", tmp_path, "--every", *older)
    assert len(outcomes) > 300
    assert [outcome for outcome in outcomes if outcome.problem] == []


@pytest.mark.nightly
@pytest.mark.parametrize("older", [[], ["--older"]], ids=["first", "rebuild"])
@pytest.mark.parametrize("job", ["sentences", "entities", "pairs"])
def test_a_stage_survives_a_failing_call_at_each_site(job: str, older: list[str], tmp_path: Path) -> None:
    outcomes = run_cases(job, tmp_path, *older)
    assert len(outcomes) > 20
    assert [outcome for outcome in outcomes if outcome.problem] == []
