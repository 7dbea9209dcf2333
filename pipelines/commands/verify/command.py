"""`wikianchor verify DIR`: check a dataset against its manifest, schema and ledger, and the dumps it was made from."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Any

from wikianchor.io.errors import InputError
from wikianchor.io.manifests import read_dataset
from wikianchor.io.output import BAD, GOOD, TITLE, say
from wikianchor.io.rules import has_rules, stage_digest
from wikianchor.io.storage import sha1
from wikianchor.pipelines.commands.verify.derive_again import DERIVED, Again, Sources
from wikianchor.pipelines.commands.verify.exported import compare_texts, sources_of
from wikianchor.pipelines.commands.verify.ledger import check_ledger
from wikianchor.pipelines.commands.verify.negative_pages import compare_pages, need_pages
from wikianchor.pipelines.commands.verify.options import VerifyOptions
from wikianchor.pipelines.commands.verify.rows import Tally, check_rows, check_schema, schema_of
from wikianchor.pipelines.dataset.changes import RULES, difference, rules_of
from wikianchor.pipelines.dataset.inputs import fingerprint
from wikianchor.pipelines.dataset.manifest import file_problems, manifest_problems
from wikianchor.pipelines.dataset.reader import Dataset, finished_datasets
from wikianchor.pipelines.wikimedia.inventory import (
    classify_files,
    list_files,
    newest_dump,
    newest_wikidata,
    page_props_wiki,
)

# Problems of one check that are printed.
SHOWN = 20


class Checks:
    """The checks of datasets, which are printed when they are done."""

    def __init__(self) -> None:
        self._datasets: list[dict[str, Any]] = []
        self.failed = 0

    def begin(self, dataset: Dataset) -> None:
        """Begin with the checks of a dataset."""
        say()
        say(f"{dataset.name}  {dataset.directory}", TITLE)
        self._datasets.append(
            {"dataset": dataset.name, "wiki": dataset.wiki or None, "directory": dataset.directory}
            | {"checks": [], "notes": []}
        )

    def add(self, name: str, problems: Iterable[str]) -> bool:
        """Add a check, and return whether it failed."""
        shown = list(islice(problems, SHOWN))
        say(f"  {'FAIL' if shown else 'ok'}  {name}", BAD if shown else GOOD)
        for problem in shown:
            say(f"        {problem}")
        self._datasets[-1]["checks"].append({"name": name, "passed": not shown, "problems": shown})
        self.failed += bool(shown)
        return bool(shown)

    def note(self, text: str) -> None:
        """Add what was not checked, and why."""
        say(f"  --  {text}")
        self._datasets[-1]["notes"].append(text)

    def say(self, details: bool = False) -> None:
        """Print nothing: the checks have been printed."""

    def record(self) -> dict[str, Any]:
        """Return the checks for programs."""
        return {"passed": not self.failed, "datasets": self._datasets}


def run(config: VerifyOptions, beam_args: Sequence[str]) -> Checks:
    """Check the datasets in a directory.

    Raises:
        InputError: a check fails, or there is no dataset.
    """
    directories = [dataset.directory for dataset in finished_datasets(config.directory)]
    # Before the checks, which may take an hour.
    dumps = [] if config.against is None else list_files(config.against, "against")
    return read_dataset(partial(_verify, config, dumps), *directories)


def _verify(config: VerifyOptions, dumps: Sequence[str]) -> Checks:
    """Check the datasets in a directory; see `run`."""
    datasets = finished_datasets(config.directory)
    checks, derived = Checks(), 0
    for dataset in datasets:
        checks.begin(dataset)
        for name, problems in _checks(dataset, datasets):
            checks.add(name, problems)
        if change := _other_rules(dataset):
            maker = dataset.manifest.get("made_with", {}).get("wikianchor", "an unknown version")
            problem = f"{change}, made by wikianchor {maker}"
            if config.keep_older:
                checks.note(f"accepted, and its rows not derived again: {problem}")
                continue
            checks.add("made by the rules of this program", [f"{problem}: build it again, or --keep_older"])
        is_compared = dataset.name == "export" or (dataset.name == "pairs" and need_pages(dataset))
        if is_compared and not checks.failed:
            _compare(dataset, config, datasets, checks)
        if config.against is not None and not checks.failed:
            derived += _derive_again(dataset, config, dumps, datasets, checks)
    nothing_derived = not derived and any(dataset.name in DERIVED for dataset in datasets)
    if config.against is not None and not checks.failed and nothing_derived:
        checks.add("rows derived again", ["none could be: are these the dumps it was made from?"])
    say()
    if checks.failed:
        message = f"{config.directory}: {checks.failed} checks failed: see above, and build what failed again"
        raise InputError(message, checks)
    say(f"{config.directory}: all is right")
    return checks


def _checks(dataset: Dataset, datasets: Sequence[Dataset]) -> Iterator[tuple[str, Iterable[str]]]:
    """Yield the name and the problems of each check of a dataset. Each of the first three checks must pass for those
    after it to be possible."""
    yield "manifest", (problems := list(manifest_problems(dataset.manifest)))
    if problems:
        return
    check = f"files: {len(dataset.entries())} shards, sha256 of every byte"
    yield check, (problems := list(file_problems(dataset.directory, dataset.manifest)))
    if problems:
        return
    is_known = schema_of(dataset, dataset.name) is not None
    check = f"schema {dataset.manifest['schema_version']}" if is_known else "rows; the schema is not known here"
    yield check, (problems := list(check_schema(dataset)))
    if problems:
        return
    if is_known:
        tally: Tally = Counter()
        yield f"rows: {sum(map(dataset.rows, dataset.configs)):,}, each by itself", list(check_rows(dataset, tally))
        yield "ledger", check_ledger(dataset, tally)
    if any(isinstance(source.get("sha256"), str) for source in dataset.manifest["inputs"]):
        yield "made from the datasets beside it", _changed_inputs(dataset, datasets)


def _other_rules(dataset: Dataset) -> str:
    """Return how the rules that made a dataset differ from those of this program; "" where they are the same, or where
    this program has no such stage."""
    name = dataset.name
    if not has_rules(name):
        return ""
    made_with = {RULES: digest} if (digest := rules_of(dataset.manifest)) else {}
    return difference({"dataset": name, "made_with": made_with}, {"made_with": {RULES: stage_digest(name)}})


def _changed_inputs(dataset: Dataset, datasets: Sequence[Dataset]) -> Iterator[str]:
    """Yield the inputs of a dataset that have been built again since. Where the directory has several builds of an
    input, one of them must be the one that was read."""
    for source in dataset.manifest["inputs"]:
        candidates = [
            other
            for other in datasets
            if other.name == source.get("dataset") and other.options.get("wiki") == source.get("wiki")
        ]
        if candidates and all(fingerprint(other) != source.get("sha256") for other in candidates):
            yield f"{candidates[0].directory} has changed since: run the same build again"


def _compare(dataset: Dataset, config: VerifyOptions, datasets: Sequence[Dataset], checks: Checks) -> None:
    """Compare texts of `export`, or the negatives of `pairs`, with the datasets that they were taken from."""
    subject, compare = ("texts", compare_texts) if dataset.name == "export" else ("pages of negatives", compare_pages)
    sources = sources_of(dataset, datasets)
    if isinstance(sources, str):
        checks.note(f"{subject} not compared with their sources: its dataset of {sources} is not in {config.directory}")
        return
    compared, problems = compare(dataset, sources, config.rows, config.seed)
    checks.add(f"{subject} compared with {' and '.join(sorted(sources))}: {compared:,} rows", problems)


def _derive_again(
    dataset: Dataset, config: VerifyOptions, dumps: Sequence[str], datasets: Sequence[Dataset], checks: Checks
) -> int:
    """Derive rows of a dataset again, and return their number."""
    if dataset.name not in DERIVED:
        checks.note(
            f"rows not derived again: this is done for {', '.join(DERIVED)}; wikianchor rebuild makes them again"
        )
        return 0
    by_name = {os.path.basename(path): path for path in dumps}
    digests = {source["path"]: source["sha1"] for source in dataset.manifest["inputs"] if "path" in source}
    given = [name for name in digests if name in by_name]
    changed = [name for name in given if sha1(by_name[name]) != digests[name]]
    problems = [f"{by_name[name]}: has other bytes than the dump of that name had" for name in changed]
    if checks.add(f"made from these dumps: {', '.join(sorted(digests)) or 'datasets'}", problems):
        return 0
    sources = _sources([by_name[name] for name in given] if digests else dumps, dumps, datasets)
    outcome = Again(dataset, sources, config.rows, config.seed)
    for reason in outcome.skipped:
        checks.note(f"not looked at: {reason}")
    if not outcome.checked and not outcome.problems:
        checks.note("no row derived again: none of its dumps is there")
        return 0
    engines = f", by {' and '.join(outcome.engines)}" if outcome.engines else ""
    checks.add(f"rows derived again: {outcome.checked:,}{engines}", outcome.problems)
    return outcome.checked


def _sources(paths: Sequence[str], dumps: Sequence[str], datasets: Sequence[Dataset]) -> Sources:
    """Return the dumps of a dataset by what they are.

    Args:
        paths: the dumps that the dataset was made from.
        dumps: all dumps, of which page_props tables are used for redirects.
        datasets: those beside it, whose options say how sentences were read.

    Raises:
        InputError: a dump cannot be read.
    """
    pages, wikidata, unread = classify_files(paths)
    if unread:
        raise unread[0]
    return Sources(
        pages={wiki: newest_dump(files) for wiki, files in pages.items()},
        wikidata=newest_wikidata(wikidata),
        page_props={name: path for path in dumps if (name := page_props_wiki(path)) is not None},
        options={other.wiki: other.options for other in datasets if other.name == "sentences"},
    )
