"""The wikis and the checksums of datasets that are inputs of a stage."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence

from wikianchor.io.errors import InputError, UsageError
from wikianchor.pipelines.dataset.reader import Dataset


def fingerprint(dataset: Dataset) -> str:
    """Return one checksum for the rows of a dataset, from those of its shards."""
    digest = hashlib.sha256()
    for name, config in sorted(dataset.manifest["configs"].items()):
        digest.update(name.encode())
        for shard in config["shards"]:
            digest.update(shard["sha256"].encode())
    return digest.hexdigest()


def check_wikis(given: str, described: str, sentences: Sequence[Dataset], entities: Dataset) -> Sequence[str]:
    """Return the wikis of datasets of sentences, sorted.

    Args:
        given: the option --sentences.
        described: the option --entities.
        sentences: the datasets that it names.
        entities: the dataset of their items.

    Raises:
        UsageError: two datasets are of one wiki.
        InputError: the dataset of items was built without a wiki.
    """
    wikis = Counter(map(wiki_of, sentences))
    known = entities.manifest["options"]["wikis"]
    for wiki, number in sorted(wikis.items()):
        if number > 1:
            raise UsageError(f"--sentences={given} names {number} datasets of {wiki}: name one for each wiki")
        if wiki not in known:
            raise InputError(
                f"--entities={described} was built for {','.join(known)}: build it again with {wiki} in --wikis"
            )
    return sorted(wikis)


def wiki_of(sentences: Dataset) -> str:
    """Return the database name of the wiki of a dataset of sentences."""
    return str(sentences.manifest["options"]["wiki"])
