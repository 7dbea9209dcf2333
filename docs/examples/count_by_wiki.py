"""Count the pairs of each wiki, a row group at a time."""

from collections import Counter

import wikianchor

counts = Counter[str]()
for batch in wikianchor.open_dataset("out/demo/pairs").batches(columns=["wiki"]):
    counts.update(batch["wiki"].to_pylist())
print(counts.most_common())
