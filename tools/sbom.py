"""Write the software bill of materials of each image from its lock: part of `make lock`.

    python -m tools.sbom

`docker/worker.cdx.json` and `docker/gpu.cdx.json` are CycloneDX 1.6. They list the packages that the lock installs on
the image's Python, the crates of the core where the image has it, and the base images. The sha256 of the lock ties the
two together; the lock has the hashes of the packages' files.

Licences are in `docker/licences.json`, by package. Those of packages that are installed here, or below the directories
given as arguments, are written there again; a package whose licence is nowhere known is listed as NO LICENCE.
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
import uuid
from collections.abc import Mapping, Sequence
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import Any
from urllib.parse import quote

from packaging.licenses import InvalidLicenseExpression, canonicalize_license_expression
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from wikianchor.io.config_file import tomllib

ROOT = Path(__file__).parent.parent
DOCKER, CORE = ROOT / "docker", ROOT / "core"
LICENCES = DOCKER / "licences.json"
# The requirements that pip installs.
LOCKS = {"worker": ("requirements.lock", "build.lock"), "gpu": ("gpu.lock", "build.lock")}
# Registry (a host with a dot or a port), repository, tag and digest of a base image.
BASE = re.compile(r"^FROM ([^\s/@:]*[.:][^\s/@]*/)?([^\s:@]+):([^\s@]+)(?:@(\S+))?", re.MULTILINE)


def main(directories: Sequence[str] = ()) -> None:
    """Write the licences that are known, and the bill of every image."""
    known = json.loads(LICENCES.read_text(encoding="utf-8")) | installed_licences([*directories, *sys.path])
    known |= crate_licences()
    listed = {component["purl"].partition("@")[0] for image in LOCKS for component in bill_of(image)["components"]}
    licences = {name: known[name] for name in sorted(listed & set(known))}
    LICENCES.write_text(json.dumps(licences, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    for image in LOCKS:
        target(image).write_text(text(image), encoding="utf-8")
        print(target(image))
    for name in sorted(listed - set(licences)):
        if not name.startswith("pkg:docker/"):
            print(f"NO LICENCE: {name}")


def installed_licences(directories: Sequence[str]) -> dict[str, str]:
    """Return the licences of the packages that are installed below some directories, by package URL."""
    # Of several distributions of a package the first counts.
    packages = reversed([*distributions(path=list(directories))])
    return {
        f"pkg:pypi/{canonicalize_name(package.name)}": licence
        for package in packages
        if (licence := licence_of(package))
    }


def licence_of(package: Distribution) -> str:
    """Return the licence of a package in the words of its metadata: an SPDX expression where there is one."""
    metadata = package.metadata.json
    classifiers = [name.split(" :: ")[-1] for name in metadata.get("classifier", ()) if name.startswith("License ")]
    # Some put the whole text into the old field.
    line = str(metadata.get("license", "")).strip().partition("\n")[0]
    return str(metadata.get("license_expression", "")) or ", ".join(classifiers) or line


def crate_licences() -> dict[str, str]:
    """Return the licences of the crates, by package URL; none where there is no cargo."""
    command = ["cargo", "metadata", "--format-version=1", "--locked"]
    try:
        ended = subprocess.run(command, cwd=CORE, capture_output=True, check=True)
    except (FileNotFoundError, subprocess.CalledProcessError) as error:
        print(f"NO LICENCES OF CRATES: {error}")
        return {}
    return {
        f"pkg:cargo/{crate['name']}": crate["license"]
        for crate in json.loads(ended.stdout)["packages"]
        if crate["license"]
    }


def target(image: str) -> Path:
    """Return the path of an image's bill."""
    return DOCKER / f"{image}.cdx.json"


def text(image: str) -> str:
    """Return the bill of an image as JSON; the same inputs give the same text."""
    return json.dumps(bill_of(image), indent=1, ensure_ascii=False) + "\n"


def bill_of(image: str) -> dict[str, Any]:
    """Return the bill of an image from the files of this checkout."""
    lock = "".join((DOCKER / name).read_text(encoding="utf-8") for name in LOCKS[image])
    dockerfile = (DOCKER / f"{image}.Dockerfile").read_text(encoding="utf-8")
    crates = (CORE / "Cargo.lock").read_text(encoding="utf-8") if "COPY core " in dockerfile else ""
    return bill(image, dockerfile, lock, crates, json.loads(LICENCES.read_text(encoding="utf-8")))


def bill(
    image: str, dockerfile: str, lock: str, crates: str = "", licences: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Return the CycloneDX document of an image.

    Args:
        image: its name.
        dockerfile: the text of its Dockerfile.
        lock: the text of the pip requirements that it installs, one `name==version ; marker` a line.
        crates: the text of the Cargo.lock of the core, "" for none.
        licences: the licence of each package URL without version.
    """
    components = [*base_components(dockerfile), *package_components(lock, environment(dockerfile))]
    components += crate_components(crates)
    for component in components:
        if licence := (licences or {}).get(component["purl"].partition("@")[0]):
            component["licenses"] = [licence_field(licence)]
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
    for registry, path, tag, digest in BASE.findall(dockerfile):
        # Docker's short names.
        repository = path if "/" in path or registry else f"library/{path}"
        host = f"?repository_url={registry.rstrip('/')}" if registry else ""
        purl = f"pkg:docker/{repository}@{quote(digest or tag, safe='')}{host}"
        hashes = {"hashes": [{"alg": "SHA-256", "content": digest.removeprefix("sha256:")}]} if digest else {}
        component = {"type": "container", "bom-ref": purl, "name": repository, "version": tag, "purl": purl}
        components.append(component | hashes)
    return components


def package_components(lock: str, markers: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return a component for each package of a lock whose marker holds in an environment."""
    needs = [Requirement(line.rstrip("\\ ")) for line in lock.splitlines() if re.match(r"[A-Za-z0-9]", line)]
    components = [
        library("pypi", need.name, str(need.specifier).removeprefix("=="))
        for need in needs
        if need.marker is None or need.marker.evaluate(dict(markers))
    ]
    # The tools that build the package may be among its requirements too.
    return list({component["purl"]: component for component in components}.values())


def crate_components(lock: str) -> list[dict[str, Any]]:
    """Return a component for each crate of a Cargo.lock that comes from a registry, with the hash of its file."""
    return [
        library("cargo", crate["name"], crate["version"])
        | {"hashes": [{"alg": "SHA-256", "content": crate["checksum"]}]}
        for crate in tomllib.loads(lock).get("package", ())
        if "source" in crate
    ]


def library(kind: str, name: str, version: str) -> dict[str, Any]:
    """Return the component of a package of a registry, by the kind of its package URL."""
    purl = f"pkg:{kind}/{name}@{quote(version)}"
    return {"type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl}


def licence_field(licence: str) -> dict[str, Any]:
    """Return a licence as CycloneDX has it: an SPDX expression, or the words of the package.

    >>> licence_field("MIT or Apache-2.0"), licence_field("BSD License")
    ({'expression': 'MIT OR Apache-2.0'}, {'license': {'name': 'BSD License'}})
    """
    try:
        return {"expression": str(canonicalize_license_expression(licence))}
    except InvalidLicenseExpression:
        return {"license": {"name": licence}}


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
    main(sys.argv[1:])
