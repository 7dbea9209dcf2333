"""Find faults in topic sentences.

The faults are those of the released MewsC-16: category links and options of pictures in the text, missing words,
sentences joined without a space or cut at abbreviations. Our wikitext parser does not make them, but typing errors of
authors look the same. `data/faults.json` has the rules, one a line, and `data/notes.json` the beginnings of notes.

Captions are not looked for in the text: the markup of the page shows them (`lead_markup.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from wikianchor.pipelines.mewsc16.editions import CATEGORY, language_names, read_facts, rules_for
from wikianchor.pipelines.text.fragments import make_fragment_test, markup_offsets
from wikianchor.pipelines.text.splitter import make_splitter, sentence_opener
from wikianchor.pipelines.text.writing import holds_no_spaces
from wikianchor.pipelines.wikimedia.languages import language_facts

REASONS = ("category_marker", "image_residue", "markup", "hole", "note", "glued", "cut", "caption")
_UPPER = "A-ZÀ-ÖØ-Þ" + "".join(filter(str.isupper, map(chr, range(0x100, 0x180)))) + "Ѐ-Я"
# Characters before the first word of a note.
_OPENING = "\"'“„«*: "
# Longer sentences are not tested for a cut.
_CUT_WORDS = 12
_SHORT_WORDS = 5
# A number that is no ordinal.
_NUMBERED = re.compile(r"\b(?:nr|no|n[°º]|č|núm|num|numer|nummer|číslo|número|tv[np]?|№)\.?\s?\d+\.$", re.IGNORECASE)


class FaultFinder:
    """Find the faults of the sentences of one language.

    Args:
        language: its code.
    """

    def __init__(self, language: str) -> None:
        self._spaced = not holds_no_spaces(language)
        words = _words_of_markup(language)
        rules = [
            (rule["reason"], re.sub("<([A-Z_]+)>", lambda name: words.get(name[1], name[0]), rule["pattern"]))
            for rule in rules_for(language, read_facts("faults.json")["rules"])
            if self._spaced or rule["reason"] != "glued"
        ]
        self._patterns = {
            reason: [re.compile(pattern) for name, pattern in rules if name == reason] for reason in REASONS
        }
        self._split = make_splitter("rules", language)
        self._starter = sentence_opener(language) or "Xaver"
        self._unfinished = make_fragment_test(language)
        notes = read_facts("notes.json")
        self._notes = [re.compile(pattern) for pattern in (*notes["*"], *notes.get(language, ()))]

    def fault(self, sentence: str) -> str | None:
        """Return the first fault of a sentence: one of `REASONS` or "fragment:<reason>"; None if it has none."""
        for reason, patterns in self._patterns.items():
            if any(pattern.search(sentence) for pattern in patterns):
                return reason
            if (reason == "note" and self.is_note(sentence)) or (reason == "cut" and self.is_cut(sentence)):
                return reason
        fragment = self._unfinished(sentence, bool(markup_offsets(sentence)))
        return f"fragment:{fragment}" if fragment else None

    def is_note(self, sentence: str) -> bool:
        """Return whether a sentence is a note about the page, such as "This article is a stub"."""
        words = sentence.lstrip(_OPENING)
        return any(pattern.match(words) for pattern in self._notes)

    def is_cut(self, sentence: str) -> bool:
        """Return whether a sentence was cut at an abbreviation, an initial or a number.

        The splitter decides: a sentence is cut if it would not end there with another word after it.
        """
        words = sentence.count(" ") + 1
        if words > _CUT_WORDS or not self._spaced or not sentence.endswith(".") or _NUMBERED.search(sentence):
            return False
        # A short sentence, or one that ends with a number, is tested with a name after it; a longer one with a word
        # that begins sentences.
        after = "Xaver" if words <= _SHORT_WORDS or sentence[-2:-1].isdigit() else self._starter
        return len(self._split(f"{sentence} {after}")) == 1

    def first_of_glued(self, sentence: str) -> str:
        """Return the text up to the first full stop without a space after it: authors forget the space."""
        matches = (pattern.search(sentence) for pattern in self._patterns["glued"])
        match = next(filter(None, matches), None)
        return sentence[: match.end()] if match and sentence[match.end() - 1] in ".!?؟" else sentence


def _words_of_markup(language: str) -> dict[str, str]:
    """Return what the names in the patterns of `data/faults.json` stand for."""
    facts, rules = language_facts(language), read_facts("faults.json")
    categories = {name for name, key in facts.namespace_aliases.items() if key == CATEGORY}
    categories |= {facts.namespaces[CATEGORY], "Category", *language_names("category_aliases", language)}
    shown = [word for option in rules["image_options"].split() for word in facts.image_words.get(option, ())]
    options = {*rules["misspelled"].split(), *(word.removesuffix("=$1") for word in shown)}
    options = {word for word in options if "$" not in word}
    return {
        "UPPER": _UPPER,
        "CATEGORY": _either(categories),
        "OPTION": _either(options),
        # Shorter words may be the beginning of another word.
        "LONG_OPTION": _either(word for word in options if len(word) > 3 or not word.isascii()),
    }


def _either(words: Iterable[str]) -> str:
    """Return a pattern for words of more than one letter, the longest first."""
    return "|".join(sorted((re.escape(word) for word in words if len(word) > 1), key=len, reverse=True))
