"""What the buckets of a ledger mean, in words, and which flag changes how much is counted in them."""

from __future__ import annotations

from collections.abc import Mapping

REASONS = {
    "kept": "is in the dataset",
    "table": "is in a table",
    "reference": "is in a footnote",
    "template": "is in the argument of a template",
    "caption": "is in a caption",
    "file": "embeds a file",
    "category": "sets a category of the page",
    "language": "leads to the page in another language",
    "interwiki": "leads to another wiki",
    "namespace": "leads to no article",
    "self": "leads to the page itself",
    "extension_tag": "is in the tag of an extension",
    "heading": "is in a heading",
    "preformatted": "is in preformatted text",
    "gap": "its sentence lost words to a template",
    "back_matter": "is in a section of references, notes or further reading",
    "disambiguation_page": "is on a disambiguation page",
    "red_link": "leads to a page that does not exist",
    "broken_redirect": "leads to a redirect without a target page",
    "no_item": "leads to a page without a Wikidata item",
    "disambiguation": "leads to a disambiguation page",
    "list": "leads to a list",
    "meta_item": "leads to a page about the wiki",
    "section_link": "leads to a section of another page",
    "section_redirect": "leads to a section by a redirect",
    "own_page": "leads to its own page by a redirect",
    "below_floor": "its entity has too few links",
    "no_type": "its entity has no type",
    "small_pool": "its type has too few entities",
    "no_negative": "the page links to every entity of its type",
    "over_cap": "its entity has enough pairs",
    "not_sampled": "was not sampled",
    "duplicate": "the same sentence is elsewhere in the dataset",
}

# By dataset, and for the candidates of `negatives`: the flag that changes how much is dropped for a reason. The other
# reasons depend on the inputs alone.
FLAGS: Mapping[str, Mapping[str, str]] = {
    "entities": {"no wanted sitelink": "--wikis"},
    "pairs": {
        "section_link": "--section_links",
        "not_in_required_wiki": "--required_wiki",
        "below_floor": "--min_links",
        "over_cap": "--max_per_entity",
        "not_sampled": "--sample",
        "no_type": "--types",
        "small_pool": "--negatives",
        "no_negative": "--negatives",
        "duplicate": "--duplicates",
    },
    "mentions": {"section_link": "--section_links", "too_long": "--max_length"},
    "mewsc16": {"no_topic": "--topics", "small_class": "--min_pages"},
    "corpus": {"short": "--min_tokens", "near_duplicate": "--near", "not_sampled": "--sample"},
    "negatives": {"too_long": "--longest", "no_span": "--spans", "out_of_memory": "--beams"},
    "candidates": {"too_near": "--near", "surplus": "--negatives"},
}
_TOTALS = ("kept", "seen")


def counted(dataset: str, name: str, number: int) -> str:
    """Return the count of a bucket, and the flag that changes it.

    >>> counted("pairs", "below_floor", 2091)
    'below_floor 2,091: see --min_links'
    >>> counted("pairs", "red_link", 3)
    'red_link 3'
    """
    flag = FLAGS.get(dataset, {}).get(name)
    return f"{name} {number:,}" + (f": see {flag}" if flag else "")


def _dropped(dataset: str, counts: Mapping[str, int]) -> list[str]:
    dropped = sorted((-number, name) for name, number in counts.items() if name not in _TOTALS and number)
    return [counted(dataset, name, -number) for number, name in dropped] or ["none"]


def listed(dataset: str, counts: Mapping[str, int]) -> str:
    """Return the buckets of what was dropped, the largest first; "none" where nothing was.

    >>> listed("pairs", {"seen": 9, "kept": 4, "red_link": 2, "below_floor": 3})
    'below_floor 3: see --min_links, red_link 2'
    """
    return ", ".join(_dropped(dataset, counts))


def most(dataset: str, counts: Mapping[str, int]) -> str:
    """Return the largest bucket of what was dropped; "none" where nothing was."""
    return _dropped(dataset, counts)[0]


def reason(name: str) -> str:
    """Return the meaning of a bucket; "" for a name that explains itself."""
    if name.startswith("fragment:"):
        return f"its sentence is a fragment: {name.removeprefix('fragment:').replace('_', ' ')}"
    return REASONS.get(name, "")


def meaning(dataset: str, name: str) -> str:
    """Return the meaning of a bucket, and the flag that changes how much is counted in it.

    >>> meaning("pairs", "below_floor")
    'its entity has too few links: see --min_links'
    """
    return ": see ".join(filter(None, (reason(name), FLAGS.get(dataset, {}).get(name))))
