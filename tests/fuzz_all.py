"""Run all fuzz targets, those of the core by cargo-fuzz and those of Python by Atheris, and print a line for each.

    python -m tests.fuzz_all --seconds=3600 [--targets=page,packed] [--jobs=2]

Corpora grow below `out/fuzz/corpus`, from the seeds of `fuzz_seeds.py` and `fuzz_targets.py`. What crashes a
target, breaks one of its rules, or takes longer than TIMEOUT is kept below `out/fuzz/found`, and the status is 1.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from argparse import ArgumentParser
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path

from tests.fuzz_seeds import CORPORA, save_corpus, save_seeds
from tests.fuzz_targets import TARGETS

ROOT = Path(__file__).parents[1]
FUZZ = ROOT / "out" / "fuzz"
CARGO_FUZZ = ("cargo", "+nightly", "fuzz")
# Seconds of one input by the clock, which other work on the machine makes longer, and bytes.
TIMEOUT, LONGEST_INPUT = 25, 4096
_STATUS = re.compile(r"cov: (\d+) ft: (\d+)")
_STATISTIC = r"stat::{}:\s+(\d+)"


def command_of(target: str, options: list[str]) -> list[str]:
    """Return the command that runs a target."""
    if target in TARGETS:
        return [sys.executable, "-m", "tests.fuzz_python", target, *options]
    # Without a sanitizer: the core has no unsafe code.
    return [*CARGO_FUZZ, "run", "--fuzz-dir=core/fuzz", "--sanitizer=none", target, "--", *options]


def missing(target: str) -> str:
    """Return what a target needs and is not installed, "" if nothing."""
    if target in TARGETS:
        return "" if find_spec("atheris") else "atheris is missing: pip install '.[fuzz]'"
    if shutil.which("cargo-fuzz") is None:
        return "cargo-fuzz is missing: cargo install cargo-fuzz"
    nightly = subprocess.run([*CARGO_FUZZ[:2], "--version"], capture_output=True).returncode == 0
    return "" if nightly else "the nightly compiler is missing: rustup toolchain install nightly"


def fuzz(target: str, seconds: int) -> bool:
    """Run a target, print a line about it, and return whether it has found nothing."""
    if problem := missing(target):
        print(f"{target:10} NOT FUZZED: {problem}", flush=True)
        return True
    corpus, seeds, findings = (FUZZ / name / target for name in ("corpus", "seeds", "found"))
    for directory in (corpus, findings):
        directory.mkdir(parents=True, exist_ok=True)
    options = [
        *(str(corpus), str(seeds), f"-max_total_time={seconds}", f"-timeout={TIMEOUT}", f"-max_len={LONGEST_INPUT}"),
        *(
            f"-dict={FUZZ / 'markup.dict'}",
            f"-artifact_prefix={findings}/",
            "-print_final_stats=1",
            "-rss_limit_mb=4096",
        ),
    ]
    log = FUZZ / f"{target}.log"
    with open(log, "w") as output:
        surroundings = {**os.environ, "WIKIANCHOR_FUZZ": str(FUZZ)}
        ended = subprocess.run(command_of(target, options), cwd=ROOT, env=surroundings, stderr=output, stdout=output)
    text = log.read_text("utf-8", "replace")
    edges = (_STATUS.findall(text) or [("?", "?")])[-1]
    runs, slowest = (
        (re.findall(_STATISTIC.format(name), text) or ["?"])[-1]
        for name in ("number_of_executed_units", "slowest_unit_time_sec")
    )
    outcome = f"FAILED: {log}, and {findings}" if ended.returncode else "nothing found"
    print(
        f"{target:10} {runs:>9} runs  {edges[0]:>6} edges  {edges[1]:>6} features  slowest {slowest} s  {outcome}",
        flush=True,
    )
    return ended.returncode == 0


def main() -> int:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=3600, help="for each target")
    parser.add_argument("--targets", default=",".join((*CORPORA, *TARGETS)), help="names with commas between")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="targets that run at the same time")
    arguments = parser.parse_args()
    save_seeds(FUZZ)
    for name, target in TARGETS.items():
        save_corpus(FUZZ / "seeds" / name, target.seeds())
    names = arguments.targets.split(",")
    with ThreadPoolExecutor(arguments.jobs) as pool:
        return 0 if all([*pool.map(lambda name: fuzz(name, arguments.seconds), names)]) else 1


if __name__ == "__main__":
    sys.exit(main())
