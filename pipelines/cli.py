"""`wikianchor COMMAND`: what the user types in, a pipeline run, an exit status out.

Status 0: the dataset is complete. 1: an input is broken or an output cannot be written. 2: the command line is wrong.
130: interrupted.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import logging
import os
import sys
import time
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any

from pipelines import storage
from pipelines.engine import interrupt
from pipelines.errors import InputError, UsageError
from pipelines.progress import LogHandler
from pipelines.runner import abandoned, beam_options
from pipelines.temporary import remove_beams_temporary_files
from wikianchor.io.flags import FlagParser, did_you_mean
from wikianchor.io.output import clean_output

# Command -> what --help says of it. `pipelines.flags.COMMAND` is its command line, `pipelines.COMMAND` what runs, which
# is imported then.
COMMANDS = {
    "demo": "a sample of three wikis -> training pairs, without a network",
    "download": "the dumps that a target needs, from dumps.wikimedia.org, verified",
    "build": "the main job: dumps in, training pairs out; the three below, skipping what is done",
    "sentences": "a Wikipedia dump -> sentences with their links, and titles",
    "entities": "Wikidata -> entities with their types, and sitelinks",
    "pairs": "sentences + entities -> (sentence, entity, hard negatives)",
    "mentions": "sentences + entities -> names with the items they stand for, and counts",
    "interlanguage": "entities -> which page an item has in which wiki",
    "corpus": "a Japanese domain text -> clean sentences, parsed once, with their noun spans",
    "mewsc16": "Wikinews dumps -> topic sentences in 13 classes, a set for clustering",
    "topics": "Wikinews SQL tables -> the topic map of mewsc16, and how it differs from ours",
    "words": "a corpus -> a picture of its most frequent words",
    "negatives": "a corpus + a T5 -> each sentence with sentences of other nouns",
    "extract": "the wikitext engine alone: pages in, what a reader sees of them out",
    "verify": "is a dataset what its manifest says, and what the dumps say?",
    "publish": "a dataset with its card, onto the Hub or into a bucket",
    "report": "what is in a dataset, on the terminal or as a page",
}
# Commands of the trainer, named here for --help and suggestions; `wikianchor.cli` runs them.
TRAINER = {
    "train": "a dataset -> a model: EASE, SimCSE, SDJC, T5, M-BoE (needs the extra train)",
    "evaluate": "models -> their scores: STS, clustering, retrieval and more (needs the extras train and eval)",
}
# Those that run a Beam pipeline, so that flags may go to Beam.
PIPELINES = ("build", "sentences", "entities", "pairs", "mentions", "interlanguage", "corpus", "mewsc16", "negatives")
EXAMPLES = {
    "demo": "wikianchor demo --data=demo --output=out/demo",
    "download": "wikianchor download --for=pairs --wikis=uk --output=dumps/ --contact=you@example.org",
    "build": "wikianchor build --dumps=dumps/ --wikis=enwiki,jawiki --output=out/",
    "sentences": "wikianchor sentences --dumps='dumps/jawiki-*-pages-articles*.xml.bz2' --output=out/sentences/jawiki",
    "entities": "wikianchor entities --wikidata='dumps/wikidata-*.json.gz' --wikis=enwiki,jawiki --output=out/entities",
    "pairs": "wikianchor pairs --sentences=out/sentences --entities=out/entities --output=out/pairs --sample=10000",
    "mentions": "wikianchor mentions --sentences=out/sentences --entities=out/entities --output=out/mentions",
    "interlanguage": "wikianchor interlanguage --entities=out/entities --sentences=out/sentences --output=out/links",
    "corpus": "wikianchor corpus --input=clinic.txt --output=out/corpus",
    "mewsc16": "wikianchor mewsc16 --dumps='dumps/*wikinews-*-pages-articles.xml.bz2' --output=out/mewsc16",
    "topics": "wikianchor topics --sql='dumps/*wikinews-*.sql.gz' --output=out/topics.json",
    "words": "wikianchor words --corpus=out/corpus --output=out/words.svg",
    "negatives": "wikianchor negatives --corpus=out/corpus --model=models/t5/model --output=out/negatives",
    "extract": "wikianchor extract --wikis=uk < pages.ndjson",
    "verify": "wikianchor verify out/ --against=dumps/ --rows=1000",
    "publish": "wikianchor publish out/pairs --to=hf://user/name --dry_run",
    "report": "wikianchor report out/ --html=report.html",
}


OF_PIPELINES = """
worker processes on this machine, 1 for none (default: by its cores, its free memory and the work): --workers=N
how rows change places, which the runner decides unless you do: --shuffle=auto|beam|files
other flags go to Beam: --runner ..."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status."""
    with clean_output():
        return _main(argv)


def _main(argv: Sequence[str] | None) -> int:
    if argv is not None:
        return _status(argv)
    collect_seldom()
    interrupt.install()
    status = _status(sys.argv[1:])
    if status == interrupt.STATUS:
        # A pipeline's threads go on until their work is done: it is not wanted any more.
        sys.stderr.flush()
        remove_beams_temporary_files()
        os._exit(status)
    try:
        sys.stdout.flush()
    except OSError as error:
        # Python must not try again when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = status or _cannot_write(error)
    if storage.hanging() or abandoned():
        # Python would wait for the store's client, or for what is left of a pipeline.
        sys.stderr.flush()
        remove_beams_temporary_files()
        os._exit(status)
    return status


def collect_seldom() -> None:
    """Look for objects that refer to each other in circles a hundredth as often as Python does: we make hardly any, and
    looking takes a tenth of the time to start."""
    gc.set_threshold(100_000)


def _status(arguments: Sequence[str]) -> int:
    log_to_stderr()
    try:
        return _run(arguments)
    except UsageError as error:
        return _fail(error, 2)
    except InputError as error:
        return _fail(error, 1)
    except OSError as error:
        return _cannot_write(error)
    except KeyboardInterrupt:
        interrupt.say_interrupted()
        return interrupt.STATUS


def _cannot_write(error: OSError) -> int:
    # Who read our output may have had enough, like `head`: that is nobody's fault.
    return 1 if isinstance(error, BrokenPipeError) else _fail(error, 1)


def _fail(problem: object, status: int) -> int:
    print("wikianchor:", str(problem).replace("\n", "\\n"), file=sys.stderr)
    return status


def log_to_stderr() -> None:
    """Send our own log to stderr, and nobody else's."""
    handler = LogHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s", "%H:%M:%S"))
    log = logging.getLogger("wikianchor")
    log.handlers, log.propagate = [handler], False
    log.setLevel(logging.INFO)
    # Python gives stderr to a root logger without a handler at the first warning, which Beam logs when it is imported.
    logging.getLogger().addHandler(logging.NullHandler())
    # Beam logs every error of a worker with its traceback; the one line that matters is ours to print.
    logging.getLogger("apache_beam").setLevel(logging.CRITICAL)


def flags_of(name: str) -> ModuleType:
    """Return the module of a command's flags."""
    return importlib.import_module(f"pipelines.flags.{name}")


def command_parser(name: str) -> FlagParser:
    """Return the parser of a command's flags."""
    parser = FlagParser(
        prog=f"wikianchor {name}",
        description=COMMANDS[name],
        epilog=f"example: {EXAMPLES[name]}{OF_PIPELINES if name in PIPELINES else ''}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        passes_on=name in PIPELINES,
    )
    flags_of(name).add_arguments(parser)
    parser.add_argument("--config", metavar="FILE", help=f"TOML file with more flags, in a table [{name}]")
    return parser


def _run(arguments: Sequence[str]) -> int:
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(_overview())
        return 0 if arguments else 2
    if arguments[0] == "--version":
        from pipelines.stage import program_version

        print(program_version())
        return 0
    name, rest = arguments[0], arguments[1:]
    if name not in COMMANDS:
        raise UsageError(f"no command {name!r}{did_you_mean(name, [*COMMANDS, *TRAINER]) or ': see wikianchor --help'}")
    parser = command_parser(name)
    if any(argument.split("=")[0] == "--config" for argument in rest):
        from pipelines.settings import with_settings

        rest = with_settings(name, rest, parser)
    known, beam_args = parser.parse_known_args(rest)
    if beam_args:
        # A stage that is up to date never asks Beam: a flag that nobody knows must not pass there.
        beam_options(beam_args, parser.flags())
    config = flags_of(name).config_from(known)
    start = time.monotonic()
    manifest = importlib.import_module(f"pipelines.{name}").run(config, beam_args)
    if name in PIPELINES and name != "build":
        _sum_up(manifest, config, start)
    return 0


def _sum_up(manifest: Mapping[str, Any] | None, config: Any, start: float) -> None:
    """Print what a stage made; nothing where that is yet to run elsewhere, or was only compared."""
    if not manifest or not manifest["configs"]:
        return
    from pipelines import report, summary
    from pipelines.dataset.reader import Dataset

    one = Dataset(config.output.rstrip("/"), dict(manifest))
    report.print_report([one])
    print(f"\n{summary.made(one)}\n{summary.spent(start)}")
    print("\n".join(summary.next_lines(summary.after(one, config))))


def _overview() -> str:
    commands = "\n".join(f"  {name:13} {about}" for name, about in {**COMMANDS, **TRAINER}.items())
    return (
        f"usage: wikianchor COMMAND --flag=value ...\n\n{commands}\n\n"
        f"wikianchor COMMAND --help tells a command's flags.\nexample: {EXAMPLES['build']}"
    )


if __name__ == "__main__":
    sys.exit(main())
