"""Check a dataset, and say what is wrong with it."""

import wikianchor

try:
    print(wikianchor.verify(directory="out/demo", against="demo/dumps", rows=20))
except wikianchor.InputError as error:
    raise SystemExit(f"not sound: {error}") from error
