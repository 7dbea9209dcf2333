"""Print the tables of RESULTS.md again, and check that none is of older code than it says.

    WIKIANCHOR_DATA=data python benchmarks/results.py [TABLE ...]     # or: make results TABLES="bz2 extractors"
    python benchmarks/results.py --check                              # part of `make lint`
    python benchmarks/results.py --mark

`tables.toml` names each table, its command and the code that it measures. A table is measured on a commit, so
changes of that code are committed first; its first line names the commit, the date and the processor.

`--check` fails where the measured code has changed since that commit, unless the first line says so. `--mark` lets it
say so. Without git, or where the clone is shallow, they print that they cannot check, with status 0.
"""

import argparse
import os
import platform
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from wikianchor.io.config_file import tomllib

ROOT = Path(__file__).resolve().parents[1]
PAGE, TABLES = ROOT / "benchmarks/RESULTS.md", ROOT / "benchmarks/tables.toml"
BLOCK = re.compile(r"<!-- (?P<name>[\w-]+) -->\n(?P<text>.*?)<!-- /(?P=name) -->", re.DOTALL)
OLDER = ", before changes to "
# After the heading and a blank line.
FIRST_LINE = re.compile(
    rf"\A### .*\n\n(?P<line>Measured on commit (?P<commit>[0-9a-f]+).*?)(?P<older>{OLDER}.*)?\.$", re.MULTILINE
)
# From the widest to the narrowest, as in /proc/cpuinfo.
INSTRUCTIONS = {"avx512f": "AVX-512", "avx2": "AVX2", "sse4_2": "SSE4.2", "asimd": "NEON"}


class Table(NamedTuple):
    """A table of RESULTS.md.

    Attributes:
        title: its heading.
        command: what prints it; variables of the environment are replaced by their values.
        measures: files and folders of the code that decides its figures.
        minutes: time on two idle cores, roughly.
        note: how to read it.
    """

    title: str
    command: str
    measures: Sequence[str]
    minutes: float
    note: str


def main(given: Sequence[str] | None = None, root: Path = ROOT) -> int:
    """Measure tables, or check or mark the page; return the exit status."""
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("tables", nargs="*", metavar="TABLE", help="of tables.toml (all)")
    flags.add_argument("--check", action="store_true", help="fail where a table is older than the measured code")
    flags.add_argument("--mark", action="store_true", help="name the changes in the first lines of such tables")
    arguments = flags.parse_args(given)
    page, tables = root / PAGE.relative_to(ROOT), read_tables(root / TABLES.relative_to(ROOT))
    if arguments.check or arguments.mark:
        return compare(page, tables, root, mark=arguments.mark)
    if unknown := set(arguments.tables) - set(tables):
        flags.error(f"no such table: {', '.join(sorted(unknown))}: choose from {', '.join(tables)}")
    return max([measure(page, name, tables[name], root) for name in arguments.tables or tables])


def read_tables(path: Path = TABLES) -> dict[str, Table]:
    """Return the tables by name."""
    return {name: Table(**fields) for name, fields in tomllib.loads(path.read_text("utf-8")).items()}


def measure(page: Path, name: str, table: Table, root: Path) -> int:
    """Run the command of a table and write what it prints into the page; return 1 if that fails."""
    if missing := sorted(set(re.findall(r"\$(\w+)", table.command)) - set(os.environ)):
        print(f"{name}: skipped: {', '.join(missing)} is not set", file=sys.stderr)
        return 0
    if git(root, "status", "--porcelain", "--", *table.measures) != "":
        reason = f"uncommitted changes in {', '.join(table.measures)}, or no git"
        print(f"{name}: not measured: {reason}: commit first, since the table names its commit", file=sys.stderr)
        return 1
    commit = git(root, "log", "-1", "--format=%h")
    print(f"{name}: about {table.minutes:g} minutes", file=sys.stderr)
    command = [sys.executable, *shlex.split(os.path.expandvars(table.command))[1:]]
    ended = subprocess.run(command, stdout=subprocess.PIPE, text=True, cwd=root)
    if ended.returncode:
        print(f"{name}: ended with {ended.returncode}: {table.command}", file=sys.stderr)
        return 1
    # The first heading is that of the block; the tables after it keep theirs, one level below.
    body = re.sub(r"^### ", "#### ", re.sub(r"\A### .*\n+", "", ended.stdout), flags=re.MULTILINE)
    first = f"Measured on commit {commit}, {time.strftime('%Y-%m-%d', time.gmtime())}, {machine()}."
    block = f"### {table.title}\n\n{first}\n\n`{table.command}`. {table.note}\n\n{body.strip()}\n"
    place = rf"(?<=<!-- {name} -->\n).*?(?=<!-- /{name} -->)"
    text, places = re.subn(place, lambda _: block, page.read_text("utf-8"), flags=re.DOTALL)
    if not places:
        print(f"{name}: {page.name} has no place for it: add <!-- {name} --> and <!-- /{name} -->", file=sys.stderr)
        return 1
    page.write_text(text, "utf-8")
    return 0


def machine() -> str:
    """Return the processor, its widest instructions and the number of cores and Python's version, in words."""
    info = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    model = re.search(r"^model name\s*: (.*)", info, re.MULTILINE)
    features = set(re.findall(r"\w+", "".join(re.findall(r"^(?:flags|Features)\s*:.*", info, re.MULTILINE)[:1])))
    widest = next((name for flag, name in INSTRUCTIONS.items() if flag in features), "instruction set unknown")
    name = model[1].strip() if model else platform.processor() or platform.machine()
    return f"{name}, {widest}, {os.cpu_count()} cores, Python {platform.python_version()}"


def compare(page: Path, tables: Mapping[str, Table], root: Path, mark: bool) -> int:
    """Print, or with `mark` write, which tables are older than the code that they measure; return 1 if any is."""
    if not (root / ".git").exists() or git(root, "rev-parse", "--is-shallow-repository") != "false":
        print("benchmarks/RESULTS.md: cannot check the age of the tables: no git, or a shallow clone")
        return 0
    text = page.read_text("utf-8")
    blocks = {block["name"]: block["text"] for block in BLOCK.finditer(text)}
    faults = dict.fromkeys(set(blocks) ^ set(tables), f"is not in both {page.name} and tables.toml")
    for name in [name for name in tables if name in blocks]:
        first = FIRST_LINE.search(blocks[name])
        # A commit that was rebased away is in no other clone.
        if first is None or git(root, "merge-base", "--is-ancestor", first["commit"], "HEAD") is None:
            faults[name] = "its first line names no commit of this history"
            continue
        changed = [path for path in tables[name].measures if git(root, *f"log -1 {first['commit']}.. --".split(), path)]
        if changed and mark:
            words = f"{first['line']}{OLDER}{', '.join(changed)}."
            text = text.replace(blocks[name], blocks[name].replace(f"{first['line']}{first['older'] or ''}.", words))
        elif changed and not first["older"]:
            faults[name] = f"is older than {', '.join(changed)}"
    if mark:
        page.write_text(text, "utf-8")
    for name, fault in sorted(faults.items()):
        print(f"{page.name}: {name}: {fault}: make results TABLES={name}, or python benchmarks/results.py --mark")
    return 1 if faults else 0


def git(root: Path, *arguments: str) -> str | None:
    """Return what git prints, or None where it fails."""
    try:
        ended = subprocess.run(["git", "-C", root, *arguments], capture_output=True, text=True)
    except FileNotFoundError:
        return None
    return None if ended.returncode else ended.stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
