"""`wikianchor release`: from dumps to a published model with its scores in the card, by one command."""

from __future__ import annotations

import importlib.util
import io
import json
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests import wikinews
from tests.conftest import Ended
from tests.servers.dump_server import DATE, serving, site
from wikianchor.__main__ import main
from wikianchor.io.config_file import read_tables
from wikianchor.io.errors import InputError, UsageError
from wikianchor.pipelines.commands.release import command
from wikianchor.pipelines.commands.release.command import release
from wikianchor.pipelines.commands.release.options import STEPS, ReleaseOptions
from wikianchor.schemas.mewsc16 import TOPICS

ROOT = Path(__file__).parents[2]
DUMPS = ROOT / "demo" / "dumps"
RECIPES = sorted((ROOT / "configs").glob("release-ease-*.toml"))
needs_torch = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="NO TORCH: pip install '.[train]'")
TOY = """
[download]
wikis = ["de", "en", "ja"]

[build]
min_links = 2
workers = 1

[vectors]

[train.ease]
new = "tiny"
held_out = 32
max_steps = 3
softmax_size = 16
max_length = 16
device = "cpu"
cache = "{place}/cache"

[evaluate]
sts = ["{root}/demo/sts.tsv"]
device = "cpu"

[publish]
license = "cc-by-sa-4.0"
datasets = ["somebody/toy"]
"""


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    path = tmp_path / "toy.toml"
    path.write_text(TOY.format(place=tmp_path, root=ROOT))
    return path


@pytest.fixture(autouse=True)
def options_are_checked_here(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Check the options of the steps in this process, but where the whole command is tested."""

    def check(words: Sequence[str]) -> str:
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()) as errors:
            try:
                status = main([*words, "--help"])
            except SystemExit as ended:
                status = ended.code
        return errors.getvalue().strip().rpartition("\n")[2] if status else ""

    if request.function is not test_mewsc16_is_made_and_published_by_one_command:
        monkeypatch.setattr(command, "check", check)


def options(recipe: Path, tmp_path: Path, **more: Any) -> ReleaseOptions:
    given = {"output": f"{tmp_path}/out", "target": f"{tmp_path}/published", "dumps": str(DUMPS)}
    return ReleaseOptions(recipe=str(recipe), **{**given, **more}).completed()


@needs_torch
@pytest.mark.slow
def test_from_dumps_to_a_published_model(
    recipe: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """All steps but the download; in this process, where torch is loaded already."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    release(options(recipe, tmp_path), main)
    assert "1/5 build: wikianchor build --config=" in capsys.readouterr().out
    published = tmp_path / "published"
    card = (published / "README.md").read_text("utf-8")
    head = yaml.safe_load(card.split("---")[1])
    assert (head["license"], head["datasets"]) == ("cc-by-sa-4.0", ["somebody/toy"])
    assert head["language"] == ["de", "en", "ja"]
    (result,) = head["model-index"][0]["results"]
    assert result["dataset"]["name"] == "STS.sts.tsv"
    assert f"{result['metrics'][0]['value']:.4f}" in card.partition("## Scores")[2]
    assert (published / "model.safetensors").exists()
    trained = json.loads((published / "run.json").read_text())
    assert trained["state"]["step"] == 3
    # No directory of this machine is published.
    assert trained["config"]["entity_vectors"] == "vectors.safetensors"
    assert str(tmp_path) not in (published / "run.json").read_text()

    # The same command finds everything there.
    written = {path: path.stat().st_mtime_ns for path in published.rglob("*.safetensors")}
    release(options(recipe, tmp_path, steps=("build", "vectors", "train", "publish")), main)
    assert {path: path.stat().st_mtime_ns for path in published.rglob("*.safetensors")} == written


@needs_torch
def test_a_step_that_fails(recipe: Path, tmp_path: Path) -> None:
    called: list[str] = []

    def call(command: Sequence[str]) -> int:
        called.append(command[0])
        return 3 if command[0] == "train" else 0

    with pytest.raises(InputError, match="the step train failed with exit status 3, see above"):
        release(options(recipe, tmp_path, dumps=""), call)
    assert called == ["download", "build", "vectors", "train"]


@needs_torch
@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("min_links", "min_link", "unknown flag --min_link=2: did you mean --min_links"),
        ("max_steps", "max_step", r"toy.toml: unknown flag --max_step=3: did you mean --max_steps"),
        ("license", "licence", "unknown flag --licence"),
        ("train.ease", "train.sdjc", r"needs one table \[train.ease\] or \[train.simcse\], has 0"),
        ("[evaluate]", "[evaluation]", r"has no table \[evaluate\]"),
    ],
)
def test_the_recipe_is_checked_before_the_first_step(
    recipe: Path, tmp_path: Path, before: str, after: str, said: str
) -> None:
    recipe.write_text(recipe.read_text().replace(before, after))

    def call(command: Sequence[str]) -> int:
        raise AssertionError(command)

    with pytest.raises(UsageError, match=said) as caught:
        release(options(recipe, tmp_path), call)
    assert "\n" not in str(caught.value)


def test_options_that_do_not_go_together(recipe: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such step: did you mean train"):
        options(recipe, tmp_path, steps=("trian",))
    with pytest.raises(UsageError, match="--to is missing"):
        options(recipe, tmp_path, target="")
    assert options(recipe, tmp_path, target="", steps=STEPS[:4]).steps == STEPS[:4]
    with pytest.raises(UsageError, match="must be a directory of this machine"):
        options(recipe, tmp_path, output="gs://bucket/out")


@needs_torch
@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_the_recipes_of_the_repository(path: Path, tmp_path: Path, wikianchor: Callable[..., Ended]) -> None:
    from wikianchor.trainer.config import make
    from wikianchor.trainer.evaluate.registry import choose

    flags = [f"--output={tmp_path}/out", "--to=hf://user/name", "--evaluation=eval/", "--dry_run"]
    ended = wikianchor("release", path, *flags)
    assert ended.status == 0, ended.said
    assert [line.split()[1] for line in ended.output.splitlines() if line] == [f"{step}:" for step in STEPS]
    assert not (tmp_path / "out").exists()
    tables = read_tables(str(path))
    assert choose(tables["evaluate"]["tasks"])
    config = make("ease", {**tables["train"]["ease"], "data": "d", "output": "o"}, {})
    assert "/" in config.model
    assert tables["publish"]["private"]


def test_mewsc16_is_made_and_published_by_one_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    news = wikinews.make_news("ja", 40, wikinews.WITH_TABLES)
    wikinews.write(news, tmp_path / "news", DATE, tables=True)
    files = {path.name: path.read_bytes() for path in (tmp_path / "news").iterdir()}
    articles = f"jawikinews-{DATE}-pages-articles"
    files[f"{articles}-multistream.xml.bz2"] = files.pop(f"{articles}.xml.bz2")
    path = tmp_path / "news.toml"
    with serving(site({"jawikinews": files})) as server:
        path.write_text(
            f'[download]\nfor = "mewsc16"\ndate = "{DATE}"\nsource = "dumps"\nwikis = ["ja"]\nsite = "{server.url}"\n'
            'contact = "somebody@example.org"\n\n[mewsc16]\nmode = "clean"\n'
        )
        release(options(path, tmp_path, dumps=""), main)
    assert [line.split()[1] for line in capsys.readouterr().out.splitlines() if line[:2] in ("1/", "2/", "3/")] == [
        "download:",
        "mewsc16:",
        "publish:",
    ]
    card = (tmp_path / "published/README.md").read_text("utf-8")
    assert f"jawikinews-{DATE}" in card
    assert any(topic in card for topic in TOPICS)


def test_the_recipe_of_mewsc16(tmp_path: Path, wikianchor: Callable[..., Ended]) -> None:
    recipe = ROOT / "configs/release-mewsc16.toml"
    ended = wikianchor("release", recipe, f"--output={tmp_path}/out", "--to=hf://user/name", "--dry_run")
    assert ended.status == 0, ended.said
    assert [line.split()[1] for line in ended.output.splitlines() if line] == ["download:", "mewsc16:", "publish:"]
