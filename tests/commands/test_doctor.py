"""`wikianchor doctor` says what is installed, and imports none of it."""

import subprocess
import sys
from pathlib import Path

import pytest

from wikianchor.pipelines.cli.command_line import main
from wikianchor.pipelines.commands.doctor import command

METADATA = """Metadata-Version: 2.1
Name: tea
Version: 1
Requires-Dist: cup
Requires-Dist: pot[large]>=2; extra == "party"
Requires-Dist: tea[party]; extra == "all"
Requires-Dist: cake<3; python_version >= "3.10" and extra == 'all'
"""


def test_each_part_of_the_installation_has_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == 0
    lines = capsys.readouterr().out.splitlines()
    for beginning in ("wikianchor ", "Python ", "engine: ", "graphics cards: "):
        assert sum(line.startswith(beginning) for line in lines) == 1
    assert sum(line.startswith("disk: ") for line in lines) == 2
    assert "extra mwparserfromhell: installed" in lines
    assert not any(line.startswith("extra dev") for line in lines)
    assert lines[-1].startswith("stores: local paths")


def test_extras_are_read_from_the_metadata_of_packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in {"tea": METADATA, "pot": 'Name: pot\nRequires-Dist: lid; extra == "large"\n'}.items():
        (tmp_path / f"{name}-1.dist-info").mkdir()
        (tmp_path / f"{name}-1.dist-info/METADATA").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    assert command.extras("tea") == {"party": ["pot", "lid"], "all": ["tea", "cake"]}
    assert command.extras("nothing of this name") == {}


def test_what_the_driver_says_of_cards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "nvidia-smi"
    monkeypatch.setenv("PATH", str(tmp_path))
    assert list(command.graphics_cards()) == []
    program.write_text("#!/bin/sh\necho 'NVIDIA H100, 81559 MiB'\n")
    program.chmod(0o755)
    assert list(command.graphics_cards()) == ["NVIDIA H100, 81559 MiB"]
    program.write_text("#!/bin/sh\nexit 9\n")
    assert list(command.graphics_cards()) == []


def test_no_large_package_is_imported() -> None:
    code = (
        "import sys; from wikianchor.pipelines.cli.command_line import main; main(['doctor'])\n"
        "sys.exit(' '.join({'torch', 'transformers', 'apache_beam', 'pandas'} & sys.modules.keys()) or 0)"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (0, "")
