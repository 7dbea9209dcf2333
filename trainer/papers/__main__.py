"""`python -m wikianchor.trainer.papers RECIPE`: see `tables.py` and `sdjc_options.py`."""

import sys

from wikianchor.trainer.command import EVAL, check_flags, need
from wikianchor.trainer.papers import sdjc_options, tables

if __name__ == "__main__":
    # Flags are checked without torch, which takes seconds to load.
    arguments = sys.argv[1:]
    is_sdjc = arguments[:1] == ["sdjc"]
    check_flags("recipes", lambda: sdjc_options.parse(arguments[1:]) if is_sdjc else tables.parse(arguments))
    need(EVAL)

    from wikianchor.trainer.papers.recipes import main

    sys.exit(main())
