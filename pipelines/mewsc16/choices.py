"""Names that flags choose from, where they can be read without what they name."""

from __future__ import annotations

# Which categories of a page count: `membership.bits_of_names`.
MODES = ("direct", "direct+templates", "descend-1")
# Of the released set: `released.ReleasedReader`.
FAULTS = {
    "all_namespaces": "pages of every namespace count, such as categories and talk",
    "line_start": "a category counts only where a line begins with it, by one spelling of one prefix",
    "old_map": "the topic map has the names of 2021 alone",
    "holes": "templates vanish with their words, {{w|...}} among them",
    "category_text": "category links stay in the text",
    "captions": "what a picture's link says last, its caption or its size, stays in the text",
    "glued": "lines are joined without a blank, headings and lists among them",
    "cut": "a sentence ends at every full stop before a blank",
}
# Of a class of the released set.
MIN_PAGES = 10
