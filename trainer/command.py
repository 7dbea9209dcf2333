"""The frame of every command of the trainer: quiet libraries, the result on stdout, or a one-line error on stderr."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Sequence
from importlib.util import find_spec

from wikianchor.io.buckets import hanging
from wikianchor.io.errors import InputError, UsageError
from wikianchor.io.output import clean_output, fail

DATA = ("numpy", "pyarrow")
TRAIN = ("torch", "transformers", "safetensors")
EVAL = (*TRAIN, "sklearn", "scipy")
ONNX = (*TRAIN, "onnx", "onnxscript", "onnxruntime")
VECTORS = ("gensim",)
MTEB = (*TRAIN, "mteb", "sentence_transformers")


def check_flags(name: str, parse: Callable[[Sequence[str]], object], argv: Sequence[str]) -> None:
    """Parse a command line; print its help or its error and end the process if there is one.

    Call it before torch is imported, which takes seconds.

    Args:
        name: beginning of the error line.
        parse: parses the command line.
        argv: the command line.
    """
    with clean_output():
        try:
            parse(argv)
        except (UsageError, InputError) as error:
            sys.exit(fail(name, error))


def need(packages: tuple[str, ...]) -> None:
    """End the process with a one-line error if packages are not installed; call it before they are imported."""
    if missing := [name for name in packages if find_spec(name) is None]:
        extras = {EVAL: "train,eval", ONNX: "onnx", VECTORS: "vectors", MTEB: "mteb"}.get(packages, "train")
        raise SystemExit(f"trainer: needs {', '.join(missing)}: pip install 'wikianchor[{extras}]'")


def run_command(name: str, work: Callable[[], str]) -> int:
    """Run a command, print its result, and return the exit status.

    Args:
        name: beginning of the error line.
        work: parses the command line, runs the command and returns its result.

    Returns:
        0; 2 for an invalid command line; 1 for damaged inputs and for outputs that cannot be written.
    """
    # Commands that need it have imported it.
    if transformers := sys.modules.get("transformers"):
        transformers.utils.logging.set_verbosity_error()
        transformers.utils.logging.disable_progress_bar()
    # It logs each attempt to reach the Hub.
    logging.getLogger("huggingface_hub").setLevel(logging.ERROR)
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
    with clean_output():
        try:
            # Under torchrun only the first process has a result.
            if text := work():
                print(text)
        except (UsageError, InputError) as error:
            status = fail(name, error)
            if hanging():
                # Python would wait for the store's client.
                sys.stderr.flush()
                os._exit(status)
            return status
        except BrokenPipeError:
            # The reader of stdout has closed it.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        except OSError as error:
            # Errors of files that no other code expected are reported in one line too.
            file = f"{error.filename}: " if error.filename else ""
            return fail(name, InputError(f"{file}{error.strerror or error}"))
    return 0
