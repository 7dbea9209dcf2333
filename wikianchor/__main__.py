"""`python -m wikianchor`: the same as the console script."""

import sys

from wikianchor.cli import main

if __name__ == "__main__":
    sys.exit(main())
