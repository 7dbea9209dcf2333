"""Language variants: -{zh-hans:...; zh-hant:...}- shows the text for the reader's script.

https://www.mediawiki.org/wiki/Writing_systems/Syntax
"""

from __future__ import annotations

import re
from collections.abc import Sequence

# Flags of a rule that shows nothing: it sets the page's title, or how words elsewhere are converted.
_HIDDEN = frozenset("TH-")


class VariantChooser:
    """Chooses as for a reader who has no preference: the first variant that is there, in the language's own order."""

    def __init__(self, variants: Sequence[str]) -> None:
        self._variants = tuple(variants)
        self._rule = re.compile(r"-\{([^{}]*)\}-")

    def choose(self, text: str) -> str:
        """Show one variant of each rule."""
        if not self._variants or "-{" not in text:
            return text
        return self._rule.sub(self._shown, text)

    def _shown(self, match: re.Match[str]) -> str:
        flags, bar, body = match[1].partition("|")
        if not bar or "[" in flags or ":" in flags:
            flags, body = "", match[1]
        if flags.strip().upper() in _HIDDEN:
            return ""
        texts: dict[str, str] = {}
        name, start, position = "", 0, 0
        for part in body.split(";"):
            # "words => variant: text" converts these words only.
            head, colon, _ = part.partition(":")
            found = head.rpartition("=>")[2].strip()
            if colon and found in self._variants:
                if name:
                    texts.setdefault(name, body[start : max(0, position - 1)])
                name, start = found, position + len(head) + 1
            position += len(part) + 1
        if not name:
            return body
        texts.setdefault(name, body[start:])
        return next(texts[name] for name in self._variants if name in texts).strip("; \n")
