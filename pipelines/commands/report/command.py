"""`wikianchor report DIR`: what is in a dataset, or in the output of a build, on the terminal or as an HTML page."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from wikianchor.io.manifests import read_dataset
from wikianchor.io.storage import writing
from wikianchor.io.units import size
from wikianchor.pipelines.commands.report.made import dataset_record
from wikianchor.pipelines.commands.report.model import Product
from wikianchor.pipelines.commands.report.options import ReportOptions
from wikianchor.pipelines.commands.report.product import products_of
from wikianchor.pipelines.commands.report.text import print_report
from wikianchor.pipelines.dataset.reader import Dataset, finished_datasets
from wikianchor.pipelines.dataset.summary import spent

T = TypeVar("T")


@dataclass(frozen=True)
class Report:
    """The report of datasets.

    Attributes:
        directory: that of the datasets, or of one.
        seed: decides which pairs are shown.
        page: the file that it has been written to, "" for none.
    """

    directory: str
    seed: int
    page: str = ""

    def say(self, details: bool = False) -> None:
        """Print it, or the name of its page."""
        if self.page:
            print(self.page)
        else:
            _read(self.directory, lambda datasets: print_report(datasets, self.seed))

    def record(self) -> dict[str, Any]:
        """Return the same for programs."""
        return {"page": self.page or None, **_read(self.directory, self._record)}

    def _record(self, datasets: Sequence[Dataset]) -> dict[str, Any]:
        products = products_of(datasets, self.seed, coverage=False)
        return {
            "datasets": [dataset_record(dataset) for dataset in datasets],
            "products": [_product_record(product) for product in products],
        }


def _product_record(product: Product) -> dict[str, Any]:
    examples = [
        asdict(example)
        | {"entity": example.entity._asdict(), "negatives": [negative._asdict() for negative in example.negatives]}
        | {"kind": example.kind._asdict() if example.kind else None}
        for example in product.examples
    ]
    steps = {unit: [step._asdict() for step in steps] for unit, steps in product.funnels.items()}
    return {"title": product.title, "directory": product.directory or None, "examples": examples, "steps": steps}


def _read(directory: str, use: Callable[[Sequence[Dataset]], T]) -> T:
    """Return what a function makes of the datasets in a directory, which may be rebuilt meanwhile."""
    directories = [dataset.directory for dataset in finished_datasets(directory)]
    return read_dataset(lambda: use(finished_datasets(directory)), *directories)


def run(config: ReportOptions, beam_args: Sequence[str]) -> Report:
    """Return the report of a directory, after writing its page if that is asked for.

    Raises:
        InputError: there is no dataset, a manifest or a dump is wrong, or the page cannot be written.
    """
    _read(config.directory, partial(_write_page, config) if config.html else len)
    return Report(config.directory, config.seed, config.html or "")


def _write_page(config: ReportOptions, datasets: Sequence[Dataset]) -> None:
    # Deferred imports: the page needs Jinja2 and the readers of dumps, the report on the terminal does not.
    from wikianchor.pipelines.commands.report.dropped import dropped_sentences
    from wikianchor.pipelines.commands.report.page import report_page

    start, html = time.monotonic(), str(config.html)
    dropped = {
        dataset.directory: dropped_sentences(dataset, config.dumps)
        for dataset in datasets
        if config.dumps and dataset.name == "sentences"
    }
    page = report_page(datasets, dropped, config.seed)
    with writing(html, "--html"):
        Path(html).write_bytes(page)
    about = f"{len(datasets)} datasets on {size(os.path.getsize(html))}, {spent(start)}: open it in a browser"
    logging.getLogger("wikianchor").info("%s", about)
