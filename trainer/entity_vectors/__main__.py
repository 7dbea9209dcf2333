"""`python -m wikianchor.trainer.entity_vectors`: see `options.py`."""

import sys

from wikianchor.trainer.command import TRAIN, check_flags, need
from wikianchor.trainer.entity_vectors.options import parse

if __name__ == "__main__":
    # Flags are checked without torch, which takes seconds to load.
    check_flags("trainer", lambda: parse(None))
    need(TRAIN)

    from wikianchor.trainer.entity_vectors.initial_vectors import main

    sys.exit(main())
