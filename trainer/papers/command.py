"""`wikianchor papers`: make a table or a comparison, and write it as Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from wikianchor.io.storage import write_text
from wikianchor.trainer.command import run_command
from wikianchor.trainer.papers.arms import ArmsRun
from wikianchor.trainer.papers.options import ArmOptions, parse
from wikianchor.trainer.papers.rows import COMPARISONS, TABLES
from wikianchor.trainer.papers.tables import TableRun


def main(argv: Sequence[str]) -> int:
    """Print a table or a comparison and write it to OUTPUT/NAME.md; return the exit status."""

    def work() -> str:
        name, options, flags = parse(argv)
        if isinstance(options, ArmOptions):
            text = ArmsRun(COMPARISONS[name], flags, options).run()
        else:
            text = TableRun(TABLES[name], flags, options).run()
        write_text(f"{flags['output']}/{name}.md", text)
        return text

    return run_command("papers", work)
