"""Evaluation of sentence encoders by the protocols of the papers.

    wikianchor evaluate --model=DIR --data=DIR --tasks=sts,tatoeba

`task.py` has the types, `tasks/` a module for each family of tasks, `registry.py` the list of all tasks, `metrics.py`
the metrics, and `report.py` the reports.
"""
