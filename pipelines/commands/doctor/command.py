"""`wikianchor doctor`: what is installed here, and what a run can use.

Packages are looked up, not imported: torch alone would take seconds.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, requires, version
from typing import Any

from wikianchor.io.cache import cache_directory
from wikianchor.io.output import say
from wikianchor.io.storage import free_bytes
from wikianchor.io.units import size
from wikianchor.io.version import program_version
from wikianchor.pipelines.commands.doctor.options import DoctorOptions
from wikianchor.pipelines.engine.machine import available_memory, cores
from wikianchor.pipelines.wikimedia.core import engine_line

# A requirement of an extra in the metadata of a package.
_OF_EXTRA = re.compile(r"([\w.-]+)(?:\[([\w-]+)\])?.*extra == ['\"]([\w-]+)['\"]")
# Extras for those who change the package.
DEVELOPERS = frozenset(("audit", "dev", "docs", "fuzz", "hub-dev", "test"))
# Missing packages that are named.
SHOWN = 4
NVIDIA_SECONDS = 10
STORES = {"gs://": "GcsFileSystem", "s3://": "S3FileSystem", "hdfs://": "HadoopFileSystem"}


@dataclass(frozen=True)
class Installation:
    """The state of an installation. Sizes are in bytes."""

    prefix: str
    python: str
    platform: str
    core: str
    missing: dict[str, list[str]]
    cards: list[str]
    cores: int
    memory: int
    disks: dict[str, int]
    stores: list[str]

    def say(self, details: bool = False) -> None:
        """Print a line for each part."""
        say(f"wikianchor {program_version()}, in {self.prefix}")
        say(f"Python {self.python} on {self.platform}")
        say(self.core)
        for extra, missing in self.missing.items():
            more = f" and {len(missing) - SHOWN} more" if len(missing) > SHOWN else ""
            problem = f"lacks {', '.join(missing[:SHOWN])}{more}: pip install 'wikianchor[{extra}]'"
            say(f"extra {extra}: {problem if missing else 'installed'}")
        say(f"graphics cards: {', '.join(self.cards) or 'none that nvidia-smi knows'}")
        say(f"{self.cores} cores, {size(self.memory)} of memory to use")
        for directory, free in self.disks.items():
            say(f"disk: {size(free)} free at {directory}")
        say(f"stores: {', '.join(self.stores)}")

    def record(self) -> dict[str, Any]:
        """Return the same for programs."""
        return asdict(self)


def run(config: DoctorOptions, beam_args: Sequence[str]) -> Installation:
    """Return the state of this installation."""
    packages = {name: dict.fromkeys(of) for name, of in extras("wikianchor").items() if name not in DEVELOPERS}
    return Installation(
        prefix=sys.prefix,
        python=platform.python_version(),
        platform=platform.platform(),
        core=engine_line(),
        missing={
            extra: [package for package in of_extra if not _is_installed(package)]
            for extra, of_extra in packages.items()
        },
        cards=list(graphics_cards()),
        cores=cores(),
        memory=int(available_memory()),
        disks={directory: int(free_bytes(directory)) for directory in (os.getcwd(), cache_directory())},
        stores=list(stores()),
    )


def extras(package: str) -> dict[str, list[str]]:
    """Return the packages of each extra of an installed package, with those of the extras that it asks of others."""
    packages: dict[str, list[str]] = {}
    for name, inner, extra in _optional(package):
        packages.setdefault(extra, []).append(name)
        if inner and name != package:
            packages[extra] += [other for other, _, wanted in _optional(name) if wanted == inner]
    return packages


def _optional(package: str) -> list[tuple[str, str, str]]:
    """Return (package, its extra or "", the extra that it belongs to) of the optional requirements of a package; none
    where it is not installed."""
    with suppress(PackageNotFoundError):
        return [
            (match[1], match[2] or "", match[3]) for match in map(_OF_EXTRA.match, requires(package) or []) if match
        ]
    return []


def graphics_cards() -> Iterator[str]:
    """Yield the names of the cards of this machine, by the driver's program."""
    if program := shutil.which("nvidia-smi"):
        with suppress(OSError, subprocess.SubprocessError):
            ended = subprocess.run(
                [program, "--query-gpu=name,memory.total", "--format=csv,noheader"],
                capture_output=True,
                text=True,
                timeout=NVIDIA_SECONDS,
                check=True,
            )
            yield from ended.stdout.strip().splitlines()


def stores() -> Iterator[str]:
    """Yield the kinds of places that files can be read from and written to."""
    import pyarrow.fs

    yield "local paths"
    yield from (scheme for scheme, name in STORES.items() if hasattr(pyarrow.fs, name))
    if _is_installed("huggingface_hub"):
        yield "hf:// (to publish)"


def _is_installed(package: str) -> bool:
    with suppress(PackageNotFoundError):
        return bool(version(package))
    return False
