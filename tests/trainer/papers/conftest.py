"""Evaluation sets for recipes: those of the tests of `evaluate`."""

from tests.trainer.evaluate.conftest import collect_ignore_glob, sets

__all__ = ["collect_ignore_glob", "sets"]
