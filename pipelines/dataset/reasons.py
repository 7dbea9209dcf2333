"""What the buckets of a ledger mean, in words, and which flag changes how much is counted in them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

REASONS = {
    "kept": "is in the dataset",
    "table": "is in a table",
    "reference": "is in a footnote",
    "markup": "is in an attribute, or in a variant of the language that is not shown",
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
    "not_a_link": "is in brackets, but no valid link",
    "empty_label": "shows no text",
    "gap": "its sentence lost words to a template",
    "back_matter": "is in a section of references, notes or further reading",
    "disambiguation_page": "is on a disambiguation page",
    "red_link": "leads to a page that does not exist",
    "broken_redirect": "leads to a redirect without a target page",
    "redirect_loop": "leads to redirects that lead to each other",
    "no_item": "leads to a page without a Wikidata item",
    "disambiguation": "leads to a disambiguation page",
    "list": "leads to a list",
    "meta_item": "leads to a page about the wiki",
    "excluded_type": "its entity is of a type that is left out, such as a year",
    "section_link": "leads to a section of another page",
    "section_redirect": "leads to a section by a redirect",
    "own_page": "leads to its own page by a redirect",
    "below_floor": "its entity has too few links",
    "no_type": "its entity has no type",
    "small_pool": "its type has too few entities",
    "no_negative": "the page links to every entity of its type",
    "other_split": "its entity and its page are in different splits",
    "evaluation_text": "its sentence shares words with an evaluation set",
    "text_in_other_split": "its sentence is in an earlier split too",
    "near_duplicate": "enough nearly equal sentences are in the dataset",
    "repeated_text": "enough sentences that differ in digits alone are in the dataset",
    "over_cap": "its entity has enough pairs, or its positive enough rows",
    "not_sampled": "was not sampled",
    "duplicate": "the same sentence is elsewhere in the dataset",
    "no_anchor_text": "its entity has no such page, or its page no lead",
    "no_positive_text": "its entity has no such text, or no other sentence",
    "weak_anchor": "the link is in brackets, one of many or a letter, or the sentence is an entry of a list",
    "unrelated": "it has no word of its positive, and others have",
    "no_negative_text": "too few of its hard negatives have such a text",
    "equal_negative": "too few of its hard negatives have a text that is no positive",
    "weak_positive": "its positive is far from the anchor by the model",
    "inconsistent": "too many other positives are nearer to the anchor by the model",
    "length": "its sentence is shorter or longer than a query",
    "previous": "its sentence is in the earlier dump",
    "near_previous": "the earlier dump has nearly its sentence",
    "masked": "too little of its sentence is left beside masked names",
    "no_passage": "its target has no passage in the corpus",
    "no_evidence": "the passages of its target link neither to its page nor to another item of the sentence",
    "other_side": "its page is the target of a query, or its target has a query",
    "enough_queries": "its sentence, its page or its target has enough queries",
    "query_page": "is of a page that has a query",
    "enough_passages": "its page has enough passages",
    "over_max_passages": "is beyond the number of passages",
    "answer": "links to the target of a query and to what its sentence is about",
    "few_negatives": "too few negatives are far enough from the anchor by the model, or of its type",
}

_OF_SOURCE = {
    "links": "stand in the wikitext",
    "comment": "are in comments",
    "nowiki": "are shown as wikitext",
    "in_calls": "are given to calls of templates; through two calls, they count twice",
    "from_calls": "are shown by calls of templates",
    "notices": "are shown by calls on a line of nothing but calls, and left out",
    "joined": "come from brackets between which something is removed",
}
_OF_TEXT = {
    "alone": "in calls alone on their line",
    "notices": "shown by calls on a line of nothing but calls",
    "several_lines": "in calls of unknown templates over several lines",
    "block": "in calls of templates that show a block",
    "in_line": "in calls that show nothing in their line",
}
_OF_SENTENCES = {"template": "lost words to an unknown template", "gap": "lost words"}

# By dataset, and for the candidates of `negatives`: the flag that changes how much is dropped for a reason. The other
# reasons depend on the inputs alone.
FLAGS: Mapping[str, Mapping[str, str]] = {
    "entities": {"no wanted sitelink": "--wikis"},
    "retrieval": {
        "previous": "--previous",
        "near_previous": "--previous",
        "not_sampled": "--sample",
        "over_max_passages": "--max_passages",
    },
    "pairs": {
        "section_link": "--section_links",
        "excluded_type": "--exclude_types",
        "not_in_required_wiki": "--required_wiki",
        "below_floor": "--min_links",
        "other_split": "--split",
        "evaluation_text": "--exclude_text",
        "text_in_other_split": "--split",
        "near_duplicate": "--max_near_duplicates",
        "repeated_text": "--max_repeats",
        "over_cap": "--max_per_entity",
        "not_sampled": "--sample",
        "no_type": "--types",
        "small_pool": "--negatives",
        "no_negative": "--negatives",
        "duplicate": "--duplicates",
    },
    "export": {
        "no_anchor_text": "--kind",
        "no_positive_text": "--kind",
        "weak_anchor": "--kind",
        "no_negative_text": "--negatives",
        "equal_negative": "--negatives",
        "near_duplicate": "--near_duplicates",
        "over_cap": "--max_per_positive",
        "unrelated": "--max_per_positive",
        "weak_positive": "--positive_cosine",
        "inconsistent": "--consistency",
        "few_negatives": "--negatives",
    },
    "mentions": {"section_link": "--section_links", "too_long": "--max_length"},
    "mewsc16": {"no_topic": "--topics", "small_class": "--min_pages"},
    "corpus": {"short": "--min_tokens", "near_duplicate": "--near", "not_sampled": "--sample"},
    "negatives": {"too_long": "--longest", "no_span": "--spans", "out_of_memory": "--beams"},
    "candidates": {"too_near": "--near", "surplus": "--negatives"},
}
_TOTALS = ("kept", "seen")


class Outcome(NamedTuple):
    """A group of reasons for which a link is no pair: its name, what the links are that are left, and the reasons."""

    name: str
    left: str
    reasons: tuple[str, ...]


# Every reason for which a link is dropped by `sentences` and `pairs` is in one group.
OUTCOMES = (
    Outcome(
        "not in prose",
        "links in prose",
        (
            *("table", "reference", "markup", "caption", "file", "category", "language", "interwiki", "namespace"),
            *("self", "extension_tag", "heading", "preformatted", "back_matter", "disambiguation_page"),
            *("not_a_link", "empty_label"),
        ),
    ),
    Outcome("incomplete sentence", "links in kept sentences", ("gap", "fragment")),
    Outcome(
        "no entity",
        "links to an entity",
        (
            *("red_link", "broken_redirect", "redirect_loop", "no_item", "disambiguation", "list", "meta_item"),
            *("section_link", "section_redirect", "own_page"),
        ),
    ),
    Outcome("rare entity", "links to a frequent entity", ("below_floor",)),
    Outcome("no negative", "links with hard negatives", ("no_type", "small_pool", "no_negative")),
    Outcome(
        "left out",
        "links that options keep",
        (
            *("excluded_type", "not_in_required_wiki", "over_cap", "not_sampled", "duplicate", "near_duplicate"),
            *("repeated_text",),
            *("other_split", "text_in_other_split", "evaluation_text"),
        ),
    ),
)
_OUTCOME_OF = {name: outcome.name for outcome in OUTCOMES for name in outcome.reasons}


def outcome_of(name: str) -> str:
    """Return the name of the outcome that a reason is grouped in.

    >>> outcome_of("fragment:short")
    'incomplete sentence'
    """
    return _OUTCOME_OF.get(name.partition(":")[0], OUTCOMES[-1].name)


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


def reason(name: str, dataset: str = "") -> str:
    """Return the meaning of a bucket; "" for a name that explains itself.

    Args:
        name: the bucket.
        dataset: "prose" for the sentences of a page, "source" for the links of its wikitext, "text" for characters in
            calls of templates; otherwise what is dropped is a link.
    """
    if name.startswith("fragment:"):
        return f"its sentence is a fragment: {name.removeprefix('fragment:').replace('_', ' ')}"
    meanings = {"prose": _OF_SENTENCES, "source": _OF_SOURCE, "text": _OF_TEXT}.get(dataset, REASONS)
    return meanings.get(name, REASONS.get(name, ""))


def meaning(dataset: str, name: str) -> str:
    """Return the meaning of a bucket, and the flag that changes how much is counted in it.

    >>> meaning("pairs", "below_floor")
    'its entity has too few links: see --min_links'
    """
    return ": see ".join(filter(None, (reason(name, dataset), FLAGS.get(dataset, {}).get(name))))
