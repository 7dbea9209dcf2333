"""Pages can be read, extracted and split with the standard library alone, and the core where it is installed."""

import subprocess
import sys

import pytest

PROGRAM = """
import importlib, sys
before = set(sys.modules)
importlib.import_module({module!r})
new = {{name.partition(".")[0] for name in set(sys.modules) - before}}
print(*sorted(new - sys.stdlib_module_names - {{"wikianchor", "wikianchor_core"}}))
"""


@pytest.mark.parametrize(
    "name", ["wikimedia.wikitext", "wikimedia.site", "wikimedia.pages", "text.splitter", "text.prose"]
)
def test_imports_of_the_engine(name: str) -> None:
    program = PROGRAM.format(module=f"wikianchor.pipelines.{name}")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
