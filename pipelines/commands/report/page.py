"""The report as a page: the product first, then the details of each dataset, which fold.

Jinja2 escapes every value (autoescape), and a policy in the head of the page forbids scripts and requests, so a title
that holds HTML is shown as text. Links lead to Wikimedia's wikis alone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from wikianchor.io.units import size
from wikianchor.pipelines.arrays.sample_rows import sample
from wikianchor.pipelines.commands.report.figures import figures_of
from wikianchor.pipelines.commands.report.model import (
    Counts,
    Item,
    Product,
    percent,
    shade,
    share,
    short,
)
from wikianchor.pipelines.commands.report.product import products_of
from wikianchor.pipelines.commands.report.summaries import blocks_of, title_of
from wikianchor.pipelines.commands.report.text import shortened
from wikianchor.pipelines.dataset.reader import Dataset
from wikianchor.pipelines.dataset.reasons import reason
from wikianchor.pipelines.wikimedia.addresses import item_address, revision_address

# (reason, title of the page, revision, text) of a sentence that was dropped.
Dropped = Sequence[tuple[str, str, int, str]]
# Characters that HTML does not allow, or that a browser would take for a line break.
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")
# Longer values of a sampled row are cut.
LONGEST_VALUE = 300
# Rows of each config that are shown.
ROWS = 12


@dataclass(frozen=True)
class Section:
    """What the page shows of one dataset.

    Attributes:
        title: its name, and its wiki where it has one.
        extent: its rows and its size, in words.
        wiki: the wiki of a dataset of sentences, else "".
        blocks: lines of text, and tables of counts.
        samples: rows by config, of a dataset whose rows have no tables.
        dropped: sentences that are not in it.
        ledger: as JSON, of a dataset whose ledger has no tables.
        provenance: (name, value) of its files, inputs and options.
    """

    title: str
    extent: str
    wiki: str
    blocks: Sequence[str | Counts]
    samples: Mapping[str, Sequence[Mapping[str, Any]]]
    dropped: Dropped
    ledger: str
    provenance: list[tuple[str, str]]


def report_page(datasets: Sequence[Dataset], dropped: Mapping[str, Dropped], seed: int) -> bytes:
    """Return the page of some datasets, UTF-8.

    Args:
        datasets: the datasets, in the order of a build.
        dropped: sentences that are not in a dataset of sentences, by its directory.
        seed: decides which rows are shown.
    """
    sections = [_section(dataset, datasets, dropped.get(dataset.directory, ()), seed) for dataset in datasets]
    products = products_of(datasets, seed)
    names = dict.fromkeys(dataset.name for dataset in datasets)
    return render(products[0].title if len(products) == 1 else ", ".join(names), products, sections)


def render(title: str, products: Sequence[Product], sections: Sequence[Section]) -> bytes:
    """Return the page of some products and sections, UTF-8."""
    environment = Environment(
        loader=PackageLoader("wikianchor.pipelines.commands.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "linked": _linked,
        "percent": percent,
        "reason": reason,
        "shade": shade,
        "share": share,
        "short": short,
        "shortened": shortened,
    }
    environment.globals |= {"cell": _cell, "revision": _revision}
    environment.tests["counts"] = lambda block: isinstance(block, Counts)
    page = environment.get_template("page.html").render(title=title, products=products, sections=sections)
    return _CONTROLS.sub("\ufffd", page).encode()


def _linked(name: str | Item) -> str:
    """Return an item as a link to Wikidata, and any other name as it is."""
    if not isinstance(name, Item):
        return name
    label = Markup("{} <small>(Q{})</small>").format(name.label, name.qid) if name.label else str(name)
    return Markup('<a href="{}">{}</a>').format(item_address(name.qid), label)


def _revision(wiki: str, title: str, rev_id: int) -> str:
    """Return the title of a page as a link to its revision."""
    address = revision_address(wiki, rev_id)
    return Markup('<a href="{}"><bdi>{}</bdi></a>').format(address, title) if address else title


def _cell(row: Mapping[str, Any], column: str) -> str:
    """Return the value of a row, with a link where it is an item, a revision or its address."""
    value = row[column]
    if column.endswith("qid") and isinstance(value, int):
        return _linked(Item(value))
    if column == "rev_id" and "wiki" in row:
        return _revision(row["wiki"], str(value), value)
    if column == "rev_id" and str(row.get("permalink", "")).startswith("https://"):
        return Markup('<a href="{}">{}</a>').format(row["permalink"], value)
    return f"{value}"[:LONGEST_VALUE]


def _section(dataset: Dataset, datasets: Sequence[Dataset], dropped: Dropped, seed: int) -> Section:
    # First, since it checks the manifest.
    blocks, figures = blocks_of(dataset), figures_of(dataset, datasets)
    samples = {} if figures else {config: sample(dataset, config, ROWS, seed) for config in dataset.configs}
    main = dataset.configs.get(dataset.name) or next(iter(dataset.configs.values()))
    return Section(
        title=title_of(dataset),
        extent=f"{main['rows']:,} rows, {_bytes(main)}",
        wiki=dataset.wiki,
        blocks=[*blocks, *figures],
        samples={config: rows for config, rows in samples.items() if rows},
        dropped=dropped,
        ledger=json.dumps(dataset.ledger, ensure_ascii=False, indent=1) if samples else "",
        provenance=_provenance(dataset),
    )


def _bytes(config: Mapping[str, Any]) -> str:
    return size(sum(shard["bytes"] for shard in config["shards"]))


def _provenance(dataset: Dataset) -> list[tuple[str, str]]:
    manifest = dataset.manifest
    made_with = sorted(manifest.get("made_with", {}).items())
    return [
        ("directory", dataset.directory),
        *(
            (f"config {name}", f"{config['rows']:,} rows, {len(config['shards'])} shards, {_bytes(config)}")
            for name, config in manifest["configs"].items()
        ),
        ("schema", manifest["schema_version"]),
        ("made with", ", ".join(f"{name} {version}" for name, version in made_with)),
        *((f"input {number}", _input(source)) for number, source in enumerate(manifest["inputs"], 1)),
        *((f"dump {number}", _input(source)) for number, source in enumerate(manifest.get("dumps", ()), 1)),
        *((f"--{name}", json.dumps(value, ensure_ascii=False)) for name, value in sorted(manifest["options"].items())),
    ]


def _input(source: Mapping[str, Any]) -> str:
    return ", ".join(
        f"{name} {size(value) if name == 'bytes' else value}" for name, value in source.items() if value is not None
    )
