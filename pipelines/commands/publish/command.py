"""`wikianchor publish DIR --to=PLACE`: publish a dataset or a model on the Hub, in a bucket or in a directory.

A release is made first: of a dataset a config for each language, card and Croissant; of a model its card. Of the files
those are sent that the target does not have, and the one without which nothing can be read last.
"""

from __future__ import annotations

import datetime
import os
import time
from collections.abc import Sequence

from wikianchor.io.errors import InputError, UsageError
from wikianchor.io.hub import CARD, MODEL_CONFIG
from wikianchor.io.manifests import MANIFEST, read_dataset
from wikianchor.io.units import size
from wikianchor.pipelines.commands.publish.model import is_model_file, make_model_release
from wikianchor.pipelines.commands.publish.options import PublishOptions
from wikianchor.pipelines.commands.publish.store import open_store
from wikianchor.pipelines.dataset.manifest import CROISSANT, file_problems, manifest_problems, read_manifest
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
    of_model = os.path.isfile(f"{config.directory}/{MODEL_CONFIG}")
    kind, is_ours, mark = ("model", is_model_file, MODEL_CONFIG) if of_model else ("dataset", is_release_file, MANIFEST)
    store = open_store(config.target, private=config.private, kind=kind)
    names = make_model_release(config) if of_model else dataset_release(config)
    stored = store.names()
    foreign = sorted(name for name in stored if name not in {*names, ".gitattributes"} and not is_ours(name))
    if foreign and mark not in stored and not config.target.startswith("hf://"):
        raise UsageError(f"--to={config.target} holds something else ({foreign[0]}): name an empty or a new place")
    old = sorted({name for name in stored if is_ours(name)} - set(names))
    sizes = {name: os.path.getsize(f"{config.release}/{name}") for name in names}
    print(config.target)
    print("".join(f"{size(number):>9}  {name}\n" for name, number in sizes.items()), end="")
    print("".join(f"{'':9}  {name}  (of an earlier release, to be removed)\n" for name in old), end="")
    print(f"{size(sum(sizes.values())):>9}  in all; files that are there already are not sent")
    if config.dry_run:
        print("next: the same command without --dry_run")
        return
    with Progress() as progress:
        progress.begin("publish", sum(sizes.values()))
        store.update(config.release, names, old, lambda amount: progress.advance("publish", amount))
    print(spent(start))
    print(f"published: {web_address(config.target, kind)}")


def dataset_release(config: PublishOptions) -> list[str]:
    """Make the release of a dataset, and return its files in the order in which they are sent: shards, descriptions,
    manifest; raises as `run`."""
    for name, value in (("license", config.license), ("datasets", config.datasets), ("scores", config.scores)):
        if value:
            raise UsageError(f"--{name}: {config.directory} is not a model: leave it out, or name a model")
    today = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
    address = web_address(config.target, "dataset")

    def make() -> Dataset:
        dataset = sound_dataset(config.directory, "build it again")
        make_release(dataset, config.release, address, today)
        return sound_dataset(config.release, "remove the directory of the release and run the same command again")

    release = read_dataset(make, config.directory)
    return [*(shard["path"] for shard in release.entries()), CROISSANT, CARD, MANIFEST]


def sound_dataset(directory: str, advice: str) -> Dataset:
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
    problem = next(manifest_problems(manifest), None) or next(file_problems(directory, manifest), None)
    if problem is not None:
        raise InputError(f"{problem}: {advice}")
    return dataset


def web_address(target: str, kind: str) -> str:
    """Return the address at which a browser shows what is published.

    >>> web_address("hf://user/name", "dataset"), web_address("hf://user/name", "model")
    ('https://huggingface.co/datasets/user/name', 'https://huggingface.co/user/name')
    """
    site = "https://huggingface.co/" + ("datasets/" if kind == "dataset" else "")
    return target.replace(f"hf://{kind}s/", "hf://").replace("hf://", site)
