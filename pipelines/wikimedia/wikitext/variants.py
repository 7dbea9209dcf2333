"""Choose language variants: -{zh-hans:...; zh-hant:...}- shows one text for each script.

https://www.mediawiki.org/wiki/Writing_systems/Syntax
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from wikianchor.io.package_data import package_json
from wikianchor.pipelines.wikimedia.wikitext.placeholders import SEAM

# Flags of rules that show nothing: they set the page title or the conversion of words on the page.
_HIDDEN = frozenset("TH-")
# Rules within rules that are read.
_DEEPEST: int = package_json("pipelines.wikimedia", "limits.json")["variants_depth"]


class VariantChooser:
    """Chooses the first variant that a rule has, in the order of the language: the choice for a reader without
    preferences.

    >>> VariantChooser(["zh-hans", "zh-hant"]).choose("-{zh-hant:電腦; zh-hans:电脑}-")
    '电脑'
    """

    def __init__(self, variants: Sequence[str]) -> None:
        self._variants = tuple(variants)
        self._rule = re.compile(r"-\{([^{}]*)\}-")

    def choose(self, text: str) -> str:
        """Replace each rule by one variant."""
        if not self._variants or "-{" not in text:
            return text
        for _ in range(_DEEPEST):
            text, count = self._rule.subn(self._between_seams, text)
            if not count or "-{" not in text:
                break
        return text

    def _between_seams(self, match: re.Match[str]) -> str:
        """Return the chosen variant; a link beside it has no trail or prefix in it."""
        shown, text = self._shown(match), match.string
        before, after = text[match.start() - 1 : match.start()], text[match.end() : match.end() + 1]
        opening = SEAM if before == "]" or before.isalpha() else ""
        return opening + shown + (SEAM if after == "[" or shown[-1:] == "]" else "")

    def _shown(self, match: re.Match[str]) -> str:
        flags, bar, body = match[1].partition("|")
        if not bar or "[" in flags:
            flags, body = "", match[1]
        if flags.strip().upper() in _HIDDEN:
            return ""
        texts: dict[str, str] = {}
        name, start, position = "", 0, 0
        for part in body.split(";"):
            # "words => variant: text" converts only these words.
            head, colon, _ = part.partition(":")
            variant = head.rpartition("=>")[2].strip()
            if colon and variant in self._variants:
                if name:
                    texts.setdefault(name, body[start : max(0, position - 1)])
                name, start = variant, position + len(head) + 1
            position += len(part) + 1
        if not name:
            return body
        texts.setdefault(name, body[start:])
        return next(texts[name] for name in self._variants if name in texts).strip("; \n")
