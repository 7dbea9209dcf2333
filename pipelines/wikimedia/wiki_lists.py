"""How flags name wikis: by their database names or the codes of their languages, with commas between."""

from __future__ import annotations

import re
from collections.abc import Iterable

from wikianchor.io.errors import UsageError
from wikianchor.io.flags import did_you_mean
from wikianchor.io.hub import RENAMED
from wikianchor.io.options import split_list
from wikianchor.pipelines.wikimedia.languages import is_language_edition, language_table, split_wiki

_LANGUAGE = re.compile(r"[a-z]{2,3}(-[a-z0-9]{1,8})*")
# Codes of wikis by the code of their language, where the two differ.
_WIKI_CODES = {language: code for code, language in RENAMED.items() if code != "simple"}


def wiki_named(name: str, flag: str = "wikis", project: str = "") -> str:
    """Return the database name of a wiki that is given by it or by its code: en and enwiki are both enwiki.

    Args:
        name: what the user gave.
        flag: that it was given with.
        project: how database names end; "" for those of any project, where a code alone means a Wikipedia.

    Raises:
        UsageError: there is no such wiki.
    """
    ending = project or "wiki"
    if project in ("", split_wiki(name)[1]) and is_language_edition(name):
        return name
    wiki = _WIKI_CODES.get(name, name).replace("-", "_") + ending
    if is_language_edition(wiki):
        return wiki
    codes = language_table()["interlanguage"]
    known = [*codes, *(code.replace("-", "_") + ending for code in codes)]
    # The common ending would make any two database names alike.
    suggestion = did_you_mean(name.removesuffix(ending), known)
    raise UsageError(f"--{flag}: {name} is not a wiki in a language{suggestion or f': write it like en or en{ending}'}")


def wikis_named(value: str, flag: str = "wikis", project: str = "") -> tuple[str, ...]:
    """Return the database names of the wikis in a comma-separated list, each once, in order.

    Raises:
        UsageError: one of them does not exist, or none is given, as by an unset variable.
    """
    if not (names := split_list(value)):
        raise UsageError(f"--{flag}= names no wiki: write it like en,ja")
    return tuple(dict.fromkeys(wiki_named(name, flag, project) for name in names))


def unknown_language(codes: Iterable[str]) -> str:
    """Return what is wrong with codes of languages, "" if nothing is.

    A code is known if a wiki or MediaWiki has it, or its first part, as "sr-latn"; and if it has three letters, since
    Wikidata has texts in languages without a wiki.

    >>> unknown_language(["en", "mul", "sr-latn", "rhg"]), unknown_language(["xx-notalang"])
    ('', 'xx-notalang is no language: write its code, such as uk or sr-latn')
    """
    table = language_table()
    known = {*table["interlanguage"], *table["languages"]}
    for code in codes:
        first = code.partition("-")[0]
        if code not in known and not (_LANGUAGE.fullmatch(code) and (first in known or len(first) == 3)):
            return f"{code} is no language{did_you_mean(code, known) or ': write its code, such as uk or sr-latn'}"
    return ""


def wikis_given(wikis: str | Iterable[str]) -> tuple[str, ...]:
    """Return the database names of wikis that are given as the option --wikis is, or as a list; a database name is
    returned unchanged, since the wiki may be one without a language.

    >>> wikis_given("en,jawiki"), wikis_given(["ja", "commonswiki"])
    (('enwiki', 'jawiki'), ('jawiki', 'commonswiki'))

    Raises:
        UsageError: one of them does not exist, or none is given.
    """
    names = split_list(wikis) if isinstance(wikis, str) else wikis
    known = tuple(name if split_wiki(name)[1] else wiki_named(name) for name in names)
    if not known:
        raise UsageError("no wiki is given: name one, such as enwiki")
    return known


def only_wiki(value: str, flag: str = "wikis") -> str | None:
    """Return the database name of the single wiki that a command reads, None where none is given. A database name is
    returned unchanged, since the wiki may be one without a language.

    Raises:
        UsageError: several are given, or one that does not exist.
    """
    names = split_list(value)
    if len(names) > 1:
        raise UsageError(f"--{flag}={value}: this command reads one wiki at a time: give one")
    if not names:
        return None
    return names[0] if split_wiki(names[0])[0] else wiki_named(names[0], flag)
