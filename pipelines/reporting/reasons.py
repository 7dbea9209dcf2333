"""What the buckets of the ledger mean, in words."""

from __future__ import annotations

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


def reason(name: str) -> str:
    """Return what a bucket means; nothing where that is not written down."""
    if name.startswith("fragment:"):
        return f"its sentence is none: {name.removeprefix('fragment:').replace('_', ' ')}"
    return REASONS.get(name, "")
