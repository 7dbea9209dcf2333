"""Types of items that are left out as entities and as negatives (`--exclude_types`).

A type is an item of Wikidata. Groups name the types of dates, parts of calendars, disambiguation pages and lists.
Subclasses of a type are left out with it (`subclasses.excluded_classes`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from wikianchor.io.errors import UsageError
from wikianchor.io.options import split_list

GROUPS: Mapping[str, Mapping[int, str]] = {
    # Days, years and longer spans that are named by a number.
    "dates": {
        577: "year",
        3186692: "calendar year",
        29964144: "year BC",
        19828: "leap year",
        235729: "common year",
        3311614: "century leap year",
        **dict.fromkeys((235667, 235669, 235671, 235672, 235674, 235677), "common year by its weekdays"),
        **dict.fromkeys((235670, 235673, 235676, 235678, 235680, 235684), "common year by its weekdays"),
        **dict.fromkeys((235687, 235688, 235690), "common year by its weekdays"),
        **dict.fromkeys((217024, 217036, 217041), "leap year by its weekdays"),
        39911: "decade",
        578: "century",
        36507: "millennium",
        205892: "calendar date",
        47150325: "calendar day of a given year",
        47018478: "calendar month of a given year",
        14795564: "day of the year",
        18340514: "events in a specific year",
    },
    # Parts of calendars, which return.
    "calendar": {
        5151: "month",
        47018901: "calendar month",
        18602249: "month of the Gregorian calendar",
        41825: "day of the week",
        51118183: "day of the week within a given month",
    },
    "disambiguation": {
        4167410: "disambiguation page",
        22808320: "human name disambiguation page",
        66480449: "surname disambiguation page",
        61996773: "municipality name disambiguation page",
        15623926: "set index article",
    },
    "lists": {13406463: "list article", 33532284: "list of lists"},
}
NONE = "none"
_ITEM = re.compile(r"[Qq][1-9]\d{0,9}")


def types_named(value: str, flag: str) -> tuple[str, ...]:
    """Return the names of a list of groups and items; nothing for "none".

    Raises:
        UsageError: a name is neither a group nor an item.

    >>> types_named("dates,q101352", "exclude_types"), types_named("none", "exclude_types")
    (('dates', 'Q101352'), ())
    """
    names = split_list(value)
    if names == (NONE,):
        return ()
    for name in names or ("",):
        if name not in GROUPS and not _ITEM.fullmatch(name):
            raise UsageError(
                f"--{flag}={value}: {name or 'an empty list'} is none of {', '.join((*GROUPS, NONE))}, and no item "
                "such as Q101352"
            )
    return tuple(name if name in GROUPS else name.upper() for name in names)
