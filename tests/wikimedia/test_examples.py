"""Run the examples in the docstrings of the packages that read Wikimedia's data, and of what is below them."""

import doctest
import importlib
import pkgutil

import pytest

PACKAGES = (
    "wikianchor.pipelines.wikimedia",
    "wikianchor.pipelines.text",
    "wikianchor.pipelines.arrays",
    "wikianchor.pipelines.titles",
    "wikianchor.aliases",
    "wikianchor.schemas",
)


def modules(package: str) -> list[str]:
    """Return a package and all modules below it."""
    paths = importlib.import_module(package).__path__
    return [package, *(module.name for module in pkgutil.walk_packages(paths, f"{package}."))]


@pytest.mark.parametrize("name", [name for package in PACKAGES for name in modules(package)])
def test_examples_in_docstrings_run(name: str) -> None:
    if name.endswith(".lua.child"):
        pytest.importorskip("lupa")
    assert doctest.testmod(importlib.import_module(name)).failed == 0
