"""Build pairs from dumps, and triplets for sentence-transformers from them."""

from pathlib import Path

import wikianchor

out = Path("out")
pairs = wikianchor.build(dumps="demo/dumps", output=out / "demo", min_links=2, workers=1)
triplets: wikianchor.OpenDataset = wikianchor.export(pairs=out / "demo/pairs", output=out / "triplets", kind="lead")
print(len(pairs), len(triplets))
