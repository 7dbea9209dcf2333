"""`python -m trainer.evaluate`: the same as `wikianchor evaluate`, see `command.py`."""

import sys

from trainer.command import EVAL, need
from trainer.evaluate.flags import answer

if __name__ == "__main__":
    # Without torch, which takes seconds to load.
    answer(sys.argv[1:])
    need(EVAL)

    from trainer.evaluate.command import main

    sys.exit(main())
