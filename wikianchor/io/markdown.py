"""Tables in Markdown."""

from __future__ import annotations

from collections.abc import Sequence


def markdown_table(head: Sequence[str], rows: Sequence[Sequence[object]], numbers: bool = True) -> str:
    """Return a table in Markdown, without a line feed at its end.

    Args:
        head: titles of the columns.
        rows: cells; a vertical bar in them is escaped.
        numbers: align all columns but the first on the right.

    >>> print(markdown_table(["language", "accuracy"], [["de", 0.5]]))
    | language | accuracy |
    | --- | ---: |
    | de | 0.5 |
    """
    rule = ["---", *["---:" if numbers else "---"] * (len(head) - 1)]
    escaped = ([str(cell).replace("|", "\\|") for cell in row] for row in (head, rule, *rows))
    return "\n".join(f"| {' | '.join(row)} |" for row in escaped)
