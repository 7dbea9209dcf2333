"""What every command of the trainer does around its work: quiet libraries, a result on stdout, or one line that says
what is wrong on stderr."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Sequence
from importlib.util import find_spec

from wikianchor.io.buckets import hanging
from wikianchor.io.errors import InputError, UsageError
from wikianchor.io.output import clean_output

TRAIN = ("torch", "transformers", "safetensors")
EVAL = (*TRAIN, "sklearn", "scipy")


def check_flags(name: str, parse: Callable[[], object]) -> None:
    """Print the help that a command line asks for, or what is wrong with its flags, and end the process; else do
    nothing. To be called before torch is imported, which takes seconds.

    Args:
        name: that the line on stderr begins with.
        parse: reads the command line.
    """
    with clean_output():
        try:
            parse()
        except UsageError as error:
            sys.exit(fail(name, error))


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
    # It logs each of its attempts to reach the Hub.
    logging.getLogger("huggingface_hub").setLevel(logging.ERROR)
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
    with clean_output():
        try:
            # Under torchrun the first process alone has a result.
            if text := work():
                print(text)
        except (UsageError, InputError) as error:
            status = fail(name, error)
            if hanging():
                # Python would wait for the store's client.
                sys.stderr.flush()
                os._exit(status)
            return status
        except OSError as error:
            # Not ours to explain, and still a line and no traceback.
            place = f"{error.filename}: " if error.filename else ""
            return fail(name, InputError(f"{place}{error.strerror or error}"))
    return 0


def fail(name: str, error: UsageError | InputError) -> int:
    """Print an error as one line on stderr and return the exit status."""
    print(f"{name}:", str(error).replace("\n", "\\n"), file=sys.stderr)
    return 2 if isinstance(error, UsageError) else 1
