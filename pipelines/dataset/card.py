"""Write the card of a dataset, the README.md that people, the Hub and `datasets.load_dataset` read."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from wikianchor.pipelines.dataset.mewsc16_card import news_card

ATTRIBUTION = (
    "Text is from Wikipedia, by its authors, under CC BY-SA 4.0 (older text also under the GFDL). A row's page and\n"
    "revision lead to them: `https://<host of the wiki>/w/index.php?oldid=<rev_id>`. It was taken out of its markup\n"
    "and cut into sentences."
)
CC0 = "Facts are from Wikidata, under CC0."
GIVEN = (
    "Text is that of the files named in `manifest.json`, and under their licence. Sentences with other nouns are made "
    "up by a T5."
)
_LICENCES = {
    **dict.fromkeys(("entities", "interlanguage"), (("cc0-1.0",), CC0)),
    **dict.fromkeys(("corpus", "negatives"), (("other",), GIVEN)),
}
_TASKS = {"pairs": "sentence-similarity", "sentences": "sentence-similarity"}
_CITATION = """\
```bibtex
@inproceedings{nishikawa-etal-2022-ease,
    title = "{EASE}: Entity-Aware Contrastive Learning of Sentence Embedding",
    author = "Nishikawa, Sosuke and Ri, Ryokan and Yamada, Ikuya and Tsuruoka, Yoshimasa and Echizen, Isao",
    booktitle = "Proceedings of NAACL 2022: Human Language Technologies",
    year = "2022",
    url = "https://aclanthology.org/2022.naacl-main.284",
}
```"""
_USE = """\
```python
import datasets

for row in datasets.load_dataset("DIR", "CONFIG", split="train", streaming=True).take(3):
    print(row)
```

```python
import pandas

table = pandas.read_parquet("FILES/PLACE")
```

```python
import polars

table = polars.scan_parquet("FILES/PLACE/*.parquet").head(10).collect()
```

```python
import duckdb

duckdb.sql("SELECT * FROM 'FILES/PLACE/*.parquet' LIMIT 10").show()
```"""


def licences(name: str) -> tuple[str, ...]:
    """Return the licences of a dataset's rows, by the Hub's names."""
    return _LICENCES.get(name, (("cc-by-sa-4.0",), ""))[0]


def card(manifest: Mapping[str, Any], directory: str = "DIR") -> str:
    """Return the card as Markdown with its YAML head (https://huggingface.co/docs/hub/datasets-manual-configuration).

    Args:
        manifest: of the dataset; `languages` in it maps a language to the config that has its rows.
        directory: for the examples, or a repository of the Hub, as user/name.
    """
    name = manifest["dataset"]
    if name == "mewsc16":
        return news_card(manifest)
    _, notice = _LICENCES.get(name, ((), ATTRIBUTION))
    directories = config_directories(manifest)
    lines = ["---", *_head(manifest), "configs:"]
    for number, (config, path) in enumerate(directories.items()):
        lines += [f"- config_name: {config}", "  data_files:", "  - split: train", f"    path: {path}/train-*.parquet"]
        lines += ["  default: true"] if number == 0 else []
    lines += ["---", "", f"# {name}", "", notice, "", "| config | rows | shards |", "|---|---|---|"]
    for config_name, config in sorted(manifest["configs"].items()):
        lines.append(f"| {config_name} | {config['rows']:,} | {len(config['shards'])} |")
    if directories:
        shown = next(iter((*manifest.get("languages", {}), *directories)))
        files = f"hf://datasets/{directory}" if re.fullmatch(r"[\w.-]+/[\w.-]+", directory) else directory
        use = _USE.replace("FILES", files).replace("DIR", directory)
        lines += ["", use.replace("CONFIG", shown).replace("PLACE", directories[shown])]
    lines += ["", *_CITATION.splitlines(), ""]
    lines += ["Inputs, options, the ledger and the checksum of every shard stand in `manifest.json`.", ""]
    return "\n".join(lines)


def config_directories(manifest: Mapping[str, Any]) -> dict[str, str]:
    """Return the directory of each config, the main config first; each language is a config too."""
    name = manifest["dataset"]
    configs = sorted(manifest["configs"], key=lambda config: (config != name, config))
    languages = {language: f"data/{config}" for language, config in manifest.get("languages", {}).items()}
    return {config: f"data/{config}" for config in configs} | languages


def _head(manifest: Mapping[str, Any]) -> Iterator[str]:
    name, configs = manifest["dataset"], manifest["configs"]
    yield "license:"
    yield from (f"- {licence}" for licence in licences(name))
    if languages := manifest.get("languages", {}):
        yield "language:"
        yield from (f"- {language}" for language in languages)
    yield f"pretty_name: wikianchor {name}"
    yield f"size_categories:\n- {_size(configs.get(name, {'rows': 0})['rows'])}"
    if name in _TASKS:
        yield f"task_categories:\n- {_TASKS[name]}"
    if licences(name) != ("other",):
        yield "tags:\n- wikipedia\n- wikidata\n- entities"


def _size(rows: int) -> str:
    """Return the Hub's name for a number of rows."""
    names = ("n<1K", "1K<n<10K", "10K<n<100K", "100K<n<1M", "1M<n<10M", "10M<n<100M", "100M<n<1B", "1B<n<10B")
    return names[min(len(names) - 1, max(0, len(str(rows)) - 3))]
