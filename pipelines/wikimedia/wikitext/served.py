"""Parser functions that need facts of the wiki or of its dump: names of namespaces and languages, messages, the date,
which pages exist.

Both engines use them; the core calls them. https://www.mediawiki.org/wiki/Help:Magic_words and
https://www.mediawiki.org/wiki/Help:Extension:ParserFunctions
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta, timezone
from typing import Any, NamedTuple

from wikianchor.io.package_data import package_json
from wikianchor.pipelines.wikimedia.choices import ON
from wikianchor.pipelines.wikimedia.dump_names import dump_date
from wikianchor.pipelines.wikimedia.site import Site, fold_name
from wikianchor.pipelines.wikimedia.titles import parse_target
from wikianchor.pipelines.wikimedia.wikitext.parser_functions import UNKNOWN

FACTS = " dump"
"""Among the titles of templates: what is known of the dump, as JSON. No template has such a title."""
_MESSAGES: dict[str, dict[str, str]] = package_json("pipelines.wikimedia", "messages.json")["messages"]
_NAMES: dict[str, str] = package_json("pipelines.wikimedia", "messages.json")["languages"]
_MONTHS: dict[str, str] = package_json("pipelines.wikimedia", "messages.json")["months"]
MAIN, MESSAGE, TEMPLATE, CATEGORY, MODULE = 0, 8, 10, 14, 828
PREFIX = "Module:"
"""Before the titles of modules among those of templates, on every wiki."""
MESSAGES = "MediaWiki:"
"""Before the titles of messages, the pages of the namespace MediaWiki."""
_PARAMETER = re.compile(r"\$([1-9])")
_LINK = re.compile(r"\[\[([^\[\]|]*)(?:\|([^\[\]|]*))?\]\]")
_ISO = re.compile(r"(\d{4})-(\d\d?)(?:-(\d\d?))?(?:[T ](\d\d?):(\d\d)(?::(\d\d))?)?(?:Z|\+00:?00| UTC)?")
_STAMP = re.compile(r"(\d{4})(\d\d)(\d\d)(?:(\d\d)(\d\d)(\d\d))?")
_TOKEN = re.compile(r'"[^"]*"|xn|x[a-zA-Z]{1,2}|.', re.DOTALL)
_ENGLISH = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]
_DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


class DumpFacts(NamedTuple):
    """What is known of a dump: its date, YYYYMMDD or "", and whether its Lua modules are run."""

    date: str = ""
    lua: bool = False

    def text(self) -> str:
        """Return what `find` returns for FACTS."""
        return json.dumps(self._asdict())


NO_FACTS = DumpFacts()


def facts_of(dumps: Iterable[str], lua: str) -> DumpFacts:
    """Return what is known of dumps by the names of their files.

    Args:
        dumps: their paths.
        lua: one of `choices.LUA`.
    """
    return DumpFacts(max(map(dump_date, dumps), default=""), lua == ON)


def message_title(key: str) -> str:
    """Return the title of the page of a message.

    >>> message_title("hello_world")
    'MediaWiki:Hello world'
    """
    key = " ".join(key.replace("_", " ").split())
    return MESSAGES + key[:1].upper() + key[1:]


class Served:
    """Shows such functions on the pages of one wiki.

    Args:
        site: the wiki.
        date: that of its dump, YYYYMMDD; "" if it is not known.
        find: returns the body of a template by its title, of a module by PREFIX and its title; None if it is not known.
    """

    def __init__(self, site: Site, date: str = "", find: Callable[[str], str | None] = lambda title: None) -> None:
        self._site, self._find = site, find
        names = [re.escape(name) for name, key in site.namespaces.items() if key == CATEGORY]
        self._category = re.compile(rf"\[\[\s*(?:{'|'.join(names)})\s*:[^\[\]]*\]\]", re.IGNORECASE)
        self._now = datetime.strptime(date, "%Y%m%d").replace(tzinfo=timezone.utc) if date else None
        self._names = dict(site.namespace_names)
        # Hours from UTC where the wiki's clock may be.
        self._offsets = (0,) if site.language == "en" else (-12, 14)
        self.revision = ""
        """Time of the revision of the page that is read, ISO 8601; "" if it is not known."""

    def show(self, name: str, arguments: Sequence[str]) -> str:
        """Return what a function shows.

        Args:
            name: as in `functions.json`.
            arguments: its arguments, at least one.
        """
        shown: str | None
        if name == "namespace" or name == "namespace_encoded":
            key = self._namespace(arguments[0])
            shown = "" if key is None else self._names.get(key, "")
            return shown.replace(" ", "_") if name == "namespace_encoded" else shown
        if name == "language":
            shown = self.answer("language_name", arguments[0], arguments[1] if len(arguments) > 1 else "")
            return UNKNOWN if shown is None else shown or arguments[0]
        if name == "time" and arguments[0].startswith(" "):
            return self._revision_time(arguments[0][1:])
        question = arguments[:1] if name == "message" else (self._site.language, *[*arguments, ""][:2])
        shown = self.answer(name, *question)
        if name == "message" and shown is not None:
            shown = _PARAMETER.sub(lambda sign: [*arguments, *[sign[0]] * 9][int(sign[1])], shown)
        return UNKNOWN if shown is None else shown

    def choose(self, title: str, page: str, shown: str, other: str) -> str:
        """Return what `{{#ifexist:}}` shows.

        Where it is not known whether the page exists, it is known what readers see if the two texts differ only in
        categories or in links to the page. Such a link is shown: without the page it leads nowhere, as any red link.

        Args:
            title: the title that is asked for.
            page: title of the page with the call.
            shown, other: what is shown if there is such a page, and if there is none.

        >>> from wikianchor.pipelines.wikimedia.site import site_for
        >>> served = Served(site_for("enwiki"))
        >>> [served.choose(title, "A", "yes", "no") for title in ("A", "", "a|b", ":fr:A", "B")]
        ['yes', 'no', 'no', 'no', '\uffff']
        >>> served.choose("b", "A", "c[[Category:D]]", "c"), served.choose("b", "A", "[[B|c]]", "c")
        ('c', '[[B|c]]')
        """
        target = parse_target(title, self._site)
        if target is None or target.interwiki or not target.title:
            # Pages of other wikis do not exist here.
            return other
        name = target.title if target.namespace == MAIN else target.title.partition(":")[2]
        if self.exists(target.namespace, name, page):
            return shown
        if self.without_categories(shown) == self.without_categories(other):
            return other

        def unlinked(link: re.Match[str]) -> str:
            leads_there = parse_target(link[1], self._site) == target
            return (link[1] if link[2] is None else link[2]) if leads_there else link[0]

        return shown if "[[" not in other and _LINK.sub(unlinked, shown) == other else UNKNOWN

    def exists(self, namespace: int, title: str, page: str) -> bool:
        """Return whether a page is known to exist: a template or a module of the dump, or the page with the call.

        Others are not known: a part of a dump does not have all pages.

        Args:
            namespace: its namespace.
            title: its title without the namespace.
            page: title of the page with the call.
        """
        if namespace == MAIN:
            return title == page
        keys = {TEMPLATE: title, MODULE: PREFIX + title}
        return namespace in keys and self._find(keys[namespace]) is not None

    def without_categories(self, text: str) -> str:
        """Return wikitext without its links to categories and white space around it."""
        return self._category.sub("", text).strip()

    def answer(self, name: str, *arguments: Any) -> Any:
        """Answer a question of a module; None if only the server knows."""
        answer: Callable[..., Any] | None = getattr(self, f"_{name}", None)
        return None if answer is None else answer(*arguments)

    def _namespace(self, text: str) -> int | None:
        text = text.strip()
        return int(text) if re.fullmatch(r"-?\d{1,5}", text) else self._site.namespaces.get(fold_name(text))

    def _language_name(self, code: str, shown_in: str) -> str | None:
        """Return the name of a language in itself, "" if there is no such code; None if another language is wanted."""
        code, shown_in = code.strip().lower(), shown_in.strip().lower()
        return _NAMES.get(code, "") if shown_in in ("", code) else None

    def _language_names(self, shown_in: str) -> dict[str, str]:
        return _NAMES if not shown_in else {}

    def _message(self, key: str) -> str | None:
        title = message_title(key)
        if title == f"{MESSAGES}Lang":
            return self._site.language
        key = title.removeprefix(MESSAGES)
        text = self._find(title)
        if text is None:
            return _MESSAGES.get(self._site.language, {}).get(key[:1].lower() + key[1:])
        # What other calls and tags make of a message is not known.
        return None if "{{" in text or "<" in text else text

    def _plural(self, language: str, number: str, *forms: str) -> str | None:
        if language not in ("en", "de", "nl", "sv", "da", "no", "nb", "es", "it", "el", "et", "fi", "hu") or not forms:
            return None
        return forms[0] if number in ("1", "-1", "1.0") or len(forms) == 1 else forms[1]

    def _clock(self, *parts: Any) -> str | None:
        if parts and parts[0] is not None:
            year, month, day, hour, minute, second = [
                default if part is None else int(float(part))
                for part, default in zip((*parts, *[None] * 6)[:6], (1970, 1, 1, 12, 0, 0), strict=True)
            ]
            try:
                start = datetime(year + (month - 1) // 12, (month - 1) % 12 + 1, 1, tzinfo=timezone.utc)
                when = start + timedelta(days=day - 1, hours=hour, minutes=minute, seconds=second)
            except (ValueError, OverflowError):
                return None
        elif self._now is None:
            return None
        else:
            when = self._now
        return str(int((when - _EPOCH).total_seconds()))

    def _date(self, form: str | None = None, stamp: float | None = None) -> Any:
        """Return what `os.date` returns."""
        when = self._now if stamp is None else _EPOCH + timedelta(seconds=min(max(stamp, -6e10), 2e11))
        if when is None:
            return None
        form = (form or "%c").removeprefix("!")
        if form.startswith("*t"):
            fields = {name: getattr(when, name) for name in ("year", "month", "day", "hour", "minute", "second")}
            fields |= {"min": fields.pop("minute"), "sec": fields.pop("second"), "wday": when.isoweekday() % 7 + 1}
            return fields | {"yday": when.timetuple().tm_yday, "isdst": False}
        return when.strftime(form) if re.fullmatch(r"(?:[^%]|%[YmdHMSjyFT%])*", form) else None

    def _time(self, language: str, form: str, stamp: str) -> str | None:
        """Return what `{{#time:}}` shows; None if it needs words of a language that are not known here, or cannot
        be read."""
        when = self._read_time(stamp.strip())
        names, _, genitives = _MONTHS.get(language, "").partition("/")
        if when is None:
            return None
        shown: list[str] = []
        for token in _TOKEN.findall(form):
            if token[0] == '"' and len(token) > 1:
                shown.append(token[1:-1])
                continue
            if token in ("F", "xg") and names:
                shown.append((genitives if token == "xg" and genitives else names).split("|")[when.month - 1])
            elif (token[0] in "xF" and token != "xn") or (token in _WORDS_OF_ENGLISH and language != "en"):
                return None
            else:
                shown.append(_FIELDS[token](when) if token in _FIELDS else "" if token == "xn" else token)
        return "".join(shown)

    def _revision_time(self, form: str) -> str:
        """Return the time of the revision in a form for `{{#time:}}`; UNKNOWN if it depends on the wiki's time zone."""
        when = self._read_time(self.revision) if self.revision else None
        clocks = [when + timedelta(hours=hours) for hours in self._offsets] if when and 1 < when.year < 9999 else []
        shown = {self._time(self._site.language, form, clock.isoformat()[:19]) for clock in clocks}
        return (shown.pop() if len(shown) == 1 else None) or UNKNOWN

    def _read_time(self, stamp: str) -> datetime | None:
        if not stamp or stamp == "now":
            return self._now
        if stamp[:1] == "@" and re.fullmatch(r"@-?\d{1,11}", stamp):
            return _EPOCH + timedelta(seconds=int(stamp[1:]))
        if re.fullmatch(r"\d{4}", stamp) and self._now is not None and not stamp.startswith("00"):
            # A year, with the day and the month of now.
            return self._read_time(f"{stamp}-{self._now:%m-%d}")
        match = _ISO.fullmatch(stamp) or _STAMP.fullmatch(stamp)
        if match is None:
            match_of_words = _WORDED.fullmatch(stamp)
            if match_of_words is None:
                return None
            day, month, year = (
                match_of_words["day"] or match_of_words["day2"] or "1",
                "",
                match_of_words["year"] or match_of_words["year2"],
            )
            month = (match_of_words["month"] or match_of_words["month2"]).lower()
            numbers = [index for index, name in enumerate(_ENGLISH, 1) if name.lower().startswith(month)]
            fields = [int(year), numbers[0] if numbers and len(month) > 2 else 13, int(day), 0, 0, 0]
        else:
            fields = [
                int(group) if group else default
                for group, default in zip(match.groups(), (0, 1, 1, 0, 0, 0), strict=True)
            ]
        try:
            year_, month_, day_, hour, minute, second = fields
            return datetime(year_, month_, day_, hour, minute, second, tzinfo=timezone.utc)
        except ValueError:
            return None


_WORDED = re.compile(
    r"(?:(?P<day>\d\d?)\s+)?(?P<month>[A-Za-z]+)\.?\s+(?P<year>\d{4})"
    r"|(?P<month2>[A-Za-z]+)\.?\s+(?P<day2>\d\d?),?\s+(?P<year2>\d{4})"
)
_WORDS_OF_ENGLISH = frozenset("MlDSaA")
_FIELDS: dict[str, Callable[[datetime], str]] = {
    "d": lambda when: f"{when.day:02}",
    "j": lambda when: str(when.day),
    "m": lambda when: f"{when.month:02}",
    "n": lambda when: str(when.month),
    "Y": lambda when: str(when.year),
    "y": lambda when: f"{when.year % 100:02}",
    "M": lambda when: _ENGLISH[when.month - 1][:3],
    "l": lambda when: _DAYS[when.weekday()],
    "D": lambda when: _DAYS[when.weekday()][:3],
    "N": lambda when: str(when.isoweekday()),
    "w": lambda when: str(when.isoweekday() % 7),
    "z": lambda when: str(when.timetuple().tm_yday - 1),
    "W": lambda when: f"{when.isocalendar()[1]:02}",
    "t": lambda when: str(((when.replace(day=28) + timedelta(days=4)).replace(day=1) - timedelta(days=1)).day),
    "L": lambda when: str(int(when.year % 4 == 0 and (when.year % 100 != 0 or when.year % 400 == 0))),
    "H": lambda when: f"{when.hour:02}",
    "G": lambda when: str(when.hour),
    "h": lambda when: f"{when.hour % 12 or 12:02}",
    "g": lambda when: str(when.hour % 12 or 12),
    "i": lambda when: f"{when.minute:02}",
    "s": lambda when: f"{when.second:02}",
    "a": lambda when: "am" if when.hour < 12 else "pm",
    "A": lambda when: "AM" if when.hour < 12 else "PM",
    "U": lambda when: str(int((when - _EPOCH).total_seconds())),
    "c": lambda when: when.isoformat(),
}
