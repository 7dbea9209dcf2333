"""Put what the page "Try it" loads into the built site: Pyodide from npm, and the wheel of this checkout.

    python -m tools.site_engine out/site

The site serves Pyodide itself. From a CDN, the address of every reader would go to a third party, and the page would
not work offline. The package is pinned by its hash and not part of the repository.
"""

from __future__ import annotations

import base64
import hashlib
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
# What is no source: hidden directories, and what builds leave in a checkout.
LEFT_OUT = (".*", "__pycache__", "build", "out", "target", "*.egg-info")
VERSION = "314.0.7"
# Of the tar file, as `npm view pyodide@VERSION dist.integrity` prints it.
INTEGRITY = "sha512-0YvXxEhfEdpLfb/XkM2BFAeMROq0iMUX2bzzH9pOttyMcWkwq+HbE5uyuGD82LN7y2q+SNvi/6V5JEsOlD2R1A=="
# What `loadPyodide` of a browser reads; README.md names the licence.
FILES = (
    *("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json"),
    *("package.json", "README.md"),
)


def main() -> int:
    """Write the directory `engine` of a site."""
    if len(sys.argv) != 2 or not Path(sys.argv[1], "index.html").exists():
        print("site_engine: give the directory of a built site: python -m tools.site_engine out/site", file=sys.stderr)
        return 2
    engine = Path(sys.argv[1]) / "engine"
    shutil.rmtree(engine, ignore_errors=True)
    engine.mkdir()
    with tempfile.TemporaryDirectory() as directory:
        try:
            package = fetch_pyodide(Path(directory))
        except OSError as error:
            print(f"site_engine: {error}: the page 'Try it' has no engine", file=sys.stderr)
            return 1
        for name in FILES:
            shutil.copy(package / name, engine)
        shutil.copy(build_wheel(Path(directory)), engine / "wikianchor.whl")
    return 0


def build_wheel(directory: Path) -> Path:
    """Return the wheel of this checkout. A copy is built, since what an earlier build has left would be in it."""
    source = shutil.copytree(ROOT, directory / "source", symlinks=True, ignore=shutil.ignore_patterns(*LEFT_OUT))
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", f"--wheel-dir={directory}", str(source)]
    subprocess.run(command, check=True)
    return next(directory.glob("*.whl"))


def fetch_pyodide(directory: Path) -> Path:
    """Return the directory with the files of npm's package `pyodide`, below `directory`.

    Raises:
        OSError: npm is not there, its registry cannot be reached, or the package has another hash.
    """
    npm = shutil.which("npm")
    if npm is None:
        raise OSError("npm: not found: install Node.js")
    command = [npm, "pack", "--silent", f"pyodide@{VERSION}"]
    ended = subprocess.run(command, cwd=directory, capture_output=True, text=True)
    if ended.returncode:
        last = (ended.stderr.strip().splitlines() or ["no message"])[-1]
        raise OSError(f"npm pack pyodide@{VERSION}: failed: {last}")
    packed = directory / f"pyodide-{VERSION}.tgz"
    digest = "sha512-" + base64.b64encode(hashlib.sha512(packed.read_bytes()).digest()).decode()
    if digest != INTEGRITY:
        raise OSError(f"pyodide@{VERSION}: its hash is {digest}, not {INTEGRITY}: update tools/site_engine.py")
    shutil.unpack_archive(packed, directory, filter="data")
    return directory / "package"


if __name__ == "__main__":
    sys.exit(main())
