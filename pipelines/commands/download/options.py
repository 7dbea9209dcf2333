"""The options of `wikianchor download`."""

from __future__ import annotations

import datetime
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import urlsplit

from wikianchor.io.errors import UsageError
from wikianchor.io.option_groups import DryRun, Output
from wikianchor.io.options import option
from wikianchor.pipelines.commands.download.needs import ARTICLES, NEEDS, SITE
from wikianchor.pipelines.wikimedia.options import Wikis
from wikianchor.pipelines.wikimedia.wiki_lists import wikis_named

DESCRIPTION = """\
Fetch the dumps that a target needs from dumps.wikimedia.org. Complete files are kept, interrupted downloads are
continued, and every file is checked against the checksum that Wikimedia publishes. Wikimedia refuses programs that do
not name a contact: give an address once, with --contact.
"""


def _date(value: str, flag: str) -> str | None:
    if value == "latest":
        return None
    digits = value.replace("-", "")
    try:
        if re.fullmatch(r"\d{8}|\d{4}-\d\d-\d\d", value):
            datetime.date(int(digits[:4]), int(digits[4:6]), int(digits[6:]))
            return digits
    except ValueError:
        # No such day.
        pass
    raise UsageError(f"--{flag}={value}: write it like 20260101, or latest")


def _address(value: str, flag: str) -> str:
    if not re.match(r"https?://[^/]", value):
        raise UsageError(f"--{flag}={value}: not a web address: write it like {SITE}")
    # Addresses are logged, and written down in download.json.
    if "@" in value.split("/")[2]:
        raise UsageError(f"--{flag}: no name and password in the address: keep them in ~/.netrc")
    return value.rstrip("/")


def _is_encrypted_or_local(address: str) -> bool:
    return address.startswith("https:") or urlsplit(address).hostname in ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True, kw_only=True)
class DownloadOptions(DryRun, Output, Wikis):
    """Options of the command `download`."""

    # Of which project a wiki is, depends on the target.
    ADJUSTED: ClassVar[Mapping[str, Mapping[str, Any]]] = {"wikis": {"parse": None, "unset": ""}}
    FIRST: ClassVar[tuple[str, ...]] = ("target", "wikis", "output", "contact", "dry_run")

    target: str = option("pairs", flag="for", choices=NEEDS, help="what is to be made of the dumps")
    date: str | None = option(
        None,
        metavar="YYYYMMDD",
        help="date of the dumps, or latest",
        unset="latest, the newest that is finished",
        parse=_date,
    )
    source: str = option(
        "auto",
        choices=("auto", "dumps", "exports"),
        help="where pages come from: dumps (articles alone, deprecated by Wikimedia), exports (MediaWiki Content File "
        "Exports, all namespaces, about twice the bytes), or auto, the newest that is complete; tables and Wikidata "
        "are always those of the dumps",
    )
    mirror: str | None = option(
        None, metavar="URL", help="fetch the files there; lists and checksums still come from Wikimedia", parse=_address
    )
    site: str = option(SITE, metavar="URL", help="where lists and checksums come from", parse=_address)
    contact: str | None = option(
        None, help="how Wikimedia can reach you: an e-mail address or a URL; kept for next time"
    )
    allow_http: bool = option(
        default=False, help="take files and lists over http:// too, where others can read and change what is sent"
    )

    def completed(self) -> DownloadOptions:
        """Return the options with the names of the wikis, which depend on the target, and the contact that is kept.

        Raises:
            UsageError: a wiki that is none, no contact, an address without encryption, or options that do not go
                together.
        """
        for flag, address in (("mirror", self.mirror), ("site", self.site)):
            if address and not (self.allow_http or _is_encrypted_or_local(address)):
                raise UsageError(
                    f"--{flag}={address}: not encrypted, so others can change what is sent: write https://, or add "
                    "--allow_http"
                )
        need = NEEDS[self.target]
        wikis = wikis_named(",".join(self.wikis), project=need.project)
        if self.source == "exports" and ARTICLES not in need.jobs:
            raise UsageError(f"--source=exports: --for={self.target} needs no pages, and tables are in dumps only")
        return replace(self, wikis=wikis, contact=_contact(self.contact))


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
