"""Page titles and link targets: what stands between `[[` and `|` or `]]` in, what MediaWiki makes of it out.

Follows MediaWikiTitleCodec::splitTitleString and https://www.mediawiki.org/wiki/Manual:Page_title. A title here is
written as in a dump's `<title>`: spaces, the wiki's own name of the namespace, first letter as the wiki has it.
"""

import re
from html.entities import html5
from typing import NamedTuple
from unicodedata import is_normalized, normalize
from urllib.parse import unquote_to_bytes

from wikianchor.pipelines.wikimedia.site import Site

MAX_BYTES = 255
# No character has more than four bytes.
PLAIN_LENGTH = MAX_BYTES // 4
FIRST_MARK = "\u0300"
# No real target comes near this, however escaped and with its fragment; it bounds the work on a hostile one.
MAX_RAW_LENGTH = 10_000


class Target(NamedTuple):
    """Where a link leads.

    `title` has its namespace's name in front; it is '' for a section of the same page, and with an `interwiki` prefix
    it is the other wiki's business and as written. `colon`: a leading colon says that the link is an ordinary one even
    if it leads to a category, a file or another language.
    """

    namespace: int
    title: str
    fragment: str
    interwiki: str
    colon: bool


_SPACES = " _\xa0\u1680\u180e\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_BIDI = "\u200e\u200f\u202a-\u202e"
# What the name of a reference cannot hold: all of ASCII but letters and digits.
_NO_NAME = r"\x00-/:-@\[-`{-\x7f"
_NEVER = r"\x00-\x1f\x7f<>\[\]{}|\ufffd\ud800-\udfff"

# One of these, and a title needs a closer look: it may not be a title of an article, or not a normal one. The space is
# not among them, so two of them are looked for apart.
_search_special = re.compile(f"[{_NEVER}{_SPACES[1:]}{_BIDI}%&#:/~]").search
_search_invalid = re.compile(f"[{_NEVER}#]|%[0-9A-Fa-f]{{2}}|&[^{_NO_NAME}]+;|~~~").search
_search_undecodable = re.compile(r"[\ufffd\ud800-\udfff]").search
_search_relative = re.compile(r"(?:^|/)\.\.?(?:/|$)").search
_drop_bidi = re.compile(f"[{_BIDI}]+").sub
_join_spaces = re.compile(f"[{_SPACES}]+").sub
_decode_references = re.compile(rf"&(?:([^{_NO_NAME}]+;)|#([0-9]+);|#[xX]([0-9A-Fa-f]+);)").sub
_ENTITIES = {**html5, "רלמ;": "\u200f", "رلم;": "\u200f"}


def normalise_title(raw: str, site: Site) -> str | None:
    """The local page a link target or a written title means: None if it is invalid, another wiki's, or only a section.

    Idempotent: a title that comes out goes through unchanged.
    """
    if (title := plain_title(raw, site)) is not None:
        return title
    target = parse_not_plain(raw, site)
    return target.title if target and target.title and not target.interwiki else None


def plain_title(raw: str, site: Site) -> str | None:
    """The article that a target means which is a title already, but for its first letter; None for any other. Most are
    such, and this has to be quick."""
    if (
        _search_special(raw) is None
        and 0 < len(raw) <= PLAIN_LENGTH
        and "  " not in raw
        and raw[0] not in " ."
        and raw[-1] != " "
        and (raw.isascii() or is_normalized("NFC", raw))
    ):
        return _capitalised(raw, site) if raw[0].islower() and 0 not in site.case_sensitive else raw
    return None


def parse_target(raw: str, site: Site) -> Target | None:
    """Where the target of a link leads, None if it is not valid: MediaWiki then shows the link's wikitext as it is."""
    plain = plain_title(raw, site)
    return parse_not_plain(raw, site) if plain is None else Target(0, plain, "", "", False)


def parse_not_plain(raw: str, site: Site) -> Target | None:
    """`parse_target` of what is no `plain_title`."""
    if len(raw) > MAX_RAW_LENGTH:
        return None
    text = raw
    if "%" in text:
        try:
            text = unquote_to_bytes(text).decode()
        except UnicodeError:
            return None
    if "&" in text:
        text = _decode_references(_decoded_reference, text)
    if not text.isascii():
        if _search_undecodable(text):
            return None
        text = normalize("NFC", _drop_bidi("", text))
    text = _join_spaces(" ", text).strip(" ")
    colon = text.startswith(":")
    if colon:
        text = text[1:].lstrip(" ")
    if not text:
        return None

    namespace = 0
    interwiki = ""
    while ":" in text:
        prefix, _, rest = text.partition(":")
        prefix = prefix.rstrip(" ").lower()
        rest = rest.lstrip(" ")
        if prefix in site.namespaces:
            namespace = site.namespaces[prefix]
            text = rest
            if namespace == 1 and _has_prefix(rest, site):
                return None
        elif prefix in site.local_interwiki:
            if not rest:
                # The main page, whose name only the wiki itself knows.
                return None
            colon = True
            text = rest
            continue
        elif prefix in site.interwiki:
            interwiki = prefix
            text = rest.removeprefix(":").lstrip(" ")
        break

    title, _, fragment = text.partition("#")
    title = title.rstrip(" ")
    if _search_invalid(title) or ("." in title and _search_relative(title)) or title.startswith(":"):
        return None
    if not interwiki:
        if not title and namespace:
            return None
        if title[:1].islower() and namespace not in site.case_sensitive:
            title = _capitalised(title, site)
    if len(title) > PLAIN_LENGTH and len(title.encode()) > MAX_BYTES:
        return None
    if namespace and not interwiki:
        title = f"{site.namespace_names[namespace]}:{title}"
    return Target(namespace, title, fragment, interwiki, colon)


def _has_prefix(text: str, site: Site) -> bool:
    """Whether a namespace or another wiki is named: `Talk:File:x` would be ambiguous, so MediaWiki forbids it."""
    prefix, colon, _ = text.partition(":")
    prefix = prefix.rstrip(" ").lower()
    return colon != "" and (prefix in site.namespaces or prefix in site.interwiki or prefix in site.local_interwiki)


def _capitalised(title: str, site: Site) -> str:
    """A title whose first letter is small, with a capital, if that is one character.

    Title case, not upper case: it keeps Georgian letters and makes the one letter ǆ into ǅ, as Wikimedia does.
    """
    capital = "İ" if site.dotted_i and title[0] == "i" else title[0].title()
    if len(capital) != 1:
        return title
    # A small letter and a mark may have no common form where the capital and the mark have one.
    return capital + title[1:] if title[1:2] < FIRST_MARK else normalize("NFC", capital + title[1:])


def _decoded_reference(match: re.Match[str]) -> str:
    """The character a reference stands for; U+FFFD, which no title may have, for what stands for none."""
    name, decimal, hexadecimal = match.groups()
    if name:
        return _ENTITIES.get(name, match[0])
    digits = (decimal or hexadecimal).lstrip("0")
    # Python refuses to read numbers of thousands of digits.
    code = int(digits, 10 if decimal else 16) if 0 < len(digits) <= 7 else 0
    is_character = code in (9, 10, 13) or 0x20 <= code < 0xD800 or 0xE000 <= code < 0xFFFE or 0xFFFF < code < 0x110000
    return chr(code) if is_character else "\ufffd"
