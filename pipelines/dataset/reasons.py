"""What the buckets of the ledger mean, in words, and which flag changes how much ends in them."""

from __future__ import annotations

from collections.abc import Mapping

REASONS = {
    "kept": "is in the dataset",
    "table": "stands in a table",
    "reference": "stands in a footnote",
    "template": "stands in the argument of a template",
    "caption": "stands in a caption",
    "file": "embeds a file",
    "category": "sorts the page",
    "language": "leads to the page in another language",
    "interwiki": "leads to another wiki",
    "namespace": "leads to no article",
    "self": "leads to the page itself",
    "extension_tag": "stands in the tag of an extension",
    "heading": "stands in a heading",
    "preformatted": "stands in preformatted text",
    "gap": "its sentence lost words to a template",
    "back_matter": "stands among references, notes and further reading",
    "disambiguation_page": "stands on a disambiguation page",
    "red_link": "leads to no page",
    "broken_redirect": "leads to a redirect that ends nowhere",
    "no_item": "leads to a page without a Wikidata item",
    "disambiguation": "leads to a disambiguation page",
    "list": "leads to a list",
    "meta_item": "leads to a page about the wiki itself",
    "section_link": "means a section of another page",
    "section_redirect": "leads to a section by a redirect",
    "own_page": "leads back to its page by a redirect",
    "below_floor": "its entity is linked to too seldom",
    "no_type": "its entity has no type",
    "small_pool": "its type has too few entities",
    "no_negative": "the page links to every entity of its type",
    "over_cap": "its entity has pairs enough",
    "not_sampled": "was not drawn",
    "duplicate": "the same sentence stands elsewhere",
}

# By dataset, and for the candidates of `negatives`: the flag that changes how much is dropped for a reason. The other
# reasons follow from the inputs alone.
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
    """Return how much ended in a bucket, and the flag that changes it.

    >>> counted("pairs", "below_floor", 2091)
    'below_floor 2,091: see --min_links'
    >>> counted("pairs", "red_link", 3)
    'red_link 3'
    """
    flag = FLAGS.get(dataset, {}).get(name)
    return f"{name} {number:,}" + (f": see {flag}" if flag else "")


def listed(dataset: str, counts: Mapping[str, int]) -> str:
    """Return the buckets of what was dropped, the fullest first; "none" where nothing was.

    >>> listed("pairs", {"seen": 9, "kept": 4, "red_link": 2, "below_floor": 3})
    'below_floor 3: see --min_links, red_link 2'
    """
    dropped = sorted((-number, name) for name, number in counts.items() if name not in _TOTALS and number)
    return ", ".join(counted(dataset, name, -number) for number, name in dropped) or "none"


def most(dataset: str, counts: Mapping[str, int]) -> str:
    """Return the fullest bucket of what was dropped; "none" where nothing was."""
    dropped = {name: number for name, number in counts.items() if name not in _TOTALS and number}
    if not dropped:
        return "none"
    return counted(dataset, *min(dropped.items(), key=lambda item: (-item[1], item[0])))


def reason(name: str) -> str:
    """Return what a bucket means; nothing where that is not written down."""
    if name.startswith("fragment:"):
        return f"its sentence is none: {name.removeprefix('fragment:').replace('_', ' ')}"
    return REASONS.get(name, "")
