"""`wikianchor publish` onto stand-ins of the Hub and of a bucket, and what readers make of the card."""

import json
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO
from unittest import mock

import pyarrow.parquet as pq
import pytest
import yaml
from pyarrow import fs

from tests.servers import hub_server, s3_server
from tests.servers.hub_server import REPO, HubServer
from wikianchor import open_dataset
from wikianchor.io.errors import InputError
from wikianchor.io.hub import model_revision
from wikianchor.pipelines.cli.command_line import main
from wikianchor.pipelines.commands.publish import store
from wikianchor.schemas.pairs import PUBLISHED

DEMO = Path(__file__).parents[2] / "demo" / "dumps"
Run = Callable[..., Any]


@pytest.fixture
def demo(demo_build: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(demo_build, tmp_path / "demo"))


@pytest.fixture
def release(demo: Path, tmp_path: Path) -> Path:
    assert main(["publish", str(demo / "pairs"), f"--to={tmp_path}/place"]) == 0
    return tmp_path / "place"


def names(folder: Path) -> list[str]:
    return sorted(plain(str(path.relative_to(folder))) for path in folder.rglob("*") if path.is_file())


def plain(text: str) -> str:
    """Return a text with the names of shards without their digest."""
    return re.sub(r"(?<=-of-\d{5})-[0-9a-f]{16}", "", text)


def shard_of(directory: Path) -> Path:
    (shard,) = directory.glob("*.parquet")
    return shard


SHARD = "train-00000-of-00001.parquet"
PAIRS = ["README.md", "croissant.json", *(f"data/{name}/{SHARD}" for name in ("de", "en", "entities", "ja", "pairs"))]


def test_what_is_published(release: Path) -> None:
    assert names(release) == [*PAIRS, "manifest.json"]
    rows = pq.read_table(shard_of(release / "data" / "pairs"))
    for language in ("de", "en", "ja"):
        some = pq.read_table(shard_of(release / "data" / language))
        assert some.to_pylist() == [row for row in rows.to_pylist() if row["wiki"] == f"{language}wiki"]


def test_what_is_published_can_be_verified(release: Path, wikianchor: Run) -> None:
    assert wikianchor("verify", release).status == 0


def test_shards_are_not_copied(demo: Path, release: Path) -> None:
    assert os.path.samefile(shard_of(demo / "pairs/data/entities"), shard_of(demo / "pairs-release/data/entities"))


def test_published_rows_have_labels(demo: Path, release: Path) -> None:
    columns = ["text", "entity", "hard_negatives", "hard_negative_qids"]
    rows = pq.read_table(shard_of(release / "data" / "pairs"), columns=columns).to_pylist()
    assert rows == open_dataset(str(demo / "pairs")).to_arrow(columns=columns).to_pylist()
    assert rows == open_dataset(str(release)).to_arrow(columns=columns).to_pylist()
    assert {"Earth", "Moon"} < {row["entity"] for row in rows}
    assert "Erde" not in {row["entity"] for row in rows}
    schema = pq.read_schema(shard_of(release / "data" / "ja"))
    assert schema.equals(PUBLISHED, check_metadata=True)


def test_the_card_tells_what_a_reader_asks(release: Path) -> None:
    card = (release / "README.md").read_text("utf-8")
    headings = re.findall(r"^## (.*)", card, re.MULTILINE)
    assert headings == [
        *("Columns", "Rows", "How hard negatives are chosen", "Statistics by wiki", "Limits"),
        *("Licence and attribution", "Where it is from, and how to make it again", "Citation"),
    ]
    assert "| `hard_negatives` | list of string | Labels of the hard negatives" in card
    rows = [json.loads(block) for block in re.findall(r"```json\n(.*?)```", card, re.DOTALL)]
    assert rows == pq.read_table(shard_of(release / "data" / "pairs")).slice(0, 3).to_pylist()
    manifest = json.loads((release / "manifest.json").read_text("utf-8"))
    links = manifest["ledger"]["links"]["jawiki"]
    assert f"| jawiki | {links['seen']:,} | {links['kept']:,} | " in card
    for dump in manifest["dumps"]:
        assert f"| {dump['path']} | 20260101 | `{dump['sha1']}` |" in card
    assert "wikianchor download --for=pairs --wikis=dewiki,enwiki,jawiki --date=20260101 --output=dumps\n" in card
    assert f"wikianchor rebuild {release} --dumps=dumps --output=rebuilt\n" in card
    assert all(entry in card for entry in ("nishikawa-etal-2022-ease", "@software{wikianchor"))
    assert "the page.\nIt has a page in the wiki of the row, unless\ntoo few" in card
    assert "- `below_floor`: its entity has too few links\n" in card
    assert f"'pyarrow=={manifest['made_with']['pyarrow']}'  # on Python 3." in card
    assert "\n\n\n" not in card
    description = json.loads((release / "croissant.json").read_text("utf-8"))
    assert all(dump["sha1"] in description["rai:dataCollection"] for dump in manifest["dumps"])


def test_a_release_is_not_reported_twice(demo: Path, release: Path, wikianchor: Run) -> None:
    assert wikianchor("report", demo).output.count("\npairs ") == 1
    assert wikianchor("report", demo / "pairs-release").output.count("\npairs ") == 1


def test_the_head_of_the_card(release: Path) -> None:
    head = yaml.safe_load((release / "README.md").read_text("utf-8").split("---")[1])
    assert head["license"] == ["cc-by-sa-4.0"]
    assert head["language"] == ["de", "en", "ja"]
    assert head["size_categories"] == ["1K<n<10K"]
    assert [config["config_name"] for config in head["configs"]] == ["pairs", "de", "en", "entities", "ja"]
    assert [config.get("default") for config in head["configs"]] == [True, None, None, None, None]


def test_one_language_needs_no_copy(demo: Path, tmp_path: Path, wikianchor: Run) -> None:
    ended = wikianchor("publish", demo / "sentences" / "jawiki", f"--to={tmp_path}/ja")
    assert ended.status == 0
    assert f"data/sentences/{SHARD}" in plain(ended.output)
    assert "data/ja/" not in ended.output
    head = yaml.safe_load((tmp_path / "ja" / "README.md").read_text("utf-8").split("---")[1])
    assert {"config_name": "ja", "data_files": [{"split": "train", "path": "data/sentences/train-*.parquet"}]} in head[
        "configs"
    ]


def test_a_dry_run_shows_the_tree_and_sends_nothing(demo: Path, tmp_path: Path, wikianchor: Run) -> None:
    ended = wikianchor("publish", demo / "pairs", f"--to={tmp_path}/place", "--dry_run")
    assert ended.status == 0
    assert all(name in plain(ended.output) for name in PAIRS)
    assert not (tmp_path / "place").exists()


def test_what_is_there_is_not_sent_again(demo: Path, release: Path, wikianchor: Run) -> None:
    before = {path: path.stat().st_mtime_ns for path in release.rglob("*")}
    ended = wikianchor("publish", demo / "pairs", f"--to={release}")
    assert ended.status == 0, ended.said
    assert {path: path.stat().st_mtime_ns for path in release.rglob("*")} == before


def test_another_release_takes_its_place(demo: Path, release: Path, wikianchor: Run) -> None:
    build = ("build", f"--dumps={DEMO}", f"--output={demo}", "--min_links=2", "--sample=200", "--seed=7")
    assert wikianchor(*build, "--wikis=dewiki,enwiki").status == 0
    ended = wikianchor("publish", demo / "pairs", f"--to={release}")
    assert ended.status == 0, ended.said
    assert f"data/ja/{SHARD}  (of an earlier release, to be removed)" in plain(ended.output)
    assert not (release / "data" / "ja").exists() or not list((release / "data" / "ja").iterdir())
    assert pq.read_table(release / "data" / "pairs").num_rows == 200


def test_an_interrupted_publication_goes_on(
    demo: Path, tmp_path: Path, wikianchor: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = []
    copy = shutil.copyfileobj

    def broken(*arguments: Any) -> None:
        copy(*arguments)
        sent.append(arguments)
        if len(sent) == 4:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(store.shutil, "copyfileobj", broken)
    assert wikianchor("publish", demo / "pairs", f"--to={tmp_path}/place").status == 1
    before = {path: path.stat().st_ino for path in (tmp_path / "place").rglob("*") if path.is_file()}
    assert len(before) == 3
    assert "manifest.json" not in names(tmp_path / "place")
    monkeypatch.undo()
    assert wikianchor("publish", demo / "pairs", f"--to={tmp_path}/place").status == 0
    assert {path: path.stat().st_ino for path in before} == before
    assert "manifest.json" in names(tmp_path / "place")


def change_a_byte(data: bytes) -> bytes:
    return data[:100] + bytes([data[100] ^ 1]) + data[101:]


def test_a_changed_file_of_the_same_size_is_sent_again(demo: Path, release: Path, wikianchor: Run) -> None:
    shard = shard_of(release / "data" / "pairs")
    content = shard.read_bytes()
    shard.write_bytes(change_a_byte(content))
    ended = wikianchor("publish", demo / "pairs", f"--to={release}")
    assert ended.status == 0, ended.said
    assert shard.read_bytes() == content


@pytest.mark.parametrize("to", ["place", "hub"])
def test_a_damaged_release_is_not_published(
    to: str, demo: Path, release: Path, tmp_path: Path, wikianchor: Run, request: pytest.FixtureRequest
) -> None:
    target = f"{tmp_path}/other"
    if to == "hub":
        request.getfixturevalue("hub")
        target = f"hf://{REPO}"
    assert wikianchor("publish", demo / "pairs", f"--to={target}", "--dry_run").status == 0
    shard = shard_of(demo / "pairs-release" / "data" / "de")
    shard.write_bytes(change_a_byte(shard.read_bytes()))
    ended = wikianchor("publish", demo / "pairs", f"--to={target}")
    assert ended.status == 1
    assert ended.said[-1].startswith(f"wikianchor: {shard}: its sha256 is ")
    assert ended.said[-1].endswith(": remove the directory of the release and run the same command again")


def test_a_bucket(demo: Path, tmp_path: Path, wikianchor: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    bucket = tmp_path / "bucket"
    bucket.mkdir()

    def opened(path: str) -> tuple[fs.FileSystem, str]:
        assert path.startswith("s3://bucket/")
        return fs.SubTreeFileSystem(str(bucket), fs.LocalFileSystem()), path.removeprefix("s3://bucket/")

    monkeypatch.setattr(store, "filesystem", opened)
    assert wikianchor("publish", demo / "pairs", "--to=s3://bucket/toy").status == 0
    assert set(PAIRS) < set(names(bucket / "toy"))


def test_a_file_in_a_directory_is_replaced_in_one_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old, new, folder = b"old" * 100, b"new" * 100, tmp_path / "place"
    folder.mkdir()
    (folder / "manifest.json").write_bytes(old)
    (tmp_path / "release").mkdir()
    (tmp_path / "release" / "manifest.json").write_bytes(new)
    (folder / store.TEMPORARY).write_bytes(b"of a publication that was killed")

    def full(source: BinaryIO, target: BinaryIO, length: int) -> None:
        target.write(source.read(10))
        assert (folder / "manifest.json").read_bytes() == old
        raise OSError(28, "No space left on device")

    bucket, sent = store.Bucket(str(folder)), list[int]()
    assert bucket.names() == ["manifest.json"]
    monkeypatch.setattr(store.shutil, "copyfileobj", full)
    with pytest.raises(InputError, match="the disk is full"):
        bucket.update(str(tmp_path / "release"), ["manifest.json"], [], sent.append)
    assert (names(folder), (folder / "manifest.json").read_bytes()) == (["manifest.json"], old)
    monkeypatch.undo()
    bucket.update(str(tmp_path / "release"), ["manifest.json"], [], sent.append)
    assert (names(folder), (folder / "manifest.json").read_bytes()) == (["manifest.json"], new)
    assert sent == [len(new)]


@pytest.fixture
def s3(monkeypatch: pytest.MonkeyPatch) -> Iterator[fs.FileSystem]:
    """A store that speaks S3, with a bucket."""
    with s3_server.serving() as environment, mock.patch.dict(os.environ, environment):
        files, _ = fs.FileSystem.from_uri("s3://bucket?allow_bucket_creation=true")
        files.create_dir("bucket")
        yield files
        files.delete_dir_contents("bucket")


def read(files: fs.FileSystem, path: str) -> bytes:
    with files.open_input_stream(path) as stream:
        return bytes(stream.read())


def write(files: fs.FileSystem, path: str, data: bytes) -> None:
    with files.open_output_stream(path) as stream:
        stream.write(data)


def test_an_object_store(demo: Path, s3: fs.FileSystem, wikianchor: Run) -> None:
    command = ("publish", demo / "pairs", "--to=s3://bucket/toy")
    assert wikianchor(*command).status == 0
    shard = f"bucket/toy/data/pairs/{shard_of(demo / 'pairs-release/data/pairs').name}"
    content, written = read(s3, shard), s3.get_file_info(shard).mtime
    time.sleep(1.1)
    assert wikianchor(*command).status == 0
    assert s3.get_file_info(shard).mtime == written
    # An object that has changed is sent again.
    write(s3, shard, change_a_byte(content))
    ended = wikianchor(*command)
    assert ended.status == 0, ended.said
    assert read(s3, shard) == content


def test_what_is_wrong(demo: Path, tmp_path: Path, wikianchor: Run) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").write_text("mine")
    ended = wikianchor("publish", demo / "pairs", f"--to={tmp_path}/full")
    assert (ended.status, names(tmp_path / "full")) == (2, ["thesis.tex"])
    assert "holds something else (thesis.tex)" in ended.said[0]
    for to, words in (("hf://toy", "write it like hf://user/name"), ("ftp://x/y", "write it like hf://")):
        ended = wikianchor("publish", demo / "pairs", f"--to={to}")
        assert ended.status == 2
        assert words in ended.said[0]
    assert wikianchor("publish", demo, f"--to={tmp_path}/x").status == 1
    shard_of(demo / "pairs/data/pairs").write_bytes(b"PAR1")
    ended = wikianchor("publish", demo / "pairs", f"--to={tmp_path}/x")
    assert ended.status == 1
    assert "has 4 bytes, the manifest says" in ended.said[0]


# --- the Hub ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    pytest.importorskip("huggingface_hub", reason="NO HUB: pip install '.[hub]'")
    from huggingface_hub import constants

    with hub_server.serving() as server:
        monkeypatch.setattr(constants, "ENDPOINT", server.url)
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
        # The stand-in speaks LFS, which the Hub still does; Xet is a program of the library's own.
        monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
        monkeypatch.setenv("HF_TOKEN", "hf_secret")
        monkeypatch.setenv("HF_HUB_DISABLE_PROGRESS_BARS", "1")
        yield server


def test_the_hub(hub: HubServer, demo: Path, wikianchor: Run) -> None:
    ended = wikianchor("publish", demo / "pairs", f"--to=hf://{REPO}", "--private")
    assert ended.status == 0, ended.said
    assert sorted(map(plain, hub.files)) == sorted([*PAIRS, "manifest.json"])
    assert hub.private
    assert len(hub.uploads) == 5
    # The manifest comes with the last commit.
    assert "manifest.json" in hub.commits[-1]
    assert not any("manifest.json" in commit for commit in hub.commits[:-1])
    assert f"https://huggingface.co/datasets/{REPO}" in ended.output
    assert f'load_dataset("{REPO}", "de"' in hub.files["README.md"].decode()
    commits = len(hub.commits)
    assert wikianchor("publish", demo / "pairs", f"--to=hf://{REPO}").status == 0
    assert (len(hub.uploads), len(hub.commits)) == (5, commits)


def test_an_interrupted_upload_goes_on(hub: HubServer, demo: Path, wikianchor: Run) -> None:
    hub.faults = [r"POST .*/commit/"] * 9
    ended = wikianchor("publish", demo / "pairs", f"--to=hf://{REPO}")
    assert ended.status == 1
    assert "the Hub answers 500: run the same command again" in ended.said[-1], ended.said
    hub.faults.clear()
    assert wikianchor("publish", demo / "pairs", f"--to=hf://{REPO}").status == 0
    assert len(hub.uploads) == 5
    assert sorted(map(plain, hub.files)) == sorted([*PAIRS, "manifest.json"])


def test_who_may_not_is_told_how(hub: HubServer, demo: Path, wikianchor: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_other")
    ended = wikianchor("publish", demo / "pairs", f"--to=hf://{REPO}")
    assert ended.status == 1
    assert "hf auth login" in ended.said[0]
    assert "hf_other" not in ended.output + "".join(ended.said)


@pytest.mark.parametrize("name", ["localhost:9", "nowhere.invalid"])
def test_a_hub_that_cannot_be_reached_is_one_line_within_seconds(
    name: str, demo: Path, wikianchor: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    constants = pytest.importorskip("huggingface_hub", reason="NO HUB: pip install '.[hub]'").constants
    monkeypatch.setattr(constants, "ENDPOINT", f"http://{name}")
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    pauses: list[float] = []
    monkeypatch.setattr(store.time, "sleep", pauses.append)
    shutil.rmtree(demo / "pairs" / "data")
    ended = wikianchor("publish", demo / "pairs", f"--to=hf://{REPO}")
    assert ended.status == 1
    assert len(ended.said) == 1, ended.said
    # The dataset, which is damaged here, is not read before.
    assert ended.said[0].startswith(f"wikianchor: hf://{REPO}: the Hub cannot be reached (")
    assert 1 <= sum(pauses) <= 7


def test_a_network_that_fails_once_is_tried_again(
    hub: HubServer, demo: Path, wikianchor: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    from huggingface_hub import HfApi

    calls: list[str] = []
    repo_info = HfApi.repo_info

    def flaky(self: HfApi, *arguments: Any, **options: Any) -> Any:
        calls.append("repo_info")
        if len(calls) == 1:
            raise ConnectionResetError(104, "Connection reset by peer")
        return repo_info(self, *arguments, **options)

    monkeypatch.setattr(HfApi, "repo_info", flaky)
    monkeypatch.setattr(store, "REACH_WAITS", (0.01,))
    assert wikianchor("publish", demo / "pairs", f"--to=hf://{REPO}").status == 0
    assert len(calls) == 2


# --- models -----------------------------------------------------------------------------------------------------------

MODEL = ["README.md", "config.json", "model.safetensors", "modules.json", "run.json", "tokenizer.json"]
MODEL_CARD = """---
library_name: sentence-transformers
language:
- de
license: cc-by-sa-4.0
pipeline_tag: sentence-similarity
---

# Sentence encoder

```python
model = SentenceTransformer("out/model")
```
"""


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """Files with the names of a model's."""
    directory = tmp_path / "run" / "model"
    directory.mkdir(parents=True)
    for name in MODEL:
        (directory / name).write_text(MODEL_CARD if name == "README.md" else "{}")
    (directory / "model.safetensors").write_bytes(bytes(range(256)) * 40)
    return directory


def result(model: Path, task: str, **rows: list[dict[str, Any]]) -> dict[str, Any]:
    """What `wikianchor evaluate` writes for a task."""
    return {"task_name": task, "scores": rows, "model": {"name": str(model), "revision": model_revision(str(model))}}


@pytest.fixture
def scores(model: Path, tmp_path: Path) -> Path:
    directory = tmp_path / "scores" / "results" / "run__model" / "0"
    directory.mkdir(parents=True)
    results = [
        result(model, "STS12", test=[{"hf_subset": "default", "main_score": 0.71234567, "spearman": 0.71234567}]),
        result(model, "Tatoeba", test=[{"hf_subset": "jpn-eng", "main_score": 0.5, "accuracy": 0.5, "rows": 9}]),
        result(model, "Empty", test=[{"hf_subset": "default", "main_score": None}]),
    ]
    for entry in results:
        (directory / f"{entry['task_name']}.json").write_text(json.dumps(entry))
    (directory / "model_meta.json").write_text("{}")
    return tmp_path / "scores"


def test_a_model_on_the_hub(hub: HubServer, model: Path, scores: Path, wikianchor: Run) -> None:
    card = pytest.importorskip("huggingface_hub", reason="NO HUB: pip install '.[hub]'").ModelCard
    before = (model / "README.md").read_text()
    flags = (f"--scores={scores}", "--datasets=somebody/pairs", "--license=apache-2.0")
    ended = wikianchor("publish", model, f"--to=hf://{REPO}", *flags)
    assert ended.status == 0, ended.said
    assert sorted(hub.files) == MODEL
    # Nobody sees half a model.
    assert hub.commits == [MODEL]
    assert all("/api/models/" in line for line in hub.asked if "/commit/" in line or "/tree/" in line)
    assert f"published: https://huggingface.co/{REPO}" in ended.output
    assert "model-release/README.md: no base_model: add to the head of" in ended.output
    assert (model / "README.md").read_text() == before
    text = hub.files["README.md"].decode()
    assert f'SentenceTransformer("{REPO}")' in text
    assert "| Tatoeba | test | jpn-eng | accuracy | 0.5000 |" in text
    data = card(text).data
    assert (data.license, data.datasets, data.language) == ("apache-2.0", ["somebody/pairs"], ["de"])
    assert (data.library_name, data.pipeline_tag) == ("sentence-transformers", "sentence-similarity")
    scores_of_card = [
        (entry.dataset_name, entry.dataset_config, entry.metric_type, entry.metric_value) for entry in data.eval_results
    ]
    assert scores_of_card == [("STS12", None, "spearman", 0.7123), ("Tatoeba", "jpn-eng", "accuracy", 0.5)]
    assert wikianchor("publish", model, f"--to=hf://{REPO}", *flags).status == 0
    assert len(hub.commits) == 1


def test_files_that_would_be_loaded_with_a_model_go(hub: HubServer, model: Path, wikianchor: Run) -> None:
    assert wikianchor("publish", model, f"--to=hf://{REPO}").status == 0
    for name in ("2_Dense/model.safetensors", "onnx/model.onnx", "notes.json"):
        hub.files[name] = b"{}"
    ended = wikianchor("publish", model, f"--to=hf://{REPO}")
    assert "2_Dense/model.safetensors  (of an earlier release, to be removed)" in ended.output
    assert sorted(map(plain, hub.files)) == sorted([*MODEL, "onnx/model.onnx", "notes.json"])


def test_a_model_in_a_directory(model: Path, tmp_path: Path, wikianchor: Run) -> None:
    assert wikianchor("publish", model, f"--to={tmp_path}/place", "--dry_run").status == 0
    assert not (tmp_path / "place").exists()
    assert wikianchor("publish", model, f"--to={tmp_path}/place").status == 0
    assert names(tmp_path / "place") == MODEL
    assert 'SentenceTransformer("out/model")' in (tmp_path / "place" / "README.md").read_text()


def test_what_is_wrong_with_a_model(model: Path, scores: Path, demo: Path, tmp_path: Path, wikianchor: Run) -> None:
    def said(directory: Path, *flags: str) -> tuple[int, str]:
        ended = wikianchor("publish", directory, f"--to={tmp_path}/place", *flags)
        assert len(ended.said) == 1
        return ended.status, ended.said[0]

    assert said(demo / "pairs", "--license=mit")[0] == 2
    status, line = said(model, "--datasets=pairs")
    assert (status, line) == (
        2,
        "wikianchor: --datasets=pairs: write it like user/name, the name of a dataset on the Hub",
    )
    (model / "run.json").write_text("[]")
    status, line = said(model, f"--scores={scores}")
    assert (status, line) == (
        1,
        f"wikianchor: --scores={scores}: no result of {model}: wikianchor evaluate --output writes them",
    )
    (model / "README.md").unlink()
    assert "has no README.md: write a card for the model" in said(model)[1]
    (model / "model.safetensors").unlink()
    assert "holds no weights (*.safetensors)" in said(model)[1]


# --- readers ----------------------------------------------------------------------------------------------------------


def blocks(text: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", text, re.DOTALL)


@pytest.mark.parametrize("reader", ["datasets", "pandas", "polars", "duckdb"])
def test_the_examples_of_the_card(reader: str, release: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip(reader, reason=f"NO {reader}: pip install '.[hub-dev]'")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    matches = [block for block in blocks((release / "README.md").read_text("utf-8")) if f"import {reader}\n" in block]
    assert len(matches) == 1
    exec(compile(matches[0], reader, "exec"), {})


def test_every_config_opens_by_its_name(release: Path, tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets", reason="NO datasets: pip install '.[hub-dev]'")
    for config, rows in (("pairs", 1064), ("ja", 263), ("entities", 79)):
        rows_of_config = datasets.load_dataset(str(release), config, split="train", cache_dir=str(tmp_path / "cache"))
        assert rows_of_config.num_rows == rows
    stream = datasets.load_dataset(str(release), "ja", split="train", streaming=True)
    assert {row["wiki"] for row in stream} == {"jawiki"}


@pytest.mark.parametrize("name", ["pairs", "sentences/enwiki", "entities"])
def test_the_description_is_croissant(name: str, demo: Path, tmp_path: Path, wikianchor: Run) -> None:
    assert wikianchor("publish", demo / name, f"--to={tmp_path}/c").status == 0
    description = json.loads((tmp_path / "c" / "croissant.json").read_text("utf-8"))
    digests = {
        entry["@id"]: entry["sha256"] for entry in description["distribution"] if entry["@type"] == "cr:FileObject"
    }
    manifest = json.loads((tmp_path / "c" / "manifest.json").read_text("utf-8"))
    assert digests == {entry["path"]: entry["sha256"] for c in manifest["configs"].values() for entry in c["shards"]}
    assert description["conformsTo"] == "http://mlcommons.org/croissant/1.1"
    mlcroissant = pytest.importorskip("mlcroissant", reason="NO mlcroissant: pip install '.[hub-dev]'")
    dataset = mlcroissant.Dataset(jsonld=str(tmp_path / "c" / "croissant.json"))
    assert not dataset.metadata.ctx.issues.errors
    config = name.split("/")[0]
    fields = next(entry["field"] for entry in description["recordSet"] if entry["name"] == config)
    record = next(iter(dataset.records(record_set=config)))
    assert set(record) == {entry["@id"] for entry in fields}
