"""Say why a finished dataset is not the one that a command would make."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

# What the ledger counts pages as that --skip_bad_pages has left out: when they were read, and when the definitions of
# templates were read before.
CRASHED, CRASHED_TEMPLATE = "crashed", "crashed_template"
# The key of the digest of `wikianchor.io.rules` in manifests.
RULES = "rules"


def rules_of(manifest: Mapping[str, Any]) -> str | None:
    """Return the digest of the rules that made a dataset; None where its manifest does not say."""
    return manifest.get("made_with", {}).get(RULES)


def skipped_pages(manifest: Mapping[str, Any]) -> int:
    """Return the number of pages that a dataset lacks because of --skip_bad_pages.

    >>> skipped_pages({"dataset": "sentences", "ledger": {"enwiki": {"pages": {"articles": 9, "crashed": 1}}}})
    1
    """
    ledger = manifest.get("ledger", {})
    by_wiki: Iterable[Mapping[str, int]] = ()
    if manifest["dataset"] == "templates":
        by_wiki = ledger.get("templates", {}).values()
    elif manifest["dataset"] in ("sentences", "mewsc16"):
        by_wiki = (of_wiki.get("pages", {}) for of_wiki in ledger.values())
    return sum(pages.get(name, 0) for pages in by_wiki for name in (CRASHED, CRASHED_TEMPLATE))


def left_out(manifest: Mapping[str, Any]) -> str:
    """Return what a dataset lacks that a run without --skip_bad_pages makes, in a few words, or ""."""
    if not (pages := skipped_pages(manifest)):
        return ""
    return f"it was made with --skip_bad_pages, which left out {pages} page{'s' * (pages > 1)}"


def deciding(made_with: Mapping[str, str]) -> dict[str, str]:
    """Return what decides bytes in `made_with` of a manifest: all but the version of the program."""
    return {name: value for name, value in made_with.items() if name != "wikianchor"}


def difference(manifest: Mapping[str, Any], head: Mapping[str, Any]) -> str:
    """Return the first difference of a manifest from the head of another, in a few words, or "".

    Args:
        manifest: the manifest of the finished dataset.
        head: what is known of the new dataset, of `schema_version`, `options`, `made_with` and `inputs`.

    >>> difference({"options": {"seed": 2}}, {"options": {"seed": 42}})
    '--seed was 2'
    """
    for key, describe in (
        ("schema_version", lambda old, new: f"its schema version was {old}"),
        ("made_with", lambda old, new: _made_otherwise(manifest, old, new)),
        ("options", lambda old, new: _first(old or {}, new, "--{name} was {value}")),
        ("inputs", lambda old, new: _input(old or (), new)),
    ):
        old, new = manifest.get(key), head.get(key)
        if key == "made_with":
            old, new = deciding(old or {}), deciding(new or {})
        if key in head and old != new:
            return str(describe(old, new))
    return ""


def _made_otherwise(manifest: Mapping[str, Any], old: Mapping[str, str], new: Mapping[str, str]) -> str:
    """Return the text for other rules, which are named first, or other versions."""
    if old.get(RULES) == new.get(RULES):
        return _first(old, new, "made with {name} {value}")
    name = f"rules of `{manifest.get('dataset')}`"
    return f"{name} changed" if RULES in old else f"its manifest is older than the digest of the {name}"


def _first(old: Mapping[str, Any], new: Mapping[str, Any], text: str) -> str:
    """Return the text for the first name whose value differs."""
    name = next(name for name in (*new, *old) if name not in old or name not in new or old[name] != new[name])
    return text.format(name=name, value=_value(old[name]) if name in old else "not known")


def _value(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return ",".join(map(str, value)) or "empty"
    if isinstance(value, Mapping):
        return "another"
    return "not set" if value in (None, "") else str(value).lower() if isinstance(value, bool) else str(value)


def _input(old: Sequence[Mapping[str, Any]], new: Sequence[Mapping[str, Any]]) -> str:
    """Return the text for the first input that is new or was removed."""
    for source in new:
        if source not in old:
            return f"{_name(source)} is new or has changed"
    removed = next((source for source in old if source not in new), None)
    return f"{_name(removed)} is gone" if removed else "its inputs are in another order"


def _name(source: Mapping[str, Any]) -> str:
    """Return the name of an input: of a file, a dataset or a model."""
    dataset = " ".join(filter(None, (source.get("dataset"), source.get("wiki"))))
    return str(source.get("path") or dataset or source.get("model"))
