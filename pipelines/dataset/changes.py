"""Why a finished dataset is not the one that a command would make."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def difference(manifest: Mapping[str, Any], head: Mapping[str, Any]) -> str:
    """Return the first thing in which a manifest differs from the head of another, in a few words; "" if nothing does.

    Args:
        manifest: of the finished dataset.
        head: `schema_version`, `options`, `made_with` and `inputs`, as far as they are known.

    >>> difference({"options": {"min_links": 2}}, {"options": {"min_links": 10}})
    '--min_links was 2'
    """
    for key, say in (
        ("schema_version", lambda old, new: f"its schema version was {old}"),
        ("made_with", lambda old, new: _first(old or {}, new, "made with {name} {value}")),
        ("options", lambda old, new: _first(old or {}, new, "--{name} was {value}")),
        ("inputs", lambda old, new: _input(old or (), new)),
    ):
        if key in head and manifest.get(key) != head[key]:
            return str(say(manifest.get(key), head[key]))
    return ""


def _first(old: Mapping[str, Any], new: Mapping[str, Any], text: str) -> str:
    """Return what is said of the first name whose value differs."""
    name = next(name for name in (*new, *old) if name not in old or name not in new or old[name] != new[name])
    return text.format(name=name, value=_value(old[name]) if name in old else "not known")


def _value(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return ",".join(map(str, value)) or "empty"
    if isinstance(value, Mapping):
        return "another"
    return "not set" if value in (None, "") else str(value).lower() if isinstance(value, bool) else str(value)


def _input(old: Sequence[Mapping[str, Any]], new: Sequence[Mapping[str, Any]]) -> str:
    """Return what is said of the first input that was not there before, or is not there any more."""
    for one in new:
        if one not in old:
            return f"{_name(one)} is new or has changed"
    gone = next((one for one in old if one not in new), None)
    return f"{_name(gone)} is gone" if gone else "its inputs are in another order"


def _name(one: Mapping[str, Any]) -> str:
    """Return the name of an input: a file, or a dataset."""
    return str(one.get("path") or " ".join(filter(None, (one.get("dataset"), one.get("wiki")))) or one.get("model"))
