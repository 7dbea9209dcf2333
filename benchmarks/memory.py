"""Peak memory of each stage on inputs 1, 4, 16 and 64 times the size.

    WIKIANCHOR_DATA=data python benchmarks/memory.py [STAGE ...]

`sentences` reads real slices copied under new titles, with a page for every link target; `entities` a stand-in for
Wikidata with the titles of that dump; `pairs`, `mentions` and `interlanguage` the datasets of lib/many_links.py, the
largest with twelve million links; `mewsc16` a generated Wikinews; `corpus` the first lines of the clinic corpus, and
`negatives` the corpora of these, with a tiny T5 that is trained here. Each stage runs as a process with one worker; the
peak is the resident memory that the kernel reports for it (ru_maxrss), mapped files included. What matters is whether
it grows from 4 times on: the target is less than 10 per cent.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from lib import slices
from lib.measure import ROOT, fresh, parser, report, run, table, wikianchor

TIMES = (1, 4, 16, 64)
# Lines that the model of `negatives` learns from: fewer do not give the pieces of its vocabulary.
MODEL_LINES = 100
IMPORTS = "from lib import generate, many_links, slices; from pathlib import Path"


class Input(NamedTuple):
    """The input of a stage: its size in words, and the flags that name it."""

    size: str
    flags: list[str | Path]


def main() -> None:
    """Measure and print the table."""
    flags = parser(__doc__, rounds=1, parts=list(INPUTS))
    add_sizes(flags)
    arguments = flags.parse_args()
    rows: list[list[Any]] = []
    for stage in arguments.parts or INPUTS:
        sizes, peaks = [], []
        for times in TIMES:
            given = INPUTS[stage](arguments, times)
            command = wikianchor(stage, *given.flags)
            peak = max(
                run([*command, f"--output={fresh(arguments.work / 'memory')}"]).peak for _ in range(arguments.rounds)
            )
            print(f"{times} times: {stage}: {peak:.0f} MB", file=sys.stderr)
            sizes.append(given.size)
            peaks.append(peak)
        growth = [f"{100 * (peak / peaks[1] - 1):+.1f} %" for peak in peaks[2:]]
        rows.append([f"{stage} ({', '.join(sizes)})", *map(round, peaks), *growth])
    head = ["stage (inputs)", *(f"{times} times, MB" for times in TIMES), *(f"4 to {times}" for times in TIMES[2:])]
    report("memory", table(head, rows) + "\n\nTarget: less than +10 % from 4 times on.")


def add_sizes(flags: ArgumentParser) -> None:
    """Add the flags that set the smallest inputs."""
    flags.add_argument("--language", default="en", help="whose slices (en)")
    flags.add_argument("--megabytes", type=float, default=12, help="XML of the smallest dump (12)")
    flags.add_argument("--links", type=int, default=187_500, help="links of the smallest dataset (187500)")
    flags.add_argument("--pages", type=int, default=2000, help="pages of the smallest Wikinews (2000)")
    flags.add_argument("--lines", type=int, default=100, help="lines of the smallest text (100)")


def megabytes(path: Path) -> str:
    """Return the size of a file."""
    return f"{path.stat().st_size / 1e6:.0f} MB"


def write_apart(code: str) -> None:
    """Write an input in a process of its own: a child's peak memory begins with that of this process."""
    run([sys.executable, "-c", f"import sys; sys.path.insert(0, {str(ROOT / 'benchmarks')!r}); {IMPORTS}; {code}"])


def dump(arguments: Namespace, times: int) -> Path:
    """Return a dump of so many times the size."""
    work: Path = arguments.work
    size = arguments.megabytes * times
    write_apart(f"slices.dump(Path({str(work)!r}), {arguments.language!r}, {size!r}, stubs=True, ending='xml')")
    return work / f"{arguments.language}wiki-{size:g}mb-stubs-pages-articles.xml"


def for_sentences(arguments: Namespace, times: int) -> Input:
    """Return a dump."""
    path = dump(arguments, times)
    return Input(megabytes(path), [f"--dumps={path}"])


def for_entities(arguments: Namespace, times: int) -> Input:
    """Return the items of a dump, in lines of 2 KB."""
    source = dump(arguments, times)
    path = arguments.work / f"wikidata-{source.stem}-2000.json.gz"
    if not path.exists():
        items = f"generate.items_of(generate.articles([{str(source)!r}]))"
        write_apart(f"generate.write_items({items}, Path({str(path)!r}), line_bytes=2000)")
    return Input(megabytes(path), [f"--wikidata={path}", f"--wikis={arguments.language}wiki"])


def for_pairs(arguments: Namespace, times: int) -> Input:
    """Return sentences with so many links, and the entities that they link to."""
    work, links = arguments.work, arguments.links * times
    call = f"many_links.multiplied(Path({str(work)!r}), {arguments.language!r}, {links})"
    write_apart(f"many_links.entities(Path({str(work)!r}), {call})")
    rows = work / f"sentences-{arguments.language}-{links}"
    return Input(f"{links:,} links", [f"--sentences={rows}", f"--entities={work / f'entities-{rows.name}-0'}"])


def for_news(arguments: Namespace, times: int) -> Input:
    """Return a generated Wikinews."""
    pages, directory = arguments.pages * times, arguments.work / f"news-en-{arguments.pages * times}"
    if not directory.exists():
        command: list[str | Path] = [sys.executable, ROOT / "tests/wikinews.py", "--languages=en", f"--pages={pages}"]
        run([*command, f"--output={directory}"])
    return Input(f"{pages:,} pages", [f"--dumps={directory}/*.xml.bz2"])


def text_of(arguments: Namespace, lines: int) -> Path:
    """Return the first lines of a Japanese domain text."""
    path: Path = arguments.work / f"clinic-{lines}.txt"
    text = (slices.data() / "sdjc-corpora" / "clinic_corpus.txt").read_text().splitlines()
    if len(text) < lines:
        raise SystemExit(f"the clinic corpus has {len(text)} lines, not {lines}: give smaller --lines")
    path.write_text("\n".join(text[:lines]) + "\n")
    return path


def corpus_of(arguments: Namespace, lines: int) -> Path:
    """Return the `corpus` dataset of these lines; build it unless it exists."""
    corpus: Path = arguments.work / f"clinic-corpus-{lines}"
    if not corpus.exists():
        run(wikianchor("corpus", f"--input={text_of(arguments, lines)}", f"--output={corpus}"))
    return corpus


def for_corpus(arguments: Namespace, times: int) -> Input:
    """Return the first lines of a Japanese domain text."""
    lines = arguments.lines * times
    return Input(f"{lines:,} lines", [f"--input={text_of(arguments, lines)}"])


def for_negatives(arguments: Namespace, times: int) -> Input:
    """Return a corpus, and a tiny T5 that is trained on a hundred lines."""
    lines, model = arguments.lines * times, arguments.work / "clinic-t5"
    corpus = corpus_of(arguments, lines)
    if not model.exists():
        task = [sys.executable, "-m", "wikianchor.trainer.task", "t5", "--new=tiny", "--vocabulary_size=1000"]
        task += [f"--data={corpus_of(arguments, MODEL_LINES)}", f"--output={model}"]
        run([*task, "--epochs=1", "--step_size=32", "--max_length=64", "--held_out=8"])
    given = [f"--corpus={corpus}", f"--model={model / 'model'}", "--beams=4", "--negatives=1", "--longest=60"]
    return Input(f"{lines:,} lines", [*given, "--share=0.1", "--near=1"])


INPUTS: dict[str, Callable[[Namespace, int], Input]] = {
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
