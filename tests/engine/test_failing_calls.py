"""Each call of the C library may fail, and the process may be killed at each call of a commit: in full with
`make chaos`, a sample here."""

import random
import shutil
import signal
from pathlib import Path

import pytest

from tests.engine.failing_calls import JOBS, Outcome, run_cases

# Of the calls of a stage, beside one of each call site.
SAMPLE = 100

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


def test_a_commit_survives_a_kill(tmp_path: Path) -> None:
    outcomes = run_cases("commit", tmp_path, "--kill", "--step=9", "--older")
    assert len(outcomes) > 4
    assert {outcome.status for outcome in outcomes} == {-signal.SIGKILL}
    assert [outcome for outcome in outcomes if outcome.problem] == []


@pytest.mark.nightly
@pytest.mark.parametrize("older", [[], ["--older"]], ids=["first", "rebuild"])
def test_a_commit_survives_each_failing_call(
    older: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each call with each error."""
    outcomes = run_cases("commit", tmp_path, "--every", *older)
    assert len(outcomes) > 300
    report(capsys, f"commit {older}: {len(outcomes)} failing calls", outcomes)


@pytest.mark.nightly
def test_commits_survive_200_kills(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A kill before each call of each commit, also of those that tidy up after it."""
    outcomes = []
    for job in JOBS:
        for older in ([], ["--older"]):
            outcomes += run_cases(job, tmp_path, "--kill", *older)
    assert len(outcomes) > 200
    report(capsys, f"{len(outcomes)} kills inside the commit", outcomes)


@pytest.mark.nightly
@pytest.mark.parametrize("older", [[], ["--older"]], ids=["first", "rebuild"])
@pytest.mark.parametrize("job", ["sentences", "entities", "pairs"])
def test_a_stage_survives_a_failing_call_at_each_site(
    job: str, older: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each call site once, and a random sample of calls and errors, of another seed each time."""
    seed = random.randrange(1 << 30)
    outcomes = run_cases(job, tmp_path, f"--sample={SAMPLE}", f"--seed={seed}", *older)
    assert len(outcomes) > SAMPLE + 20
    report(capsys, f"{job} {older}: {len(outcomes)} failing calls, {SAMPLE} of them by seed {seed}", outcomes)


def report(capsys: pytest.CaptureFixture[str], cases: str, outcomes: list[Outcome]) -> None:
    """Print the number of cases and of problems, and check that there is no problem."""
    problems = [outcome for outcome in outcomes if outcome.problem]
    with capsys.disabled():
        print(f"\n{cases}, {len(problems)} bad")
    assert problems == []
