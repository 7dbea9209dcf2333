"""`python -m trainer.evaluate`: see `command.py`."""

import sys

from trainer.evaluate.command import main

if __name__ == "__main__":
    sys.exit(main())
