"""`wikianchor COMMAND`: parse the command line, run the command, return an exit status.

Status 0: the dataset is complete. 1: an input is broken or an output cannot be written. 2: the command line is wrong.
130: interrupted.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, redirect_stdout
from typing import TYPE_CHECKING, Any

from wikianchor.io import buckets
from wikianchor.io.errors import InputError, UsageError
from wikianchor.io.flags import did_you_mean
from wikianchor.io.option_groups import Details, Printing
from wikianchor.io.options import read_options
from wikianchor.io.output import clean_output, columns, fail, printable_json, wrapped
from wikianchor.pipelines.cli.commands import COMMANDS, SUMMARIES, TRAINER, command_parser
from wikianchor.pipelines.dataset.temporary import remove_beams_temporary_files
from wikianchor.pipelines.engine import interrupt
from wikianchor.pipelines.engine.beam_import import import_arrow, own_process
from wikianchor.pipelines.engine.log import log_to_stderr
from wikianchor.pipelines.engine.machine import raise_gc_threshold
from wikianchor.pipelines.engine.runner import abandoned, beam_options

if TYPE_CHECKING:
    from wikianchor.pipelines.commands.report.made import Made
    from wikianchor.pipelines.dataset.reader import Dataset


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status."""
    with clean_output():
        return _main(argv)


def _main(argv: Sequence[str] | None) -> int:
    if argv is not None:
        return _status(argv)
    raise_gc_threshold()
    interrupt.install()
    own_process()
    status = _status(sys.argv[1:])
    if status == interrupt.STATUS:
        # Do not wait for the threads of the pipeline, whose result is discarded.
        sys.stderr.flush()
        remove_beams_temporary_files()
        os._exit(status)
    try:
        sys.stdout.flush()
    except OSError as error:
        # Python flushes stdout again when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = status or _cannot_write(error)
    if buckets.hanging() or abandoned():
        # Python would wait for the store's client, or for what is left of a pipeline.
        sys.stderr.flush()
        remove_beams_temporary_files()
        os._exit(status)
    return status


def _status(arguments: Sequence[str]) -> int:
    log_to_stderr()
    try:
        return _run(arguments)
    except (UsageError, InputError) as error:
        return fail("wikianchor", error)
    except OSError as error:
        return _cannot_write(error)
    except KeyboardInterrupt:
        interrupt.say_interrupted()
        return interrupt.STATUS


def _cannot_write(error: OSError) -> int:
    # A closed pipe, as after `| head`, is no error.
    return 1 if isinstance(error, BrokenPipeError) else fail("wikianchor", InputError(str(error)))


def _run(arguments: Sequence[str]) -> int:
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(_overview())
        return 0 if arguments else 2
    if arguments[0] == "--version":
        from wikianchor.io.version import program_version
        from wikianchor.pipelines.wikimedia.core import engine_line

        print(f"wikianchor {program_version()}\n{engine_line()}")
        return 0
    name, rest = arguments[0], arguments[1:]
    if name not in COMMANDS:
        raise UsageError(f"no command {name!r}{did_you_mean(name, [*COMMANDS, *TRAINER]) or ': see wikianchor --help'}")
    parser = command_parser(name)
    if any(argument.split("=")[0] == "--config" for argument in rest):
        from wikianchor.io.config_file import with_settings

        rest = with_settings(name, rest, parser, lambda others: beam_options(others, parser.flags()))
    known, beam_args = parser.parse_known_args(rest)
    if beam_args:
        # Also for a stage that is up to date, which does not reach Beam.
        beam_options(beam_args, parser.flags())
    config: Any = read_options(COMMANDS[name].options, known)
    printing = read_options(Details, known)
    start = time.monotonic()
    import_arrow()
    try:
        with quiet_output(printing):
            results = COMMANDS[name].code.run(config, beam_args)
        if COMMANDS[name].makes_dataset:
            results = _made(results, config, start)
        if results is not None and printing.json:
            _print_json(name, start, results.record())
        elif results is not None and not printing.quiet:
            results.say(printing.details)
    except (UsageError, InputError) as error:
        if printing.json:
            record = getattr(error, "results", None)
            _print_json(name, start, {**(record.record() if record else {}), "error": str(error)})
        raise
    return 0


@contextmanager
def quiet_output(printing: Printing) -> Iterator[None]:
    """Print nothing where --json or --quiet asks for that, and with --quiet no progress either."""
    with ExitStack() as stack:
        if printing.json or printing.quiet:
            stack.enter_context(redirect_stdout(stack.enter_context(open(os.devnull, "w", encoding="utf-8"))))
        if printing.quiet:
            logging.getLogger("wikianchor").setLevel(logging.ERROR)
        yield


def _print_json(name: str, start: float, record: Mapping[str, Any]) -> None:
    from wikianchor.io.version import program_version

    head = {"command": name, "wikianchor": program_version(), "seconds": round(time.monotonic() - start, 3)}
    print(printable_json(json.dumps({**head, **record}, indent=2, ensure_ascii=False)))


def _made(manifest: Mapping[str, Any] | None, config: Any, start: float) -> Made:
    """Return what a stage made; nothing of a job that runs elsewhere, or a comparison."""
    from wikianchor.pipelines.commands.report.made import Made
    from wikianchor.pipelines.dataset.reader import Dataset
    from wikianchor.pipelines.dataset.summary import after

    directory = config.output.rstrip("/")
    if not manifest or not manifest["configs"]:
        return Made([], directory, start)
    dataset = Dataset(directory, dict(manifest))
    return Made([dataset], directory, start, _engine(dataset, config), [after(dataset, config)])


def _engine(dataset: Dataset, config: Any) -> str:
    """Return the name of the engine that read pages for a dataset; "" where none did."""
    if dataset.name == "sentences":
        from wikianchor.pipelines.sentences.compiled_reader import engine_of

        return engine_of(config.engine, config.parser, config.splitter)
    if dataset.name == "mewsc16":
        from wikianchor.pipelines.mewsc16.released import engine_of_options

        return engine_of_options(dataset.options)
    return ""


def _overview() -> str:
    commands = "\n".join(
        f"  {name:13} {line.lstrip()}" if not index else line
        for name, about in SUMMARIES.items()
        for index, line in enumerate(wrapped(" " * 16 + about, columns(), hanging=False))
    )
    return (
        f"usage: wikianchor COMMAND --flag=value ...\n\n{commands}\n\n"
        f"wikianchor COMMAND --help shows the options of a command.\nexample: {COMMANDS['build'].example}"
    )


if __name__ == "__main__":
    sys.exit(main())
