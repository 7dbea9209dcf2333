"""Read the same pages with both engines, Python and the compiled core, and compare every value of every row, and the
bitmaps of their words that `pairs` looks names up in.

    WIKIANCHOR_DATA=data python -m tests.both_engines --cases=1000000

First all dumps below WIKIANCHOR_DATA, by the definitions of their own templates; then random pages: splices of real
pages by built-in rules alone, by the templates of their wiki, and by mutations of these; and pages that call random
sets of templates (`fuzzing`, `fuzz_templates`). Each case depends on the seed and its number alone.
With --record, `core_record.json` says that these sources were compared, where no row differs.
"""

from __future__ import annotations

import os
import sys
import tempfile
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from functools import partial
from itertools import islice
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa

sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))

from tests import dumps, fuzzing
from tests.core_sources import check_core_is_current, write_record
from tests.fuzz_templates import BATCH, Batch, Definitions, make_batch
from tests.real_pages import site_of
from wikianchor.io.errors import InputError
from wikianchor.io.storage import file_size
from wikianchor.pipelines.arrays.tables import changes
from wikianchor.pipelines.dataset.workspace import Workspace, private_directory
from wikianchor.pipelines.pairs.page_bitmaps import NumpyBitmaps, page_bitmaps
from wikianchor.pipelines.sentences.compiled_reader import make_page_reader
from wikianchor.pipelines.sentences.page_reader import DumpReader, PageReader
from wikianchor.pipelines.templates.cache import table_of_dumps
from wikianchor.pipelines.templates.steps import TemplatePages
from wikianchor.pipelines.templates.store import COLUMNS, save_store
from wikianchor.pipelines.text.dump_sample import with_writing
from wikianchor.pipelines.wikimedia.core_record import ANY_CORE
from wikianchor.pipelines.wikimedia.dumps import Range, read_range
from wikianchor.pipelines.wikimedia.extractors import make_extractor
from wikianchor.pipelines.wikimedia.pages import cut_pages
from wikianchor.pipelines.wikimedia.site import Site
from wikianchor.pipelines.wikimedia.wikitext import Extract
from wikianchor.pipelines.wikimedia.wikitext.definitions import TEMPLATE

Raw = tuple[bytes, str]
"""A page element, and where it stands."""
PAGES = 500
# Failing cases that are cut down and printed; the others are only counted.
SHOWN = 20


class BothEngines:
    """The two engines for one wiki.

    Args:
        site: the wiki.
        templates: path of the table of its templates; None for the built-in rules.
    """

    def __init__(self, site: Site, templates: str | None = None) -> None:
        self._readers = [
            make_page_reader(
                DumpReader(
                    site,
                    Workspace("", "", ""),
                    "rules",
                    "wikianchor",
                    allow_truncated=True,
                    fragments=True,
                    engine=engine,
                    documents=True,
                ),
                templates,
            )
            for engine in ("python", "core")
        ]
        # What is no row is seen here: a text without a link, or a sentence that is not kept.
        self._read_by_python = self._readers[0]._extractor = _Keeping(self._readers[0]._extractor)
        find = self._readers[1]._store.find if templates else None
        self._core = make_extractor(site, find, asides=True, engine="core")

    def difference(self, pages: Sequence[Raw]) -> str:
        """Return the first value that the engines read otherwise, or a page whose ledger does not balance; "" if there
        is none."""
        self._read_by_python.found.clear()
        python, core = (_read(reader, pages) for reader in self._readers)
        for page, extract in self._read_by_python.found:
            if extract != (by_core := self._core.extract(*page)):
                return _difference(vars(extract), vars(by_core), "extract")
        if python.pages != core.pages:
            return _difference(python.pages, core.pages, "")
        for name, python_value, other in zip(python.tables, python.tables.values(), core.tables.values(), strict=True):
            if not python_value.equals(other):
                return _difference(python_value.to_pylist(), other.to_pylist(), f".{name}")
        for name in ("sentences", "fragments"):
            if bitmaps_differ(python.tables[name]):
                return f".{name}: bitmaps of {python.tables[name]['text'].to_pylist()!r}"
        problems = (problem for page in python.pages for problem in page["problems"])
        return next((problem for problem in problems if "does not balance" in problem), "")


def bitmaps_differ(rows: pa.RecordBatch) -> bool:
    """Return whether the engines make other bitmaps of the words of pages."""
    heads = np.flatnonzero(changes(rows["page_id"].to_numpy()))
    pages = rows["text"], heads, np.append(heads[1:], rows.num_rows)
    return bool(len(heads)) and not all(
        np.array_equal(by_core, by_numpy)
        for unspaced in (False, True)
        for by_core, by_numpy in zip(page_bitmaps(unspaced)(*pages), NumpyBitmaps(unspaced)(*pages), strict=True)
    )


class _Keeping:
    """An extractor that keeps what it has read."""

    def __init__(self, extractor: Any) -> None:
        self._extract, self.linked_titles = extractor.extract, extractor.linked_titles
        self.found: list[tuple[tuple[str, str, str], Extract]] = []

    def extract(self, text: str, title: str, timestamp: str = "") -> Extract:
        extract: Extract = self._extract(text, title, timestamp)
        self.found.append(((text, title, timestamp), extract))
        return extract


class _Found(NamedTuple):
    """What an engine makes of pages: of each page by itself, and the tables of all."""

    pages: list[dict[str, Any]]
    tables: dict[str, pa.RecordBatch]


def _read(reader: PageReader, pages: Sequence[Raw]) -> _Found:
    tables = reader.new_tables()
    mismatches: list[dict[str, Any]] = []
    for raw, where in pages:
        counts: Counter[str] = Counter()
        problems: list[str] = []
        ledger: dict[str, int] = {}
        page = reader.parse(raw, where, counts, problems)
        if page is not None:
            try:
                ledger = dict(reader.read_page(page))
            except InputError as error:
                problems = [str(error)]
            page = page._replace(text="")
        sizes = [(len(table), table.list_values) for table in tables]
        mismatches.append({"page": page, "counts": counts, "problems": problems, "ledger": ledger, "sizes": sizes})
    return _Found(mismatches, {name: table.take() for name, table in zip(tables._fields, tables, strict=True)})


def _difference(python_value: Any, other: Any, label: str) -> str:
    """Return where two values differ first, and how."""
    if isinstance(python_value, dict) and isinstance(other, dict) and python_value.keys() == other.keys():
        return next(
            _difference(python_value[key], other[key], f"{label}.{key}")
            for key in python_value
            if python_value[key] != other[key]
        )
    if isinstance(python_value, list) and isinstance(other, list) and len(python_value) == len(other):
        number = next(number for number, pair in enumerate(zip(python_value, other, strict=True)) if pair[0] != pair[1])
        return _difference(python_value[number], other[number], f"{label}[{number}]")
    if isinstance(python_value, dict) and isinstance(other, dict):
        python_value, other = (
            dict(sorted(each.items() - rest.items())) for each, rest in ((python_value, other), (other, python_value))
        )
    return f"{label}: {python_value!r:.1500}\n    core: {other!r:.1500}"


def raw_page(text: str, number: int = 1) -> Raw:
    """Return a page element with this wikitext."""
    return dumps.page(fuzzing.TITLE, number, text), "a page"


def save_definitions(definitions: Definitions, site: Site) -> str:
    """Return the path of a table of definitions."""
    pages = TemplatePages(site)
    rows = []
    for number, (title, text) in enumerate(definitions.items(), 1):
        page = pages.parse(dumps.page(f"{site.namespace_names[TEMPLATE]}:{title}", number, text, TEMPLATE), "")
        rows.append({"title": pages.title(page), **pages.definition(page)._asdict()})
    return save_store(private_directory(), map(itemgetter(*COLUMNS), rows), site.language)


@contextmanager
def engines_of(site: Site, definitions: Definitions | None) -> Iterator[BothEngines]:
    """Yield the engines for a wiki with these templates, None for the built-in rules."""
    templates = None if definitions is None else save_definitions(definitions, site)
    try:
        yield BothEngines(site, templates)
    finally:
        if templates:
            os.unlink(templates)


def difference_of(site: Site, definitions: Definitions | None, text: str) -> str:
    """Return the first value that the engines read otherwise on a page of a wiki with these templates."""
    with engines_of(site, definitions) as engines:
        return engines.difference([raw_page(text)])


def smallest(batch: Batch, text: str) -> tuple[Definitions | None, str]:
    """Cut down a text, and the templates that it is read with, as far as the engines still differ."""
    site, definitions = batch.site, batch.definitions

    def differs(definitions: Definitions | None, text: str) -> bool:
        return bool(difference_of(site, definitions, text))

    if definitions is None:
        engines = BothEngines(site)
        return None, _cut(text, lambda text: bool(engines.difference([raw_page(text)])))
    titles = _cut(sorted(definitions), lambda titles: differs({title: definitions[title] for title in titles}, text))
    definitions = {title: definitions[title] for title in titles}
    text = _cut(text, lambda text: differs(definitions, text))
    for title in titles:
        definitions[title] = _cut(definitions[title], partial(_with, differs, definitions, text, title))
    return definitions, _cut(text, lambda text: differs(definitions, text))


def _with(differs: Callable[..., bool], definitions: Definitions, text: str, title: str, body: str) -> bool:
    return differs({**definitions, title: body}, text)


_Cut = TypeVar("_Cut", str, list[str])


def _cut(whole: _Cut, differs: Callable[[_Cut], bool]) -> _Cut:
    """Cut pieces out of a sequence as long as what is left differs."""
    size = len(whole)
    while size:
        start = 0
        while start < len(whole):
            shorter = whole[:start] + whole[start + size :]
            if differs(shorter):
                whole = shorter
            else:
                start += size
        size //= 2
    return whole


def compare_dump(path: str) -> tuple[int, int]:
    """Compare the engines on a dump; return the number of pages, and of those that differ, which are printed."""
    try:
        site = with_writing(site_of(path), [path])
    except InputError:
        return 0, 0
    part = Range(path, 0, file_size(path), True)
    pages, differences = 0, 0
    engines = BothEngines(site, table_of_dumps([path], site, tempfile.gettempdir()))
    elements = ((raw, f"{path} near byte {offset}") for raw, offset in cut_pages(read_range(part), path))
    try:
        while batch := list(islice(elements, PAGES)):
            pages += len(batch)
            if engines.difference(batch):
                for element in batch:
                    if problem := engines.difference([element]):
                        differences += 1
                        print(f"{path}: {element[0][:200]!r}\n  {problem}", flush=True)
    except InputError as error:
        print(f"{path}: read up to {error}", flush=True)
    return pages, differences


def compare_batch(batch: Batch, engines: BothEngines, shown: int = SHOWN) -> int:
    """Return the number of pages that the engines read otherwise.

    As many as `shown` are cut down and printed as arguments of `difference_of`.
    """
    pages = [raw_page(text, number) for number, text in enumerate(batch.texts, 1)]
    if not (problem := engines.difference(pages)):
        return 0
    differing = [text for text, page in zip(batch.texts, pages, strict=True) if engines.difference([page])]
    if not differing:
        print(f"only together: {batch}\n  {problem}", flush=True)
    for text in differing[:shown]:
        definitions, text = smallest(batch, text)
        problem = difference_of(batch.site, definitions, text)
        print(f'(site_for("{batch.site.wiki}"), {definitions!r}, {text!r}),\n  {problem}', flush=True)
    return len(differing) or 1


def compare_cases(seed: int, cases: int) -> Counter[str]:
    """Compare the engines on random pages; return their number by kind, and of those that differ as "differ"."""
    counts: Counter[str] = Counter()
    kept: dict[str, BothEngines] = {}
    with ExitStack() as stack:
        for number in range(-(-cases // BATCH)):
            batch = make_batch(seed, number)
            batch = batch._replace(texts=batch.texts[: cases - number * BATCH])
            if batch.whose and batch.whose not in kept:
                kept[batch.whose] = stack.enter_context(engines_of(batch.site, batch.definitions))
            with (
                nullcontext(kept[batch.whose]) if batch.whose else engines_of(batch.site, batch.definitions) as engines
            ):
                counts["differ"] += compare_batch(batch, engines, max(0, SHOWN - counts["differ"]))
            counts[batch.kind] += len(batch.texts)
            if (number + 1) * BATCH % 50_000 == 0:
                print(f"{(number + 1) * BATCH} cases, {counts['differ']} differ", flush=True)
    return counts


# The fewest cases of which a record may be written.
RECORD_CASES = 100_000


def main() -> int:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--dumps", default="", help="only dumps with this in their path; none: no dump")
    parser.add_argument("--record", action="store_true", help="write core_record.json if nothing differs")
    arguments = parser.parse_args()
    if arguments.record and arguments.cases < RECORD_CASES:
        parser.error(f"--record needs --cases={RECORD_CASES} or more")
    os.environ[ANY_CORE] = "1"
    check_core_is_current()
    root, total = Path(os.environ["WIKIANCHOR_DATA"]), Counter[str]()
    folders = ("wikipedia-xml", "with-templates", "states", "multistream", "wikinews", "wiktionary-xml")
    for path in sorted(str(path) for folder in folders for path in (root / folder).rglob("*") if path.is_file()):
        if arguments.dumps in path:
            pages, differences = compare_dump(path)
            total.update(dumps=int(pages > 0), pages=pages, differences=differences)
    print(f"{total['pages']} pages of {total['dumps']} dumps, {total['differences']} differ", flush=True)
    counts = compare_cases(arguments.seed, arguments.cases)
    differ = counts.pop("differ", 0)
    kinds = ", ".join(f"{number} {kind}" for kind, number in counts.items())
    print(f"{counts.total()} cases by seed {arguments.seed} ({kinds}), {differ} differ")
    if differ or total["differences"]:
        return 1
    if arguments.record:
        write_record()
    return 0


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as directory:
        tempfile.tempdir = directory
        sys.exit(main())
