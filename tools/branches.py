"""Print the branch coverage of the folders that `[tool.coverage.run]` of pyproject.toml names, and of each file that is
below LOWEST: the end of `make coverage`. Status 1 if a folder, or a file without a reason in REASONS, is below it.

    python tools/branches.py out/coverage.json
"""

from __future__ import annotations

import json
import sys
from collections import Counter, defaultdict
from collections.abc import Mapping
from pathlib import Path

# Percent of lines and branches.
LOWEST = 95.0
REASONS: dict[str, str] = {}


def main() -> int:
    """Print the table and return the exit status."""
    files = json.loads(Path(sys.argv[1]).read_text("utf-8"))["files"]
    lines, status = judge({name: file["summary"] for name, file in files.items()})
    print("\n".join(lines))
    return status


def judge(files: Mapping[str, Mapping[str, int]]) -> tuple[list[str], int]:
    """Return the lines to print, and the exit status.

    Args:
        files: by their paths, the summaries of coverage.py's JSON report.
    """
    folders: dict[str, Counter[str]] = defaultdict(Counter)
    for name, summary in files.items():
        folders["/".join(name.split("/")[:2]) + "/"].update(summary)
    lines = [_line(name, summary) for name, summary in sorted(folders.items())]
    below = {name: summary for name, summary in files.items() if _percent(summary) < LOWEST}
    for name, summary in sorted(below.items(), key=lambda item: _percent(item[1])):
        lines.append(f"{_line(name, summary)}: {REASONS.get(name, 'below, without a reason')}")
    lines += [f"{name}: a reason, but it is not below {LOWEST:.0f} %" for name in sorted(REASONS.keys() - below)]
    low = any(_percent(summary) < LOWEST for summary in folders.values())
    return lines, int(low or below.keys() != REASONS.keys())


def _percent(summary: Mapping[str, int]) -> float:
    every = summary["num_statements"] + summary["num_branches"]
    return 100 * (summary["covered_lines"] + summary["covered_branches"]) / every if every else 100.0


def _line(name: str, summary: Mapping[str, int]) -> str:
    lines = f"{summary['covered_lines']} of {summary['num_statements']} lines"
    branches = f"{summary['covered_branches']} of {summary['num_branches']} branches"
    return f"{name} {_percent(summary):.1f} %, {lines}, {branches}"


if __name__ == "__main__":
    sys.exit(main())
