"""A fault of the core is one line that names the page, wherever it comes."""

from collections import Counter
from types import SimpleNamespace
from typing import Any

import pytest

from tests.dumps import page
from wikianchor.io.errors import InputError
from wikianchor.pipelines.sentences.compiled_reader import _CompiledReader
from wikianchor.pipelines.wikimedia.pages import parse_page

RAW = page("Moon & Sun", 1, "Text.")


def fail(*_: Any) -> Any:
    raise RuntimeError("the compiled core failed: index out of bounds")


@pytest.fixture
def reader() -> _CompiledReader:
    reader = object.__new__(_CompiledReader)
    reader._core = SimpleNamespace(parse=fail, read_article=fail)  # type: ignore[assignment]
    reader._site = SimpleNamespace(wiki="enwiki")  # type: ignore[assignment]
    reader._kinds = SimpleNamespace(is_list=lambda title: False)  # type: ignore[assignment]
    reader._definitions = SimpleNamespace(read_revision=lambda timestamp: None)  # type: ignore[assignment]
    return reader


def test_a_fault_names_the_page(reader: _CompiledReader) -> None:
    line = "page 'Moon & Sun' of enwiki: the compiled core failed: index out of bounds: read it with --engine=python"
    problems: list[str] = []
    assert reader.parse(RAW, "dump.xml near byte 5", Counter(), problems) is None
    assert problems == [line]
    with pytest.raises(InputError, match=line):
        reader.read_page(parse_page(RAW, "dump.xml"))
