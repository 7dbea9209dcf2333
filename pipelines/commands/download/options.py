"""The command line of `wikianchor download`."""

from __future__ import annotations

import argparse
import os
import re
from dataclasses import dataclass
from pathlib import Path

from wikianchor.io.errors import UsageError
from wikianchor.pipelines.commands.download.needs import ARTICLES, NEEDS, SITE
from wikianchor.pipelines.wikimedia.wiki_lists import wikis_named

DESCRIPTION = """\
Fetches the dumps that a target needs from dumps.wikimedia.org: what is there already is kept, what was cut off is gone
on with, and every file is checked against the checksum that Wikimedia publishes. Wikimedia turns away programs that do
not say who runs them: give an address once, with --contact.
"""
SOURCES = ("auto", "dumps", "exports")


@dataclass(frozen=True)
class Config:
    """What the user asked for."""

    target: str
    wikis: tuple[str, ...]
    date: str | None
    source: str
    output: str
    mirror: str | None
    site: str
    contact: str | None
    dry_run: bool


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags of this command."""
    parser.description = DESCRIPTION
    parser.add_argument(
        "--for",
        dest="target",
        choices=tuple(NEEDS),
        default="pairs",
        help="what is to be made of the dumps (default: pairs)",
    )
    parser.add_argument("--wikis", required=True, help="languages or database names with commas, such as en,ja")
    parser.add_argument(
        "--date", default="latest", help="date of the dumps, YYYYMMDD (default: latest, the newest that is finished)"
    )
    parser.add_argument(
        "--source",
        choices=SOURCES,
        default="auto",
        help="where pages come from: dumps (articles alone, deprecated by Wikimedia), exports (MediaWiki Content File "
        "Exports, all namespaces, about twice the bytes), or auto, the newest that is complete; tables and Wikidata "
        "are always those of the dumps",
    )
    parser.add_argument("--output", required=True, metavar="DIR", help="directory of the dumps; gs:// and s3:// too")
    parser.add_argument(
        "--mirror", metavar="URL", help="fetch the files there; lists and checksums still come from Wikimedia"
    )
    parser.add_argument(
        "--site", metavar="URL", default=SITE, help=f"where lists and checksums come from (default: {SITE})"
    )
    parser.add_argument("--contact", help="how Wikimedia can reach you: an e-mail address or a URL; kept for next time")
    parser.add_argument("--dry_run", action="store_true", help="list the files with their sizes and fetch none")


def config_from(arguments: argparse.Namespace) -> Config:
    """Read the flags.

    Raises:
        UsageError: a wiki that is none, a date that is none, or no contact.
    """
    wikis = wikis_named(arguments.wikis, NEEDS[arguments.target].project)
    if not wikis:
        raise UsageError("--wikis= names no wiki: write it like en,ja")
    date = arguments.date.replace("-", "")
    if arguments.date != "latest" and not re.fullmatch(r"\d{8}|\d{4}-\d\d-\d\d", arguments.date):
        raise UsageError(f"--date={arguments.date}: write it like 20260101, or latest")
    if arguments.source == "exports" and ARTICLES not in NEEDS[arguments.target].jobs:
        raise UsageError(f"--source=exports: --for={arguments.target} needs no pages, and tables are in dumps only")
    for flag in ("mirror", "site"):
        url = getattr(arguments, flag)
        if url is not None and not re.match(r"https?://[^/]", url):
            raise UsageError(f"--{flag}={url}: not a web address: write it like {SITE}")
        # Addresses are logged, and written down in download.json.
        if url is not None and "@" in url.split("/")[2]:
            raise UsageError(f"--{flag}: no name and password in the address: keep them in ~/.netrc")
    return Config(
        target=arguments.target,
        wikis=wikis,
        date=None if arguments.date == "latest" else date,
        source=arguments.source,
        output=arguments.output.rstrip("/"),
        mirror=arguments.mirror and arguments.mirror.rstrip("/"),
        site=arguments.site.rstrip("/"),
        contact=_contact(arguments.contact),
        dry_run=arguments.dry_run,
    )


def contact_file() -> Path:
    """Return where the user's contact is kept."""
    home = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(home) / "wikianchor" / "contact"


def _contact(given: str | None) -> str:
    """Return how the user can be reached: what is given now, and kept, or what was kept.

    Raises:
        UsageError: nothing is known, or it is no address.
    """
    path = contact_file()
    if given is None:
        given = path.read_text("utf-8").strip() if path.is_file() else None
        if given is None:
            raise UsageError(
                "Wikimedia turns away programs that do not say who runs them: "
                "give an e-mail address or a URL once, with --contact=you@example.org"
            )
        return given
    if not re.fullmatch(r"[!-~]+@[!-~]+\.[!-~]+|https?://[!-~]+", given):
        raise UsageError(f"--contact={given}: neither an e-mail address nor a URL")
    # What writes files loads pyarrow.
    from wikianchor.io.storage import writing

    with writing(str(path), "$XDG_CONFIG_HOME"):
        path.parent.mkdir(parents=True, exist_ok=True)
        # Private from the first moment.
        path.touch(0o600)
        path.chmod(0o600)
        path.write_text(given + "\n", "utf-8")
    return given
