"""Extractors of Wikipedia's dumps: links, text, holes and sentences against MediaWiki, and speed.

    WIKIANCHOR_DATA=data python benchmarks/extractors.py rightness --judge=RENDER --mediawiki=DIR
    WIKIANCHOR_DATA=data python benchmarks/extractors.py speed [--dumps [WIKI=]FILE.bz2 ...]

The tools are installed from PyPI, npm and crates.io under --tools; how each is run is in `lib/tools.py`, ours is
`wikianchor sentences`. A dump with its Template pages is expanded, by those tools that can and by the judge
(`lib/mediawiki.py`); on other dumps templates are blank for all.

`rightness`:

- links: by target and anchor; words: of the text, each as often as it occurs on its page, without tables and captions.
  Those of wikianchor are its parser's, before sentences are chosen; for wikianchor, as for MediaWiki, links to other
  namespaces count.
- sentences: that our rules for whole sentences keep of a tool's text, those that show missing words included; for
  wikianchor what it keeps. Word for word, and holes: as `rightness.py templates` has them.

`speed`: MB of XML per CPU second, of whole jobs less the start, which is the time for one short article, and of
Python's bz2 decompression. wikianchor runs by default, with the compiled core (`make core`), and in Python. The
scripts that call a library read the whole dump and write text and links too.
"""

from __future__ import annotations

import bz2
import re
from argparse import Namespace
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from lib import mediawiki, slices, tools
from lib.measure import fresh, job, less, parser, report, rounds_of, run, run_parts, seconds, table
from lib.mediawiki import SAME, Rendered
from lib.tools import Article

from wikianchor.pipelines.commands.extract.command import shown_page
from wikianchor.pipelines.dataset.reader import read_batches, shards_of
from wikianchor.pipelines.templates.store import COLUMNS, TemplateStore, save_store
from wikianchor.pipelines.text.prose import judged_sentences
from wikianchor.pipelines.text.splitter import make_splitter
from wikianchor.pipelines.wikimedia.dumps import read_head
from wikianchor.pipelines.wikimedia.site import Site, site_from_header
from wikianchor.pipelines.wikimedia.wikitext import Extract, Extractor, Links
from wikianchor.pipelines.wikimedia.wikitext.placeholders import GAP

OURS = "wikianchor"
_OUR_FLAGS = {
    OURS: (),
    f"{OURS}, python": ("--engine=python",),
}
# Beside whole wikis: the first pages of two, without templates.
SLICES = ("et", "en")
Truth = Mapping[str, Any]
"""What MediaWiki shows of each article, by title."""
_WORD = re.compile(r"\w+")
_ONE_PAGE = b"""<page>
    <title>Article</title>
    <ns>0</ns>
    <id>1</id>
    <revision>
      <id>1</id>
      <text>One [[article]] is here.</text>
    </revision>
  </page>
</mediawiki>
"""


def main() -> None:
    """Measure and print the tables."""
    flags = parser(__doc__, parts=list(PARTS))
    mediawiki.add_flags(flags)
    flags.add_argument("--dumps", nargs="+", default=[], help=f"{slices.WIKI_AND_DUMP} (whole wikis, two slices)")
    flags.add_argument("--tools", type=Path, default=Path("out/venvs"), help="where the other tools are installed")
    names = (*tools.PYPI, *tools.NPM, *tools.CARGO)
    flags.add_argument("--only", nargs="+", choices=names, default=names, help="the other tools to run (all)")
    run_parts(PARTS, flags)


class Dump(NamedTuple):
    """A dump, the wiki that it is from, and its articles and templates by title."""

    path: Path
    site: Site
    articles: dict[str, str]
    templates: dict[str, str]

    @property
    def name(self) -> str:
        """The name of the file before its first dot."""
        return self.path.name.partition(".")[0]


def compare_rightness(arguments: Namespace) -> None:
    """Print how what each tool makes of each dump differs from what MediaWiki shows."""
    homes = tools.install(arguments.tools, arguments.only)
    lines: list[list[object]] = []
    for given in given_dumps(arguments):
        dump = read_dump(*given)
        name = f"templates-{dump.name}" if dump.templates else dump.name
        truth = mediawiki.judged(arguments, name, dump.site.language, dump.articles, dump.templates or None)
        ours(arguments.work, dump, _OUR_FLAGS[OURS], dump.path)
        lines.append([f"{dump.name}: {OURS}", *our_rightness(arguments.work, dump, truth)])
        for name, home in homes.items():
            other(arguments.work, dump, name, home, dump.path)
            articles = list(tools.articles_of(name, home, dump.path, _output(arguments.work, name)))
            lines.append([f"{dump.name}: {name}", *rightness(dump, truth, articles)])
    head = ["tool", "links: recall", "precision", "words: recall", "precision", "sentences", "word for word, %"]
    report("extractors", table([*head, "holes", "holes per million characters"], lines))


def compare_speed(arguments: Namespace) -> None:
    """Print the MB of XML that each tool reads in a CPU second, and how long it takes to start."""
    homes = tools.install(arguments.tools, arguments.only)
    names = [*_OUR_FLAGS, *homes]
    starts: dict[str, list[float]] = {name: [] for name in names}
    lines: list[list[object]] = []
    for given in given_dumps(arguments):
        dump = read_dump(*given)
        start = one_page(arguments.work, dump.path)
        jobs: dict[str, Callable[[Path], float]] = {
            name: partial(ours, arguments.work, dump, flags) for name, flags in _OUR_FLAGS.items()
        }
        jobs |= {name: partial(other, arguments.work, dump, name, home) for name, home in homes.items()}
        cases: dict[str, Callable[[], float]] = {"bz2": partial(seconds, partial(unpack, dump.path))}
        for name, function in jobs.items():
            cases |= {f"{name} start": partial(function, start), name: partial(function, dump.path)}
        times = rounds_of(arguments.rounds, cases)
        size = unpack(dump.path) / 1e6
        speeds = [size / median(less(times[name], times[f"{name} start"])) for name in names]
        lines.append([dump.name, size, size / median(times["bz2"]), *speeds])
        for name in names:
            starts[name] += times[f"{name} start"]
    lines.append(["start, CPU s", "", "", *(median(starts[name]) for name in names)])
    report("speed of extractors, MB of XML per CPU second", table(["dump", "MB of XML", "bz2 alone", *names], lines))


def given_dumps(arguments: Namespace) -> list[tuple[str | None, Path]]:
    """Return the dumps to measure, whole wikis first."""
    parts = [] if arguments.dumps else [(None, slices.dump(arguments.work, name)) for name in SLICES]
    return [*slices.given_or_whole(arguments.dumps), *parts]


def read_dump(wiki: str | None, path: Path) -> Dump:
    """Read a dump."""
    site = site_from_header(read_head(str(path)).decode("utf-8", "replace"), wiki, str(path))
    articles: dict[str, str] = {}
    templates: dict[str, str] = {}
    for page in mediawiki.pages_of(path):
        if page.namespace in (mediawiki.TEMPLATE, mediawiki.MODULE):
            templates[page.title] = page.text
        elif not page.namespace and page.redirect is None:
            articles[page.title] = page.text
    return Dump(path, site, articles, templates)


def one_page(work: Path, dump: Path) -> Path:
    """Write a dump of one short article with the header of another."""
    xml = bz2.decompress(dump.read_bytes())
    work.mkdir(parents=True, exist_ok=True)
    path = work / f"one-{dump.name.partition('.')[0]}-pages-articles.xml.bz2"
    path.write_bytes(bz2.compress(xml[: xml.index(b"<page>")] + _ONE_PAGE))
    return path


def unpack(path: Path) -> int:
    """Decompress a file and return its size in bytes."""
    with bz2.open(path) as file:
        return sum(map(len, iter(lambda: file.read(4 << 20), b"")))


def ours(work: Path, dump: Dump, flags: Sequence[str], path: Path) -> float:
    """Run `wikianchor sentences` and return its CPU."""
    flags = [*flags, f"--dumps={path}", f"--wikis={dump.site.wiki}", "--allow_truncated"]
    return job("sentences", _output(work, OURS), *flags)


def other(work: Path, dump: Dump, name: str, home: Path, path: Path) -> float:
    """Run another tool and return its CPU."""
    output = _output(work, name)
    output.unlink() if output.is_file() else fresh(output)
    return run(tools.command_of(name, home, path, output, expand=bool(dump.templates))).user


def _output(work: Path, name: str) -> Path:
    return work / f"extractors-{name}"


def our_rightness(work: Path, dump: Dump, truth: Truth) -> list[object]:
    """Return the cells of wikianchor."""
    output = str(_output(work, OURS))
    rows = [row for batch in _batches(output, "templates", *COLUMNS) for row in batch]
    find = TemplateStore(save_store(str(work), rows, dump.site.language)).find if rows else None
    extractor = Extractor(dump.site, literal=not dump.templates, find_template=find)
    articles: list[Article] = []
    for title, text in dump.articles.items():
        page = shown_page(extractor.extract(text, title), title, " ")
        articles.append(Article(title, "\n".join(page["blocks"]), page["links"]))
    kept = [row for batch in _batches(output, "sentences", "title", "text") for row in batch]
    return [*agreement(truth, articles), *faults(dump, truth, kept)]


def _batches(directory: str, config: str, *columns: str) -> Iterator[Iterator[tuple[Any, ...]]]:
    for shard in shards_of(directory, config):
        for batch in read_batches(shard, list(columns)):
            yield zip(*(column.to_pylist() for column in batch.columns), strict=True)


def rightness(dump: Dump, truth: Truth, articles: list[Article]) -> list[object]:
    """Return the cells of another tool."""
    split = make_splitter("rules", dump.site.language)
    sentences: list[tuple[str, str]] = []
    for article in articles:
        text = article.text.replace(GAP, " ") + "\n"
        extract = Extract(text, Links(), Links(), [], Counter())
        for sentence, reason in judged_sentences(extract, split, dump.site.language):
            if reason in (None, "gap"):
                sentences.append((article.title, sentence.text))
    return [*agreement(truth, articles), *faults(dump, truth, sentences)]


def agreement(truth: Truth, articles: list[Article]) -> list[object]:
    """Return recall and precision of links, then of words."""
    given = {article.title: article for article in articles}
    total: Counter[str] = Counter()
    for title, answer in truth.items():
        article = given.get(title, Article(title, "", []))
        links = mediawiki.links_of({"title": title, "links": article.links})
        sides = {
            "links": (_folded(mediawiki.links_of(answer)), _folded(links)),
            "words": (_words(" ".join(answer["blocks"])), _words(article.text)),
        }
        for kind, (theirs, mine) in sides.items():
            for side, counts in {"theirs": theirs, "ours": mine, "both": theirs & mine}.items():
                total[f"{kind} {side}"] += counts.total()
    return [
        f"{total[f'{kind} both'] / max(1, total[f'{kind} {side}']):.3f}"
        for kind in ("links", "words")
        for side in ("theirs", "ours")
    ]


def _folded(links: Counter[tuple[str, str]]) -> Counter[Any]:
    """Return links with a capital first letter and without the section, which tools leave as they are written."""
    folded: Counter[Any] = Counter()
    for (target, anchor), number in links.items():
        target = target.partition("#")[0].strip()
        if target:
            folded[target[:1].upper() + target[1:], anchor] += number
    return folded


def _words(text: str) -> Counter[Any]:
    return Counter(_WORD.findall(text))


def faults(dump: Dump, truth: Truth, sentences: list[tuple[str, str]]) -> list[object]:
    """Return the number of sentences, the share word for word, holes, and holes per million characters."""
    rendered = {title: Rendered(answer["blocks"], unknown=False) for title, answer in truth.items()}
    counts: Counter[str] = Counter()
    length = 0
    for title, text in sentences:
        if title in rendered:
            counts[rendered[title].judge(text)] += 1
            length += len(text)
    if not dump.templates:
        # Where templates are blank no words are missing.
        return [counts.total(), "", "", ""]
    rate = 1e6 * counts["hole"] / max(1, length)
    return [counts.total(), f"{100 * counts[SAME] / max(1, counts.total()):.2f}", counts["hole"], rate]


PARTS: dict[str, Callable[[Namespace], None]] = {"rightness": compare_rightness, "speed": compare_speed}

if __name__ == "__main__":
    main()
