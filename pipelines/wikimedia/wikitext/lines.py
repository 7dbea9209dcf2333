"""What a line is (heading, list item, preformatted), and the marks within it: quotes, external links, entities,
switches.

https://www.mediawiki.org/wiki/Help:Formatting
"""

from __future__ import annotations

import html
import re
from functools import lru_cache

from pipelines.wikimedia.wikitext.marks import HEADING, LIST, PREFORMATTED, SEAM, protect

_HEADING = re.compile(r"\n(={1,6})([^\n]+?)\1[ \t]*(?=\n)")
_LIST = re.compile(r"\n[*#:;]+[ \t]*")
_RULE = re.compile(r"\n----+")
_SPACES = re.compile(r"[ \t]{2,}")


def mark_lines(text: str) -> str:
    """Mark headings, list items and preformatted lines by their first character. `text` begins and ends with a line
    feed."""
    if "\n " in text or "\n\t" in text:
        text = re.sub(r"\n[ \t]+(?=\n)", "\n", text).replace("\n ", "\n" + PREFORMATTED)
    if "\n=" in text:
        text = _HEADING.sub(lambda match: f"\n{HEADING}{match[2].strip()}", text)
    if "\n----" in text:
        text = _RULE.sub("\n", text)
    return _LIST.sub("\n" + LIST, text)


def fold_spaces(text: str) -> str:
    """Make runs of blanks one blank."""
    return _SPACES.sub(" ", text) if "  " in text or "\t" in text else text


_QUOTES = re.compile("'{2,}")


def strip_quotes(text: str) -> str:
    """Remove the marks of italics and bold; an apostrophe beside them stays, by MediaWiki's own rule
    (Parser::doQuotes)."""
    if "''" not in text:
        return text
    if "]]''" in text:
        text = text.replace("]]''", f"]]{SEAM}''")
    return "\n".join([_line_quotes(line) if "''" in line else line for line in text.split("\n")])


def _line_quotes(line: str) -> str:
    if "''''" not in line:
        plain = line.replace("'''", "")
        if not (line.count("'''") % 2 and plain.count("''") % 2):
            return plain.replace("''", "")
    parts = _QUOTES.split(line)
    runs = [len(run) for run in _QUOTES.findall(line)]
    # Runs of four are one apostrophe and bold; runs above five are apostrophes and five.
    kept = ["'" if run == 4 else "'" * (run - 5) if run > 5 else "" for run in runs]
    marks = [3 if run == 4 else min(run, 5) for run in runs]
    bold = sum(mark in (3, 5) for mark in marks)
    italic = sum(mark in (2, 5) for mark in marks)
    if bold % 2 and italic % 2:
        turned = _unbalanced(parts, marks)
        if turned >= 0:
            kept[turned] += "'"
    pieces = [parts[0]]
    for apostrophes, part in zip(kept, parts[1:], strict=True):
        pieces += (apostrophes, part)
    return "".join(pieces)


def _unbalanced(parts: list[str], marks: list[int]) -> int:
    """Return the bold mark that MediaWiki reads as an apostrophe and italics: after a one-letter word, else a word,
    else a space."""
    one_letter = word = space = -1
    for number, mark in enumerate(marks):
        if mark != 3:
            continue
        before = parts[number]
        if before[-1:] == " ":
            space = number if space < 0 else space
        elif before[-2:-1] == " ":
            if one_letter < 0:
                one_letter = number
        elif word < 0:
            word = number
    return next((number for number in (one_letter, word, space) if number >= 0), -1)


_EXTERNAL = re.compile(
    r"\[(?:(?i:https?|ftps?|ircs?|gopher|telnet|news|mailto|sftp|ssh|git|svn|worldwind|urn|geo|magnet|tel|sip|xmpp):|//)"
    r"[^\s\[\]<>\"]+ *"
    r"((?:[^\[\]\n]|\[\[[^\[\]\n]*\]\])*)\]"
)


def strip_external_links(text: str) -> str:
    """Keep the label of [http://... label]; a label may hold links of the wiki, which stay."""
    return _EXTERNAL.sub(_label, text) if "://" in text or "[//" in text or "[mailto:" in text else text


def _label(match: re.Match[str]) -> str:
    return match[1]


_ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z][a-zA-Z0-9]{1,31});")


def decode_entities(text: str) -> str:
    """Decode character references; markup characters among them stay harmless, no-break spaces become spaces."""
    if "&" in text:
        text = _ENTITY.sub(lambda match: _entity(match[0]), text)
    return text.replace("\xa0", " ") if "\xa0" in text else text


@lru_cache(maxsize=4096)
def _entity(reference: str) -> str:
    char = html.unescape(reference)
    if char == reference:
        return char
    if len(char) == 1 and char < " ":
        return " "
    return protect(char)


def strip_switches(text: str, switches: re.Pattern[str]) -> str:
    """Remove behaviour switches such as __NOTOC__ (https://www.mediawiki.org/wiki/Help:Magic_words)."""
    return switches.sub("", text) if "__" in text else text


_VARIANTS = re.compile(r"-\{([^{}]*)\}-")


def choose_variant(text: str) -> str:
    """Show the first variant of -{zh-hans:...; zh-hant:...}-
    (https://www.mediawiki.org/wiki/Writing_systems/Syntax)."""
    return _VARIANTS.sub(_variant, text) if "-{" in text else text


def _variant(match: re.Match[str]) -> str:
    flags, bar, body = match[1].rpartition("|")
    if bar and flags.strip().upper() in ("T", "H", "-"):
        return ""
    for choice in body.split(";"):
        name, colon, value = choice.partition(":")
        if colon and re.fullmatch(r"\s*[a-z]{2,3}(?:-[a-z]+)*\s*", name):
            return value.strip()
    return body
