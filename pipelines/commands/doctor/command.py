"""`wikianchor doctor`: print what is installed here, and what a run can use.

Packages are looked up, not imported: torch alone would take seconds.
"""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, requires, version

from wikianchor.io.cache import cache_directory
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


def run(config: DoctorOptions, beam_args: Sequence[str]) -> None:
    """Print a line for each part of the installation."""
    print(f"wikianchor {program_version()}, in {sys.prefix}")
    print(f"Python {platform.python_version()} on {platform.platform()}")
    print(engine_line())
    for extra, packages in extras("wikianchor").items():
        if extra in DEVELOPERS:
            continue
        missing = [package for package in dict.fromkeys(packages) if not _is_installed(package)]
        more = f" and {len(missing) - SHOWN} more" if len(missing) > SHOWN else ""
        problem = f"lacks {', '.join(missing[:SHOWN])}{more}: pip install 'wikianchor[{extra}]'"
        print(f"extra {extra}: {problem if missing else 'installed'}")
    print(f"graphics cards: {', '.join(graphics_cards()) or 'none that nvidia-smi knows'}")
    print(f"{cores()} cores, {size(int(available_memory()))} of memory to use")
    for use, directory in {"here": ".", "cache": cache_directory()}.items():
        print(f"disk, {use}: {size(free_bytes(directory))} free at {directory}")
    print(f"stores: {', '.join(stores())}")


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
