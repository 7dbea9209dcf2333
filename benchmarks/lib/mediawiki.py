"""Pages as MediaWiki shows them, by a program that is no part of the project, and how other text differs from them.

The judge is a program `RENDER DIR LANGUAGE [TEMPLATES] < pages.ndjson > truth.ndjson`. It lets MediaWiki parse each
{"title", "text"} and prints {"title", "blocks", "links"}, or {"title", "html"} for documents. Templates are expanded by
TEMPLATES, the wiki's pages of the namespaces Template and Module as {"title", "text"} in lines; without it every
template is blank.
"""

import random
import re
import subprocess
import sys
from argparse import Namespace
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qs, unquote, urlsplit

import orjson

from lib.generate import read_pages
from lib.measure import job
from wikianchor.pipelines.dataset.reader import Dataset, dataset_at
from wikianchor.pipelines.text.writing import MISSING
from wikianchor.pipelines.wikimedia.dumps import read_head
from wikianchor.pipelines.wikimedia.site import Site, site_from_header
from wikianchor.pipelines.wikimedia.wikitext.brackets import mend_brackets

TEMPLATE, MODULE = 10, 828
SAME = "word for word"
# Why a sentence does not stand in the rendered page; the last that holds counts.
JOINED, HOLE = "across blocks", "hole"
REASONS = (JOINED, "bracket mended", "blank closed up", "note or icon left out", "template unknown", "other", HOLE)
_TOKEN = re.compile(r"\w+|[^\w\s]")
_BLANK = re.compile(r"\s+")
# Raised and lowered digits, which MediaWiki shows as others in <sup> and <sub>.
_RAISED = dict(zip(map(ord, "⁰¹²³⁴⁵⁶⁷⁸⁹₀₁₂₃₄₅₆₇₈₉⁄⁻⁺"), "01234567890123456789/−+", strict=True))
# Signs without letters, or a note in brackets.
_NOTE = re.compile(r"[\W\d_]*|[\[(][^\[\]()]*[\])][\W_]*")
# What may stand beside a part of a bracket that is left out.
_EDGES = frozenset("()（）,;、，；:")


# The flags that name the judge.
FLAGS = {
    "--judge": (None, "program that renders pages with MediaWiki"),
    "--mediawiki": (None, "its MediaWiki"),
}


class Dump(NamedTuple):
    """A dump, the wiki that it is from, and the wikitext of its articles and templates by title."""

    path: Path
    site: Site
    articles: dict[str, str]
    templates: dict[str, str]

    @property
    def name(self) -> str:
        """The name of the file before its first dot."""
        return self.path.name.partition(".")[0]


def read_dump(wiki: str | None, path: Path) -> Dump:
    """Read a dump; of a truncated one the pages that are complete."""
    site = site_from_header(read_head(str(path)).decode("utf-8", "replace"), wiki, str(path))
    dump = Dump(path, site, {}, {})
    for page in read_pages(str(path)):
        if page.namespace in (TEMPLATE, MODULE):
            dump.templates[page.title] = page.text
        elif not page.namespace and page.redirect is None:
            dump.articles[page.title] = page.text
    return dump


def judged(
    arguments: Namespace,
    name: str,
    language: str,
    pages: Mapping[str, str],
    templates: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Return what MediaWiki shows, by title; answers are kept under --work.

    Args:
        arguments: those of the command, with `FLAGS`.
        name: name of the file with the answers.
        language: code of the wiki's language.
        pages: wikitext by title.
        templates: wikitext of Template and Module pages by title; None to blank all templates.

    Raises:
        SystemExit: a flag is missing.
    """
    if not arguments.judge or not arguments.mediawiki:
        raise SystemExit("give --judge and --mediawiki")
    kept: Path = arguments.work / "rightness" / f"{name}.ndjson"
    question, definitions = kept.with_suffix(".asked"), kept.with_suffix(".templates")
    asked = {question: _lines(pages), definitions: _lines(templates or {})}
    if not kept.exists() or any(not path.exists() or path.read_bytes() != text for path, text in asked.items()):
        kept.parent.mkdir(parents=True, exist_ok=True)
        definitions.write_bytes(asked[definitions])
        command = [arguments.judge, arguments.mediawiki, language]
        command += [definitions.absolute()] if templates is not None else []
        kept.write_bytes(subprocess.run(command, input=asked[question], stdout=subprocess.PIPE, check=True).stdout)
        question.write_bytes(asked[question])
    answers = map(orjson.loads, kept.read_bytes().splitlines())
    return {answer["title"]: answer for answer in answers}


def _lines(pages: Mapping[str, str]) -> bytes:
    return b"".join(orjson.dumps({"title": title, "text": text}) + b"\n" for title, text in pages.items())


def sentences_of(dump: Dump, output: Path, *flags: str) -> Dataset:
    """Run `wikianchor sentences` on a dump, and return the dataset."""
    job("sentences", output, f"--dumps={dump.path}", f"--wikis={dump.site.wiki}", "--allow_truncated", *flags)
    return dataset_at(str(output))


def rows_of(dataset: Dataset, config: str, *columns: str) -> Iterator[tuple[Any, ...]]:
    """Yield the values of some columns of each row of a dataset."""
    return (tuple(row.values()) for row in dataset.iterate(config, columns))


def show_some(name: str, differences: Sequence[tuple[Any, ...]], number: int) -> None:
    """Print a random sample of differences to the terminal, `number` at most."""
    for difference in sorted(random.Random(1).sample(differences, min(number, len(differences)))):
        print(f"{name}: {': '.join(map(str, difference))}", file=sys.stderr)


def per_cent(part: int, of: int) -> str:
    """Return a share in per cent, 0 of nothing."""
    return f"{100 * part / max(1, of):.2f}"


def links_of(page: Mapping[str, Any]) -> Counter[tuple[str, str]]:
    """Return the links of a page as (target, anchor): those to a page of the same wiki."""
    links: Counter[tuple[str, str]] = Counter()
    for anchor, target in page["links"]:
        target = fold(target.replace("_", " ")).strip(" :")
        if target and target not in ("SELF", page["title"]) and not target.startswith(("#", "iw:")):
            links[target, fold(anchor)] += 1
    return links


def add_agreement(
    total: Counter[str], kind: str, theirs: Counter[Any], ours: Counter[Any], size: Callable[[Any], int] = lambda _: 1
) -> None:
    """Add to `total` how much of a kind MediaWiki has, we have, and both have, by the size of each key."""
    for side, counts in {"theirs": theirs, "ours": ours, "both": theirs & ours}.items():
        total[f"{kind} {side}"] += sum(size(key) * number for key, number in counts.items())


def rates(total: Counter[str], *kinds: str) -> list[float]:
    """Return recall and precision of each kind that `add_agreement` has added."""
    return [total[f"{kind} both"] / max(1, total[f"{kind} {side}"]) for kind in kinds for side in ("theirs", "ours")]


class Page(HTMLParser):
    """What a page in HTML shows, without tables, images and notes.

    Attributes:
        headings: (level, text without white space).
        paragraphs: their texts, with white space folded.
        links: the links of each paragraph to pages, as title and text without white space.
        blocks: all text, block by block, with white space folded.

    >>> page = Page('<h2><span>A</span></h2><p>b <i>c</i><br>d<sup class="reference">1</sup></p><ul><li>e</ul>')
    >>> page.headings, page.paragraphs, page.blocks
    (Counter({(2, 'A'): 1}), ['b c d'], ['A', 'b c', 'd', 'e'])
    >>> Page('<p>a <a href="/wiki/B_c">b c</a>, <a href="/w/index.php?title=D&amp;action=edit">d</a></p>').links
    [[('B c', 'bc'), ('D', 'd')]]
    """

    def __init__(self, html: str) -> None:
        super().__init__()
        self.headings: Counter[tuple[int, str]] = Counter()
        self.paragraphs: list[str] = []
        self.links: list[list[tuple[str, str]]] = []
        # The text that is shown, with a line feed around each block.
        self._shown: list[str] = []
        # The elements that are open; the number of them from the first on that is left out; the heading or paragraph
        # that is open, with its text and its links; and the address of the link that is open, with where it begins.
        self._open: list[str] = []
        self._hidden: int | None = None
        self._block = ""
        self._text: list[str] = []
        self._links: list[tuple[str, str]] = []
        self._link: tuple[str, int] | None = None
        # A line feed in HTML is a blank.
        self.feed(html.replace("\n", " "))
        self.close()
        self.blocks = [block for line in "".join(self._shown).split("\n") if (block := fold(line))]

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        if tag in _VOID:
            self.handle_data("\n" if tag in _BLOCKS else "")
            return
        self._shown.append("\n" if self._hidden is None and tag in _BLOCKS else "")
        given = {name: value or "" for name, value in attributes}
        is_hidden = tag in _HIDDEN or _HIDDEN_CLASSES & set(given.get("class", "").split())
        if self._hidden is None and (is_hidden or given.get("typeof", "").startswith(("mw:File", "mw:Error mw:File"))):
            self._hidden = len(self._open)
        if self._hidden is None and not self._block and (tag == "p" or tag in _HEADINGS):
            self._block, self._text, self._links = tag, [], []
        if tag == "a" and self._block and self._hidden is None:
            self._link = given.get("href", ""), len(self._text)
        self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in self._open:
            return
        while self._open.pop() != tag:
            pass
        self._shown.append("\n" if self._hidden is None and tag in _BLOCKS else "")
        if tag == "a" and self._link is not None:
            address, start = self._link
            if address.startswith("/"):
                self._links.append((_title(address), without_blanks("".join(self._text[start:]))))
            self._link = None
        if self._hidden is not None and len(self._open) <= self._hidden:
            self._hidden = None
        elif self._hidden is None and tag == self._block:
            if (text := fold("".join(self._text))) and tag == "p":
                self.paragraphs.append(text)
                self.links.append(self._links)
            elif text:
                self.headings[int(tag[1]), without_blanks(text)] += 1
            self._block = ""

    def handle_data(self, data: str) -> None:
        if self._hidden is None:
            self._text.append(data)
            self._shown.append(data)


_VOID = frozenset(("br", "hr", "img", "input", "link", "meta", "wbr"))
_HEADINGS = frozenset(("h1", "h2", "h3", "h4", "h5", "h6"))
_HIDDEN = frozenset(("table", "figure", "style", "script"))
_BLOCKS = _HEADINGS | frozenset(
    (
        "p",
        "div",
        "li",
        "ul",
        "ol",
        "dl",
        "dd",
        "dt",
        "blockquote",
        "center",
        "br",
        "hr",
        "pre",
        "section",
        "table",
        "figure",
    )
)
_HIDDEN_CLASSES = frozenset(
    (
        "reference",
        "references",
        "mw-references-wrap",
        "autonumber",
        "gallery",
        "toc",
        "mw-editsection",
        "thumb",
        "error",
    )
)


def _title(address: str) -> str:
    parts = urlsplit(address)
    title = (
        parse_qs(parts.query)["title"][0]
        if "title=" in parts.query
        else re.split("/wiki/|/index.php/", unquote(parts.path))[-1]
    )
    return title.replace("_", " ")


def without_blanks(text: str) -> str:
    """Remove white space and the marks of missing words, and make raised digits plain."""
    return "".join(text.replace(MISSING, "").split()).translate(_RAISED)


def fold(text: str) -> str:
    """Make all white space single blanks."""
    return " ".join(text.split())


def with_plain_digits(text: str) -> str:
    """Fold white space, and make raised and lowered digits plain."""
    return fold(text).translate(_RAISED)


class Rendered:
    """A page that MediaWiki shows, to compare sentences with.

    Args:
        blocks: the blocks of its text.
        unknown: whether the page calls a template that MediaWiki was not given.
    """

    def __init__(self, blocks: Iterable[str], unknown: bool) -> None:
        self._blocks = [with_plain_digits(block) for block in blocks]
        self._text = " ".join(self._blocks)
        self._unspaced = _BLANK.sub("", self._text)
        self._mended = ""
        self._counts: list[Counter[str]] = []
        self._unknown = unknown

    def judge(self, sentence: str) -> str:
        """Return SAME, or why a sentence is not shown in the same words.

        >>> page = Rendered(["A. Bonn ( ; 1990) is a town of 5 people. B ."], unknown=False)
        >>> [page.judge(text) for text in ("Bonn (1990) is a town of 5 people.", "Bonn is a town of people.", "B.")]
        ['bracket mended', 'note or icon left out', 'blank closed up']
        >>> page.judge("Bonn (1990) is a town people.")
        'hole'
        """
        sentence = with_plain_digits(sentence)
        if sentence in self._text:
            return SAME if any(sentence in block for block in self._blocks) else JOINED
        unspaced = _BLANK.sub("", sentence)
        if unspaced in self._unspaced:
            return "blank closed up"
        self._mended = self._mended or _BLANK.sub("", mend_brackets(self._text))
        return "bracket mended" if unspaced in self._mended else self._difference(_TOKEN.findall(sentence))

    def _difference(self, ours: list[str]) -> str:
        """Compare word by word with the block that shares most words."""
        self._counts = self._counts or [Counter(_TOKEN.findall(block)) for block in self._blocks]
        words = Counter(ours)
        nearest = max(range(len(self._blocks)), key=lambda number: (words & self._counts[number]).total(), default=-1)
        theirs = _TOKEN.findall(self._blocks[nearest]) if nearest >= 0 else []
        changes = SequenceMatcher(None, theirs, ours, autojunk=False).get_opcodes()
        if 2 * sum(end - start for kind, start, end, _, _ in changes if kind == "equal") < len(ours):
            # MediaWiki does not show this sentence.
            return "template unknown" if self._unknown else "other"
        # What is missing before and behind belongs to other sentences.
        inner = [*(change for change in changes[:1] + changes[-1:] if change[0] != "delete"), *changes[1:-1]]
        reasons = {self._reason(kind, theirs, a, b) for kind, a, b, _, _ in inner if kind != "equal"}
        if self._unknown and "template unknown" in reasons:
            # It shows words that MediaWiki was not given, which then lacks more of the sentence.
            return "template unknown"
        return max(reasons, key=REASONS.index, default="other")

    def _reason(self, kind: str, theirs: list[str], start: int, end: int) -> str:
        if kind != "delete":
            return "template unknown" if self._unknown else "other"
        missing = theirs[start:end]
        opened = Counter(theirs[:end])
        in_bracket = missing[0] in "(（" or opened["("] + opened["（"] > opened[")"] + opened["）"]
        if (
            in_bracket
            and _EDGES & {*theirs[start - 1 : start], missing[0]}
            and _EDGES & {*theirs[end : end + 1], missing[-1]}
        ):
            return "bracket mended"
        return "note or icon left out" if _NOTE.fullmatch("".join(missing)) else HOLE


def judge_all(pages: Mapping[str, Rendered], sentences: Iterable[tuple[str, ...]]) -> list[tuple[str, str, str]]:
    """Return what `Rendered.judge` says of sentences, given as title and text, of these pages; with title and text."""
    return [(pages[title].judge(text), title, text) for title, text in sentences if title in pages]
