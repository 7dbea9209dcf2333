"""What is tried again when a worker process has died, and what is left out.

The element that the worker had is tried again, alone on this machine. A page that ends two workers is bad: it is left
out with --skip_bad_pages, and named in the error otherwise. Finished elements are not repeated (`engine.resume`).
"""

from __future__ import annotations

from collections import Counter

from wikianchor.io.errors import InputError
from wikianchor.pipelines.engine.worker_status import WorkerDied

# An element may end so many workers, and a page so many.
ELEMENT_DEATHS, PAGE_DEATHS = 4, 2


class Retries:
    """The deaths of workers in one run of a command.

    Args:
        skip_bad_pages: leave out pages that end their workers.

    Attributes:
        alone: the elements that are tried alone.
        bad_pages: the pages that are left out: the unit (`Position.unit`), and the number of the page.
    """

    def __init__(self, skip_bad_pages: bool = False) -> None:
        self._skip = skip_bad_pages
        self._deaths: Counter[str] = Counter()
        self._page_deaths: Counter[tuple[str, int]] = Counter()
        self.bad_pages: list[tuple[str, int]] = []

    @property
    def alone(self) -> list[str]:
        """Return the elements that are tried alone."""
        return sorted(filter(None, self._deaths))

    def after(self, death: WorkerDied) -> str:
        """Return a line about a death and what is done now.

        Raises:
            InputError: the run cannot go on.
        """
        position = death.position
        page = (position.unit, position.page)
        self._deaths[position.unit] += 1
        if position.page:
            self._page_deaths[page] += 1
        if self._page_deaths[page] >= PAGE_DEATHS:
            if not self._skip:
                raise InputError(
                    f"{death}: this page has ended {PAGE_DEATHS} workers: {death.advice}leave it out with "
                    "--skip_bad_pages, and please report it: finished work is kept"
                )
            # Its range is as good as new.
            del self._deaths[position.unit]
            self.bad_pages.append(page)
            return f"{death}: this page has ended {PAGE_DEATHS} workers: it is left out"
        if self._deaths[position.unit] >= ELEMENT_DEATHS:
            raise InputError(f"{death}, for the {ELEMENT_DEATHS}th time: {death.advice}finished work is kept")
        return f"{death}: " + ("its work is tried again alone" if position.unit else "trying again")
