"""Train a small model with a callback, and score it."""

from collections.abc import Mapping

import wikianchor


def show(event: str, step: int, values: Mapping[str, float]) -> None:
    """Print a line of the log."""
    print(event, step, values.get("loss"))


config = wikianchor.train_config("ease", data="out/demo/pairs", new="tiny", output="models/small", max_steps=2)
model = wikianchor.train(config, callbacks=[show])
for result in wikianchor.evaluate(model, sts=["demo/sts.tsv"], device="cpu"):
    print(result.task, result.scores.cells)
