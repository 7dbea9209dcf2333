"""A command for every pipeline there is, on small inputs, and what comes out of all of them."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests import wikinews as news
from tests.conftest import made_once
from tests.engines import unstable_keys
from tests.stand_in import digests
from tests.t5 import TEXTS, write_corpus, write_t5
from wikianchor.pipelines.cli.command_line import main
from wikianchor.pipelines.dataset.reader import find_datasets
from wikianchor.pipelines.engine.runner import run_apart

DEMO = Path(__file__).parent.parent / "demo" / "dumps"


def write_inputs(folder: Path) -> Path:
    """Write what the commands read besides the demonstration's dumps."""
    for language in ("en", "ja"):
        news.write(news.make_news(language, 60), folder / "news", tables=True)
    (folder / "clinic.txt").write_text("\n".join(TEXTS))
    if has("torch", "sentencepiece"):
        write_t5(folder / "t5")
    write_corpus(folder / "corpus", TEXTS[:12])
    return folder


def commands(inputs: str, out: str, here: bool, demo: str = str(DEMO)) -> Iterator[list[str]]:
    """Yield a command for every pipeline that workers can run; `here` where these are of this process."""
    wikis, items = f"--sentences={out}/build/sentences/*", f"--entities={out}/build/entities"
    build = [
        f"--dumps={demo}",
        "--wikis=dewiki,jawiki",
        "--min_links=2",
        "--negatives=2",
        "--sample=200",
        "--max_per_entity=20",
    ]
    build += ["--texts=labels,descriptions,aliases", "--documents"]
    yield ["build", *build, f"--output={out}/build"]
    yield ["export", f"--pairs={out}/build/pairs", "--negatives=1", f"--output={out}/export"]
    yield ["documents", wikis, items, f"--output={out}/documents"]
    yield ["mentions", wikis, items, f"--output={out}/mentions"]
    linked = [f"--documents={out}/documents", f"--mentions={out}/mentions", f"--previous={out}/documents", items]
    yield ["linking", *linked, "--split=0.2,0.2", f"--output={out}/linking"]
    found = [f"--documents={out}/documents", f"--mentions={out}/mentions", items, "--negatives=2"]
    yield ["retrieval", *found, f"--output={out}/retrieval"]
    yield ["interlanguage", wikis, items, f"--output={out}/interlanguage"]
    yield ["mewsc16", f"--dumps={inputs}/news/*.xml.bz2", f"--sql={inputs}/news/*.sql.gz", f"--output={out}/mewsc16"]
    if here and has("sudachipy"):
        yield ["corpus", f"--input={inputs}/clinic.txt", "--parser=sudachi", "--near=1", f"--output={out}/corpus"]
    if here and has("torch", "sentencepiece", "sudachipy"):
        model = ["--beams=4", "--near=1", "--device=cpu", f"--model={inputs}/t5"]
        yield ["negatives", f"--corpus={inputs}/corpus", *model, f"--output={out}/negatives"]


@pytest.fixture(scope="session")
def every_pipeline(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the direct runner makes in one process, in `out`, of what is in `inputs`, both to be read only; what each
    command prints and says is in `printed.json`."""
    return made_once(tmp_path_factory, "every_pipeline", _run_every_pipeline)


def _run_every_pipeline(directory: Path) -> None:
    def run_checked(pipeline: Any, look: Callable[[], None]) -> None:
        # Where a graph groups, any machine must tell the keys apart by the same bytes.
        assert unstable_keys(pipeline) == []
        run_apart(pipeline, look)

    printed = {}
    (directory / "inputs").mkdir()
    inputs = write_inputs(directory / "inputs")
    with anything_is_a_negative(), pytest.MonkeyPatch.context() as patch:
        patch.setattr("wikianchor.pipelines.engine.stage.run_apart", run_checked)
        for command in commands(str(inputs), f"{directory}/out", here=True):
            with redirect_stdout(io.StringIO()) as output, redirect_stderr(io.StringIO()) as errors:
                status = main(command)
            assert status == 0, errors.getvalue()
            printed[command[0]] = [output.getvalue(), errors.getvalue()]
    (directory / "printed.json").write_text(json.dumps(printed))


@contextmanager
def anything_is_a_negative() -> Iterator[None]:
    """Let pass what a T5 writes that knows nothing."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("wikianchor.pipelines.japanese.negatives.fills.is_noun_like", lambda word: True)
        patch.setattr("wikianchor.pipelines.japanese.negatives.steps.are_noun_spans", lambda *some: True)
        patch.setattr("wikianchor.pipelines.japanese.negatives.fills._repeats", lambda *some: False)
        patch.setattr("wikianchor.pipelines.japanese.negatives.fills.LONGER_BY", 1000)
        yield


def all_digests(out: str) -> dict[str, Any]:
    """Return the checksums of all shards and the ledger of every dataset, by its place."""
    return {
        finished.directory.removeprefix(out): (digests(finished.manifest), finished.manifest["ledger"])
        for finished in find_datasets(out)
    }


def has(*modules: str) -> bool:
    """Whether this environment has some packages."""
    return all(find_spec(module) is not None for module in modules)
