"""Run a target of `fuzz_targets.py` by Atheris, which sees the branches of our Python code:

python -m tests.fuzz_python NAME [options of libFuzzer] DIRECTORY...
"""

from __future__ import annotations

import os
import sys
from functools import partial

import atheris

from wikianchor.pipelines.wikimedia.core_record import ANY_CORE


def main() -> None:
    name = sys.argv.pop(1)
    os.environ[ANY_CORE] = "1"
    with atheris.instrument_imports(include=["wikianchor"]):
        from tests import fuzz_targets
    atheris.Setup(sys.argv, partial(fuzz_targets.run, name))
    atheris.Fuzz()


if __name__ == "__main__":
    main()
