"""`wikianchor publish DIR --to=PLACE`: publish a dataset or a model on the Hub, in a bucket or in a directory.

A release is made first: of a dataset a config for each language, card and Croissant; of a model its card. Of the files
those are sent that the target does not have, and the one without which nothing can be read last.
"""

from __future__ import annotations

import datetime
import os
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from wikianchor.io.errors import InputError, UsageError
from wikianchor.io.hub import MODEL_CONFIG
from wikianchor.io.manifests import MANIFEST, read_dataset
from wikianchor.io.storage import checksum
from wikianchor.io.units import size
from wikianchor.pipelines.commands.publish.model import is_model, is_model_file, make_model_release
from wikianchor.pipelines.commands.publish.options import PublishOptions
from wikianchor.pipelines.commands.publish.store import ReleaseFile, open_store
from wikianchor.pipelines.dataset.integrity import file_problems
from wikianchor.pipelines.dataset.manifest import CARD, CROISSANT, manifest_problems, read_manifest
from wikianchor.pipelines.dataset.reader import Dataset
from wikianchor.pipelines.dataset.release import is_release_file, make_release
from wikianchor.pipelines.dataset.summary import spent
from wikianchor.pipelines.engine.progress import Progress


def run(config: PublishOptions, beam_args: Sequence[str]) -> None:
    """Publish a dataset or a model.

    Raises:
        InputError: the dataset is damaged, the model is not complete, or the target cannot be written.
        UsageError: the target contains something else.
    """
    start = time.monotonic()
    kind = "model" if is_model(config.directory) else "dataset"
    store = open_store(config.target, private=config.private, kind=kind)
    release = model_release(config) if kind == "model" else dataset_release(config)
    files = release.files
    stored = store.list_files(files)
    names = {file.name for file in files}
    foreign = sorted(name for name in stored if name not in {*names, ".gitattributes"} and not release.is_ours(name))
    if foreign and release.mark not in stored and not config.target.startswith("hf://"):
        raise UsageError(f"--to={config.target} holds something else ({foreign[0]}): name an empty or a new place")
    sending = [file for file in files if not stored.get(file.name)]
    old = sorted({name for name in stored if release.is_ours(name)} - names)
    print("\n".join([*plan_lines(config.target, files, sending, old), *release.notes]))
    if config.dry_run:
        print("next: the same command without --dry_run")
        return
    if sending or old:
        with Progress() as progress:
            progress.begin("publish", sum(file.size for file in sending))
            store.update(sending, old, lambda file, amount: progress.advance("publish", amount))
    print(f"{len(sending)} files sent, {spent(start)}")
    print(f"published: {web_address(config.target, kind)}")


class Release(NamedTuple):
    """What is published.

    Attributes:
        files: the files, in the order in which they are sent.
        is_ours: whether a file that the target has and the release has not is of an earlier release, to be removed.
        mark: the file by which an earlier release is recognised.
        notes: lines to print.
    """

    files: Sequence[ReleaseFile]
    is_ours: Callable[[str], bool]
    mark: str
    notes: Sequence[str] = ()


def dataset_release(config: PublishOptions) -> Release:
    """Make the release of a dataset; raises as `run`."""
    for name, value in (("license", config.license), ("datasets", config.datasets), ("scores", config.scores)):
        if value:
            raise UsageError(f"--{name}: {config.directory} is not a model: leave it out, or name a model")
    today = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
    address = web_address(config.target, "dataset")

    def make() -> Dataset:
        return make_release(sound_dataset(config.directory), config.release, config.by_language, address, today)

    return Release(release_files(read_dataset(make, config.directory)), is_release_file, MANIFEST)


def model_release(config: PublishOptions) -> Release:
    """Make the release of a model; raises as `run`."""
    files, lacking = make_model_release(config)
    note = f"{config.release}/{CARD}: no {', '.join(lacking)}: add to the head of {config.directory}/{CARD}"
    return Release(files, is_model_file, MODEL_CONFIG, notes=[note] if lacking else [])


def sound_dataset(directory: str) -> Dataset:
    """Return a dataset after checking every byte of it against its manifest.

    Raises:
        InputError: there is no dataset, or it is damaged.
    """
    manifest = read_manifest(directory)
    if manifest is None:
        raise InputError(
            f"{directory}: no finished dataset here (no manifest.json): name a dataset, such as out/pairs, or a model"
        )
    dataset = Dataset(directory, manifest)
    problem = next(manifest_problems(manifest), None) or next(file_problems(dataset), None)
    if problem is not None:
        raise InputError(f"{problem}: build it again, see `wikianchor verify {directory}`")
    return dataset


def web_address(target: str, kind: str) -> str:
    """Return the address at which a browser shows what is published.

    >>> web_address("hf://user/name", "dataset"), web_address("hf://user/name", "model")
    ('https://huggingface.co/datasets/user/name', 'https://huggingface.co/user/name')
    """
    site = "https://huggingface.co/" + ("datasets/" if kind == "dataset" else "")
    return target.replace(f"hf://{kind}s/", "hf://").replace("hf://", site)


def release_files(release: Dataset) -> list[ReleaseFile]:
    """Return the files of a release in the order in which they are sent: shards, descriptions, manifest."""
    shards = [
        ReleaseFile(shard["path"], f"{release.directory}/{shard['path']}", shard["bytes"], shard["sha256"])
        for shard in release.entries()
    ]
    others = []
    for name in (CROISSANT, CARD, MANIFEST):
        path = f"{release.directory}/{name}"
        others.append(ReleaseFile(name, path, os.path.getsize(path), checksum(path, "sha256")))
    return [*shards, *others]


def plan_lines(
    target: str, files: Sequence[ReleaseFile], sending: Sequence[ReleaseFile], old: Sequence[str]
) -> list[str]:
    """Return the lines that are printed before anything is sent."""
    names = {file.name for file in sending}
    return [
        target,
        *(f"{size(file.size):>9}  {file.name}{'' if file.name in names else '  (there)'}" for file in files),
        *(f"{'':9}  {name}  (of an earlier release, to be removed)" for name in old),
        f"{size(sum(file.size for file in sending)):>9}  to send, of {size(sum(file.size for file in files))}",
    ]
