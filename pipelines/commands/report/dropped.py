"""Examples of the sentences that are not in a dataset, found by reading the beginning of its dump again."""

from __future__ import annotations

from collections import Counter
from itertools import islice

from wikianchor.io.errors import InputError
from wikianchor.pipelines.dataset.reader import Dataset
from wikianchor.pipelines.sentences.wiki import open_wiki
from wikianchor.pipelines.wikimedia.choices import FROM_DUMP, OFF
from wikianchor.pipelines.wikimedia.inventory import classify_files, list_files, newest_dump

# Articles that are read, and examples of each reason.
PAGES, OF_EACH = 500, 3
# What the ledger does not count under `sentences`.
NOT_COUNTED = (None, "heading", "disambiguation_page")


def dropped_sentences(dataset: Dataset, dumps: str) -> list[tuple[str, str, int, str]]:
    """Return (reason, title, revision, text) of sentences of a dump that its dataset counts as dropped, by reason.

    Args:
        dataset: a dataset of sentences.
        dumps: the directories, files or globs in which its dump is.

    Raises:
        InputError: the dump is not there or cannot be read.
    """
    options = dataset.options
    paths = newest_dump(classify_files(list_files(dumps))[0].get(options["wiki"], ()))
    if not paths:
        raise InputError(f"--dumps={dumps} has no dump of {options['wiki']}")
    wiki = open_wiki(
        paths,
        wiki=options["wiki"],
        templates=dataset.directory if options["templates"] == FROM_DUMP else options["templates"],
        lua=options.get("lua", OFF),
        splitter=options["splitter"],
        parser=options["parser"],
        allow_truncated=True,
    ).as_in(options)
    counts: Counter[str] = Counter()
    examples = []
    articles = (page for page in wiki.pages() if page.redirect is None)
    for page in islice(articles, PAGES):
        for sentence in wiki.judge(page.text, title=page.title):
            reason, text = sentence.dropped, " ".join(sentence.text.split())
            if reason not in NOT_COUNTED and text and counts[reason] < OF_EACH:
                counts[reason] += 1
                examples.append((reason, page.title, page.rev_id, text))
    return sorted(examples, key=lambda example: example[0])
