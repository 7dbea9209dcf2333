"""Give the pairs to a model of PyTorch, in batches that two processes read."""

from torch.utils.data import DataLoader

import wikianchor

rows = wikianchor.open_dataset("out/demo/pairs").to_torch(columns=["text", "entity"])
for batch in DataLoader(rows, batch_size=256, num_workers=2):
    print(len(batch["text"]), batch["entity"][0])
