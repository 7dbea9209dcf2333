"""The digest of the sources of the compiled core, and the record of what it was compared with."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from wikianchor.pipelines.wikimedia.core import installed_core
from wikianchor.pipelines.wikimedia.core_record import RECORD, engine_digest

CORE = Path(__file__).parents[1] / "core"
FOLDERS = ("engine/src", "python/src")


def core_sources(core: Path = CORE) -> str:
    """Return the digest of the sources of the core, as `core/python/build.rs` computes it: FNV-1a of 64 bits."""
    paths = {path.relative_to(core).as_posix(): path for folder in FOLDERS for path in (core / folder).rglob("*.rs")}
    digest = 0xCBF29CE484222325
    for name, path in sorted(paths.items()):
        for byte in b"%s\0%s\0" % (name.encode(), path.read_bytes().replace(b"\r", b"")):
            digest = (digest ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return f"{digest:016x}"


def current_record() -> dict[str, str]:
    """Return what the record says where the engines of this checkout were compared last."""
    return {"core": core_sources(), "python": engine_digest()}


def check_core_is_current() -> None:
    """End the command where the core that is installed was built from other sources than those of this checkout."""
    built = getattr(installed_core(), "sources", None)
    if built != core_sources():
        sys.exit("the core that is installed was built from other sources than those of this checkout: run make core")


def write_record() -> None:
    """Record that the engines of this checkout make the same rows."""
    RECORD.write_text(json.dumps(current_record(), indent=1, sort_keys=True) + "\n", "utf-8")
    print(f"recorded in {RECORD.name}")
