"""What every command of the trainer does around its work: quiet libraries, a result on stdout, or one line that says
what is wrong on stderr."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from importlib.util import find_spec

from trainer.errors import InputError, UsageError

TRAIN = ("torch", "transformers", "safetensors")
EVAL = (*TRAIN, "sklearn", "scipy")
HELP = {"-h", "--help"}


def need(packages: Sequence[str]) -> None:
    """End the process, in one line, where packages are not installed; to be called before they are imported."""
    if missing := [name for name in packages if find_spec(name) is None]:
        extras = "train,eval" if "sklearn" in packages else "train"
        raise SystemExit(f"trainer: needs {', '.join(missing)}: pip install 'wikianchor[{extras}]'")


def run_command(name: str, work: Callable[[], str]) -> int:
    """Do the work of a command, print what it returns, and return the exit status: 2 for a command line that asks for
    the impossible, 1 for inputs that are broken or outputs that cannot be written.

    Args:
        name: that the line on stderr begins with.
        work: reads the command line and does it.
    """
    import transformers

    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
    try:
        # Under torchrun the first process alone has a result.
        if text := work():
            print(text)
    except (UsageError, InputError) as error:
        print(f"{name}: {error}", file=sys.stderr)
        return 2 if isinstance(error, UsageError) else 1
    return 0
