"""Read the same pages with both engines, Python and the compiled core, and compare every value of every row.

    WIKIANCHOR_DATA=data python -m tests.both_engines --cases=1000000

First all dumps below WIKIANCHOR_DATA, by the definitions of their own templates; then random splices (`fuzzing`).
"""

from __future__ import annotations

import os
import sys
import tempfile
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import rightness

from tests import dumps, fuzzing
from wikianchor.io.errors import InputError
from wikianchor.io.storage import file_size
from wikianchor.pipelines.dataset.workspace import Workspace
from wikianchor.pipelines.sentences.columns import PageTables
from wikianchor.pipelines.sentences.compiled_reader import make_page_reader
from wikianchor.pipelines.sentences.page_reader import DumpReader, PageReader
from wikianchor.pipelines.templates.cache import table_of_dumps
from wikianchor.pipelines.wikimedia.dumps import Range, read_range
from wikianchor.pipelines.wikimedia.pages import cut_pages
from wikianchor.pipelines.wikimedia.site import Site

Raw = tuple[bytes, str]
"""A page element, and where it stands."""
BATCH = 500


class BothEngines:
    """The two engines for one wiki.

    Args:
        site: the wiki.
        templates: path of the table of its templates; None for the built-in rules.
    """

    def __init__(self, site: Site, templates: str | None = None) -> None:
        self._readers = [
            make_page_reader(
                DumpReader(site, Workspace("", "", ""), "rules", "wikianchor", True, fragments=True, engine=engine),
                templates,
            )
            for engine in ("python", "core")
        ]

    def difference(self, pages: Sequence[Raw]) -> str:
        """Return the first value that the engines read otherwise, or a page whose ledger does not balance; "" if there
        is none."""
        python, core = (list(_read(reader, pages)) for reader in self._readers)
        for one, other in zip(python, core, strict=True):
            if one != other:
                return _difference(one, other, "")
            if unbalanced := next((problem for problem in one["problems"] if "does not balance" in problem), ""):
                return unbalanced
        return ""


def _read(reader: PageReader, pages: Iterable[Raw]) -> Iterator[dict[str, Any]]:
    """Yield what becomes of each page."""
    tables: PageTables = reader.new_tables()
    for raw, where in pages:
        counts: Counter[str] = Counter()
        problems: list[str] = []
        page = reader.parse(raw, where, counts, problems)
        found: dict[str, Any] = {"page": None, "counts": dict(counts), "problems": problems}
        if page is not None:
            found["page"] = page._replace(text="")
            try:
                found["ledger"] = dict(sorted(reader.read_page(page).items()))
            except InputError as error:
                found["problems"] = [str(error)]
        found |= {
            f"{name} sizes": (len(table), table.list_values) for name, table in zip(tables._fields, tables, strict=True)
        }
        yield found | {
            name: table.take().to_pylist() if len(table) else []
            for name, table in zip(tables._fields, tables, strict=True)
        }


def _difference(one: Any, other: Any, place: str) -> str:
    """Return where two values differ first, and how."""
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        return next(_difference(one[key], other[key], f"{place}.{key}") for key in one if one[key] != other[key])
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        number = next(number for number, pair in enumerate(zip(one, other, strict=True)) if pair[0] != pair[1])
        return _difference(one[number], other[number], f"{place}[{number}]")
    if isinstance(one, dict) and isinstance(other, dict):
        one, other = (dict(sorted(each.items() - rest.items())) for each, rest in ((one, other), (other, one)))
    return f"{place}: {one!r:.1500}\n    core: {other!r:.1500}"


def raw_page(text: str, number: int = 1) -> Raw:
    """Return a page element with this wikitext."""
    return dumps.page(fuzzing.TITLE, number, text), "a page"


@cache
def _engines(language: str) -> BothEngines:
    return BothEngines(fuzzing.real_pages(language)[0])


def smallest(text: str, engines: BothEngines) -> str:
    """Cut down a text as far as the engines still differ on it."""
    size = len(text)
    while size:
        start = 0
        while start < len(text):
            shorter = text[:start] + text[start + size :]
            if engines.difference([raw_page(shorter)]):
                text = shorter
            else:
                start += size
        size //= 2
    return text


def compare_dump(path: str) -> tuple[int, int]:
    """Compare the engines on a dump; return the number of pages, and of those that differ, which are printed."""
    try:
        site = rightness.site_of(path)
    except InputError:
        return 0, 0
    part = Range(path, 0, file_size(path), True)
    pages, differences = 0, 0
    engines = BothEngines(site, table_of_dumps([path], site, tempfile.gettempdir()))
    elements = ((raw, f"{path} near byte {offset}") for raw, offset in cut_pages(read_range(part), path))
    try:
        while batch := list(islice(elements, BATCH)):
            pages += len(batch)
            if engines.difference(batch):
                for element in batch:
                    if problem := engines.difference([element]):
                        differences += 1
                        print(f"{path}: {element[0][:200]!r}\n  {problem}", flush=True)
    except InputError as error:
        print(f"{path}: read up to {error}", flush=True)
    return pages, differences


def compare_cases(seed: int, cases: int) -> int:
    """Compare the engines on random splices; return the number of those that differ, which are printed."""
    differences = 0
    for number in range(cases):
        case = fuzzing.make_case(seed, number)
        engines = _engines(case.language)
        if problem := engines.difference([raw_page(case.text)]):
            differences += 1
            text = smallest(case.text, engines)
            problem = engines.difference([raw_page(text)]) or problem
            print(f"case {number} ({case.language}): {text!r}\n  {problem}", flush=True)
        if (number + 1) % 50_000 == 0:
            print(f"{number + 1} cases, {differences} differences", flush=True)
    return differences


def main() -> int:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--dumps", default="", help="only dumps with this in their path; none: no dump")
    arguments = parser.parse_args()
    root, total = Path(os.environ["WIKIANCHOR_DATA"]), Counter[str]()
    folders = ("wikipedia-xml", "with-templates", "multistream", "wikinews", "wiktionary-xml")
    for path in sorted(str(path) for folder in folders for path in (root / folder).rglob("*") if path.is_file()):
        if arguments.dumps in path:
            pages, differences = compare_dump(path)
            total.update(dumps=int(pages > 0), pages=pages, differences=differences)
    print(f"{total['pages']} pages of {total['dumps']} dumps, {total['differences']} differ", flush=True)
    differences = compare_cases(arguments.seed, arguments.cases)
    print(f"{arguments.cases} cases, {differences} differ")
    return 1 if differences or total["differences"] else 0


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as directory:
        tempfile.tempdir = directory
        sys.exit(main())
