"""Write the software bill of materials of each image from its lock: part of `make lock`.

    python -m tools.sbom

`docker/worker.cdx.json` and `docker/gpu.cdx.json` are CycloneDX 1.6. They list the packages that the lock installs on
the image's Python and the base images. The sha256 of the lock ties the two together; the lock has the hashes of the
packages' files.
"""

from __future__ import annotations

import hashlib
import json
import re
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from packaging.requirements import Requirement

from tools.base_images import parse

DOCKER = Path(__file__).parent.parent / "docker"
LOCKS = {"worker": "requirements.lock", "gpu": "gpu.lock"}
BASE = re.compile(r"^FROM (?P<name>[^\s@]+)(?:@(?P<digest>\S+))?", re.MULTILINE)


def main() -> None:
    """Write the bill of every image."""
    for image in LOCKS:
        target(image).write_text(text(image), encoding="utf-8")
        print(target(image))


def target(image: str) -> Path:
    """Return the path of an image's bill."""
    return DOCKER / f"{image}.cdx.json"


def text(image: str) -> str:
    """Return the bill of an image as JSON; the same inputs give the same text."""
    lock = (DOCKER / LOCKS[image]).read_text(encoding="utf-8")
    dockerfile = (DOCKER / f"{image}.Dockerfile").read_text(encoding="utf-8")
    return json.dumps(bill(image, dockerfile, lock), indent=1) + "\n"


def bill(image: str, dockerfile: str, lock: str) -> dict[str, Any]:
    """Return the CycloneDX document of an image.

    Args:
        image: its name.
        dockerfile: the text of its Dockerfile.
        lock: the text of the pip requirements that it installs, one `name==version ; marker` a line.
    """
    components = [*base_components(dockerfile), *package_components(lock, environment(dockerfile))]
    lock_hash = {"alg": "SHA-256", "content": hashlib.sha256(lock.encode()).hexdigest()}
    subject = {"type": "container", "bom-ref": image, "name": f"wikianchor-{image}", "hashes": [lock_hash]}
    identity = json.dumps([subject, components])
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, identity)}",
        "version": 1,
        "metadata": {"component": subject},
        "components": components,
    }


def base_components(dockerfile: str) -> list[dict[str, Any]]:
    """Return a component for each base image, by digest where the Dockerfile has one."""
    components = []
    for name, digest in BASE.findall(dockerfile):
        base = parse(name)
        host = "" if base.registry == "docker.io" else f"?repository_url={base.registry}"
        purl = f"pkg:docker/{base.repository}@{quote(digest or base.tag, safe='')}{host}"
        hashes = {"hashes": [{"alg": "SHA-256", "content": digest.removeprefix("sha256:")}]} if digest else {}
        component = {"type": "container", "bom-ref": purl, "name": base.repository, "version": base.tag, "purl": purl}
        components.append(component | hashes)
    return components


def package_components(lock: str, markers: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return a component for each package of a lock whose marker holds in an environment."""
    components = []
    for line in lock.splitlines():
        if not re.match(r"[A-Za-z0-9]", line):
            continue
        need = Requirement(line.rstrip("\\ "))
        if need.marker is None or need.marker.evaluate(dict(markers)):
            version = str(need.specifier).removeprefix("==")
            purl = f"pkg:pypi/{need.name}@{quote(version)}"
            component = {"type": "library", "bom-ref": purl, "name": need.name, "version": version, "purl": purl}
            components.append(component)
    return components


def environment(dockerfile: str) -> dict[str, str]:
    """Return the values of the environment markers (PEP 508) in an image that starts from `python:VERSION`."""
    version = re.findall(r"^FROM python:(\d+\.\d+\.\d+)", dockerfile, re.MULTILINE)[-1]
    return {
        "implementation_name": "cpython",
        "implementation_version": version,
        "os_name": "posix",
        "platform_machine": "x86_64",
        "platform_python_implementation": "CPython",
        "platform_release": "",
        "platform_system": "Linux",
        "platform_version": "",
        "python_full_version": version,
        "python_version": ".".join(version.split(".")[:2]),
        "sys_platform": "linux",
    }


if __name__ == "__main__":
    main()
