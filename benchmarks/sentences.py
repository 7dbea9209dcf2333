"""The whole `wikianchor sentences` job against wikipedia2vec, WikiExtractor and plain mwparserfromhell.

    WIKIANCHOR_DATA=data python benchmarks/sentences.py --languages en uk

Each tool reads the same multistream dump of real pages and writes its own output, as its users run it: user CPU of
whole processes, children included. What a tool takes to start is measured each round on a dump of one short article;
the speeds are without it, as slices are short and dumps are not. The other tools are installed from PyPI, each in an
environment of its own under --venvs. mwparserfromhell stands for a job that decompresses, cuts pages and calls parse,
strip_code and filter_wikilinks on each article, and writes nothing. The target is ten times the speed of the tools that
use mwparserfromhell.
"""

from __future__ import annotations

import subprocess
import sys
import venv
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import generate
import slices
from measure import fresh, parser, ratio, report, rounds_of, run, table, wikianchor

PACKAGES = {"wikipedia2vec": ("wikipedia2vec",), "wikiextractor": ("wikiextractor",), "mwparserfromhell": ()}
TARGETS = {"wikianchor": "", "wikipedia2vec": 10, "mwparserfromhell": 10, "wikiextractor": ""}
PLAIN = """
import bz2, html, re, sys
import mwparserfromhell
xml = bz2.open(sys.argv[1]).read().decode("utf-8", "replace")
for page in re.finditer("<page>.*?</page>", xml, re.DOTALL):
    if "<ns>0</ns>" in page[0] and "<redirect" not in page[0]:
        text = re.search(r"<text[^>]*>(.*?)</text>", page[0], re.DOTALL)
        code = mwparserfromhell.parse(html.unescape(text[1]) if text else "")
        code.strip_code()
        [(str(link.title), str(link.text)) for link in code.filter_wikilinks()]
"""


def main() -> None:
    """Measure and print the table."""
    flags = parser(__doc__)
    flags.add_argument("--languages", nargs="+", default=["en", "uk"], choices=sorted(slices.SLICES))
    flags.add_argument("--venvs", type=Path, default=Path("out/venvs"), help="where the other tools are installed")
    arguments = flags.parse_args()
    work: Path = arguments.work
    tools, missing = install(arguments.venvs)
    rows: list[list[Any]] = []
    for language in arguments.languages:
        dump, nothing = slices.dump(work, language), slices.nothing(work, language)
        pages, megabytes = extent(dump)
        cases = {"wikianchor": ours(dump, work), "wikianchor, start": ours(nothing, work)}
        for name, python in tools.items():
            cases |= {name: other(name, python, dump, work), f"{name}, start": other(name, python, nothing, work)}
        found = rounds_of(arguments.rounds, cases)
        net = {
            name: [time - start for time, start in zip(found[name], found[f"{name}, start"], strict=True)]
            for name in ("wikianchor", *tools)
        }
        for name, times in net.items():
            whole, own = median(found[name]), median(times)
            versus = [ratio(found[name], found["wikianchor"]), ratio(times, net["wikianchor"]), TARGETS[name]]
            speed = [pages / own, megabytes / own]
            rows.append([f"{language}: {name}", whole, median(found[f"{name}, start"]), *speed, *versus])
        rows += [[f"{language}: {name}: {why}", *[""] * 7] for name, why in missing.items()]
    head = [
        *("tool", "CPU s", "to start", "pages / CPU s", "MB of wikitext / CPU s"),
        *("times wikianchor's CPU", "both less start", "target"),
    ]
    report("sentences against other extractors", table(head, rows))


def install(directory: Path) -> tuple[dict[str, Path], dict[str, str]]:
    """Install the other tools, and return the Python of each, and why others could not be installed."""
    tools: dict[str, Path] = {}
    missing: dict[str, str] = {}
    for name, packages in PACKAGES.items():
        home = directory / name
        python = home / "bin" / "python"
        if not (home / "installed").exists():
            venv.create(home, with_pip=True, clear=True)
            command: list[str | Path] = [python, "-m", "pip", "install", "--quiet", *(packages or (name,))]
            if subprocess.run(command, check=False).returncode:
                missing[name] = f"cannot be installed on Python {sys.version_info[0]}.{sys.version_info[1]}"
                continue
            (home / "installed").touch()
        tools[name] = python.absolute()
    return tools, missing


def extent(dump: Path) -> tuple[int, float]:
    """Return the number of articles in a dump and the MB of their wikitext."""
    pages = size = 0
    for page in generate.read_pages(str(dump)):
        if not page.namespace and page.redirect is None:
            pages, size = pages + 1, size + len(page.text.encode())
    return pages, size / 1e6


def ours(dump: Path, work: Path) -> Callable[[], float]:
    """Return what runs our job and gives its CPU."""
    return lambda: run(wikianchor("sentences", f"--dumps={dump}", f"--output={fresh(work / 'sentences')}")).user


def other(name: str, python: Path, dump: Path, work: Path) -> Callable[[], float]:
    """Return what runs another tool and gives its CPU."""
    output = work / f"other-{name}"
    scripts: dict[str, Callable[[], list[str | Path]]] = {
        "wikipedia2vec": lambda: [python.with_name(name), "build-dump-db", dump, output],
        "wikiextractor": lambda: [
            *(python.with_name(name), "--links", "--json", "--no-templates", "--quiet", "--output", fresh(output), dump)
        ],
        "mwparserfromhell": lambda: [python, "-c", PLAIN, dump],
    }

    def measured() -> float:
        output.unlink(missing_ok=True) if output.is_file() else fresh(output)
        return run(scripts[name]()).user

    return measured


if __name__ == "__main__":
    main()
