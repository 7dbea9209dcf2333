"""Every pipeline on every engine: the same inputs give the same bytes, and the same line for what is broken."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import generate_news as news
import pytest

from pipelines.cli import main
from pipelines.dataset.manifest import read_manifest
from tests.conftest import Ended
from tests.engines import ENGINES, has
from tests.stand_in import digests
from tests.t5 import TEXTS, write_corpus, write_t5

DEMO = Path(__file__).parent.parent / "demo" / "dumps"


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("inputs")
    for language in ("en", "ja"):
        news.write(news.make_news(language, 60), place / "news")
    (place / "clinic.txt").write_text("\n".join(TEXTS))
    if has("torch", "sentencepiece"):
        write_t5(place / "t5")
    write_corpus(place / "corpus", TEXTS[:12])
    return place


def commands(inputs: Path, out: Path, here: bool) -> Iterator[list[str]]:
    """Yield a command for every pipeline there is that workers can run, who may not be of this process."""
    wikis, items = f"--sentences={out}/build/sentences/*", f"--entities={out}/build/entities"
    build = [f"--dumps={DEMO}", "--min_links=2", "--negatives=2", "--sample=400", "--max_per_entity=20"]
    yield ["build", *build, f"--output={out}/build"]
    yield ["mentions", wikis, items, f"--output={out}/mentions"]
    yield ["interlanguage", wikis, items, f"--output={out}/interlanguage"]
    yield ["mewsc16", f"--dump={inputs}/news/*.xml.bz2", f"--output={out}/mewsc16"]
    if here and has("sudachipy"):
        yield ["corpus", f"--input={inputs}/clinic.txt", "--parser=sudachi", "--near=1", f"--output={out}/corpus"]
    if here and has("torch", "sentencepiece"):
        model = ["--beams=4", "--near=1", "--device=cpu", f"--model={inputs}/t5"]
        yield ["negatives", f"--corpus={inputs}/corpus", *model, f"--output={out}/negatives"]


def all_digests(out: Path) -> dict[str, Any]:
    """Return the checksums of all shards and the ledger of every dataset."""
    found = {}
    for path in sorted(out.rglob("manifest.json")):
        manifest = read_manifest(str(path.parent))
        assert manifest is not None
        found[str(path.parent.relative_to(out))] = (digests(manifest), manifest["ledger"])
    return found


@pytest.fixture(scope="module", autouse=True)
def anything_is_a_negative() -> Iterator[None]:
    """A T5 that knows nothing writes no nouns."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pipelines.text.fills.is_noun_like", lambda word: True)
        patch.setattr("pipelines.text.fills._repeats", lambda *some: False)
        patch.setattr("pipelines.text.fills.LONGER_BY", 1000)
        yield


@pytest.fixture(scope="module")
def in_memory(inputs: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the direct runner makes in this process."""
    out = tmp_path_factory.mktemp("in_memory")
    for command in commands(inputs, out, here=True):
        assert main(command) == 0
    return all_digests(out)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.nightly) if ENGINES[name].nightly else name for name in ENGINES]
)
def test_the_same_bytes_and_the_same_words(
    name: str, inputs: Path, in_memory: dict[str, Any], tmp_path: Path, wikianchor: Callable[..., Ended]
) -> None:
    engine, out = ENGINES[name], tmp_path / "out"
    (tmp_path / "engine").mkdir()
    with engine.start(tmp_path / "engine") as flags:
        for command in commands(inputs, out, engine.here):
            assert wikianchor(*command, *flags).status == 0, command[0]
        found = all_digests(out)
        assert len(found) >= 8
        assert found == {place: digest for place, digest in in_memory.items() if place in found}
        assert not list(out.rglob("_unfinished"))
        broken = tmp_path / "cut.xml"
        broken.write_bytes(b"<mediawiki><siteinfo><dbname>enwiki</dbname></siteinfo><page>")
        ended = wikianchor("sentences", f"--dump={broken}", f"--output={tmp_path}/none", *flags)
        assert ended.status == 1
        assert ended.said[-1].startswith(f"wikianchor: {broken}: "), ended.said
        assert not (tmp_path / "none/manifest.json").exists()
