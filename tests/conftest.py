"""Fixtures for all tests: the folder of real dumps."""

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder $WIKIANCHOR_DATA names; without it the tests marked `real` are skipped."""
    value = os.environ.get("WIKIANCHOR_DATA")
    if not value:
        pytest.skip("NO REAL DATA: set WIKIANCHOR_DATA to the folder with wikipedia-xml/ to check against real dumps")
    path = Path(value)
    if not path.is_dir():
        pytest.fail(f"WIKIANCHOR_DATA={value} is not a folder")
    return path
