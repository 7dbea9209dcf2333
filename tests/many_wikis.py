"""Dumps of many tiny wikis with a Wikidata for them: `python -m tests.many_wikis DIR --wikis=310` writes them.

The names of the wikis are made up, except that the last wiki may be empty: its only page has no sentence.
"""

from __future__ import annotations

import argparse
import gzip
import json
from pathlib import Path

from tests.dumps import END, head, page
from tests.stand_in import statement

PAGES = 6


def names(wikis: int) -> list[str]:
    """Return names that no Wikipedia has: three letters after a q."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    return [f"q{letters[n // 676]}{letters[n // 26 % 26]}{letters[n % 26]}wiki" for n in range(wikis)]


def write(directory: Path, wikis: int, empty: bool = False) -> Path:
    """Write the dumps of some wikis of six pages each, and a dump of Wikidata; return the directory.

    Args:
        directory: made if it is missing.
        wikis: their number.
        empty: leave the last of them without a sentence.
    """
    directory.mkdir(parents=True, exist_ok=True)
    for number, wiki in enumerate(names(wikis)):
        pages = [
            page(
                f"Town {position}",
                position + 1,
                f"Town {position} of region {number} is a town near [[Town {(position + 1) % PAGES}]] by the sea. "
                f"Many people of region {number} travel to [[Town {(position + 2) % PAGES}]] in the summer.",
            )
            for position in range(PAGES)
        ]
        if empty and number == wikis - 1:
            pages = [page("Town 0", 1, "")]
        with gzip.GzipFile(directory / f"{wiki}-20260101-pages-articles.xml.gz", "wb", mtime=0) as dump:
            dump.write(head(wiki) + b"".join(pages) + END)
    with gzip.GzipFile(directory / "wikidata-20260101-all.json.gz", "wb", mtime=0) as items:
        lines = [json.dumps(_item(position, wikis)) for position in range(PAGES)]
        items.write(("[\n" + ",\n".join(lines) + "\n]\n").encode())
    return directory


def _item(position: int, wikis: int) -> dict[str, object]:
    title = f"Town {position}"
    return {
        "type": "item",
        "id": f"Q{1000 + position}",
        "labels": {"en": {"language": "en", "value": title}},
        "claims": {"P31": [statement("P31", 5)]},
        "sitelinks": {wiki: {"site": wiki, "title": title, "badges": []} for wiki in names(wikis)},
        "lastrevid": 1,
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--wikis", type=int, default=310)
    arguments = parser.parse_args()
    print(write(arguments.directory, arguments.wikis))
