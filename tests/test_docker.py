"""The images as far as they can be judged without a daemon: their lines, their templates, their locks."""

from __future__ import annotations

import doctest
import fnmatch
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import launch
import pytest
from packaging.requirements import Requirement

from tools import sbom, templates
from wikianchor.io.config_file import tomllib
from wikianchor.io.errors import UsageError

ROOT = Path(__file__).parent.parent
# The user of the images beside root.
WORKER = 10001
FILES = sorted((ROOT / "docker").glob("*.Dockerfile"))


@pytest.mark.parametrize("stage", templates.STAGES)
def test_templates_are_what_the_flags_say(stage: str) -> None:
    kept = (templates.PLACE / f"{stage}.json").read_text(encoding="utf-8")
    assert kept == templates.metadata(stage), "run python tools/templates.py"
    for parameter in json.loads(kept)["parameters"]:
        assert re.fullmatch("[a-z_]+", parameter["name"])
        assert all(re.compile(pattern) for pattern in parameter.get("regexes", ()))


@pytest.mark.parametrize("stage", templates.STAGES)
def test_a_flex_template_has_the_image_and_what_its_launcher_reads(stage: str) -> None:
    flex = json.loads(templates.template(stage, "registry/wikianchor:1"))
    assert flex["image"] == "registry/wikianchor:1"
    assert flex["sdkInfo"] == {"language": "PYTHON"}
    assert flex["metadata"] == json.loads(templates.metadata(stage))
    switches = [
        parameter for parameter in flex["metadata"]["parameters"] if parameter.get("regexes") == ["^(true|false)$"]
    ]
    flags = launch.command([f"--stage={stage}", *(f"--{parameter['name']}=false" for parameter in switches)])
    assert flags == [stage, *(f"--no-{parameter['name']}" for parameter in switches)]


def test_the_launcher_turns_parameters_into_flags() -> None:
    given = ["--stage=pairs", "--min_links=5", "--back_off=false", "--section_links=true", "--runner=DataflowRunner"]
    assert launch.command(given) == [
        *["pairs", "--min_links=5", "--no-back_off", "--section_links", "--runner=DataflowRunner"]
    ]
    assert launch.command(["--stage=sentences", "--allow_truncated=false"]) == [*["sentences", "--no-allow_truncated"]]
    assert launch.command(["--stage=sentences", "--allow_truncated=true"]) == ["sentences", "--allow_truncated"]
    for wrong in (["--min_links=5"], ["--stage=none"], ["--stage=pairs", "--back_off=yes"]):
        with pytest.raises(UsageError):
            launch.command(wrong)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_an_image_is_pinned_and_passes_the_linter(path: Path) -> None:
    text = path.read_text()
    bases = re.findall(r"^FROM (\S+)", text, re.MULTILINE)
    assert bases
    assert all(re.fullmatch(r"[^@]+:[\w.-]*\d[\w.-]*(@sha256:[0-9a-f]{64})?", base) for base in bases)
    assert "--require-hashes" in text
    linter = Path(sys.executable).with_name("hadolint")
    if not linter.exists():
        pytest.skip("NO HADOLINT: pip install '.[dev]'")
    checked = subprocess.run([linter, path], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_root_by_default_and_directories_that_another_user_can_write_too(path: Path, image_root: Path) -> None:
    text = path.read_text()
    # Dataflow mounts root's directories over these, so the image must not choose another user.
    assert re.findall(r"^USER (\S+)", text, re.MULTILINE) == ["0"]
    assert "HOME=/home/worker" in text
    (command,) = re.findall(r"install --directory [^\n]*", text)
    subprocess.run(command.replace(" /var", f" {image_root}/var"), shell=True, check=True)
    files = ["var/opt/google/staged.whl", "var/log/dataflow/harness.log"]
    if "launcher" in text:
        files.append("var/log/dataflow/template_launcher/runner-json.log")
    for file in files:
        subprocess.run(["touch", image_root / file], user=WORKER, group=WORKER, check=True)


def test_a_mount_hides_the_owner_that_the_image_gave_a_directory(image_root: Path) -> None:
    """Why directories of the user are not enough on Dataflow, and the image has root."""
    host, inside = image_root / "host", image_root / "google"
    for directory in (host, inside):
        directory.mkdir()
    os.chown(inside, WORKER, WORKER)
    mount = ["unshare", "--mount", "sh", "-ec", f"mount --bind {host} {inside}; exec $0 $@"]
    if subprocess.run([*mount, "true"], capture_output=True).returncode:
        pytest.skip("NO MOUNTS: needs the capability SYS_ADMIN")
    as_worker = ["setpriv", f"--reuid={WORKER}", f"--regid={WORKER}", "--clear-groups"]
    refused = subprocess.run([*mount, *as_worker, "touch", inside / "staged.whl"], capture_output=True, text=True)
    assert "Permission denied" in refused.stderr
    subprocess.run([*mount, "touch", inside / "staged.whl"], check=True)


@pytest.fixture
def image_root() -> Iterator[Path]:
    """A directory that every user may enter, in place of an image's `/`."""
    if os.geteuid() != 0:
        pytest.skip("NEEDS ROOT: files are given to another user")
    with tempfile.TemporaryDirectory() as directory:
        Path(directory).chmod(0o755)
        yield Path(directory)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_what_an_image_copies_is_sent_to_the_builder(path: Path) -> None:
    for sources in re.findall(r"^COPY (?!--from)(.+) \S+$", path.read_text(), re.MULTILINE):
        assert all(sent_to_builder(source) for source in sources.split())


def test_nothing_else_is_sent_to_the_builder() -> None:
    kept = [
        "setup.py",
        "pipelines/cli/command_line.py",
        "pipelines/text/data/rules.json",
        "trainer/task.py",
        "schemas/shards.py",
    ]
    kept += ["wikianchor/__main__.py", "demo/dumps/x.bz2"]
    assert all(sent_to_builder(path) for path in kept)
    left = [".git/config", ".venv/bin/python", "out/demo/manifest.json", "docker/worker.Dockerfile", "key.json", ".env"]
    left += ["pipelines/__pycache__/cli.cpython-311.pyc", "tests/conftest.py"]
    assert not any(sent_to_builder(path) for path in left)


def sent_to_builder(path: str) -> bool:
    """Whether .dockerignore lets a path through: the last pattern that matches it or a directory above decides."""
    sent = True
    above = [path, *(str(parent) for parent in Path(path).parents if str(parent) != ".")]
    for line in (ROOT / ".dockerignore").read_text().splitlines():
        pattern = line.removeprefix("!")
        names = [Path(path).name for path in above] if pattern.startswith("**/") else above
        if line and not line.startswith("#") and fnmatch.filter(names, pattern.removeprefix("**/")):
            sent = line.startswith("!")
    return sent


@pytest.mark.parametrize("name", ["requirements.lock", "gpu.lock"])
def test_a_lock_has_a_hash_for_every_version(name: str) -> None:
    lines = (ROOT / "docker" / name).read_text().splitlines()
    pins = [number for number, line in enumerate(lines) if re.match(r"[a-z0-9]", line)]
    assert len(pins) > 50
    assert all("==" in lines[number] and "--hash=sha256:" in lines[number + 1] for number in pins)
    beam = next(lines[number] for number in pins if lines[number].startswith("apache-beam=="))
    assert f"beam_python3.11_sdk:{beam.split('==')[1].split()[0]}" in "".join(path.read_text() for path in FILES)


@pytest.mark.parametrize("image", sbom.LOCKS)
def test_the_package_is_built_by_locked_tools(image: str) -> None:
    dockerfile = (ROOT / f"docker/{image}.Dockerfile").read_text()
    (build,) = re.findall(r"^RUN \S+=\$VERSION pip install (.*) /opt/wikianchor[ \n]", dockerfile, re.MULTILINE)
    assert "--no-build-isolation" in build.split()
    (install,) = re.findall(r"^RUN pip install .* --require-hashes (.*)$", dockerfile, re.MULTILINE)
    assert install == " ".join(f"-r /opt/wikianchor/{lock}" for lock in sbom.LOCKS[image])
    pins = "".join((ROOT / "docker" / lock).read_text() for lock in sbom.LOCKS[image])
    with (ROOT / "pyproject.toml").open("rb") as file:
        needs = [Requirement(need) for need in tomllib.load(file)["build-system"]["requires"]]
    for need in needs:
        (version,) = set(re.findall(rf"^{need.name}==(\S+) \\\n +--hash=sha256:", pins, re.MULTILINE))
        assert version in need.specifier


def test_a_bill_has_crates_and_licences() -> None:
    crates = '[[package]]\nname = "own"\nversion = "1"\n'
    crates += '[[package]]\nname = "regex"\nversion = "1.0"\nsource = "registry+x"\nchecksum = "00"\n'
    licences = {"pkg:cargo/regex": "MIT or Apache-2.0", "pkg:pypi/plain": "BSD License"}
    lock = "plain==2.0 \\\n    --hash=sha256:11\n"
    bill = sbom.bill("worker", "FROM python:3.11.13-slim\n", lock, crates, licences)
    assert [
        (component["purl"], component.get("licenses"), component.get("hashes")) for component in bill["components"][1:]
    ] == [
        ("pkg:pypi/plain@2.0", [{"license": {"name": "BSD License"}}], None),
        ("pkg:cargo/regex@1.0", [{"expression": "MIT OR Apache-2.0"}], [{"alg": "SHA-256", "content": "00"}]),
    ]
    crates_of = {
        image: [
            component for component in sbom.bill_of(image)["components"] if component["purl"].startswith("pkg:cargo/")
        ]
        for image in sbom.LOCKS
    }
    assert crates_of["worker"]
    assert all("licenses" in crate for crate in crates_of["worker"])
    assert not crates_of["gpu"]


@pytest.mark.parametrize("image", sbom.LOCKS)
def test_the_bill_of_materials_is_that_of_the_lock(image: str) -> None:
    assert sbom.target(image).read_text(encoding="utf-8") == sbom.text(image), "run python -m tools.sbom"
    bill = json.loads(sbom.text(image))
    assert len({component["purl"] for component in bill["components"]}) == len(bill["components"])
    versions = {component["name"]: component["version"] for component in bill["components"]}
    assert versions["apache/beam_python3.11_sdk"] == versions["apache-beam"]


def test_a_bill_lists_what_the_images_python_installs_and_digests() -> None:
    dockerfile = f"FROM gcr.io/a/b:1@sha256:{'0' * 64} AS x\nFROM python:3.11.13-slim\n"
    lock = """old==1 ; python_full_version < '3.11' \\\n    --hash=sha256:00\nplain==2.0 \\
    --hash=sha256:11\nlinux-only==3 ; sys_platform == 'linux'\n# via nothing\n"""
    components = sbom.bill("worker", dockerfile, lock)["components"]
    assert [component["purl"] for component in components] == [
        f"pkg:docker/a/b@sha256%3A{'0' * 64}?repository_url=gcr.io",
        "pkg:docker/library/python@3.11.13-slim",
        "pkg:pypi/plain@2.0",
        "pkg:pypi/linux-only@3",
    ]
    assert components[0]["hashes"] == [{"alg": "SHA-256", "content": "0" * 64}]


@pytest.mark.parametrize("image", sbom.LOCKS)
def test_a_bill_is_valid_cyclonedx(image: str) -> None:
    validation = pytest.importorskip("cyclonedx.validation.json", reason="NO CYCLONEDX: pip install '.[dev]'")
    schema = pytest.importorskip("cyclonedx.schema")
    assert validation.JsonStrictValidator(schema.SchemaVersion.V1_6).validate_str(sbom.text(image)) is None


def test_examples_of_the_docstrings() -> None:
    assert doctest.testmod(sbom).failed == 0


@pytest.mark.nightly
def test_the_lines_of_the_workers_image_in_a_new_environment(tmp_path: Path) -> None:
    """What the Dockerfile copies and runs, in a virtual environment in place of the image, less making a user."""
    if sys.version_info[:2] != (3, 11):
        pytest.skip("THE IMAGE HAS PYTHON 3.11")
    checkout = tmp_path / "opt/wikianchor"
    checkout.mkdir(parents=True)
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    surroundings = {**os.environ, "PATH": f"{tmp_path}/venv/bin:{os.environ['PATH']}", "PYTHONPATH": ""}
    # The pip of python:3.11.13: the one of an older Python knows no extra, such as google-auth[pyopenssl], of a pin
    # with hashes.
    subprocess.run(["pip", "install", "--quiet", "pip==24.0"], check=True, env=surroundings)
    # The wheel of the core, which the image builds in a stage of its own.
    wheels = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        f"--wheel-dir={checkout}/wheels",
        ROOT / "core",
    ]
    subprocess.run(wheels, check=True)
    last_stage = (ROOT / "docker/worker.Dockerfile").read_text().rpartition("\nFROM ")[2]
    for line in last_stage.splitlines():
        word, _, rest = line.partition(" ")
        if word == "COPY" and not rest.startswith("--from"):
            *sources, target = rest.replace("/opt/wikianchor", str(checkout)).split()
            for source in sources:
                copy(ROOT / source, Path(target), target.endswith("/"))
        if word == "RUN" and "useradd" not in rest:
            subprocess.run(rest.replace("/opt/wikianchor", str(checkout)), shell=True, check=True, env=surroundings)
    command = [tmp_path / "venv/bin/python", checkout / "launch.py", "--stage=sentences"]
    dump = next((ROOT / "demo/dumps").glob("enwiki*stream.xml.bz2"))
    flags = [f"--dumps={dump}", f"--output={tmp_path}/out"]
    subprocess.run([*command, *flags], check=True, env=surroundings, cwd=tmp_path)
    assert (tmp_path / "out/manifest.json").exists()


def copy(source: Path, target: Path, inside: bool) -> None:
    if source.is_dir():
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
    else:
        shutil.copy(source, target / source.name if inside else target)
