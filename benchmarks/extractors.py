"""Extractors of Wikipedia's dumps: links, text, holes and sentences against MediaWiki.

    WIKIANCHOR_DATA=data python benchmarks/extractors.py rightness --judge=RENDER --mediawiki=DIR \\
        [--dumps [WIKI=]FILE.bz2 ...]

The tools are installed from PyPI, npm and crates.io under --tools; how each is run is in `lib/tools.py`, ours is
`wikianchor sentences`. A dump with its Template pages is expanded, by those tools that can and by the judge
(`lib/mediawiki.py`); on other dumps templates are blank for all.

- links: by target and anchor; words: of the text, each as often as it occurs on its page, without tables and captions.
  Those of wikianchor are its parser's, before sentences are chosen; for wikianchor, as for MediaWiki, links to other
  namespaces count.
- sentences: that our rules for whole sentences keep of a tool's text, those that show missing words included; for
  wikianchor what it keeps. Word for word, and holes: as `rightness.py templates` has them.

How fast each is has been measured once (docs/explanation/other-extractors.md).
"""

import re
from argparse import Namespace
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from lib import mediawiki, slices, tools
from lib.measure import fresh, report, run, run_parts, table
from lib.mediawiki import (
    HOLE,
    SAME,
    Dump,
    Rendered,
    add_agreement,
    judge_all,
    per_cent,
    rates,
    rows_of,
    sentences_of,
)
from lib.tools import Article

from wikianchor.pipelines.commands.extract.command import shown_page
from wikianchor.pipelines.dataset.reader import Dataset
from wikianchor.pipelines.templates.store import COLUMNS, TemplateStore, save_store
from wikianchor.pipelines.text.prose import judged_sentences
from wikianchor.pipelines.text.splitter import make_splitter
from wikianchor.pipelines.wikimedia.wikitext import Extract, Extractor, Links
from wikianchor.pipelines.wikimedia.wikitext.placeholders import GAP

# Beside whole wikis: the first pages of two, without templates.
SLICES = ("et", "en")
# What MediaWiki shows of each article, by title.
Truth = Mapping[str, Any]
_WORD = re.compile(r"\w+")


def compare_rightness(arguments: Namespace) -> None:
    """Print how what each tool makes of each dump differs from what MediaWiki shows."""
    homes = tools.install(arguments.tools, arguments.only)
    lines: list[list[object]] = []
    parts = [] if arguments.dumps else [(None, slices.dump(arguments.work, name)) for name in SLICES]
    for dump in (mediawiki.read_dump(*given) for given in [*slices.given_or_whole(arguments.dumps), *parts]):
        name = f"templates-{dump.name}" if dump.templates else dump.name
        truth = mediawiki.judged(arguments, name, dump.site.language, dump.articles, dump.templates or None)
        dataset = sentences_of(dump, arguments.work / "extractors")
        lines.append([f"{dump.name}: wikianchor", *our_rightness(arguments.work, dump, truth, dataset)])
        for name, home in homes.items():
            output = fresh(arguments.work / "extractors-other") / name
            output.parent.mkdir(parents=True)
            run(tools.command_of(name, home, dump.path, output, expand=bool(dump.templates)))
            articles = list(tools.articles_of(name, home, dump.path, output))
            lines.append([f"{dump.name}: {name}", *their_rightness(dump, truth, articles)])
    head = ["tool", "links: recall", "precision", "words: recall", "precision", "sentences", "word for word, %"]
    report("extractors", table([*head, "holes", "holes per million characters"], lines))


def our_rightness(work: Path, dump: Dump, truth: Truth, dataset: Dataset) -> list[object]:
    """Return the cells of wikianchor."""
    definitions = list(rows_of(dataset, "templates", *COLUMNS))
    find = TemplateStore(save_store(str(work), definitions, dump.site.language)).find if definitions else None
    extractor = Extractor(dump.site, literal=not dump.templates, find_template=find)
    pages = {title: shown_page(extractor.extract(text, title), title, " ") for title, text in dump.articles.items()}
    articles = [Article(title, "\n".join(page["blocks"]), page["links"]) for title, page in pages.items()]
    return [*agreement(truth, articles), *faults(dump, truth, rows_of(dataset, "sentences", "title", "text"))]


def their_rightness(dump: Dump, truth: Truth, articles: list[Article]) -> list[object]:
    """Return the cells of another tool."""
    split = make_splitter("rules", dump.site.language)
    sentences = (
        (article.title, sentence.text)
        for article in articles
        for sentence, reason in judged_sentences(
            Extract(article.text.replace(GAP, " ") + "\n", Links(), Links(), [], Counter()), split, dump.site.language
        )
        if reason in (None, "gap")
    )
    return [*agreement(truth, articles), *faults(dump, truth, sentences)]


def agreement(truth: Truth, articles: list[Article]) -> list[object]:
    """Return recall and precision of links, then of words."""
    by_title = {article.title: article for article in articles}
    total: Counter[str] = Counter()
    for title, answer in truth.items():
        article = by_title.get(title, Article(title, "", []))
        links = mediawiki.links_of({"title": title, "links": article.links})
        theirs, ours = (Counter(_WORD.findall(text)) for text in (" ".join(answer["blocks"]), article.text))
        add_agreement(total, "links", _folded(mediawiki.links_of(answer)), _folded(links))
        add_agreement(total, "words", theirs, ours)
    return [f"{rate:.3f}" for rate in rates(total, "links", "words")]


def _folded(links: Counter[tuple[str, str]]) -> Counter[Any]:
    """Return links with a capital first letter and without the section, which tools leave as they are written."""
    folded: Counter[Any] = Counter()
    for (target, anchor), number in links.items():
        if page := target.partition("#")[0].strip():
            folded[page[:1].upper() + page[1:], anchor] += number
    return folded


def faults(dump: Dump, truth: Truth, sentences: Iterable[tuple[str, ...]]) -> list[object]:
    """Return the number of sentences, the share word for word, holes, and holes per million characters."""
    rendered = {title: Rendered(answer["blocks"], unknown=False) for title, answer in truth.items()}
    judged = judge_all(rendered, sentences)
    if not dump.templates:
        # Where templates are blank no words are missing.
        return [len(judged), "", "", ""]
    counts, length = Counter(reason for reason, _, _ in judged), sum(len(text) for _, _, text in judged)
    holes = counts[HOLE]
    return [len(judged), per_cent(counts[SAME], len(judged)), holes, 1e6 * holes / max(1, length)]


if __name__ == "__main__":
    run_parts(
        __doc__,
        {"rightness": compare_rightness},
        {
            **mediawiki.FLAGS,
            "--dumps": ([], f"{slices.WIKI_AND_DUMP} (whole wikis, two slices)"),
            **tools.FLAG,
            "--only": ([*tools.PYPI, *tools.NPM, *tools.CARGO], "the other tools to run"),
        },
    )
