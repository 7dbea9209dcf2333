"""`wikianchor COMMAND`, also `python -m wikianchor`: hand the command line to the pipelines or to the trainer.

Only the side that a command belongs to is imported, so the pipelines work without torch.
"""

from __future__ import annotations

import importlib
import os
import signal
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


# Commands of the trainer: the beginning of their errors, the module whose `parse` reads a command line, the packages
# that the command needs, a name in `wikianchor.trainer.command` or "", and the module whose `main` runs it.
_PROGRAMS = {
    "train": ("trainer", "trainer.options", "TRAIN", "trainer.task"),
    "evaluate": ("evaluate", "trainer.evaluate.options", "EVAL", "trainer.evaluate.command"),
    "papers": ("papers", "trainer.papers.options", "EVAL", "trainer.papers.command"),
    "mteb": ("mteb", "mteb.options", "MTEB", "mteb.command"),
    "vectors": ("trainer", "trainer.entity_vectors.options", "TRAIN", "trainer.entity_vectors.initial_vectors"),
    "onnx": ("onnx", "trainer.onnx.options", "ONNX", "trainer.onnx.graph"),
    "score": ("score", "trainer.score.options", "TRAIN", "score.command"),
    "link": ("link", "trainer.linking.options", "DATA", "trainer.linking.command"),
    "detect": ("trainer", "trainer.mboe.detect", "DATA", "trainer.mboe.detect"),
    "completion": ("wikianchor", "completion", "", "completion"),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status."""
    if argv is None and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        # Until the command has its own handler: an interrupt of an import would print a traceback.
        signal.signal(signal.SIGINT, _end_at_once)
    arguments = sys.argv[1:] if argv is None else list(argv)
    if arguments and arguments[0] in _PROGRAMS:
        return run_program(*arguments)
    from wikianchor.pipelines.cli.command_line import main as run_pipeline

    return run_pipeline(argv)


def run_program(name: str, *arguments: str) -> int:
    """Run a command of the trainer. Help is printed before torch is imported, which takes seconds.

    Raises:
        SystemExit: help was printed, or a package is missing.
    """
    from wikianchor.trainer import command

    title, options, packages, code = _PROGRAMS[name]
    of_options = importlib.import_module(f"wikianchor.{options}")
    command.check_flags(title, of_options.parse, arguments)
    if packages:
        command.need(getattr(command, packages))
    if look := getattr(of_options, "check_inputs", None):
        command.check_flags(title, look, arguments)
    module = importlib.import_module(f"wikianchor.{code}")
    if signal.getsignal(signal.SIGINT) is _end_at_once:
        # The command has no handler of its own.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    return int(module.main(arguments))


def _end_at_once(number: int, frame: object) -> None:
    os.write(2, b"wikianchor: interrupted\n")
    os._exit(130)


if __name__ == "__main__":
    sys.exit(main())
