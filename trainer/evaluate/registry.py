"""All evaluation tasks. To add a family of tasks, add a module with a list `TASKS` to `FAMILIES`."""

from __future__ import annotations

from collections.abc import Sequence

from wikianchor.io.errors import UsageError
from wikianchor.io.flags import did_you_mean
from wikianchor.trainer.evaluate.task import EvaluationTask
from wikianchor.trainer.evaluate.tasks import (
    bucc,
    clustering,
    lareqa,
    mldoc,
    retrieval,
    sphere,
    sts,
    tatoeba,
    transfer,
)

FAMILIES = (sts, transfer, clustering, tatoeba, lareqa, bucc, mldoc, sphere, retrieval)
TASKS: list[EvaluationTask] = [task for family in FAMILIES for task in family.TASKS]


def choose(names: Sequence[str]) -> list[EvaluationTask]:
    """Return the tasks that `--tasks` names.

    Args:
        names: names of tasks or groups, in any case; "all" for all tasks.

    Raises:
        UsageError: there is no such name.
    """
    chosen: list[EvaluationTask] = []
    for name in (name.strip().lower() for name in names):
        matches = [task for task in TASKS if name in ("all", task.name.lower(), *task.groups)]
        if not matches:
            groups = sorted({group for task in TASKS for group in task.groups})
            tasks = [task.name for task in TASKS]
            choose_of = f": choose of {', '.join(tasks)}; groups: {', '.join(groups)}, all"
            raise UsageError(f"--tasks: no task {name!r}{did_you_mean(name, [*tasks, *groups, 'all']) or choose_of}")
        chosen += [task for task in matches if task not in chosen]
    return chosen
