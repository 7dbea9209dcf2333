"""Lua modules: what `sentences --lua=on` shows of English articles, against MediaWiki, and the CPU that it takes.

    WIKIANCHOR_DATA=data python benchmarks/lua.py --judge=RENDER --mediawiki=DIR

The articles are those of the slice, with the templates and modules of another year. A call of a template that is not
there becomes a word within a line, and nothing on a line of its own; and so do footnotes, so that both sides read the
same text. CPU is that of the articles as they are.
"""

import re
from argparse import Namespace
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from statistics import median

from lib import generate, mediawiki, slices
from lib.measure import job, ratio, report, rounds_of, run_parts, table
from lib.mediawiki import REASONS, SAME, Rendered, judge_all, per_cent, rows_of, show_some

from wikianchor.pipelines.dataset.reader import dataset_at
from wikianchor.pipelines.wikimedia.site import Site
from wikianchor.pipelines.wikimedia.wikitext.definitions import template_title

TEMPLATES = "with-templates/enwiki-templates-20260320.xml.bz2"
WORD = "thing"
_BRACES = re.compile(r"\{\{|\}\}")
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_NOTE = re.compile(r"<ref(?:\s[^<>]*)?(?<!/)>.*?</ref\s*>", re.DOTALL | re.IGNORECASE)


def compare(arguments: Namespace) -> None:
    """Print how many sentences stand in the pages that MediaWiki shows, and the CPU, with modules and without."""
    judged = generate.kept(_path(arguments.work, "judged"), lambda path: _write(path, is_judged=True))
    whole = generate.kept(_path(arguments.work, "whole"), lambda path: _write(path, is_judged=False))
    dump = mediawiki.read_dump(None, judged)
    truth = mediawiki.judged(arguments, "lua", "en", dump.articles, dump.templates)
    pages = {title: Rendered(answer["blocks"], unknown=False) for title, answer in truth.items()}

    def run(lua: str, path: Path) -> float:
        return job("sentences", arguments.work / f"lua-{lua}", f"--dumps={path}", "--wikis=enwiki", f"--lua={lua}")

    cpu = rounds_of(arguments.rounds, {lua: partial(run, lua, whole) for lua in ("off", "on")})
    lines: list[list[object]] = []
    for lua, times in cpu.items():
        run(lua, judged)
        dataset = dataset_at(str(arguments.work / f"lua-{lua}"))
        sentences = judge_all(pages, rows_of(dataset, "sentences", "title", "text"))
        if lua == "on":
            show_some("with modules", [line for line in sentences if line[0] != SAME], arguments.show)
        counts, kept = Counter(reason for reason, _, _ in sentences), len(sentences)
        reasons = [counts[reason] for reason in REASONS]
        lines.append([lua, kept, per_cent(counts[SAME], kept), *reasons, median(times), ratio(times, cpu["off"])])
    head = ["--lua", "sentences kept", "word for word, %", *REASONS, "CPU, s", "/ off"]
    report("Lua modules", table(head, lines))


def _path(work: Path, name: str) -> Path:
    """Return the path of a dump, whose name tells the date of its templates."""
    (folder := work / f"lua-{name}-dump").mkdir(parents=True, exist_ok=True)
    return folder / "enwiki-20260320-pages-articles.xml.bz2"


def _write(path: Path, *, is_judged: bool) -> None:
    """Write the articles of the slice and the templates as a dump."""
    source = generate.read_source([str(slices.data() / TEMPLATES)])
    known = {template_title(page.title, source.site) for page in source.pages}
    templates = [page._replace(page_id=page.page_id + 10**8) for page in source.pages]
    articles = [
        page._replace(text=with_known_calls(page.text, known, source.site)) if is_judged else page
        for page in generate.read_source(slices.paths("en")).pages
        if not page.namespace and page.redirect is None
    ]
    generate.write_dump(generate.Source(source.head, source.site, articles + templates), path)


def with_known_calls(text: str, known: set[str], site: Site) -> str:
    """Replace calls of templates that are not known, and what is in footnotes.

    >>> from wikianchor.pipelines.wikimedia.site import site_for
    >>> with_known_calls("{{a}}\\n{{b|{{a}} {{c}}}} {{c}}<ref>d</ref> {{#if:x}}", {"B"}, site_for("enwiki"))
    '\\n{{b|thing thing}} thing<ref>thing</ref> {{#if:x}}'
    """
    text = _NOTE.sub(f"<ref>{WORD}</ref>", _COMMENT.sub("", text))
    opened: list[str] = [""]
    for part, brace, after in _cut(text):
        opened[-1] += part
        if brace == "{{":
            opened.append("")
        elif brace and len(opened) > 1:
            call = opened.pop()
            name = call.partition("|")[0].strip()
            if ":" in name or name.startswith("#") or template_title(name, site) in known:
                opened[-1] += "{{" + call + "}}"
            elif opened[-1][-1:] not in ("", "\n") or after not in ("", "\n"):
                opened[-1] += WORD
        else:
            opened[-1] += brace
    return "{{".join(opened)


def _cut(text: str) -> Iterator[tuple[str, str, str]]:
    """Yield the text before each pair of braces, the pair, and the character after it; the rest last."""
    position = 0
    for braces in _BRACES.finditer(text):
        yield text[position : braces.start()], braces[0], text[braces.end() : braces.end() + 1]
        position = braces.end()
    yield text[position:], "", ""


if __name__ == "__main__":
    run_parts(
        __doc__,
        {"lua": compare},
        {**mediawiki.FLAGS, "--show": (0, "differing sentences to print")},
        rounds=5,
    )
