"""What of the package `wikianchor` is computed when it is built; its metadata stand in pyproject.toml."""

import re
import shutil
from importlib.util import find_spec
from pathlib import Path

from setuptools import find_packages, setup
from setuptools.command.build_py import build_py
from setuptools.command.editable_wheel import editable_wheel

ROOT = Path(__file__).parent
CODE = "https://github.com/wikianchor/wikianchor/blob/main/"
# Pictures need the file itself, not the page that shows it.
FILES = "https://raw.githubusercontent.com/wikianchor/wikianchor/main/"
FALLBACK_VERSION = "0.1.dev0"
SAMPLE = ("dumps/*", "documents.jsonl", "sts.tsv")
# Folders at the top that are packages below `wikianchor`, which links to them.
LINKED = ("pipelines", "schemas", "trainer")


def version() -> str | None:
    """Return the version where setuptools-scm does not: where it is not installed, for lack of a network, and in an
    archive of a commit before the first tag."""
    archival = (ROOT / ".git_archival.txt").read_text("utf-8") if (ROOT / ".git_archival.txt").exists() else ""
    if (node := re.search(r"node: ([0-9a-f]{9})", archival)) and "describe-name: v" not in archival:
        return f"{FALLBACK_VERSION}+g{node[1]}"
    return None if find_spec("setuptools_scm") else FALLBACK_VERSION


def readme() -> str:
    """Return README.md with absolute links and pictures: a package index has no files beside it."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    text = re.sub(r"(!\[[^\]]*\]\()(?!https?:|#)", rf"\1{FILES}", text)
    return re.sub(r"(?<!!)(\[[^\]]*\]\()(?!https?:|#)", rf"\1{CODE}", text)


def restore_links() -> None:
    """Make links of the text files that some programs unpack from a ZIP: an editable install needs the links."""
    for link in (ROOT / "wikianchor" / name for name in LINKED):
        if link.is_file():
            link.unlink()
            link.symlink_to(f"../{link.name}")


class BuildWithSample(build_py):
    """Copies the sample of `wikianchor demo` into the package. A checkout has it in demo/."""

    def run(self) -> None:
        """Copy modules, package data and the sample."""
        super().run()
        if self.editable_mode:
            return
        for path in sorted(path for pattern in SAMPLE for path in (ROOT / "demo").glob(pattern)):
            target = Path(self.build_lib, "wikianchor", "pipelines", "sample", path.relative_to(ROOT / "demo"))
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, target)


class EditableByPath(editable_wheel):
    """Installs the path of the checkout: type checkers do not run the import hook that `package_dir` would need."""

    def finalize_options(self) -> None:
        """Find all packages below the checkout, through the links."""
        restore_links()
        self.distribution.package_dir = {"": "."}
        super().finalize_options()


setup(
    version=version(),
    long_description=readme(),
    long_description_content_type="text/markdown",
    # The links are for editors and type checkers; a build does without them, since a ZIP may not keep them.
    packages=[
        *find_packages(include=["wikianchor", "wikianchor.*"], exclude=[f"wikianchor.{name}*" for name in LINKED]),
        *(f"wikianchor.{name}" for name in find_packages(include=[f"{name}*" for name in LINKED])),
    ],
    package_dir={f"wikianchor.{name}": name for name in LINKED},
    # What git knows would count as data, and the links are no files.
    include_package_data=False,
    package_data={
        "wikianchor": ["py.typed", "beam.yaml", "signatures.pyi"],
        "wikianchor.schemas": ["*.json"],
        "wikianchor.trainer": ["*.toml", "papers/*.toml", "evaluate/tasks/*.toml"],
        "wikianchor.pipelines": [
            "*/data/*.json",
            "*/*/data/*.lua",
            "*/data/README.md",
            "commands/report/templates/*",
            "dataset/templates/*",
        ],
    },
    cmdclass={"build_py": BuildWithSample, "editable_wheel": EditableByPath},
)
