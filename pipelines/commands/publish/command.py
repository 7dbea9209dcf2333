"""`wikianchor publish DIR --to=PLACE`: publish a dataset on the Hub, in a bucket or in a directory.

A release is made first (a config for each language, card, Croissant). Of its files those are sent that the target does
not have, and the manifest last.
"""

from __future__ import annotations

import datetime
import os
import time
from collections.abc import Sequence
from contextlib import closing

from wikianchor.io.errors import InputError, UsageError
from wikianchor.io.storage import checksum
from wikianchor.io.units import size
from wikianchor.pipelines.commands.publish.options import PublishOptions
from wikianchor.pipelines.commands.publish.store import ReleaseFile, Store, differing, open_store
from wikianchor.pipelines.dataset.integrity import file_problems
from wikianchor.pipelines.dataset.manifest import CARD, CROISSANT, MANIFEST, manifest_problems, read_manifest
from wikianchor.pipelines.dataset.reader import Dataset
from wikianchor.pipelines.dataset.release import is_release_file, make_release
from wikianchor.pipelines.dataset.summary import spent
from wikianchor.pipelines.engine.progress import Progress


def run(config: PublishOptions, beam_args: Sequence[str]) -> None:
    """Publish a dataset.

    Raises:
        InputError: the dataset is damaged, or the target cannot be written.
        UsageError: the target contains something else.
    """
    start = time.monotonic()
    store = open_store(config.target, config.private)
    dataset = sound_dataset(config.directory)
    today = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
    release = make_release(dataset, config.release, config.by_language, web_address(config.target), today)
    files = release_files(release)
    stored = store.list_files(files)
    foreign = sorted(name for name in stored if not is_release_file(name) and name != ".gitattributes")
    if foreign and MANIFEST not in stored and not config.target.startswith("hf://"):
        raise UsageError(f"--to={config.target} holds something else ({foreign[0]}): name an empty or a new place")
    sending = differing(files, stored)
    if sending and files[-1] not in sending:
        # The manifest is removed while other files change.
        sending = [*sending, files[-1]]
    old = sorted({name for name in stored if is_release_file(name)} - {file.name for file in files})
    print("\n".join(plan_lines(config.target, files, sending, old)))
    if config.dry_run:
        print("next: the same command without --dry_run")
        return
    if sending or old:
        send(store, sending, old, MANIFEST in stored)
    print(f"{len(sending)} files sent, {spent(start)}")
    print(f"published: {web_address(config.target)}")


def sound_dataset(directory: str) -> Dataset:
    """Return a dataset after checking every byte of it against its manifest.

    Raises:
        InputError: there is no dataset, or it is damaged.
    """
    manifest = read_manifest(directory)
    if manifest is None:
        raise InputError(
            f"{directory}: no finished dataset here (no manifest.json): name one dataset, such as out/pairs"
        )
    dataset = Dataset(directory, manifest)
    problem = next(manifest_problems(manifest), None) or next(file_problems(dataset), None)
    if problem is not None:
        raise InputError(f"{problem}: build it again, see `wikianchor verify {directory}`")
    return dataset


def web_address(target: str) -> str:
    """Return the address at which a browser shows what is published."""
    return target.replace("hf://", "https://huggingface.co/datasets/").replace("datasets/datasets/", "datasets/")


def release_files(release: Dataset) -> list[ReleaseFile]:
    """Return the files of a release in the order in which they are sent: shards, descriptions, manifest."""
    shards = [
        ReleaseFile(shard["path"], f"{release.directory}/{shard['path']}", shard["bytes"], shard["sha256"])
        for config in release.manifest["configs"].values()
        for shard in config["shards"]
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


def send(store: Store, sending: Sequence[ReleaseFile], old: Sequence[str], is_update: bool) -> None:
    """Send files and remove old ones. The manifest of an earlier release is removed first, the new one is sent last."""
    name = "publish"
    with closing(store), Progress() as progress:
        progress.begin(name, sum(file.size for file in sending))
        store.remove([MANIFEST] if is_update and sending else [])
        # The manifest is the last of the files.
        store.upload(sending[:-1], lambda file, amount: progress.advance(name, amount))
        store.remove(old)
        store.upload(sending[-1:], lambda file, amount: progress.advance(name, amount))
