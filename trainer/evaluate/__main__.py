"""`python -m wikianchor.trainer.evaluate`: the same as `wikianchor evaluate`, see `command.py`."""

import sys

from wikianchor.trainer.command import EVAL, need
from wikianchor.trainer.evaluate.options import answer

if __name__ == "__main__":
    # Without torch, which takes seconds to load.
    answer(sys.argv[1:])
    need(EVAL)

    from wikianchor.trainer.evaluate.command import main

    sys.exit(main())
