"""The options of `wikianchor publish`."""

from __future__ import annotations

from dataclasses import dataclass, replace

from wikianchor.io.options import option, without_slash

DESCRIPTION = """\
Publish a dataset: its shards, a card that datasets.load_dataset and the Hub read, a description in Croissant, and the
manifest, which is sent last. Files that are there already are not sent again. A dataset of several languages gets a
config for each. The release is first written to a directory, where it can be inspected.
"""


@dataclass(frozen=True, kw_only=True)
class PublishOptions:
    """Options of the command `publish`."""

    directory: str = option(positional=True, help="a dataset", parse=without_slash)
    target: str = option(
        flag="to",
        metavar="PLACE",
        help="hf://user/name, gs://bucket/name, s3://bucket/name or a directory",
        parse=without_slash,
    )
    release: str = option(
        "",
        metavar="DIR",
        help="directory in which the release is made",
        unset="that of the dataset, -release",
        parse=without_slash,
    )
    by_language: bool = option(
        True, help="add a config for each language; rows of a shuffled dataset are written once more for that"
    )
    private: bool = option(False, help="make a new repository of the Hub private")
    dry_run: bool = option(False, help="make the release, show what would be sent, send nothing")

    def completed(self) -> PublishOptions:
        """Return the options with the directory of the release."""
        return replace(self, release=self.release or f"{self.directory}-release")
