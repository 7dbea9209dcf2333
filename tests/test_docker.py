"""The images as far as they can be judged without a daemon: their lines, their templates, their locks."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import launch
import pytest

from pipelines.errors import UsageError
from tools import templates

ROOT = Path(__file__).parent.parent
FILES = sorted((ROOT / "docker").glob("*.Dockerfile"))


@pytest.mark.parametrize("stage", templates.STAGES)
def test_templates_are_what_the_flags_say(stage: str) -> None:
    found = (templates.PLACE / f"{stage}.json").read_text(encoding="utf-8")
    assert found == templates.metadata(stage), "run python tools/templates.py"
    for parameter in json.loads(found)["parameters"]:
        assert re.fullmatch("[a-z_]+", parameter["name"])
        assert all(re.compile(pattern) for pattern in parameter.get("regexes", ()))


def test_the_launcher_turns_parameters_into_flags() -> None:
    given = ["--stage=pairs", "--min_links=5", "--back_off=false", "--section_links=true", "--runner=DataflowRunner"]
    assert launch.command(given) == [
        *["pairs", "--min_links=5", "--no-back_off", "--section_links", "--runner=DataflowRunner"]
    ]
    assert launch.command(["--stage=sentences", "--allow_truncated=false"]) == ["sentences"]
    assert launch.command(["--stage=sentences", "--allow_truncated=true"]) == ["sentences", "--allow_truncated"]
    for wrong in (["--min_links=5"], ["--stage=none"], ["--stage=pairs", "--back_off=yes"]):
        with pytest.raises(UsageError):
            launch.command(wrong)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_an_image_is_pinned_and_nobody_is_root_in_it(path: Path) -> None:
    text = path.read_text()
    bases = re.findall(r"^FROM (\S+)", text, re.MULTILINE)
    assert bases
    assert all(re.search(r":[\w.]*\d", base) for base in bases)
    assert re.findall(r"^USER (\S+)", text, re.MULTILINE)[-1].isdigit()
    assert "--require-hashes" in text
    linter = Path(sys.executable).with_name("hadolint")
    if not linter.exists():
        pytest.skip("NO HADOLINT: pip install '.[dev]'")
    checked = subprocess.run([linter, path], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout


@pytest.mark.parametrize("name", ["requirements.lock", "gpu.lock"])
def test_a_lock_has_a_hash_for_every_version(name: str) -> None:
    lines = (ROOT / "docker" / name).read_text().splitlines()
    pins = [number for number, line in enumerate(lines) if re.match(r"[a-z0-9]", line)]
    assert len(pins) > 50
    assert all("==" in lines[number] and "--hash=sha256:" in lines[number + 1] for number in pins)
    beam = next(lines[number] for number in pins if lines[number].startswith("apache-beam=="))
    assert f"beam_python3.11_sdk:{beam.split('==')[1].split()[0]}" in "".join(path.read_text() for path in FILES)


@pytest.mark.nightly
def test_the_lines_of_the_workers_image_in_a_new_environment(tmp_path: Path) -> None:
    """What the Dockerfile copies and runs, in a virtual environment in place of the image, less making a user."""
    if sys.version_info[:2] != (3, 11):
        pytest.skip("THE IMAGE HAS PYTHON 3.11")
    place = tmp_path / "opt/wikianchor"
    place.mkdir(parents=True)
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    surroundings = {**os.environ, "PATH": f"{tmp_path}/venv/bin:{os.environ['PATH']}", "PYTHONPATH": ""}
    for line in (ROOT / "docker/worker.Dockerfile").read_text().splitlines():
        word, _, rest = line.partition(" ")
        if word == "COPY" and not rest.startswith("--from"):
            *sources, target = rest.replace("/opt/wikianchor", str(place)).split()
            for source in sources:
                copy(ROOT / source, Path(target), target.endswith("/"))
        if word == "RUN" and "useradd" not in rest:
            subprocess.run(rest.replace("/opt/wikianchor", str(place)), shell=True, check=True, env=surroundings)
    command = [tmp_path / "venv/bin/python", place / "launch.py", "--stage=sentences"]
    dump = next((ROOT / "demo/dumps").glob("enwiki*stream.xml.bz2"))
    flags = [f"--dump={dump}", f"--output={tmp_path}/out"]
    subprocess.run([*command, *flags], check=True, env=surroundings, cwd=tmp_path)
    assert (tmp_path / "out/manifest.json").exists()


def copy(source: Path, target: Path, inside: bool) -> None:
    if source.is_dir():
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
    else:
        shutil.copy(source, target / source.name if inside else target)
