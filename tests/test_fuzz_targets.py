"""The fuzz targets of Python (`make fuzz`) on their seeds, and faults that they have to see."""

from collections.abc import Iterator

import pytest

from tests import fuzz_targets
from tests.fuzz_seeds import CALLS, TEMPLATES, raw_input
from tests.fuzz_targets import TARGETS
from wikianchor.pipelines.wikimedia import dumps
from wikianchor.pipelines.wikimedia.core import installed_core

needs_core = pytest.mark.skipif(installed_core() is None, reason="NO COMPILED CORE: make core")
NEED_CORE = ("engines", "dump")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=needs_core) if name in NEED_CORE else name for name in TARGETS]
)
def test_no_seed_fails(name: str) -> None:
    for seed in TARGETS[name].seeds():
        fuzz_targets.run(name, seed)
        # Cut off, and without its first bytes, which say what is done with the others.
        fuzz_targets.run(name, seed[: len(seed) // 2])
        fuzz_targets.run(name, seed[3:])


@needs_core
def test_a_page_is_read_with_its_templates(monkeypatch: pytest.MonkeyPatch) -> None:
    read = fuzz_targets.make_extractor
    # The core without the templates makes another page.
    monkeypatch.setattr(fuzz_targets, "make_extractor", lambda site, find, **how: read(site, {}.get, **how))
    with pytest.raises(AssertionError, match="core: "):
        fuzz_targets.engines(raw_input(CALLS, TEMPLATES))


def test_text_that_is_lost_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    unpack = dumps._UNPACK["bz2"]

    def lose_half(file: object, part: dumps.Range) -> Iterator[dumps.Chunk]:
        return (chunk._replace(data=chunk.data[: len(chunk.data) // 2]) for chunk in unpack(file, part))

    monkeypatch.setitem(dumps._UNPACK, "bz2", lose_half)
    with pytest.raises(AssertionError, match="another text than that of the standard library"):
        fuzz_targets.packed(next(TARGETS["packed"].seeds()))


def test_a_slow_input_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fuzz_targets, "LONGEST", 0.0)
    with pytest.raises(AssertionError, match="s of CPU for 0 bytes"):
        fuzz_targets.run("sql", b"")
