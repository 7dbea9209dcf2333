"""Peak memory of each stage on inputs 1, 4, 16 and 64 times the size.

    WIKIANCHOR_DATA=data python benchmarks/memory.py [--engine=portable]

`sentences` reads real slices copied under new titles, with a page for every link target; `entities` a stand-in of
Wikidata for the titles of that dump; `pairs`, `mentions` and `interlanguage` the datasets of benchmarks/pairs.py, of
which the largest has twelve million links; `mewsc16` a made-up Wikinews (generate_news.py); `corpus` the first lines of
the clinic corpus, and `negatives` the corpora of these, by a tiny T5 that is trained here. Each stage runs as a process
of its own, one worker; the peak is the resident memory that the kernel reports for it (ru_maxrss), mapped files
included. What matters is whether it grows from 4 times on: the target is less than 10 per cent. The portable engine is
Beam's own, with its workers in the same process and the environment that workers are to have (docs/how-to/engines.md).
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import slices
from measure import fresh, parser, report, run, table, wikianchor

TIMES = (1, 4, 16, 64)
ENGINES: dict[str, list[str | Path]] = {
    "direct": [],
    "portable": ["--runner=PortableRunner", "--job_endpoint=embed", "--environment_type=LOOPBACK", "--shuffle=files"],
}
# As the images of workers in docker/ have it: engines with many threads are what it is for.
ENVIRONMENTS = {"direct": {}, "portable": {"MALLOC_ARENA_MAX": "2"}}
# What the model of `negatives` learns from: fewer do not give the pieces of its vocabulary.
MODEL_LINES = 100
HERE = Path(__file__).resolve().parent
IMPORTS = "import slices, pairs; from pathlib import Path"


class Input(NamedTuple):
    """What a stage is run on: its size as people say it, and the flags that name it."""

    size: str
    flags: list[str | Path]


def main() -> None:
    """Measure and print the table."""
    flags = parser(__doc__, rounds=1)
    flags.add_argument("--language", default="en", help="whose slices (en)")
    flags.add_argument("--megabytes", type=float, default=12, help="XML of the smallest dump (12)")
    flags.add_argument("--line_bytes", type=int, default=2_000, help="bytes of a line of Wikidata, about (2000)")
    flags.add_argument("--links", type=int, default=187_500, help="links of the smallest dataset (187500)")
    flags.add_argument("--pages", type=int, default=2000, help="pages of the smallest Wikinews (2000)")
    flags.add_argument("--lines", type=int, default=100, help="lines of the smallest text (100)")
    flags.add_argument("--stages", nargs="+", default=list(INPUTS), choices=list(INPUTS), help="what is measured (all)")
    flags.add_argument("--engine", default="direct", choices=ENGINES, help="what runs the graphs (direct)")
    arguments = flags.parse_args()
    rows: list[list[Any]] = []
    for stage in arguments.stages:
        sizes, peaks = [], []
        for times in TIMES:
            given = INPUTS[stage](arguments, times)
            command = wikianchor(stage, *given.flags, *ENGINES[arguments.engine])
            peak = max(
                run([*command, f"--output={fresh(arguments.work / 'memory')}"], ENVIRONMENTS[arguments.engine]).peak
                for _ in range(arguments.rounds)
            )
            print(f"{times} times: {stage}: {peak:.0f} MB", file=sys.stderr)
            sizes.append(given.size)
            peaks.append(peak)
        growth = [f"{100 * (peak / peaks[1] - 1):+.1f} %" for peak in peaks[2:]]
        rows.append([f"{stage} ({', '.join(sizes)})", *map(round, peaks), *growth])
    head = ["stage (inputs)", *(f"{times} times, MB" for times in TIMES), *(f"4 to {times}" for times in TIMES[2:])]
    report(f"memory, {arguments.engine}", table(head, rows) + "\n\nTarget: less than +10 % from 4 times on.")


def megabytes(path: Path) -> str:
    """Return the size of a file."""
    return f"{path.stat().st_size / 1e6:.0f} MB"


def dump(arguments: Any, times: int) -> Path:
    """Return a dump of so many times the size. A child's peak begins with its parent's, so whatever is large is made by
    a process of its own and this one stays small."""
    work: Path = arguments.work
    size = arguments.megabytes * times
    _apart(f"slices.dump(Path({str(work)!r}), {arguments.language!r}, {size!r}, stubs=True, ending='xml')")
    return work / f"{arguments.language}wiki-{size:g}mb-stubs-pages-articles.xml"


def for_sentences(arguments: Any, times: int) -> Input:
    """A dump."""
    path = dump(arguments, times)
    return Input(megabytes(path), [f"--dumps={path}"])


def for_entities(arguments: Any, times: int) -> Input:
    """The items of a dump."""
    source = dump(arguments, times)
    wikidata = arguments.work / f"wikidata-{source.stem}-{arguments.line_bytes}.json.gz"
    if not wikidata.exists():
        command: list[str | Path] = [sys.executable, HERE / "generate.py", "items", "--dumps", source]
        run([*command, "--line_bytes", str(arguments.line_bytes), "--output", wikidata])
    return Input(megabytes(wikidata), [f"--wikidata={wikidata}", f"--wikis={arguments.language}wiki"])


def for_pairs(arguments: Any, times: int) -> Input:
    """Sentences with so many links, and the entities that they link to."""
    work, links = arguments.work, arguments.links * times
    call = f"pairs.multiplied(Path({str(work)!r}), {arguments.language!r}, {links})"
    _apart(f"pairs.entities(Path({str(work)!r}), {call}, 0.0)")
    rows = work / f"sentences-{arguments.language}-{links}"
    return Input(f"{links:,} links", [f"--sentences={rows}", f"--entities={work / f'entities-{rows.name}-0'}"])


def for_news(arguments: Any, times: int) -> Input:
    """A made-up Wikinews."""
    pages, place = arguments.pages * times, arguments.work / f"news-{arguments.pages * times}"
    if not place.exists():
        command: list[str | Path] = [sys.executable, HERE / "generate_news.py", "--languages=en", f"--pages={pages}"]
        run([*command, f"--output={place}"])
    return Input(f"{pages:,} pages", [f"--dumps={place}/*.xml.bz2"])


def text_of(arguments: Any, lines: int) -> Path:
    """Return the first lines of a Japanese domain text."""
    path: Path = arguments.work / f"clinic-{lines}.txt"
    text = (slices.data() / "sdjc-corpora" / "clinic_corpus.txt").read_text().splitlines()
    if len(text) < lines:
        raise SystemExit(f"the clinic corpus has {len(text)} lines, not {lines}: give smaller --lines")
    path.write_text("\n".join(text[:lines]) + "\n")
    return path


def corpus_of(arguments: Any, lines: int) -> Path:
    """Return the dataset that `corpus` makes of these lines."""
    corpus: Path = arguments.work / f"clinic-corpus-{lines}"
    if not corpus.exists():
        run(wikianchor("corpus", f"--input={text_of(arguments, lines)}", f"--output={corpus}"))
    return corpus


def for_corpus(arguments: Any, times: int) -> Input:
    """The first lines of a Japanese domain text."""
    lines = arguments.lines * times
    return Input(f"{lines:,} lines", [f"--input={text_of(arguments, lines)}"])


def for_negatives(arguments: Any, times: int) -> Input:
    """A corpus, and a tiny T5 that learnt a little of a hundred lines."""
    lines, model = arguments.lines * times, arguments.work / "clinic-t5"
    corpus = corpus_of(arguments, lines)
    if not model.exists():
        task = [sys.executable, "-m", "wikianchor.trainer.task", "t5", "--new=tiny", "--vocabulary_size=1000"]
        task += [f"--data={corpus_of(arguments, MODEL_LINES)}", f"--output={model}"]
        run([*task, "--epochs=1", "--step_size=32", "--max_length=64", "--held_out=8"])
    given = [f"--corpus={corpus}", f"--model={model / 'model'}", "--beams=4", "--negatives=1", "--longest=60"]
    return Input(f"{lines:,} lines", [*given, "--share=0.1", "--near=1"])


def _apart(code: str) -> None:
    run([sys.executable, "-c", f"import sys; sys.path.insert(0, {str(HERE)!r}); {IMPORTS}; {code}"])


INPUTS: dict[str, Callable[[Any, int], Input]] = {
    "sentences": for_sentences,
    "entities": for_entities,
    "pairs": for_pairs,
    "mentions": for_pairs,
    "interlanguage": for_pairs,
    "mewsc16": for_news,
    "corpus": for_corpus,
    "negatives": for_negatives,
}


if __name__ == "__main__":
    main()
