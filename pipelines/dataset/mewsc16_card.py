"""Write the card of `mewsc16`, with a config for each language and the names of the classes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from wikianchor.schemas import mewsc16

# In the head of the card other licences are "other", because the Hub has no name for them; rows have their own.
HUB_LICENCES = frozenset(("cc-by-2.5", "cc-by-4.0", "cc-by-sa-4.0", "gfdl"))
_ABOUT = """\
The first sentences of Wikinews articles with the topic of each: a set for clustering short texts, rebuilt from dumps
with `wikianchor mewsc16` after the MewsC-16 of the [EASE paper](https://aclanthology.org/2022.naacl-main.284/). It is
another set than the released one: a score needs the mode and the dates of the dumps beside it."""
_MODES = {
    "clean": """\
Mode `clean`: articles only, published ones where the wiki tells, exactly one topic; no hole where a template stood, no
caption, no category left in the text, no note about the page, no double.""",
    "paper": """\
Mode `paper`: the rules of the released set: exactly one topic, the first sentence whatever it is, classes of ten pages
or more.""",
}
_LICENCE = """\
Text is from Wikinews, by its authors. Its licence differs by wiki and by the day of the revision: the column `licence`
has it for each row, and `permalink` leads to the revision, its authors and its history. It was taken out of its markup
and cut to the first sentence."""
_USE = """\
```python
import datasets

rows = datasets.load_dataset("{directory}", "{language}", split="train")
names = rows.features["label"].names
```"""


def news_card(manifest: Mapping[str, Any]) -> str:
    """Return the card as Markdown with its YAML head (https://huggingface.co/docs/hub/datasets-manual-configuration)."""
    configs: Mapping[str, Any] = manifest["configs"]
    lines = ["---", *_head(manifest), *_configs(configs), *_features(configs), "---", "", "# mewsc16", ""]
    options = manifest["options"]
    lines += [_ABOUT, "", _MODES[options["mode"]]]
    if options["faults"]:
        lines.append(f"Faults of the released set made again: {', '.join(options['faults'])}.")
    lines += [f"Topics of a page: `{options['membership']}`.", "", *_table(manifest), "", _LICENCE, ""]
    lines += [*_licences(manifest), "", *_dumps(manifest), ""]
    lines += [_USE.replace("{directory}", "DIR").replace("{language}", min(configs)), ""]
    lines += ["Inputs, options, the ledger of all pages and the checksum of every shard stand in `manifest.json`.", ""]
    return "\n".join(lines)


def _head(manifest: Mapping[str, Any]) -> Iterator[str]:
    licences = {name for ledger in manifest["ledger"].values() for name in ledger.get("licences", {})}
    yield "license:"
    for name in sorted({name if name in HUB_LICENCES else "other" for name in licences}):
        yield f"- {name}"
    yield "language:"
    for language in sorted(manifest["configs"]):
        yield f"- {language}"
    yield from (
        "task_categories:",
        "- text-classification",
        "tags:",
        "- clustering",
        "- wikinews",
        "pretty_name: mewsc16",
    )


def _configs(configs: Mapping[str, Any]) -> Iterator[str]:
    yield "configs:"
    for number, config in enumerate(sorted(configs)):
        yield f"- config_name: {config}"
        yield from ("  data_files:", "  - split: train", f"    path: data/{config}/train-*.parquet")
        if number == 0:
            yield "  default: true"


def _features(configs: Mapping[str, Any]) -> Iterator[str]:
    """Yield the columns in the format of the Hub, where the label is a class with a number and a name."""
    yield "dataset_info:"
    for config in sorted(configs):
        yield from (f"- config_name: {config}", "  features:")
        for column in mewsc16.SCHEMA:
            yield f"  - name: {column.name}"
            if column.name == "label":
                yield from ("    dtype:", "      class_label:", "        names:")
                for number, topic in enumerate(mewsc16.TOPICS):
                    yield f"          '{number}': {topic}"
            elif column.name in ("topics", "routes"):
                yield "    list: string"
            else:
                yield f"    dtype: {column.type}"


def _table(manifest: Mapping[str, Any]) -> Iterator[str]:
    languages: Sequence[str] = sorted(manifest["configs"])
    yield "| topic | " + " | ".join(languages) + " |"
    yield "| --- |" + " ---: |" * len(languages)
    labels = {language: manifest["ledger"][language]["labels"] for language in languages}
    for topic in mewsc16.TOPICS:
        yield f"| {topic} | " + " | ".join(f"{labels[language][topic]:,}" for language in languages) + " |"
    yield "| all | " + " | ".join(f"{manifest['configs'][language]['rows']:,}" for language in languages) + " |"
    pages = {language: manifest["ledger"][language]["pages"] for language in languages}
    yield "| pages read | " + " | ".join(f"{pages[language].get('seen', 0):,}" for language in languages) + " |"


def _licences(manifest: Mapping[str, Any]) -> Iterator[str]:
    yield "| language | licences of the rows |"
    yield "| --- | --- |"
    for language, ledger in sorted(manifest["ledger"].items()):
        listed = ", ".join(f"{name} {number:,}" for name, number in sorted(ledger.get("licences", {}).items()))
        yield f"| {language} | {listed} |"


def _dumps(manifest: Mapping[str, Any]) -> Iterator[str]:
    yield "| dump | date | sha1 |"
    yield "| --- | --- | --- |"
    for item in manifest["inputs"]:
        date = item.get("date", "not told") + (", before the closure" if item.get("before_closure") else "")
        yield f"| {item['path']} | {date} | {item['sha1']} |"
