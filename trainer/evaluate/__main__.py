"""`python -m trainer.evaluate`: see `command.py`."""

import sys

from trainer.command import EVAL, HELP, need
from trainer.evaluate.flags import parser

if __name__ == "__main__":
    # Without torch, which takes seconds to load.
    if HELP & set(sys.argv):
        parser().parse_args()
    need(EVAL)

    from trainer.evaluate.command import main

    sys.exit(main())
