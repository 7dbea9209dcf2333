"""The options of `wikianchor publish`."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from wikianchor.io.errors import UsageError
from wikianchor.io.option_groups import DryRun, Target
from wikianchor.io.options import option, without_slash
from wikianchor.pipelines.wikimedia.options import BuiltDirectory

DESCRIPTION = """\
Publish a dataset or a model. Of a dataset: its shards, a card that datasets.load_dataset and the Hub read, a
description in Croissant, and the manifest, which is sent last; a dataset of several languages gets a config for each.
Of a model: the files that training wrote, and its card, with scores and names that are known only now. Files that are
there already are not sent again. The release is first written to a directory, where it can be inspected.
"""


@dataclass(frozen=True, kw_only=True)
class PublishOptions(DryRun, Target, BuiltDirectory):
    """Options of the command `publish`."""

    ADJUSTED: ClassVar[Mapping[str, Mapping[str, Any]]] = {"directory": {"help": "a dataset, or a trained model"}}

    FIRST: ClassVar[tuple[str, ...]] = ("directory", "target", "release", "private", "dry_run")

    release: str = option(
        "",
        metavar="DIR",
        help="directory in which the release is made",
        unset="that of the dataset or the model, -release",
        parse=without_slash,
    )
    license: str = option("", help="licence of a model, by its name on the Hub", unset="as its card says")
    datasets: tuple[str, ...] = option((), metavar="NAMES", help="what a model was trained on: user/name on the Hub")
    scores: str = option(
        "", metavar="DIR", help="output of `wikianchor evaluate`, for the card of a model", parse=without_slash
    )
    private: bool = option(default=False, help="make a new repository of the Hub private")

    def completed(self) -> PublishOptions:
        """Return the options with the directory of the release.

        Raises:
            UsageError: `datasets` are no names on the Hub, or what is published would be written over.
        """
        for flag, place in (("to", self.target), ("release", self.release)):
            if place and os.path.realpath(place) == os.path.realpath(self.directory):
                raise UsageError(f"--{flag}={place} is what is published: name another directory")
        if wrong := [name for name in self.datasets if not re.fullmatch(r"[\w.-]+/[\w.-]+", name)]:
            raise UsageError(f"--datasets={wrong[0]}: write it like user/name, the name of a dataset on the Hub")
        return replace(self, release=self.release or f"{self.directory}-release")
