"""What `pairs` keeps in its scratch directory: bytes by kind of file, at the moment before output shards are written.

    WIKIANCHOR_DATA=data python benchmarks/scratch.py

By it one sees what still goes from step to step through files when rows go through Beam's shuffle (`--shuffle=beam`):
look-up tables, and what the links of each shard lead to.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from pathlib import Path
from typing import Any
from unittest import mock

import pairs
from measure import fresh, parser, report, table

from wikianchor.pipelines.cli.command_line import main as wikianchor
from wikianchor.pipelines.pairs import steps as rows

KINDS = {
    "run": "rows of pairs, sorted runs (only with --shuffle=files)",
    "links": "what the links of a shard lead to",
    "titles": "title index",
    "groups": "row groups of titles",
    "entities": "entity table",
    "finished": "records of finished steps",
}


class Stop(Exception):
    """Ends a run when all rows are decided on."""


def main() -> None:
    """Measure and print the table."""
    flags = parser(__doc__)
    flags.add_argument("--language", default="en", help="whose slices (en)")
    flags.add_argument("--links", type=int, default=3_000_000, help="links at least (3000000)")
    arguments = flags.parse_args()
    sentences = pairs.multiplied(arguments.work, arguments.language, arguments.links)
    items = pairs.entities(arguments.work, sentences, 0.0)
    output = fresh(arguments.work / "scratch")
    for shuffle in ("files", "beam"):
        found = output.with_suffix(".json")

        def stop(*args: Any, found: Path = found) -> rows.ShardWritten:
            found.write_text(json.dumps(sizes_in(output)))
            raise Stop

        with mock.patch.object(rows, "write_shard", stop):
            flags_given = [f"--sentences={sentences}", f"--entities={items}", f"--output={output}"]
            try:
                wikianchor(["pairs", *flags_given, f"--shuffle={shuffle}"])
            except Exception as error:
                if "Stop" not in str(error) and not isinstance(error, Stop):
                    raise
        sizes = Counter(json.loads(found.read_text()))
        lines = [[KINDS.get(kind, kind), size / 1e6, size / arguments.links] for kind, size in sizes.most_common()]
        report(f"scratch, --shuffle={shuffle}", table(["files", "MB", "bytes a link"], lines))
        fresh(output)


def sizes_in(output: Path) -> Counter[str]:
    """Return the bytes of the files of a run by the first word of their name."""
    sizes: Counter[str] = Counter()
    for root, _, files in os.walk(output / "_unfinished"):
        for name in files:
            path = Path(root) / name
            kind = next((part for part in path.relative_to(output).parts[2:] if part), name)
            match = re.match(r"[a-z]+", kind)
            sizes[match[0] if match else kind] += path.stat().st_size
    return sizes


if __name__ == "__main__":
    main()
