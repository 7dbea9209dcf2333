"""All tasks. A new family of them is a file with a list `TASKS`, named among `FAMILIES`."""

from __future__ import annotations

from wikianchor.io.errors import UsageError
from wikianchor.io.flags import did_you_mean
from wikianchor.trainer.evaluate.task import Task
from wikianchor.trainer.evaluate.tasks import (
    bucc,
    clustering,
    japanese,
    lareqa,
    mldoc,
    retrieval,
    sphere,
    sts,
    tatoeba,
    transfer,
)

FAMILIES = (sts, transfer, clustering, tatoeba, lareqa, bucc, mldoc, sphere, japanese, retrieval)
TASKS: list[Task] = [task for family in FAMILIES for task in family.TASKS]


def choose(names: str) -> list[Task]:
    """Return the tasks of a list with commas: names of tasks or of groups, in any case; all of them for "all".

    Raises:
        UsageError: there is no such name.
    """
    chosen: list[Task] = []
    for name in (part.strip().lower() for part in names.split(",")):
        found = [task for task in TASKS if name in ("all", task.name.lower(), *task.groups)]
        if not found:
            groups = sorted({group for task in TASKS for group in task.groups})
            tasks = [task.name for task in TASKS]
            choose_of = f": choose of {', '.join(tasks)}; groups: {', '.join(groups)}, all"
            raise UsageError(f"--tasks: no task {name!r}{did_you_mean(name, [*tasks, *groups, 'all']) or choose_of}")
        chosen += [task for task in found if task not in chosen]
    return chosen
