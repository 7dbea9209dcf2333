"""`wikianchor verify DIR`: is a dataset what its manifest says, do its rows hold together, and do they come from the
dumps?"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from wikianchor.io.errors import InputError
from wikianchor.io.storage import sha1
from wikianchor.pipelines.commands.verify.ledger import check_ledger
from wikianchor.pipelines.commands.verify.options import VerifyOptions
from wikianchor.pipelines.commands.verify.rows import Tally, check_rows, check_schema, schema_of
from wikianchor.pipelines.dataset.integrity import file_problems
from wikianchor.pipelines.dataset.manifest import manifest_problems
from wikianchor.pipelines.dataset.reader import Dataset, finished_datasets

# Of one check: nobody reads more.
SHOWN = 20


def run(config: VerifyOptions, beam_args: Sequence[str]) -> None:
    """Check the datasets in a directory.

    Raises:
        InputError: something is wrong, or there is no dataset.
    """
    datasets = finished_datasets(config.directory)
    dumps: list[str] = []
    if config.against is not None:
        from wikianchor.pipelines.wikimedia.inventory import list_files

        # A wrong place is told before the checks, which may take an hour.
        dumps = list_files(config.against, "against")
    wrong = derived = 0
    for one in datasets:
        print(f"\n{one.manifest['dataset']}  {one.directory}")
        wrong += sum(_told(what, problems) for what, problems in _checks(one, datasets))
        if config.against is not None and not wrong:
            failed, rows = _against(one, config, dumps, datasets)
            wrong += failed
            derived += rows
    if config.against is not None and not wrong and not derived and _derivable(datasets):
        wrong += _told("rows derived again", ["none could be: are these the dumps it was made from?"])
    print()
    if wrong:
        raise InputError(f"{config.directory}: {wrong} checks failed: see above, and build what failed again")
    print(f"{config.directory}: all is right")


def _told(what: str, problems: Iterable[str]) -> bool:
    """Print the outcome of a check, and return whether it failed."""
    found = list(islice(problems, SHOWN))
    print(f"  {'FAIL' if found else 'ok'}  {what}")
    print("".join(f"        {problem}\n" for problem in found), end="")
    return bool(found)


def _checks(one: Dataset, all_of_them: Sequence[Dataset]) -> Iterator[tuple[str, Iterable[str]]]:
    """Yield the checks of a dataset by name, each once those before it have been made; what builds upon a check that
    failed is not made."""
    configs = [config for config in one.manifest["configs"].values() if isinstance(config, dict)]
    shards = sum(len(config.get("shards") or ()) for config in configs)
    problems = list(manifest_problems(one.manifest))
    yield "manifest", problems
    if problems:
        return
    problems = list(file_problems(one))
    yield f"files: {shards} shards, sha256 of every byte", problems
    if problems:
        return
    problems = list(check_schema(one))
    known = schema_of(one.manifest["dataset"], one.manifest["dataset"]) is not None
    yield f"schema {one.manifest['schema_version']}" if known else "rows; the schema is not known here", problems
    if problems:
        return
    if known:
        tally: Tally = Counter()
        yield f"rows: {sum(config['rows'] for config in configs):,}, each by itself", list(check_rows(one, tally))
        yield "ledger", check_ledger(one, tally)
    if any(isinstance(source.get("sha256"), str) for source in one.manifest["inputs"]):
        yield "made from the datasets beside it", _lineage(one, all_of_them)


def _lineage(one: Dataset, all_of_them: Sequence[Dataset]) -> Iterator[str]:
    """Yield the datasets that one was made from, stand in the same directory and are others now: of several builds one
    is enough."""
    from wikianchor.pipelines.dataset.inputs import fingerprint

    for source in one.manifest["inputs"]:
        beside = [
            other
            for other in all_of_them
            if other.manifest["dataset"] == source.get("dataset")
            and other.manifest["options"].get("wiki") == source.get("wiki")
        ]
        if beside and all(fingerprint(other) != source.get("sha256") for other in beside):
            yield f"{beside[0].directory} has changed since: run the same build again"


def _derivable(datasets: Iterable[Dataset]) -> bool:
    from wikianchor.pipelines.commands.verify.derive_again import DERIVED

    return any(one.manifest["dataset"] in DERIVED for one in datasets)


def _against(
    one: Dataset, config: VerifyOptions, paths: Sequence[str], all_of_them: Sequence[Dataset]
) -> tuple[bool, int]:
    """Derive rows of a dataset again; return whether that failed, and how many rows were."""
    from wikianchor.pipelines.commands.verify.derive_again import DERIVED, Sources, derive_again
    from wikianchor.pipelines.mewsc16.graph import table_of
    from wikianchor.pipelines.wikimedia.inventory import classify_files, newest_dump, newest_wikidata, page_props_wiki

    if not _derivable([one]):
        print(f"  --  rows not derived again: this is done for {', '.join(DERIVED)}")
        return False, 0
    by_name = {os.path.basename(path): path for path in paths}
    named = {source["path"]: source["sha1"] for source in one.manifest["inputs"] if "path" in source}
    if _told(
        f"made from these dumps: {', '.join(sorted(named)) or 'datasets'}",
        [
            f"{by_name[name]}: has other bytes than the dump of that name had"
            for name, digest in named.items()
            if name in by_name and sha1(by_name[name]) != digest
        ],
    ):
        return True, 0
    given = [by_name[name] for name in named if name in by_name] if named else paths
    pages, wikidata, unread = classify_files(given)
    if unread:
        raise unread[0]
    tables: dict[str, dict[str, str]] = {}
    for path in given:
        if path.endswith((".sql", ".sql.gz")):
            of_wiki, table = table_of(path)
            tables.setdefault(of_wiki, {})[table] = path
    # How the sentences of pairs were read stands in the manifest of those sentences.
    read = {
        other.manifest["options"].get("wiki"): other.manifest["options"]
        for other in all_of_them
        if other.manifest["dataset"] == "sentences"
    }
    sources = Sources(
        pages={wiki: newest_dump(found) for wiki, found in pages.items()},
        wikidata=newest_wikidata(wikidata),
        page_props={wiki: path for path in paths if (wiki := page_props_wiki(path)) is not None},
        options=read,
        tables=tables,
    )
    outcome = derive_again(one, sources, config.rows, config.seed)
    for reason in outcome.passed_over:
        print(f"  --  not looked at: {reason}")
    if not outcome.checked and not outcome.problems:
        print("  --  no row derived again: none of its dumps is there")
        return False, 0
    return _told(f"rows derived again: {outcome.checked:,}", outcome.problems), outcome.checked
