"""The card of a dataset: its manifest in, the README.md that people and `datasets.load_dataset` read out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pipelines.dataset.news_card import news_card

ATTRIBUTION = (
    "Text is from Wikipedia, by its authors, under CC BY-SA 4.0 (older text also under the GFDL). A row's page and\n"
    "revision lead to them: `https://<host of the wiki>/w/index.php?oldid=<rev_id>`. It was taken out of its markup\n"
    "and cut into sentences."
)
CC0 = "Facts are from Wikidata, under CC0."
_LICENCES = dict.fromkeys(("entities", "interlanguage"), ("cc0-1.0", CC0))


def card(manifest: Mapping[str, Any]) -> str:
    """Return the card as Markdown with its YAML head (https://huggingface.co/docs/hub/datasets-manual-configuration)."""
    name = manifest["dataset"]
    if name == "mewsc16":
        return news_card(manifest)
    licence, notice = _LICENCES.get(name, ("cc-by-sa-4.0", ATTRIBUTION))
    lines = ["---", f"license: {licence}", "configs:"]
    for number, config in enumerate(sorted(manifest["configs"], key=lambda config: config != name)):
        lines += [
            f"- config_name: {config}",
            "  data_files:",
            "  - split: train",
            f"    path: data/{config}/train-*.parquet",
        ]
        lines += ["  default: true"] if number == 0 else []
    lines += ["---", "", f"# {name}", "", notice, "", "| config | rows | shards |", "|---|---|---|"]
    for config, found in sorted(manifest["configs"].items()):
        lines.append(f"| {config} | {found['rows']:,} | {len(found['shards'])} |")
    lines += ["", "Inputs, options, the ledger and the checksum of every shard stand in `manifest.json`.", ""]
    return "\n".join(lines)
