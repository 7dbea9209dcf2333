"""Which sentence begins the lead of a page.

A lead is the first sentences of a page. It is left out where it does not say what the page is about: where the first
sentence has no part of the page's title, such as "It is a part of"; and where the page's first sentence lost words to a
template and the first one kept does not begin with the title, but for an article.
"""

from __future__ import annotations

_PART = 4
# Characters of a longest article, with the space after it, that may precede a title.
_ARTICLE = 5


def begins_lead(title: str, text: str, *, is_first: bool) -> bool:
    """Return whether a sentence says what its page is about.

    Args:
        title: the page's title.
        text: the first sentence that was kept.
        is_first: whether no sentence before it was lost.

    >>> begins_lead("Mercury (planet)", "Mercury is a planet.", is_first=False)
    True
    >>> begins_lead("Oslo", "It lies on a fjord.", is_first=True)
    False
    """
    # "Mercury (planet)" is named Mercury in its text.
    name, text = title.partition(" (")[0].casefold(), text.casefold()
    return has_part(name, text) if is_first else name in text[: _ARTICLE + len(name)]


def has_part(name: str, text: str) -> bool:
    """Return whether some _PART characters in a row of a word of a name are in a text, or a shorter word of it.

    Words are inflected, and a page about Michael Jackson may begin with "Michael Joseph Jackson". Words of one or two
    characters count where the name has no other.

    >>> has_part("michael jackson", "michael joseph jackson was"), has_part("ii", "it is"), has_part("東京", "東京は")
    (True, False, True)
    """
    words = name.split()
    longer = [word for word in words if len(word) > 2] or [name]
    return any(word[first : first + _PART] in text for word in longer for first in range(max(1, len(word) - _PART + 1)))
