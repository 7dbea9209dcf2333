"""`python -m trainer.evaluate`: see `command.py`."""

import sys

from trainer.command import EVAL, check_flags, need
from trainer.evaluate.flags import parser

if __name__ == "__main__":
    # Without torch, which takes seconds to load.
    check_flags("evaluate", lambda: parser().parse_args())
    need(EVAL)

    from trainer.evaluate.command import main

    sys.exit(main())
