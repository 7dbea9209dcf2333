"""Remove images, [[File:name|options|caption]], with their captions and the links in them.

https://www.mediawiki.org/wiki/Help:Images
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from wikianchor.io.package_data import package_json
from wikianchor.pipelines.wikimedia.languages import LanguageFacts
from wikianchor.pipelines.wikimedia.wikitext.blanks import removed
from wikianchor.pipelines.wikimedia.wikitext.placeholders import BREAK, SEAM

_BRACKETS = re.compile(r"\[\[|\]\]")
LONGEST_LIST_MARK: int = package_json("pipelines.wikimedia", "limits.json")["list_mark"]
_LINE_MARKUP = tuple("=*#:;")
# Options that place an image beside the text, so that it ends a paragraph. Other images stand in the line.
_BESIDE = ("img_thumbnail", "img_manualthumb", "img_framed", "img_left", "img_right", "img_center", "img_none")


def words_beside(facts: LanguageFacts) -> list[str]:
    """Return the words of the options that place an image beside the text, sorted, with `$1` for a value."""
    return sorted({word for option in _BESIDE for word in facts.image_words.get(option, ())})


class FileStripper:
    """Removes the images of the pages of one wiki.

    Args:
        namespace_names: names of the File namespace.
        facts: those of the wiki's language.
    """

    def __init__(self, namespace_names: Iterable[str], facts: LanguageFacts) -> None:
        names = "|".join(re.escape(name).replace(r"\ ", "[ _]+") for name in sorted(namespace_names))
        # An image without a name is text.
        self._opening = re.compile(rf"\[\[[ _]*(?i:{names})[ _]*:(?![ _]*[|\]])")
        options = "|".join(re.escape(word).replace(r"\$1", "[^|]*") for word in words_beside(facts))
        self._beside = re.compile(rf"\|\s*(?:{options})\s*(?=[|\]])") if options else re.compile("(?!)")

    def strip(self, text: str, dropped: Counter[str], captions: list[str]) -> str:
        """Remove images.

        Args:
            text: wikitext without templates.
            dropped: counts each image as "file" and the links in captions as "caption".
            captions: those that contain links are appended.
        """
        pieces, position = [], 0
        match = self._opening.search(text)
        while match is not None:
            start = match.start()
            end = _end(text, match.end())
            if end < 0:
                # MediaWiki shows an unclosed image as text.
                match = self._opening.search(text, match.end())
                continue
            pieces.append(text[position:start])
            dropped["file"] += 1
            if (link := text.find("[[", match.end(), end)) >= 0:
                dropped["caption"] += text.count("[[", link, end)
                captions.append(text[text.rfind("|", match.end(), link) + 1 or match.end() : end - 2].strip())
            position = end
            before = text[max(0, start - LONGEST_LIST_MARK) : start].rstrip("*#:; ")
            begins_line = before.endswith("\n") or (not before and start < LONGEST_LIST_MARK)
            if begins_line or self._beside.search(text, match.end(), end):
                if not begins_line:
                    pieces.append(BREAK)
                # Blanks after an image do not make the line preformatted.
                while text.startswith(" ", position):
                    position += 1
                if text.startswith(_LINE_MARKUP, position):
                    # To MediaWiki the text is in the same line as the image, so it begins no list and no heading.
                    pieces.append(SEAM)
            elif (
                (text[start - 1].isalpha() or text[start - 1] == "]") and text[position : position + 1].isalpha()
            ) or text[start - 1] == text[position : position + 1] == "'":
                # A link has no trail across the image, and marks of bold before and behind it are two.
                pieces.append(SEAM)
            else:
                pieces.append(removed(text[start - 1], text, position))
            match = self._opening.search(text, position)
        pieces.append(text[position:])
        return "".join(pieces)


def _end(text: str, position: int) -> int:
    """Return the offset after an image, -1 if it is not closed.

    The rule is MediaWiki's: an image ends at its first "]]"; if its caption contains links, at the second "]]" after a
    link. The search stops at a "[[" without a "]]" before the next "[[", so no text is searched twice.
    """
    expected, closed = 1, 0
    for match in _BRACKETS.finditer(text, position):
        if match[0] == "]]":
            closed += 1
            if closed == expected:
                return match.end()
        elif closed == expected - 1:
            expected, closed = 2, 0
        else:
            return -1
    return -1
