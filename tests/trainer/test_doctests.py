"""The examples in the docstrings of the trainer run."""

import doctest
import importlib
import pkgutil

import pytest

import wikianchor.trainer

COMMANDS = ("__main__",)
MODULES = [
    module.name
    for module in pkgutil.walk_packages(wikianchor.trainer.__path__, "wikianchor.trainer.")
    if not module.name.endswith(COMMANDS)
]


@pytest.mark.parametrize("name", [*MODULES, "wikianchor.io.markdown", "wikianchor.io.parsing"])
def test_examples(name: str) -> None:
    pytest.importorskip("sklearn", reason="NO SCIKIT-LEARN: pip install '.[eval]'")
    assert doctest.testmod(importlib.import_module(name)).failed == 0
