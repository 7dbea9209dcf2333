"""Ctrl-C while the program is still imported."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
# What Python imports when it starts: a signal comes with the import of the command line.
SIGNAL = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == "wikianchor.pipelines.cli.command_line":
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupt())
"""


def test_an_interrupt_of_an_import_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(SIGNAL)
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}:{ROOT}"}
    command = [sys.executable, "-m", "wikianchor", "--version"]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (130, "wikianchor: interrupted\n")
