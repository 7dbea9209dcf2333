"""What `wikianchor linking` makes of whole wikis.

    WIKIANCHOR_DATA=data python benchmarks/entity_linking.py

Items are those of `wikianchor items`: each article has one. For each dump:

- recall: mentions, among the links of `documents` to pages that the wiki has, by its `titles`. Target: 99.9 %.
- candidates: for how many mentions the item is the most frequent of its name, and among the 30 most frequent; "held
  out" is without the count of the mention itself, as for a text that is not of the wiki.
- wikipedia2vec: the mentions whose page is among the 30 of highest prior probability by its mention database of the
  same dump, with every name that it has; installed under --tools. Target: ours are not fewer.
- user CPU of `linking`, and whether a second run gives the same bytes.
"""

import json
import subprocess
from argparse import Namespace
from itertools import chain
from pathlib import Path
from typing import Any

from lib import tools
from lib.many_links import build_documents
from lib.measure import digest, job, report, run, run_parts, table
from lib.slices import data

from wikianchor.pipelines.dataset.reader import dataset_at

PER_CENT = "first", "among_30", "held_out_first", "held_out_among_30"
# Prints of how many lines [name, title] the title is among the 30 of highest prior probability of the name.
_AMONG_30 = """
import json, sys
from wikipedia2vec.dictionary import Dictionary
from wikipedia2vec.mention_db import MentionDB
database = MentionDB.load(sys.argv[2], Dictionary.load(sys.argv[1]))
found = 0
for line in sys.stdin:
    name, title = json.loads(line)
    try:
        candidates = database.query(name.lower())
    except KeyError:
        continue
    best = sorted(candidates, key=lambda mention: -mention.prior_prob)[:30]
    found += title in [mention.entity.title for mention in best]
print(found)
"""


def measure(arguments: Namespace) -> None:
    """Print a row for each dump."""
    homes = tools.install(arguments.tools, ["wikipedia2vec"])
    lines = [_line(data() / name, arguments.work / "linking", homes) for name in arguments.dumps]
    head = [
        "dump",
        "links",
        "to pages of the wiki",
        "mentions",
        "recall, %",
        "first, %",
        "in 30, %",
        "in 30 by wikipedia2vec, %",
    ]
    head += ["held out: first, %", "held out: in 30, %", "CPU s", "same bytes"]
    report("linking", table(head, lines))


def _line(dump: Path, work: Path, homes: dict[str, Path]) -> list[Any]:
    out = work / dump.name.partition(".")[0]
    wiki = build_documents(dump, out)
    flags = [f"--{name}={out / name}" for name in ("documents", "mentions", "entities")]
    times = [job("linking", out / name, *flags, "--split=0.1,0.1") for name in ("one", "two")]
    same = "yes" if digest(out / "one") == digest(out / "two") else "no"
    ledger = dataset_at(str(out / "one")).ledger
    links, counts = ledger["links"][wiki], ledger["candidates"][wiki]
    known = links_to_pages(out / "sentences" / wiki, out / "documents", wiki)
    shares: list[Any] = [100 * counts.get(name, 0) / links["kept"] for name in PER_CENT]
    shares[2:2] = [100 * among_30(home, dump, out) / links["kept"] for home in homes.values()] or [""]
    recall = 100 * links["kept"] / known
    return [
        dump.name.partition(".")[0].removesuffix("-pages-articles"),
        links["seen"],
        known,
        links["kept"],
        recall,
        *shares,
        min(times),
        same,
    ]


def among_30(home: Path, dump: Path, out: Path) -> int:
    """Return for how many mentions wikipedia2vec has the page of the item among its 30 candidates."""
    database, words, mentions = (out / f"wikipedia2vec-{name}" for name in ("dump", "words", "mentions"))
    no_floor: list[str | Path] = ["--min-word-count=1", "--min-entity-count=1", "--min-paragraph-len=0"]
    steps: dict[str, list[str | Path]] = {
        "build-dump-db": [dump, database],
        "build-dictionary": [*no_floor, database, words],
        "build-mention-db": [
            "--max-mention-len=9999",
            "--min-link-prob=0",
            "--min-prior-prob=0",
            database,
            words,
            mentions,
        ],
    }
    for step, flags in steps.items():
        run([home / "bin/wikipedia2vec", step, "--pool-size=1", *flags])
    linking = dataset_at(str(out / "one"))
    configs = "linking", "linking_dev", "linking_test"
    rows = chain(*(linking.iterate(name, ["surface", "qid"]) for name in configs))
    sitelinks = dataset_at(str(out / "entities")).iterate("sitelinks", ["qid", "title"])
    titles = {row["qid"]: row["title"] for row in sitelinks}
    lines = "\n".join(json.dumps([row["surface"], titles[row["qid"]]]) for row in rows)
    command: list[str | Path] = [home / "bin/python", "-c", _AMONG_30, words, mentions]
    return int(subprocess.run(command, input=lines, stdout=subprocess.PIPE, text=True, check=True).stdout)


def links_to_pages(sentences: Path, documents: Path, wiki: str) -> int:
    """Return the number of links to titles that a wiki has, whatever items say; a redirect leads to what it names."""
    pages = dataset_at(str(sentences)).iterate("titles", ["title", "redirect", "redirect_fragment"])
    titles = {page["title"]: (page["redirect"], page["redirect_fragment"]) for page in pages}

    def leads_to_page(title: str, steps: int = 0) -> bool:
        target, fragment = titles.get(title, ("", ""))
        # A redirect to a section of a page leads to no page as a whole.
        return target is None or bool(target and not fragment and steps < 10 and leads_to_page(target, steps + 1))

    links = (link for row in dataset_at(str(documents)).iterate("documents", ["links"]) for link in row["links"])
    return sum(leads_to_page(link["target"]) for link in links if link["wiki"] == wiki)


if __name__ == "__main__":
    dumps = ["states/kwwiki-20220701-pages-articles.xml.bz2", "states/dsbwiki-20220701-pages-articles.xml.bz2"]
    dumps += ["with-templates/gagwiki-20220703.xml.bz2", "with-templates/papwiki-20220702.xml.bz2"]
    run_parts(__doc__, {"linking": measure}, {"--dumps": (dumps, "below WIKIANCHOR_DATA"), **tools.FLAG})
