"""`wikianchor COMMAND`, also `python -m wikianchor`: hand the command line to the pipelines or to the trainer.

Only the side that a command belongs to is imported, so the pipelines work without torch.
"""

from __future__ import annotations

import os
import signal
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status."""
    if argv is None and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        # Until the command has its own handler: an interrupt of an import would print a traceback.
        signal.signal(signal.SIGINT, _end_at_once)
    arguments = sys.argv[1:] if argv is None else list(argv)
    if arguments[:1] == ["train"]:
        return train(arguments[1:])
    if arguments[:1] == ["evaluate"]:
        return evaluate(arguments[1:])
    if arguments[:1] == ["mteb"]:
        return mteb(arguments[1:])
    if arguments[:1] == ["papers"]:
        return papers(arguments[1:])
    from wikianchor.pipelines.cli.command_line import main as run_pipeline

    return run_pipeline(argv)


def _end_at_once(number: int, frame: object) -> None:
    os.write(2, b"wikianchor: interrupted\n")
    os._exit(130)


def _imported() -> None:
    """Handle interrupts as Python does, in a command without a handler of its own."""
    if signal.getsignal(signal.SIGINT) is _end_at_once:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def train(arguments: Sequence[str]) -> int:
    """Run `wikianchor train`. Help is printed before torch is imported, which takes seconds.

    Raises:
        SystemExit: help was printed, or a package is missing.
    """
    from wikianchor.trainer.command import TRAIN, need
    from wikianchor.trainer.options import answer

    answer(arguments)
    need(TRAIN)
    from wikianchor.trainer.task import main as run_trainer

    _imported()
    return run_trainer(arguments)


def evaluate(arguments: Sequence[str]) -> int:
    """Run `wikianchor evaluate`; raises as `train`."""
    from wikianchor.trainer.command import EVAL, need
    from wikianchor.trainer.evaluate.options import answer

    answer(arguments)
    need(EVAL)
    from wikianchor.trainer.evaluate.command import main as run_evaluation

    _imported()
    return run_evaluation(arguments)


def mteb(arguments: Sequence[str]) -> int:
    """Run `wikianchor mteb`; raises as `train`."""
    from wikianchor.mteb.options import answer
    from wikianchor.trainer.command import MTEB, need

    answer(arguments)
    need(MTEB)
    from wikianchor.mteb.command import main as run_mteb

    _imported()
    return run_mteb(arguments)


def papers(arguments: Sequence[str]) -> int:
    """Run `wikianchor papers`; raises as `train`."""
    from wikianchor.trainer.command import EVAL, need
    from wikianchor.trainer.papers.options import answer

    answer(arguments)
    need(EVAL)
    from wikianchor.trainer.papers.command import main as run_papers

    _imported()
    return run_papers(arguments)


if __name__ == "__main__":
    sys.exit(main())
