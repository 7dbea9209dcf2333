"""Peak memory of each stage on inputs 1, 4, 16 and 64 times the size.

    WIKIANCHOR_DATA=data python benchmarks/memory.py [--stages pairs mentions]

`sentences` reads real slices copied under new titles, with a page for every link target; `entities` a stand-in for
Wikidata with the titles of that dump; `pairs`, `mentions` and `interlanguage` the datasets of lib/many_links.py, the
largest with twelve million links; `mewsc16` a generated Wikinews; `corpus` the first lines of the clinic corpus, and
`negatives` the corpora of these, with a tiny T5 that is trained here. Each stage runs as a process with one worker; the
peak is the resident memory that the kernel reports for it (ru_maxrss), mapped files included. What matters is whether
it grows from 4 times on: the target is less than 10 per cent.
"""

import sys
from argparse import Namespace
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from lib import generate, many_links, slices
from lib.measure import ROOT, apart, fresh, report, run, run_parts, table, wikianchor

TIMES = (1, 4, 16, 64)
# The flags that set the smallest inputs.
SIZES: dict[str, tuple[Any, str]] = {
    "--language": ("en", "whose slices"),
    "--megabytes": (12.0, "XML of the smallest dump"),
    "--links": (187_500, "links of the smallest dataset"),
    "--pages": (2000, "pages of the smallest Wikinews"),
    "--lines": (100, "lines of the smallest text"),
}


class Input(NamedTuple):
    """The input of a stage: its size in words, and the flags that name it."""

    size: str
    flags: list[str | Path]


def compare(arguments: Namespace) -> None:
    """Print the peaks of each stage."""
    rows: list[list[Any]] = []
    for stage in arguments.stages:
        inputs, peaks = [INPUTS[stage](arguments, times) for times in TIMES], []
        for given in inputs:
            command = wikianchor(stage, *given.flags)
            costs = [run([*command, f"--output={fresh(arguments.work / 'memory')}"]) for _ in range(arguments.rounds)]
            peaks.append(max(cost.ru_maxrss for cost in costs) / 1024)
            print(f"{stage}, {given.size}: {peaks[-1]:.0f} MB", file=sys.stderr)
        growth = [f"{100 * (peak / peaks[1] - 1):+.1f} %" for peak in peaks[2:]]
        rows.append([f"{stage} ({', '.join(given.size for given in inputs)})", *map(round, peaks), *growth])
    head = ["stage (inputs)", *(f"{times} times, MB" for times in TIMES), *(f"4 to {times}" for times in TIMES[2:])]
    report("memory", table(head, rows) + "\n\nTarget: less than +10 % from 4 times on.")


def dump(arguments: Namespace, times: int) -> Path:
    """Return a dump of so many times the size."""
    write = partial(slices.dump, stubs=True)
    return apart(write, arguments.work, arguments.language, arguments.megabytes * times, "xml")


def for_sentences(arguments: Namespace, times: int) -> Input:
    """Return a dump."""
    path = dump(arguments, times)
    return Input(f"{path.stat().st_size / 1e6:.0f} MB", [f"--dumps={path}"])


def for_entities(arguments: Namespace, times: int) -> Input:
    """Return the items of a dump, in lines of 2 KB."""
    source = dump(arguments, times)
    path = arguments.work / f"wikidata-{source.stem}-2000.json.gz"
    apart(write_items, source, f"{arguments.language}wiki", path)
    return Input(f"{path.stat().st_size / 1e6:.0f} MB", [f"--wikidata={path}", f"--wikis={arguments.language}wiki"])


def write_items(source: Path, wiki: str, path: Path) -> None:
    """Write the items of a dump, unless they exist."""
    titles = generate.article_titles(str(source))
    generate.kept(path, lambda path: generate.write_items(wiki, titles, path, line_bytes=2000))


def for_pairs(arguments: Namespace, times: int) -> Input:
    """Return sentences with so many links, and the entities that they link to."""
    links = arguments.links * times
    rows = apart(many_links.many_sentences, arguments.work, arguments.language, links)
    return Input(
        f"{links:,} links",
        [f"--sentences={rows}", f"--entities={apart(many_links.entities, arguments.work, rows)}"],
    )


def for_news(arguments: Namespace, times: int) -> Input:
    """Return a generated Wikinews."""
    pages, directory = arguments.pages * times, arguments.work / f"news-en-{arguments.pages * times}"
    if not directory.exists():
        flags = ["--languages=en", f"--pages={pages}", f"--output={directory}"]
        run([sys.executable, ROOT / "tests/wikinews.py", *flags])
    return Input(f"{pages:,} pages", [f"--dumps={directory}/*.xml.bz2"])


def text_of(arguments: Namespace, lines: int) -> Path:
    """Return the first lines of a Japanese domain text."""
    path: Path = arguments.work / f"clinic-{lines}.txt"
    text = (slices.data() / "sdjc-corpora" / "clinic_corpus.txt").read_text().splitlines()
    assert len(text) >= lines, "the clinic corpus has fewer lines: give smaller --lines"
    path.write_text("\n".join(text[:lines]) + "\n")
    return path


def corpus_of(arguments: Namespace, lines: int) -> Path:
    """Return the `corpus` dataset of these lines."""
    corpus: Path = arguments.work / f"clinic-corpus-{lines}"
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
        # Fewer lines do not give the pieces of its vocabulary.
        flags = [f"--data={corpus_of(arguments, 100)}", "--new=tiny", "--vocabulary_size=1000", "--epochs=1"]
        flags += ["--step_size=32", "--max_length=64", "--held_out=8"]
        run(wikianchor("train", "t5", *flags, f"--output={model}"))
    given = [f"--corpus={corpus}", f"--model={model / 'model'}", "--beams=4", "--negatives=1", "--longest=60"]
    return Input(f"{lines:,} lines", [*given, "--share=0.1", "--near=1"])


INPUTS: dict[str, Callable[[Namespace, int], Input]] = {
    "sentences": for_sentences,
    "entities": for_entities,
    **dict.fromkeys(("pairs", "mentions", "interlanguage"), for_pairs),
    "mewsc16": for_news,
    "corpus": for_corpus,
    "negatives": for_negatives,
}


if __name__ == "__main__":
    run_parts(__doc__, {"memory": compare}, {"--stages": (list(INPUTS), "to measure"), **SIZES}, rounds=1)
