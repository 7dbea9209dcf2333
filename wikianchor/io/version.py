"""The version of the program, for users and manifests."""

from __future__ import annotations

import subprocess
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

# The directory of the checkout; of other packages where wikianchor is installed.
CHECKOUT = Path(__file__).parents[2]


@cache
def package_version(package: str) -> str:
    """Return the version of an installed package; a build with hundreds of stages asks again and again.

    Raises:
        PackageNotFoundError: it is not installed.
    """
    return version(package)


@cache
def program_version() -> str:
    """Return the version that `--version` prints and manifests carry: in a checkout that of its commit, such as
    `0.1.dev0+g0898a76`, and `.dirty` where files have changed since; elsewhere that of the installed package."""
    try:
        installed = version("wikianchor")
    except PackageNotFoundError:
        installed = "uninstalled"
    if (commit := _commit()) is None:
        return installed
    release = "0" if installed == "uninstalled" else installed.partition("+")[0].partition(".dev")[0]
    return f"{release}.dev0+g{commit.replace('-', '.')}"


def _commit() -> str | None:
    """Return the commit of a checkout; None outside of one, and where git is not installed."""
    if not (CHECKOUT / ".git").exists():
        return None
    command = ["git", "-C", str(CHECKOUT), "describe", "--always", "--dirty", "--exclude=*", "--abbrev=9"]
    try:
        ended = subprocess.run(command, capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return ended.stdout.strip() or None
