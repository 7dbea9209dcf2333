"""`wikianchor publish DIR --to=PLACE`: a dataset with its card onto the Hub, into a bucket or a directory.

dataset -> release (languages apart, card, Croissant) -> files that are not there yet -> the manifest, last
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
from wikianchor.pipelines.commands.publish.store import Local, Store, differing, open_store
from wikianchor.pipelines.dataset.integrity import file_problems
from wikianchor.pipelines.dataset.manifest import CARD, CROISSANT, MANIFEST, manifest_problems, read_manifest
from wikianchor.pipelines.dataset.reader import Dataset
from wikianchor.pipelines.dataset.release import is_release_file, make_release
from wikianchor.pipelines.dataset.summary import spent
from wikianchor.pipelines.engine.progress import Progress


def run(config: PublishOptions, beam_args: Sequence[str]) -> None:
    """Publish a dataset.

    Raises:
        InputError: the dataset is damaged, or the place cannot be written.
        UsageError: the place holds something else.
    """
    start = time.monotonic()
    store = open_store(config.target, config.private)
    one = sound_dataset(config.directory)
    today = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
    release = make_release(one, config.release, config.by_language, web_address(config.target), today)
    files = release_files(release)
    there = store.there(files)
    foreign = sorted(name for name in there if not is_release_file(name) and name != ".gitattributes")
    if foreign and MANIFEST not in there and not config.target.startswith("hf://"):
        raise UsageError(f"--to={config.target} holds something else ({foreign[0]}): name an empty or a new place")
    sending = differing(files, there)
    if sending and files[-1] not in sending:
        # While other files change there is no manifest.
        sending = [*sending, files[-1]]
    old = sorted({name for name in there if is_release_file(name)} - {one.name for one in files})
    print("\n".join(tree(config.target, files, sending, old)))
    if config.dry_run:
        print("next: the same command without --dry_run")
        return
    if sending or old:
        send(store, sending, old, MANIFEST in there)
    print(f"{len(sending)} files sent, {spent(start)}")
    print(f"published: {web_address(config.target)}")


def sound_dataset(directory: str) -> Dataset:
    """Return a dataset whose files are those of its manifest.

    Raises:
        InputError: they are not, or there is none.
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
    """Return where people find what is published at an address."""
    return target.replace("hf://", "https://huggingface.co/datasets/").replace("datasets/datasets/", "datasets/")


def release_files(release: Dataset) -> list[Local]:
    """Return the files of a release in the order in which they are sent: data, what describes them, the manifest."""
    shards = [
        Local(shard["path"], f"{release.directory}/{shard['path']}", shard["bytes"], shard["sha256"])
        for config in release.manifest["configs"].values()
        for shard in config["shards"]
    ]
    others = []
    for name in (CROISSANT, CARD, MANIFEST):
        path = f"{release.directory}/{name}"
        others.append(Local(name, path, os.path.getsize(path), checksum(path, "sha256")))
    return [*shards, *others]


def tree(target: str, files: Sequence[Local], sending: Sequence[Local], old: Sequence[str]) -> list[str]:
    """Return what is printed before anything is sent."""
    waiting = {one.name for one in sending}
    lines = [f"{target}"]
    lines += [f"{size(one.size):>9}  {one.name}{'' if one.name in waiting else '  (there)'}" for one in files]
    lines += [f"{'':9}  {name}  (of an earlier release, to be removed)" for name in old]
    total = sum(one.size for one in files)
    return [*lines, f"{size(sum(one.size for one in sending)):>9}  to send, of {size(total)}"]


def send(store: Store, sending: Sequence[Local], old: Sequence[str], replace: bool) -> None:
    """Send files; the manifest of an earlier release goes first, that of this one comes last."""
    name = "publish"
    with closing(store), Progress() as progress:
        progress.begin(name, sum(one.size for one in sending))
        store.remove([MANIFEST] if replace and sending else [])
        last = [one for one in sending if one.name == MANIFEST]
        store.put([one for one in sending if one not in last], lambda one, amount: progress.advance(name, amount))
        store.remove(old)
        store.put(last, lambda one, amount: progress.advance(name, amount))
