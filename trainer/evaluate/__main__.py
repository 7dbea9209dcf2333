"""`python -m trainer.evaluate`: see `command.py`."""

import sys

from trainer.evaluate.flags import parser

if __name__ == "__main__":
    # Without torch, which takes seconds to load.
    if {"-h", "--help"} & set(sys.argv):
        parser().parse_args()

    from trainer.evaluate.command import main

    sys.exit(main())
