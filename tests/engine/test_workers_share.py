"""Every worker process that `--workers` names works, in every stage: the CPU time of each is counted. The bytes
are those of one process."""

from __future__ import annotations

import gzip
import importlib.util
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests import dumps, wikinews
from tests.stand_in import digests
from tests.t5 import TEXTS, write_corpus, write_t5
from wikianchor.pipelines.dataset.manifest import read_manifest
from wikianchor.pipelines.engine.local_workers import LocalWorkers, Worker
from wikianchor.pipelines.engine.on_demand import OnDemandBundles

FILES, PAGES = 8, 40
STRICT = ("--negatives=3", "--max_per_entity=300", "--sample=5000", "--sample_per_wiki", "--floor=wiki")
STRICT += ("--split=0.25,0.25", "--max_near_duplicates=100")
STAGES = {
    "sentences": ("--dumps={0}/enwiki-*", "--engine=python", "--documents"),
    "templates": ("--dumps={0}/enwiki-*",),
    "entities": ("--wikidata={0}/wikidata-*", "--wikis=enwiki"),
    "pairs": ("--sentences={0}/sentences", "--entities={0}/entities", "--min_links=2", *STRICT),
    "documents": ("--sentences={0}/sentences", "--entities={0}/entities"),
    "mentions": ("--sentences={0}/sentences", "--entities={0}/entities"),
    "linking": ("--documents={0}/documents", "--mentions={0}/mentions", "--entities={0}/entities"),
    "retrieval": ("--documents={0}/documents", "--mentions={0}/mentions", "--entities={0}/entities", "--sample=50"),
    "interlanguage": ("--sentences={0}/sentences", "--entities={0}/entities"),
    "export": ("--pairs={0}/pairs", "--entities={0}/entities", "--negatives=1"),
    "mewsc16": ("--dumps={0}/news/*.xml",),
}
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="CPU times of processes are read in /proc"),
]


def cpu_seconds(process: int) -> float:
    """Return the CPU time of a running process."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.fixture
def shares(monkeypatch: pytest.MonkeyPatch) -> dict[int, float]:
    """The CPU seconds of each worker by its number, without those of its start."""
    seconds: dict[int, float] = {}
    process_bundle, release = OnDemandBundles.process_bundle, LocalWorkers.release

    def begin(self: OnDemandBundles, *given: Any) -> Any:
        for handler in self.bundle_context_manager.worker_handlers:
            worker = handler._worker
            seconds.setdefault(worker.number, -cpu_seconds(worker.process.pid))
        return process_bundle(self, *given)

    def end(self: LocalWorkers, worker: Worker) -> None:
        seconds[worker.number] += cpu_seconds(worker.process.pid)
        release(self, worker)

    monkeypatch.setattr(OnDemandBundles, "process_bundle", begin)
    monkeypatch.setattr(LocalWorkers, "release", end)
    return seconds


def write_wiki(folder: Path) -> None:
    """Write a wiki and its items in several files each."""
    for file in range(FILES):
        numbers = range(file * PAGES, (file + 1) * PAGES)
        pages = [dumps.page(f"Page {number}", number + 1, _text(number)) for number in numbers]
        names = [10_000 + number for number in numbers]
        pages += [dumps.page(f"Template:T{name}", name, "{{{1|}}} is [[Page 1]]. " * 99, 10) for name in names]
        (folder / f"enwiki-{file}.xml").write_bytes(dumps.head("enwiki") + b"".join(pages) + dumps.END)
        lines = [json.dumps(_item(number)) for number in numbers]
        path = folder / f"wikidata-{file}.json.gz"
        path.write_bytes(gzip.compress(("[\n" + ",\n".join(lines) + "\n]\n").encode()))


def _text(number: int) -> str:
    links = [(number * 7 + step * step) % (FILES * PAGES) for step in range(60)]
    name = "".join("abcdefghij"[int(digit)] for digit in str(number))
    return "\n\n".join(f"The town of Ba{name} has a [[Page {link}|page]] near the rivers." for link in links)


def _item(number: int) -> dict[str, Any]:
    value = {"entity-type": "item", "id": f"Q{number % 3 + 10}", "numeric-id": number % 3 + 10}
    snak = {"snaktype": "value", "property": "P31", "datavalue": {"value": value, "type": "wikibase-entityid"}}
    return {
        "type": "item",
        "id": f"Q{number + 1000}",
        "labels": {"en": {"language": "en", "value": f"Page {number}"}},
        "claims": {"P31": [{"mainsnak": snak, "type": "statement", "rank": "normal"}]},
        "sitelinks": {"enwiki": {"site": "enwiki", "title": f"Page {number}"}},
    }


def test_every_named_worker_works_in_every_stage(
    tmp_path: Path, wikianchor: Callable[..., Any], shares: dict[int, float]
) -> None:
    write_wiki(tmp_path)
    for language in ("ca", "cs", "de", "sv"):
        wikinews.write(wikinews.make_news(language, 150), tmp_path / "news", pack=False)
    for stage, inputs in STAGES.items():
        check(stage, inputs, tmp_path, wikianchor, shares)


@pytest.mark.skipif(importlib.util.find_spec("sudachipy") is None, reason="NO SUDACHI: pip install '.[ja]'")
def test_every_named_worker_works_in_corpus(
    tmp_path: Path, wikianchor: Callable[..., Any], shares: dict[int, float]
) -> None:
    for file in range(FILES):
        lines = [f"{file}階の{number}番目の患者は発熱と頭痛を訴えて外来を受診した。" for number in range(200)]
        (tmp_path / f"ja-{file}.txt").write_text("\n".join(lines))
    check(
        "corpus", ("--input={0}/ja-*.txt", "--parser=sudachi", "--near=1", "--sample=900"), tmp_path, wikianchor, shares
    )


@pytest.mark.nightly
@pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in ("torch", "sentencepiece", "sudachipy")),
    reason="NO TORCH, SENTENCEPIECE OR SUDACHI: pip install '.[ja,t5]'",
)
def test_every_named_worker_fills_holes(
    tmp_path: Path, wikianchor: Callable[..., Any], shares: dict[int, float]
) -> None:
    """A T5 that has learnt nothing finds no negative, and works as long as another."""
    model = write_t5(tmp_path / "t5")
    corpus = write_corpus(tmp_path / "corpus", TEXTS, shards=FILES)
    flags = [f"--corpus={corpus}", f"--model={model}", "--beams=4", "--near=1", "--device=cpu"]
    ended = wikianchor("negatives", *flags, f"--output={tmp_path}/negatives", "--workers=2")
    assert any("no sentence has a negative" in line for line in ended.said)
    check_shares("negatives", shares)


def check_shares(stage: str, shares: dict[int, float]) -> None:
    """Check that two workers have worked, and neither for much less than the other."""
    assert sorted(shares) == [1, 2], stage
    assert min(shares.values()) > 0.1 * max(shares.values()) > 0, (stage, shares)


def check(
    stage: str, inputs: Sequence[str], folder: Path, wikianchor: Callable[..., Any], shares: dict[int, float]
) -> None:
    """Check that two workers share a stage, and make what one makes."""
    shares.clear()
    flags = [flag.format(folder) for flag in inputs]
    ended = wikianchor(stage, *flags, f"--output={folder}/{stage}", "--workers=2")
    assert ended.status == 0, (stage, ended.said)
    check_shares(stage, shares)
    alone = wikianchor(stage, *flags, f"--output={folder}/alone/{stage}", "--workers=1")
    assert alone.status == 0, (stage, alone.said)
    made, expected = (read_manifest(f"{folder}/{parent}{stage}") for parent in ("", "alone/"))
    assert made is not None
    assert expected is not None
    assert digests(made) == digests(expected), stage
