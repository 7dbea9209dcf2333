"""`wikianchor demo`: write a sample of three wikis to a directory and build training pairs from it.

The sample also contains the documents and the scored sentence pairs with which the documentation trains and evaluates,
so its commands work after `pip install`, without a clone of the repository.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from wikianchor.io.errors import InputError
from wikianchor.io.output import say
from wikianchor.io.storage import writing
from wikianchor.pipelines.commands.build import command as build
from wikianchor.pipelines.commands.build.options import BuildOptions
from wikianchor.pipelines.commands.demo.options import DemoOptions
from wikianchor.pipelines.commands.report.made import Made
from wikianchor.pipelines.pairs.options import PairChoices

# The sample has few links to each entity.
MIN_LINKS = 2
# The files of demo/ that setup.py puts into the wheel; the others are the sources of these.
PATTERNS = ("dumps/*", "documents.jsonl", "sts.tsv")


def run(config: DemoOptions, beam_args: Sequence[str]) -> Made:
    """Write the sample, and build from it."""
    copy_sample(Path(config.data))
    command = [f"--dumps={config.data}/dumps", f"--output={config.output}", f"--min_links={MIN_LINKS}"]
    say(f"wikianchor build {shlex.join([*command, *beam_args])}")
    choices = PairChoices(min_links=MIN_LINKS)
    return build.run(BuildOptions(dumps=f"{config.data}/dumps", output=config.output, choices=choices), beam_args)


def copy_sample(target: Path) -> None:
    """Write the files of the sample to a directory, except those that exist already.

    Raises:
        InputError: a file exists with other content, or cannot be written.
    """
    root = sample_root()
    for name in sample_files(root):
        content, path = (root / name).read_bytes(), target / name
        if not path.exists():
            with writing(str(path), "--data"):
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
        elif path.read_bytes() != content:
            raise InputError(f"{path}: not the file of the sample: remove it, or name another directory with --data")


def sample_root() -> Path:
    """Return the directory of the sample: in the package when it is installed, else demo/ of the checkout."""
    pipelines = Path(__file__).parents[2]
    return next(path for path in (pipelines / "sample", pipelines.parents[1] / "demo") if path.is_dir())


def sample_files(root: Path) -> Iterator[Path]:
    """Yield the files of the sample, relative to its directory, in a fixed order."""
    for pattern in PATTERNS:
        yield from sorted(path.relative_to(root) for path in root.glob(pattern))
