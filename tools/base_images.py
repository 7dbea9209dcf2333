"""Pin the base images of the Dockerfiles to digests: part of `make lock`.

    python -m tools.base_images

Asks the registry of each `FROM image:tag` for the digest of that tag and writes `FROM image:tag@sha256:...`, so that a
later build starts from the same bytes. Only a digest that matches the manifest that the registry sent is written. A
line whose registry cannot be reached stays as it is and is listed as NOT PINNED (status 0); any other answer is an
error (status 1).
"""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import requests

DOCKERFILES = sorted((Path(__file__).parent.parent / "docker").glob("*.Dockerfile"))
FROM = re.compile(r"^FROM (?P<image>[^\s@]+:[^\s@/]+)(?:@\S+)?", re.MULTILINE)
TIMEOUT_SECONDS = 30
# An index comes first: its digest covers the image for every processor.
MANIFESTS = ", ".join(
    [
        "application/vnd.oci.image.index.v1+json",
        "application/vnd.docker.distribution.manifest.list.v2+json",
        "application/vnd.oci.image.manifest.v1+json",
        "application/vnd.docker.distribution.manifest.v2+json",
    ]
)


class Image(NamedTuple):
    """An image of a registry.

    Attributes:
        registry: host, with a port if it has one.
        repository: the full name, `library/python` for Docker Hub's `python`.
        tag: such as `3.11.13-slim-bookworm`.
    """

    registry: str
    repository: str
    tag: str

    @property
    def manifest_url(self) -> str:
        """The URL of the manifest (OCI distribution specification, "Pulling manifests")."""
        host = "registry-1.docker.io" if self.registry == "docker.io" else self.registry
        # As Docker does: only a registry on this machine is spoken to without TLS.
        scheme = "http" if host.partition(":")[0] in ("localhost", "127.0.0.1") else "https"
        return f"{scheme}://{host}/v2/{self.repository}/manifests/{self.tag}"


class RegistryError(Exception):
    """A registry answered, but not with a manifest and its digest."""


def main(paths: Sequence[Path] = DOCKERFILES) -> int:
    """Pin every base image of some Dockerfiles; return the exit status."""
    digests: dict[str, str] = {}
    status = 0
    for name in sorted({name for path in paths for name in base_images(path.read_text(encoding="utf-8"))}):
        try:
            digests[name] = digest(parse(name))
            print(f"{name}@{digests[name]}")
        except (requests.ConnectionError, requests.Timeout):
            print(f"NOT PINNED: {name}: its registry cannot be reached")
        except (RegistryError, requests.RequestException) as error:
            print(f"{name}: {error}", file=sys.stderr)
            status = 1
    for path in paths:
        path.write_text(pinned(path.read_text(encoding="utf-8"), digests), encoding="utf-8")
    return status


def base_images(dockerfile: str) -> list[str]:
    """Return the base images of a Dockerfile as image:tag, without digests.

    >>> base_images("FROM python:3.11@sha256:00 AS base\\nRUN true\\nFROM gcr.io/a/b:1\\n")
    ['python:3.11', 'gcr.io/a/b:1']
    """
    return FROM.findall(dockerfile)


def pinned(dockerfile: str, digests: dict[str, str]) -> str:
    """Return a Dockerfile with a digest after each base image whose digest is given.

    >>> pinned("FROM a:1@sha256:old AS base\\nFROM b:2\\n", {"a:1": "sha256:new"})
    'FROM a:1@sha256:new AS base\\nFROM b:2\\n'
    """
    return FROM.sub(
        lambda line: f"FROM {line['image']}@{digests[line['image']]}" if line["image"] in digests else line[0],
        dockerfile,
    )


def parse(name: str) -> Image:
    """Return the registry, repository and tag of image:tag, by Docker's rules for short names.

    >>> parse("python:3.11")
    Image(registry='docker.io', repository='library/python', tag='3.11')
    >>> parse("gcr.io/project/name:1")
    Image(registry='gcr.io', repository='project/name', tag='1')
    """
    path, _, tag = name.rpartition(":")
    first, _, rest = path.partition("/")
    if rest and ("." in first or ":" in first or first == "localhost"):
        return Image(first, rest, tag)
    return Image("docker.io", path if rest else f"library/{path}", tag)


def digest(image: Image) -> str:
    """Return the digest of an image's manifest, `sha256:` and 64 hexadecimal digits.

    Raises:
        RegistryError: the registry has no such tag, or its digest is not that of the manifest.
        requests.RequestException: the registry cannot be reached.
    """
    headers = {"Accept": MANIFESTS}
    answer = requests.get(image.manifest_url, headers=headers, timeout=TIMEOUT_SECONDS)
    if answer.status_code == requests.codes.unauthorized:
        headers["Authorization"] = f"Bearer {token(answer.headers.get('WWW-Authenticate', ''))}"
        answer = requests.get(image.manifest_url, headers=headers, timeout=TIMEOUT_SECONDS)
    if answer.status_code != requests.codes.ok:
        raise RegistryError(f"{image.manifest_url}: {answer.status_code} {answer.reason}: check the image and its tag")
    computed = f"sha256:{hashlib.sha256(answer.content).hexdigest()}"
    if answer.headers.get("Docker-Content-Digest", computed) != computed:
        raise RegistryError(f"{image.manifest_url}: the manifest does not match its digest: try again")
    return computed


def token(challenge: str) -> str:
    """Return an anonymous token that allows a pull (Docker registry token authentication).

    Args:
        challenge: the header `WWW-Authenticate` of the registry's refusal.
    """
    fields = dict(re.findall(r'(\w+)="([^"]*)"', challenge))
    if not challenge.lower().startswith("bearer ") or "realm" not in fields:
        raise RegistryError(f"cannot log in: {challenge or 'no WWW-Authenticate header'}: use a public image")
    realm = fields.pop("realm")
    answer = requests.get(realm, params=fields, timeout=TIMEOUT_SECONDS)
    if answer.status_code != requests.codes.ok:
        raise RegistryError(f"{realm}: {answer.status_code} {answer.reason}: no token for a pull")
    body = answer.json()
    return str(body.get("token") or body["access_token"])


if __name__ == "__main__":
    sys.exit(main())
