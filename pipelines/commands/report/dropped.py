"""Examples of the sentences that are not in a dataset, found by reading the beginning of its dump again."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from wikianchor.io.errors import InputError
from wikianchor.io.storage import file_size
from wikianchor.pipelines.dataset.reader import Dataset
from wikianchor.pipelines.templates.store import TemplateStore
from wikianchor.pipelines.templates.tables import save_shards
from wikianchor.pipelines.text.prose import judged_sentences
from wikianchor.pipelines.text.splitter import make_splitter
from wikianchor.pipelines.wikimedia.dumps import Range, read_range
from wikianchor.pipelines.wikimedia.inventory import classify_files, list_files, newest_dump, read_site
from wikianchor.pipelines.wikimedia.mwparser import make_extractor
from wikianchor.pipelines.wikimedia.page_kinds import PageKinds
from wikianchor.pipelines.wikimedia.pages import Page, cut_pages, page_namespace, parse_page
from wikianchor.pipelines.wikimedia.site import Site
from wikianchor.pipelines.wikimedia.wikitext.definitions import template_title
from wikianchor.pipelines.wikimedia.wikitext.placeholders import GAP, LINE_MARKS

# Articles that are read, and examples of each reason.
PAGES, OF_EACH = 500, 3
SHOWN_GAP = "\N{OBJECT REPLACEMENT CHARACTER}"


def dropped_sentences(dataset: Dataset, dumps: str) -> list[tuple[str, str, int, str]]:
    """Return (reason, title, revision, text) of sentences of a dump that its dataset counts as dropped, by reason.

    Args:
        dataset: a dataset of sentences.
        dumps: the directories, files or globs in which its dump is.

    Raises:
        InputError: the dump is not there or cannot be read.
    """
    options = dataset.manifest["options"]
    paths = newest_dump(classify_files(list_files(dumps))[0].get(options["wiki"], ()))
    if not paths:
        raise InputError(f"--dumps={dumps} has no dump of {options['wiki']}")
    site, _ = read_site(paths, options["wiki"])
    with tempfile.TemporaryDirectory() as directory:
        store = None
        if options["templates"] == "dump":
            store = TemplateStore(save_shards(dataset.shards("templates"), site.language, directory))
        return _dropped(_articles(paths[0]), site, options, store)


def _dropped(
    articles: Iterator[Page], site: Site, options: Mapping[str, Any], store: TemplateStore | None
) -> list[tuple[str, str, int, str]]:
    extractor = make_extractor(options["parser"], site, find_template=store.find if store else None)
    split = make_splitter(options["splitter"], site.language)
    kinds = PageKinds(
        site.language, (lambda name: store.marks_disambiguation(template_title(name, site))) if store else None
    )
    marks = {ord(mark): "" for mark in LINE_MARKS} | {ord(GAP): SHOWN_GAP}
    counts: Counter[str] = Counter()
    examples = []
    for page in islice(articles, PAGES):
        # The sentences of a disambiguation page are not counted, and neither are headings.
        if "disambiguation" in kinds.flags(page.title, page.text):
            continue
        extract = extractor.extract(page.text, page.title)
        gaps = position = 0
        for sentence, reason in judged_sentences(extract, split, site.language):
            if reason == "gap":
                gaps += extract.text.count(GAP, position, sentence.start)
                position = sentence.start
                if any(extract.gaps[gaps : gaps + sentence.text.count(GAP)]):
                    reason = "template"
            text = " ".join(sentence.text.translate(marks).split())
            if reason not in (None, "heading") and text and counts[reason] < OF_EACH:
                counts[reason] += 1
                examples.append((reason, page.title, page.rev_id, text))
    return sorted(examples, key=lambda example: example[0])


def _articles(path: str) -> Iterator[Page]:
    for raw, offset in cut_pages(read_range(Range(path, 0, file_size(path), True)), path):
        where = f"{path} near byte {offset}"
        if not page_namespace(raw, where):
            page = parse_page(raw, where)
            if page.redirect is None and page.model in ("wikitext", ""):
                yield page
