"""`wikianchor report DIR`: what is in a dataset, or in the output of a build, on the terminal or as an HTML page."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from wikianchor.io.manifests import read_dataset
from wikianchor.io.storage import writing
from wikianchor.io.units import size
from wikianchor.pipelines.commands.report.options import ReportOptions
from wikianchor.pipelines.commands.report.text import print_report
from wikianchor.pipelines.dataset.reader import finished_datasets
from wikianchor.pipelines.dataset.summary import spent


def run(config: ReportOptions, beam_args: Sequence[str]) -> None:
    """Print the report of a directory, or write its page.

    Raises:
        InputError: there is no dataset, a manifest or a dump is wrong, or the page cannot be written.
    """
    directories = [dataset.directory for dataset in finished_datasets(config.directory)]
    read_dataset(partial(_report, config), *directories)


def _report(config: ReportOptions) -> None:
    """Report on the datasets in a directory; see `run`."""
    start = time.monotonic()
    datasets = finished_datasets(config.directory)
    if config.html is None:
        print_report(datasets, config.seed)
        return
    # Deferred imports: the page needs Jinja2 and the readers of dumps, the report on the terminal does not.
    from wikianchor.pipelines.commands.report.dropped import dropped_sentences
    from wikianchor.pipelines.commands.report.page import report_page

    dropped = {
        dataset.directory: dropped_sentences(dataset, config.dumps)
        for dataset in datasets
        if config.dumps and dataset.name == "sentences"
    }
    page = report_page(datasets, dropped, config.seed)
    with writing(config.html, "--html"):
        Path(config.html).write_bytes(page)
    print(config.html)
    about = f"{len(datasets)} datasets on {size(os.path.getsize(config.html))}, {spent(start)}: open it in a browser"
    logging.getLogger("wikianchor").info("%s", about)
