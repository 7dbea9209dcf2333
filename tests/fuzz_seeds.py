"""Write what the fuzz targets of `core/fuzz` read: the rules of some wikis, and the seeds of every corpus.

    python -m tests.fuzz_seeds DIRECTORY

The seeds are of our own writing: the pages of the tests, small. Their first byte is the number of a wiki in the sorted
`WIKIS`. The templates of a page follow it, each as NAME, its title, BODY and its wikitext.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests import dumps, fuzzing
from tests.engine_rules import rules_of
from tests.test_fuzz import PAGE, WIKIS
from tests.wikimedia.wikitext.hostile import DEFINITIONS, HOSTILE

NAME, BODY = "\x1e", "\x1f"
# Bytes of a page that is made to be slow.
SMALL = 300
TEMPLATES = {
    "Country": "[[{{{1|}}}]]{{#if:{{{2|}}}|, in {{lc:{{{2}}}}}}}",
    "Box": "{| class='box'\n| {{{name}}}\n|}",
    "List": "<includeonly>{{#switch:{{{1}}}|a|b=[[B]]|#default={{Country|{{{1}}}}}}}</includeonly>",
    "Number": "{{formatnum:{{#expr:{{{1|2}}}*1000 round 1}}}} {{#ifeq:{{{1}}}|2|{{{2|}}}|''no''}}{{{3",
    "Sub": "{{#sub:{{{1}}}|1|3}}{{padleft:{{{2}}}|5}}{{#replace:{{{1}}}|a|b}}{{#titleparts:{{{1}}}|1}}{{PAGENAME}}",
    "Loop": "{{Loop}}{{{{{1}}}|a=b}}",
}
CALLS = (
    "{{Country|Chad|AFRICA}} is {{List|{{Number|2|[[two]]}}}}. {{Box|name=[[A]]}} {{Sub|abc|d}} {{Loop|Loop}} {{none}}"
)


def raw_input(text: str, templates: Mapping[str, str] | None = None, wiki: int = 0) -> bytes:
    """Return the input of a page with its templates."""
    table = "".join(f"{NAME}{title}{BODY}{body}" for title, body in (templates or {}).items())
    return bytes([wiki]) + (text + table).encode("utf-8", "replace")


def pages() -> Iterator[bytes]:
    """Yield seeds of pages that are read by built-in rules."""
    for wiki in range(len(WIKIS)):
        yield raw_input(PAGE, wiki=wiki)
    yield from (raw_input(page(SMALL)) for _, page in sorted(HOSTILE.items()))


def pages_with_templates() -> Iterator[bytes]:
    """Yield seeds of pages that are read with templates."""
    for wiki in range(len(WIKIS)):
        yield raw_input(CALLS, TEMPLATES, wiki)
    for title, body in DEFINITIONS.items():
        yield raw_input(f"{{{{{title}|a|b=[[c]]}}}} " * 3, {title: body[:SMALL], **TEMPLATES})


def elements() -> Iterator[bytes]:
    """Yield seeds of <page> elements."""
    for version in dumps.VERSIONS:
        yield b"\0" + dumps.page("A & B", 7, PAGE[:400], version=version)
        yield b"\1" + dumps.page("C", 8, redirect="A & B#x", version=version)
    several = [dumps.revision("old", 1, "2020-01-01T00:00:00Z"), dumps.revision("[[new]]", 2), dumps.revision(None, 3)]
    yield b"\2" + dumps.page("D", 9, revisions=several)


CORPORA = {"page": pages, "templates": pages_with_templates, "element": elements}


def save_seeds(directory: Path) -> None:
    """Write the rules, the dictionary of markup and the seeds below a directory."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "rules.json").write_text(json.dumps(rules_of(WIKIS)), "utf-8")
    escaped = ("".join(f"\\x{byte:02x}" for byte in piece.encode()) for piece in (*fuzzing.MARKUP, NAME, BODY))
    (directory / "markup.dict").write_text("".join(f'"{piece}"\n' for piece in escaped), "utf-8")
    for name, seeds in CORPORA.items():
        save_corpus(directory / "seeds" / name, seeds())


def save_corpus(directory: Path, seeds: Iterator[bytes]) -> None:
    """Write the seeds of a target, one to a file."""
    directory.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(seeds):
        (directory / f"{number:03d}").write_bytes(seed)


if __name__ == "__main__":
    save_seeds(Path(sys.argv[1]))
