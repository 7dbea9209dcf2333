"""Sentences that are not in a dataset, found again in the dump: a few for each reason."""

from __future__ import annotations

from collections import Counter

from wikianchor.io.errors import InputError
from wikianchor.io.storage import file_size
from wikianchor.pipelines.dataset.reader import Dataset
from wikianchor.pipelines.text.prose import judged_sentences
from wikianchor.pipelines.text.splitter import make_splitter
from wikianchor.pipelines.wikimedia.dumps import Range, read_range
from wikianchor.pipelines.wikimedia.mwparser import make_extractor
from wikianchor.pipelines.wikimedia.pages import cut_pages, page_namespace, parse_page
from wikianchor.pipelines.wikimedia.wikitext.placeholders import GAP, LINE_MARKS

# The first pages of a dump are enough for examples of all that is common.
PAGES, OF_EACH = 500, 3
SHOWN_GAP = "\N{OBJECT REPLACEMENT CHARACTER}"


def dropped_sentences(one: Dataset, places: str) -> list[tuple[str, str, str]]:
    """Return (reason, title, text) of sentences of a dump that are not in its dataset, by reason.

    Args:
        one: a dataset of sentences.
        places: where its dump is.

    Raises:
        InputError: the dump is not there or cannot be read.
    """
    from wikianchor.pipelines.wikimedia.inventory import classify_files, list_files, newest_dump, read_site

    options = one.manifest["options"]
    paths = newest_dump(classify_files(list_files(places))[0].get(options["wiki"], ()))
    if not paths:
        raise InputError(f"--dumps={places} has no dump of {options['wiki']}")
    site, _ = read_site(paths, options["wiki"])
    extractor, split = make_extractor(options["parser"], site), make_splitter(options["splitter"], site.language)
    marks = {ord(mark): "" for mark in LINE_MARKS} | {ord(GAP): SHOWN_GAP}
    number: Counter[str] = Counter()
    found = []
    read = 0
    for raw, offset in cut_pages(read_range(Range(paths[0], 0, file_size(paths[0]), True)), paths[0]):
        where = f"{paths[0]} near byte {offset}"
        if page_namespace(raw, where):
            continue
        page = parse_page(raw, where)
        if page.redirect is not None or page.model not in ("wikitext", ""):
            continue
        for sentence, reason in judged_sentences(extractor.extract(page.text, page.title), split, site.language):
            text = " ".join(sentence.text.translate(marks).split())
            if reason is not None and text and number[reason] < OF_EACH:
                number[reason] += 1
                found.append((reason, page.title, text))
        read += 1
        if read >= PAGES:
            break
    return sorted(found, key=lambda one: one[0])
