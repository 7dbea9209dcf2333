"""Read the topic map: which category of Wikinews belongs to which topic, by language.

The default map is `data/topics.json`, with the evidence for each category. A map of the user has the same form, or a
shorter one: {"Sports": {"de": "Themenportal Sport", "pl": ["Sport", "Piłka nożna"]}}.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from importlib import resources
from typing import Any

from wikianchor.io.errors import InputError
from wikianchor.io.parsing import malformed
from wikianchor.io.storage import read_bytes
from wikianchor.schemas.mewsc16 import TOPICS

# The kinds of evidence for the categories that the released set was made with.
OF_RELEASED = frozenset(("released", "mapped"))

TopicMap = Mapping[str, Mapping[str, str]]


def load_topics(path: str | None = None, only: Iterable[str] | None = None) -> TopicMap:
    """Return language -> category -> topic.

    Args:
        path: a map of the user; None for the default map.
        only: use only categories with these kinds of evidence; None for all.

    Raises:
        InputError: the map cannot be read, has an unknown topic, a topic or language twice, or a category under two
            topics.
    """
    default = resources.files("wikianchor.pipelines.mewsc16") / "data" / "topics.json"
    data = default.read_bytes() if path is None else read_bytes(path)
    source = path or "data/topics.json"
    with malformed(f"--topics={source}: not JSON"):
        table = json.loads(data, object_pairs_hook=lambda pairs: _unique(pairs, source))
    if isinstance(table, dict) and isinstance(table.get("topics"), dict):
        table = table["topics"]
    topics: dict[str, dict[str, str]] = {}
    kinds = None if only is None else frozenset(only)
    for topic, language, name, kind in _entries(table, source):
        if kinds is not None and kind not in kinds:
            continue
        names = topics.setdefault(language, {})
        if names.setdefault(name, topic) != topic:
            raise InputError(f"--topics={source}: {language}: {name} stands for both {names[name]} and {topic}")
    if not topics:
        raise InputError(f"--topics={source}: names no category")
    return topics


def _unique(pairs: Sequence[tuple[str, Any]], source: str) -> dict[str, Any]:
    """Return a JSON object as a dictionary; raise InputError for a key that occurs twice."""
    members: dict[str, Any] = {}
    for key, value in pairs:
        if key in members:
            raise InputError(f"--topics={source}: {key} has two entries, {_shown(members[key])} and {_shown(value)}")
        members[key] = value
    return members


def _shown(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)[:60]


def _entries(table: Any, source: str) -> Iterable[tuple[str, str, str, str]]:
    """Yield topic, language, category and kind of evidence ("" for none)."""
    if not isinstance(table, dict):
        raise InputError(f'--topics={source}: has to be like {{"Sports": {{"de": "Themenportal Sport"}}}}')
    for topic, languages in table.items():
        if topic not in TOPICS:
            raise InputError(f"--topics={source}: no topic {topic!r}: the topics are {', '.join(TOPICS)}")
        if not isinstance(languages, dict):
            raise InputError(f'--topics={source}: {topic} has to be like {{"de": "Themenportal Sport"}}')
        for language, names in languages.items():
            for entry in names if isinstance(names, list) else [names]:
                name, kind = (entry, "") if isinstance(entry, str) else _pair(entry, f"{source}: {topic}, {language}")
                if not name.strip():
                    raise InputError(f"--topics={source}: {topic}, {language}: an empty name")
                yield topic, language, name, kind


def _pair(entry: Any, where: str) -> tuple[str, str]:
    if isinstance(entry, list) and len(entry) == 2 and all(isinstance(part, str) for part in entry):
        return entry[0], entry[1]
    raise InputError(f'--topics={where}: {_shown(entry)} is no category name and no ["name", "evidence"]')
