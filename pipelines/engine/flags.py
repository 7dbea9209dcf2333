"""The options of the engine, which every pipeline has beside those of Beam."""

from __future__ import annotations

from dataclasses import dataclass

from wikianchor.io.options import declared, option
from wikianchor.io.output import columns, wrapped


@dataclass(frozen=True, kw_only=True)
class EngineFlags:
    """Options of the engine; Beam parses them, see `engine.options`."""

    shuffle: str = option(
        "auto",
        choices=("auto", "beam", "files"),
        help="how rows are shuffled: by Beam's GroupByKey, or by files on the local disk of one machine; auto: files "
        "for the direct runner and Prism, beam for Dataflow, Flink and Spark",
    )
    workers: int | None = option(
        None,
        help="worker processes on this machine, 1 for none beside that of the command",
        unset="one for each core, as far as the memory and the work go",
    )
    worker_memory: int | None = option(
        None,
        metavar="MB",
        help="private memory of a worker process, above which it is ended and its work tried again alone",
        unset="unlimited",
    )
    stall_limit: int | None = option(
        None,
        metavar="SECONDS",
        help="time without progress after which a worker process is ended and its work tried again alone; it is "
        "reported after a minute",
        unset="600",
    )
    skip_bad_pages: bool = option(default=False, help="leave out and count pages that end their worker process twice")
    verbose: bool = option(default=False, help="show Beam's log, with the traceback of a step that fails")


def engine_help() -> str:
    """Return the help of the options of the engine."""
    lines = ["the engine:"]
    for flag in declared(EngineFlags):
        name = f"--{flag.flag}={flag.value}" if flag.value else f"--{flag.flag}"
        lines += wrapped(f"  {name}  {flag.text({})}", columns())
    return "\n".join([*lines, "other flags go to Beam: --runner ..."])
