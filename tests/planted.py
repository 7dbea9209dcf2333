"""A dataset whose manifest names a shard outside of its directory, as a planted or damaged manifest can."""

import hashlib
import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

WAYS = ("up", "absolute")


@contextmanager
def planted(dataset: Path, config: str, place: Path, way: str) -> Iterator[tuple[Path, str]]:
    """Yield a copy of a dataset whose first shard of a config is elsewhere, and the path that its manifest names.

    The shard is valid, so a command that opens it goes on. At the end it and its directory are checked to be as before.

    Args:
        dataset: directory of a finished dataset.
        config: name of the config.
        place: directory for the copy and for the shard.
        way: one of `WAYS`, how the manifest names the shard.
    """
    copy, outside = place / "planted", place / "outside"
    shutil.copytree(dataset, copy)
    outside.mkdir()
    manifest = json.loads((copy / "manifest.json").read_text())
    shard = manifest["configs"][config]["shards"][0]
    target = outside / Path(shard["path"]).name
    shutil.move(copy / shard["path"], target)
    shard["path"] = f"data/{config}/../../../outside/{target.name}" if way == "up" else str(target)
    (copy / "manifest.json").write_text(json.dumps(manifest))
    before = hashlib.sha256(target.read_bytes()).hexdigest()
    yield copy, shard["path"]
    assert list(outside.iterdir()) == [target]
    assert hashlib.sha256(target.read_bytes()).hexdigest() == before
