"""The commands as functions, with the same options by name:

    from wikianchor import commands

    sentences = commands.sentences(dumps="dumps/kwwiki-*.xml.bz2", output="out/sentences/kwwiki", workers=2)
    pairs = commands.pairs(sentences="out/sentences", entities="out/entities", output="out/pairs")

A stage returns its dataset, opened, `build` that of its pairs, `report` and `verify` what they print. `workers` is the
number of processes of this machine, None for as many as serve; `beam` has flags of Beam, such as
"--runner=FlinkRunner". A call raises TypeError or UsageError where an option is wrong, InputError where an input cannot
be used, the output cannot be written, or `verify` finds a difference.

The signatures are in `signatures.pyi`, which `tools/reference.py` writes.
"""

from __future__ import annotations

import argparse
import io
from collections.abc import Sequence
from contextlib import redirect_stdout
from importlib import import_module
from typing import TYPE_CHECKING, Any

from wikianchor.api.datasets import open_dataset
from wikianchor.io.errors import InputError
from wikianchor.io.options import checked, read_options
from wikianchor.pipelines.cli.commands import COMMANDS

if TYPE_CHECKING:
    from wikianchor.signatures import *  # noqa: F403

STAGES = tuple(name for name, command in COMMANDS.items() if command.makes_dataset)
# What prints an answer, which the function returns.
PRINTING = ("report", "verify")
# An option that is for the command line alone, as it makes no dataset.
LEFT_OUT = ("dry_run",)
_EXAMPLES = {
    "build": """\
>>> import wikianchor
>>> pairs = wikianchor.build(dumps="demo/dumps", output="out/demo", min_links=2, workers=1)
>>> len(pairs)
1064""",
    "export": """\
>>> import wikianchor
>>> triplets = wikianchor.export(pairs="out/demo/pairs", output="out/triplets", workers=1)
>>> sorted(triplets.head(1)[0])[:3]
['anchor', 'negative_1', 'positive']""",
    "report": """\
>>> import wikianchor
>>> wikianchor.report(directory="out/demo/pairs").splitlines()[1]
'1,064 pairs from 3 wikis  out/demo/pairs'""",
    "verify": """\
>>> import wikianchor
>>> wikianchor.verify(directory="out/demo/pairs").splitlines()[-1]
'out/demo/pairs: all is right'""",
}
PIPELINES = ("build", *STAGES, *PRINTING)
__all__ = [*PIPELINES, "score"]  # noqa: F405


def run_command(name: str, *, workers: int | None = None, beam: Sequence[str] = (), **options: Any) -> Any:
    """Run a command of the pipelines, and return its dataset or what it prints; see above."""
    from wikianchor.pipelines.engine.beam_import import import_arrow, without_warning
    from wikianchor.pipelines.engine.log import without_beams_log

    for option in LEFT_OUT:
        if option in options:
            raise TypeError(f"{name}() got an unexpected keyword argument {option!r}: there is nothing to return")
    command = COMMANDS[name]
    given = checked(command.options, name, options)
    config: Any = read_options(command.options, argparse.Namespace(**given))
    flags = [beam] if isinstance(beam, str) else beam
    import_arrow()
    if command.is_pipeline:
        with without_warning():
            import_module("apache_beam")
    printed = io.StringIO()
    try:
        with redirect_stdout(printed), without_beams_log():
            results = command.code.run(config, [*([] if workers is None else [f"--workers={workers}"]), *flags])
            if name in PRINTING:
                results.say()
    except InputError as error:
        raise (InputError(f"{printed.getvalue()}{error}") if name in PRINTING else error) from error
    return (
        printed.getvalue()
        if name in PRINTING
        else open_dataset(f"{config.output}/pairs" if name == "build" else config.output)
    )


def _function(name: str) -> Any:
    """Return a command as a function, with its docstring."""

    def command(**options: Any) -> Any:
        return run_command(name, **options)

    command.__name__ = command.__qualname__ = name
    example = f"\n\n{_EXAMPLES[name]}" if name in _EXAMPLES else ""
    summary = COMMANDS[name].summary
    command.__doc__ = (
        f"{summary[0].upper()}{summary[1:]}.\n\nOptions: as of `wikianchor {name} --help`, by name; also `workers` and "
        f"`beam`, see `wikianchor.commands`.{example}\n"
    )
    return command


def score_export(**options: Any) -> Any:
    """Run `wikianchor score`, and return its dataset."""
    of_score = import_module("wikianchor.trainer.score.options").ScoreOptions
    config = read_options(of_score, argparse.Namespace(**checked(of_score, "score", options)))
    import_module("wikianchor.score.command").run(config)
    return open_dataset(config.output)


if not TYPE_CHECKING:
    globals().update({name: _function(name) for name in PIPELINES}, score=score_export)
