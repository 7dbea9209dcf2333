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
        names = "|".join(map(re.escape, sorted(variants, key=len, reverse=True)))
        self._rule = re.compile(r"-\{([^{}]*)\}-")
        self._choice = re.compile(rf"(?:^|;)\s*(?:[^;:]*=>)?\s*({names})\s*:") if variants else None

    def choose(self, text: str) -> str:
        """Show one variant of each rule."""
        if self._choice is None or "-{" not in text:
            return text
        return self._rule.sub(self._shown, text)

    def _shown(self, match: re.Match[str]) -> str:
        flags, bar, body = match[1].partition("|")
        if not bar or "[" in flags or ":" in flags:
            flags, body = "", match[1]
        if flags.strip().upper() in _HIDDEN:
            return ""
        texts: dict[str, str] = {}
        name, start = "", 0
        for choice in self._choice.finditer(body) if self._choice else ():
            if name:
                texts.setdefault(name, body[start : choice.start()])
            name, start = choice[1], choice.end()
        if not name:
            return body
        texts.setdefault(name, body[start:])
        return next(texts[name] for name in self._variants if name in texts).strip("; \n")
