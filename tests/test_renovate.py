"""Renovate finds every base image and every action, and pins them."""

import json
import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
DOCKERFILES = sorted((ROOT / "docker").glob("*.Dockerfile"))
# A tag, or a commit with its tag in a comment.
ACTION = re.compile(r"[\w.-]+/[\w./-]+@(?:[0-9a-f]{40} # )?(?![0-9a-f]{40})[\w./-]+")
IMAGE = re.compile(r"[\w.-]+(?:/[\w.-]+)*:[\w.-]+(?:@sha256:[0-9a-f]{64})?")


def test_actions_and_base_images_are_pinned_by_presets() -> None:
    settings = json.loads((ROOT / "renovate.json").read_text("utf-8"))
    assert {"docker:pinDigests", "helpers:pinGitHubActionDigests"} <= set(settings["extends"])
    assert {"dockerfile", "github-actions", "cargo"} <= set(settings["enabledManagers"])
    (pattern,) = settings["dockerfile"]["managerFilePatterns"]
    assert DOCKERFILES
    assert all(re.search(pattern.strip("/"), f"docker/{path.name}") for path in DOCKERFILES)


def test_every_action_has_a_tag_that_renovate_reads() -> None:
    uses = [line for path in WORKFLOWS for line in re.findall(r"\buses: (?!\./)(.+)", path.read_text("utf-8"))]
    assert len(uses) > 5
    assert [line for line in uses if not ACTION.fullmatch(line)] == []


def test_every_base_image_has_a_tag() -> None:
    text = "".join(path.read_text("utf-8") for path in DOCKERFILES)
    stages = set(re.findall(r"^FROM \S+ AS (\S+)", text, re.MULTILINE))
    images = [name for name in re.findall(r"^FROM (\S+)", text, re.MULTILINE) if name not in stages]
    assert images
    assert [name for name in images if not IMAGE.fullmatch(name)] == []
