"""From a model and a directory of evaluation sets to scores that can be compared with the papers.

    wikianchor evaluate --model=DIR --data=DIR --tasks=sts,tatoeba

`task.py` says what a task is, one file holds each family of them, `registry.py` lists them all, `metrics.py` has what
they compute, and `report.py` what is written.
"""
