"""Parse and normalise page titles and link targets as MediaWiki does.

The rules are those of MediaWikiTitleCodec::splitTitleString and https://www.mediawiki.org/wiki/Manual:Page_title. A
normalised title has the form of `<title>` in a dump: spaces instead of underscores, the wiki's name of the namespace,
and the first letter capitalised unless the wiki is case-sensitive.
"""

import re
from html.entities import html5
from typing import NamedTuple
from unicodedata import is_normalized, normalize
from urllib.parse import unquote_to_bytes

from wikianchor.io.package_data import package_json
from wikianchor.pipelines.wikimedia.site import Site

_LIMITS = package_json("pipelines.wikimedia", "limits.json")
# MediaWiki's limit for titles, in bytes of UTF-8.
MAX_BYTES: int = _LIMITS["name_bytes"]
# A title of so many characters is within the limit, because a character has at most four bytes.
PLAIN_LENGTH = MAX_BYTES // 4
FIRST_COMBINING_MARK = "\u0300"
# Characters. Real targets are shorter, even if escaped and with a fragment; the limit bounds the work on hostile ones.
MAX_RAW_LENGTH: int = _LIMITS["title_raw"]


class LinkTarget(NamedTuple):
    """Where a link leads.

    Attributes:
        namespace: namespace number.
        title: normalised title with the name of its namespace; "" for a section of the same page. With an `interwiki`
            prefix it is not normalised.
        fragment: the section after "#", or "".
        interwiki: prefix of another wiki, folded, or "".
        colon: whether a leading colon makes the link an ordinary one even to a category, a file or another language.
    """

    namespace: int
    title: str
    fragment: str
    interwiki: str
    colon: bool


_SPACES = " _\xa0\u1680\u180e\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_BIDI = "\u200e\u200f\u202a-\u202e"
# Characters that the name of a character reference cannot contain: ASCII except letters and digits.
_NO_NAME = r"\x00-/:-@\[-`{-\x7f"
# Characters that no title may contain.
_NEVER = r"\x00-\x1f\x7f<>\[\]{}|\ufffd\ud800-\udfff"

# A target with one of these characters may not be the normalised title of an article. The space is not among them:
# `plain_title` tests for double spaces separately.
_search_special = re.compile(f"[{_NEVER}{_SPACES[1:]}{_BIDI}%&#:/~]").search
_search_invalid = re.compile(f"[{_NEVER}#]|%[0-9A-Fa-f]{{2}}|&[^{_NO_NAME}]+;|~~~").search
_search_undecodable = re.compile(r"[\ufffd\ud800-\udfff]").search
_search_relative = re.compile(r"(?:^|/)\.\.?(?:/|$)").search
_drop_bidi = re.compile(f"[{_BIDI}]+").sub
_join_spaces = re.compile(f"[{_SPACES}]+").sub
_decode_references = re.compile(rf"&(?:([^{_NO_NAME}]+;)|#([0-9]+);|#[xX]([0-9A-Fa-f]+);)").sub
ENTITIES = {**html5, "רלמ;": "\u200f", "رلم;": "\u200f"}


def normalise_title(raw: str, site: Site) -> str | None:
    """Normalise the title of a page on this wiki.

    Args:
        raw: a title, or a link target (the text between `[[` and `|` or `]]`).
        site: the wiki.

    Returns:
        The title as in a dump. None if `raw` is invalid, leads to another wiki, or is only a section. The function is
        idempotent.

    >>> from wikianchor.pipelines.wikimedia.site import site_for
    >>> site = site_for("enwiki")
    >>> normalise_title("new_York&nbsp;City#History", site), normalise_title("Datei:x", site_for("dewiki"))
    ('New York City', 'Datei:X')
    >>> normalise_title("fr:Paris", site), normalise_title("a|b", site)
    (None, None)
    """
    if (title := plain_title(raw, site)) is not None:
        return title
    target = parse_not_plain(raw, site)
    return target.title if target and target.title and not target.interwiki else None


def plain_title(raw: str, site: Site) -> str | None:
    """Return the title of an article if the target is normalised but for its first letter; None for any other target.

    Most targets are of this kind, so this fast path decides the time for reading links.
    """
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


def parse_target(raw: str, site: Site) -> LinkTarget | None:
    """Parse a link target.

    Args:
        raw: the text between `[[` and `|` or `]]`.
        site: the wiki.

    Returns:
        The target; None if it is invalid, in which case MediaWiki shows the wikitext of the link.

    >>> from wikianchor.pipelines.wikimedia.site import site_for
    >>> parse_target(":category:Large_birds#A", site_for("enwiki"))
    LinkTarget(namespace=14, title='Category:Large birds', fragment='A', interwiki='', colon=True)
    """
    plain = plain_title(raw, site)
    return parse_not_plain(raw, site) if plain is None else LinkTarget(0, plain, "", "", colon=False)


def parse_not_plain(raw: str, site: Site) -> LinkTarget | None:
    """Parse a link target for which `plain_title` returns None; see `parse_target`."""
    text = _decoded(raw)
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
                # The main page; a dump does not contain its title.
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
    return LinkTarget(namespace, title, fragment, interwiki, colon)


def _decoded(raw: str) -> str:
    """Decode percent-encoding and character references, and collapse white space; return "" for an invalid target."""
    text = raw
    if len(text) > MAX_RAW_LENGTH:
        return ""
    if "%" in text:
        try:
            text = unquote_to_bytes(text).decode()
        except UnicodeError:
            return ""
    if "&" in text:
        text = _decode_references(_decoded_reference, text)
    if not text.isascii():
        if _search_undecodable(text):
            return ""
        text = normalize("NFC", _drop_bidi("", text))
    return _join_spaces(" ", text).strip(" ")


def _has_prefix(text: str, site: Site) -> bool:
    """Return whether a text begins with a namespace or interwiki prefix. MediaWiki forbids `Talk:File:x` as
    ambiguous."""
    prefix, colon, _ = text.partition(":")
    prefix = prefix.rstrip(" ").lower()
    return colon != "" and (prefix in site.namespaces or prefix in site.interwiki or prefix in site.local_interwiki)


def _capitalised(title: str, site: Site) -> str:
    """Capitalise the first letter of a title if the capital is one character.

    Title case is used, not upper case: it keeps Georgian letters and turns the letter ǆ into ǅ, as Wikimedia does.
    """
    capital = "İ" if site.dotted_i and title[0] == "i" else title[0].title()
    if len(capital) != 1:
        return title
    # The capital and a combining mark may have a composed form where the small letter has none.
    return capital + title[1:] if title[1:2] < FIRST_COMBINING_MARK else normalize("NFC", capital + title[1:])


def _decoded_reference(match: re.Match[str]) -> str:
    """Decode a character reference; an invalid one becomes U+FFFD, which no title may contain."""
    name, decimal, hexadecimal = match.groups()
    if name:
        return ENTITIES.get(name, match[0])
    digits = (decimal or hexadecimal).lstrip("0")
    # int() refuses strings of thousands of digits.
    code = int(digits, 10 if decimal else 16) if 0 < len(digits) <= 7 else 0
    is_character = code in (9, 10, 13) or 0x20 <= code < 0xD800 or 0xE000 <= code < 0xFFFE or 0xFFFF < code < 0x110000
    return chr(code) if is_character else "\ufffd"
