"""`wikianchor corpus`: make the dataset `corpus`, clean sentences that are parsed once, of Japanese domain text.

    ranges of the input -> ParseRange (normalise, parse) -> find_repeats (repeats, sample) -> write_shard -> commit

Elements: `InputRange` -> `ParsedRange` -> `CorpusWritten` -> the manifest. Rows go through files, not through Beam.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from wikianchor.io.errors import InputError
from wikianchor.io.options import recorded
from wikianchor.io.storage import file_size
from wikianchor.pipelines.dataset.inputs import file_records, input_records
from wikianchor.pipelines.dataset.reader import Dataset, open_datasets, shards_of
from wikianchor.pipelines.dataset.reasons import listed
from wikianchor.pipelines.dataset.workspace import Workspace
from wikianchor.pipelines.engine.machine import WORKER_BYTES, Load
from wikianchor.pipelines.engine.stage import Stage, commit_dataset, counts_by_kind, run_stage
from wikianchor.pipelines.japanese.corpus import steps
from wikianchor.pipelines.japanese.corpus.options import CorpusOptions
from wikianchor.pipelines.japanese.corpus.records import kind_of, split_records
from wikianchor.schemas import corpus as schema
from wikianchor.schemas import sentences

# Parsing a kilobyte takes a tenth of a second: small ranges keep many workers busy with a small corpus.
KILOBYTE = 1 << 10
# Rows of a dataset that are parsed for each sentence of a sample: some are short or stand there twice.
SAMPLED_FROM = 2
# Bytes of text that a worker parses in a second, and the memory that it needs, by parser.
RATE = {"ginza": 10e3, "sudachi": 1e6}
MEMORY = {"ginza": 1.6e9, "sudachi": WORKER_BYTES}
SMALLEST_RANGE, LARGEST_RANGE, RANGES = 64 * KILOBYTE, 4096 * KILOBYTE, 64


def run(config: CorpusOptions, beam_args: Sequence[str]) -> dict[str, Any]:
    """Run the stage and return its manifest."""
    from wikianchor.pipelines.japanese.parsing import make_parser

    for path in config.input.files:
        kind_of(path)
    datasets = open_datasets(",".join(config.input.datasets), "sentences", sentences.VERSION, "input")
    # A file that cannot be read, or a missing package, is found now, not on a worker.
    if not datasets and not list_ranges(config.input.files, config.column, ()):
        raise InputError(f"--input: {', '.join(config.input.files)}: nothing in it")
    make_parser(config.parser)
    inputs = file_records(config.input.files) + input_records(datasets)
    options = {
        **recorded(config),
        "parser_versions": parser_versions(config.parser),
        "seed": config.seed if config.sample else None,
    }
    stage = Stage(
        dataset="corpus",
        schema_version=schema.VERSION,
        output=config.output,
        inputs=inputs,
        options=options,
        build=partial(build, config=config, datasets=datasets, key_limit=sample_key_limit(config, datasets)),
        load=load_of(config, datasets),
    )
    return run_stage(stage, beam_args)


def load_of(config: CorpusOptions, datasets: Sequence[Dataset]) -> Load:
    """Return what parsing asks of a machine."""
    shards = [shard for dataset in datasets for shard in dataset.manifest["configs"]["sentences"]["shards"]]
    rows = sum(shard["rows"] for shard in shards)
    share = min(1.0, SAMPLED_FROM * config.sample / rows) if config.sample and rows else 1.0
    text = sum(file_size(path) for path in config.input.files) + share * sum(shard["bytes"] for shard in shards)
    return Load(text / RATE[config.parser], MEMORY[config.parser])


def sample_key_limit(config: CorpusOptions, datasets: Sequence[Dataset]) -> int:
    """Return the sample key below which rows of datasets are parsed: all, or twice as many as the sample asks for.

    A sentence has the same key here and in the sample, so the smallest are among them.
    """
    rows = sum(dataset.rows("sentences") for dataset in datasets)
    wanted = SAMPLED_FROM * config.sample
    return steps.ANY_KEY if not config.sample or wanted >= rows else steps.ANY_KEY * wanted // rows


def parser_versions(parser: str) -> dict[str, str]:
    """Return the versions of what decides over sentences, tokens and trees."""
    from importlib.metadata import version

    names = (
        ("ja-ginza", "spacy", "sudachipy", "sudachidict-core")
        if parser == "ginza"
        else ("sudachipy", "sudachidict-core")
    )
    return {name: version(name) for name in names}


def list_ranges(files: Sequence[str], column: str, datasets: Sequence[tuple[str, str]]) -> list[Any]:
    """Cut files and datasets, given as (wiki, directory), into ranges; the cut depends on the input alone.

    Raises:
        InputError: a file cannot be read, or is a CSV without the column.
    """
    total = sum(file_size(path) for path in files)
    size = min(max(SMALLEST_RANGE, total // RANGES), LARGEST_RANGE)
    parts: list[Any] = [part for path in files for part in split_records(path, column, size)]
    parts += [steps.ShardRows(path, wiki) for wiki, directory in datasets for path in shards_of(directory, "sentences")]
    return [steps.InputRange(order, part) for order, part in enumerate(parts)]


def build(
    pipeline: Any,
    head: Mapping[str, Any],
    work: Workspace,
    config: CorpusOptions,
    datasets: Sequence[Dataset],
    key_limit: int,
) -> None:
    """Add the graph to a pipeline."""
    import apache_beam as beam

    from wikianchor.pipelines.engine.transforms import CallOnce, ListElements, RunStep

    sources = [(str(dataset.manifest["options"]["wiki"]), dataset.directory) for dataset in datasets]
    parsed = (
        pipeline
        | "List ranges" >> ListElements(list_ranges, config.input.files, config.column, sources)  # InputRange
        | "Parse" >> RunStep(steps.ParseRange(config, work, key_limit), work, "parse")  # ParsedRange
    )
    find_repeats = CallOnce(steps.find_repeats, parsed, config, work, work=work, name="repeats")
    verdict = beam.pvalue.AsSingleton(pipeline | "Find repeats" >> find_repeats)  # path
    written = parsed | "Write shard" >> RunStep(steps.write_shard, work, "write", work, verdict)  # CorpusWritten
    _ = pipeline | "Commit" >> CallOnce(partial(commit_corpus, config.output, work, head), parsed, written)


def commit_corpus(
    output: str, work: Workspace, head: Mapping[str, Any], parsed: Iterable[Any], written: Iterable[Any]
) -> None:
    """Check the ledger and commit the dataset.

    Raises:
        InputError: an input was broken, nothing is left, or the ledger does not balance.
    """
    parts, shards = sorted(parsed, key=lambda part: part.order), list(written)
    words: Counter[tuple[str, str]] = Counter()
    for shard in shards:
        words.update(shard.words)
    counts = counts_by_kind(result.counts for result in (*parts, *shards))
    ledger = {
        kind: {name: number for name, number in counts.get(kind, {}).items() if number}
        for kind in ("records", "sentences")
    }
    outcomes = ledger["sentences"]
    problems = [problem for part in parts for problem in part.problems]
    rows = sum(part.rows for shard in shards for part in shard.parts)
    decided = sum(number for name, number in outcomes.items() if name != "seen")
    if not problems and (decided != outcomes.get("seen", 0) or rows != outcomes.get("kept", 0)):
        raise InputError(f"{output}: the ledger does not balance: {outcomes}, {rows} rows written")
    if not problems and not rows:
        dropped = listed("corpus", outcomes) if outcomes.get("seen") else "there is no text in the input"
        problems = [f"{output}: no sentence is left: {dropped}"]
    tokens = sum(shard.tokens for shard in shards)
    statistics = {"sentences": rows, "tokens": tokens, "unique_tokens": len({word for word, _ in words})}
    parts = [part for shard in shards for part in shard.parts]
    if not problems:
        parts += steps.write_words(work, words)
    commit_dataset(output, work, head, parts=parts, ledger={**ledger, "statistics": statistics}, problems=problems)
