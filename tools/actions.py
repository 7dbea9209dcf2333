"""Pin the actions of the GitHub workflows to commits: part of `make lock`.

    python -m tools.actions

Asks GitHub for the commit of each `uses: owner/repository@tag` and writes `uses: owner/repository@COMMIT # tag`, so
that a tag that is moved later changes nothing. If GitHub cannot be reached, lines stay as they are and are listed as
NOT PINNED (status 0); any other answer is an error (status 1).
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import requests

WORKFLOWS = sorted((Path(__file__).parent.parent / ".github/workflows").glob("*.yml"))
API = "https://api.github.com"
# The tag is in the comment of a line that is pinned.
USES = re.compile(
    r"(?P<start>\buses: )(?P<action>[\w.-]+/[\w./-]+)@(?:[0-9a-f]{40} # )?(?P<tag>[\w./-]+)$", re.MULTILINE
)
COMMIT = re.compile(r"[0-9a-f]{40}")
TIMEOUT_SECONDS = 30


def main(paths: Sequence[Path] = WORKFLOWS, api: str = API) -> int:
    """Pin every action of some workflows; return the exit status."""
    commits: dict[str, str] = {}
    status = 0
    for name in sorted({name for path in paths for name in actions(path.read_text(encoding="utf-8"))}):
        action, _, tag = name.partition("@")
        repository = "/".join(action.split("/")[:2])
        try:
            answer = requests.get(
                f"{api}/repos/{repository}/commits/{tag}",
                headers={"Accept": "application/vnd.github.sha"},
                timeout=TIMEOUT_SECONDS,
            )
        except (requests.ConnectionError, requests.Timeout):
            print(f"NOT PINNED: {name}: GitHub cannot be reached")
            continue
        if answer.status_code == requests.codes.ok and COMMIT.fullmatch(answer.text):
            commits[name] = answer.text
            print(f"{name}: {answer.text}")
        else:
            print(f"{name}: {answer.status_code} {answer.reason}: check the action and its tag", file=sys.stderr)
            status = 1
    for path in paths:
        path.write_text(pinned(path.read_text(encoding="utf-8"), commits), encoding="utf-8")
    return status


def actions(workflow: str) -> list[str]:
    """Return the actions of a workflow as owner/repository@tag, without commits.

    >>> actions("  - uses: a/b@v4\\n  - uses: a/b/sub@" + 40 * "0" + " # release/v1\\n  - uses: ./own\\n")
    ['a/b@v4', 'a/b/sub@release/v1']
    """
    return [f"{line['action']}@{line['tag']}" for line in USES.finditer(workflow)]


def pinned(workflow: str, commits: Mapping[str, str]) -> str:
    """Return a workflow with a commit for each action whose commit is given.

    >>> pinned("- uses: a/b@v4\\n- uses: c/d@v1\\n", {"a/b@v4": 40 * "1"})
    '- uses: a/b@1111111111111111111111111111111111111111 # v4\\n- uses: c/d@v1\\n'
    """

    def line(match: re.Match[str]) -> str:
        commit = commits.get(f"{match['action']}@{match['tag']}")
        return f"{match['start']}{match['action']}@{commit} # {match['tag']}" if commit else match[0]

    return USES.sub(line, workflow)


if __name__ == "__main__":
    sys.exit(main())
