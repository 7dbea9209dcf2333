"""Known vulnerabilities of what docker/requirements.lock and core/Cargo.lock pin, and the licences and sources of the
crates: `make audit`.

pip-audit asks PyPI's advisory database, cargo-deny that of RustSec; `core/deny.toml` says which licences, sources and
duplicates are allowed. Status 1: a finding, or some packages could not be looked up. Status 0 with a line that begins
"NOT AUDITED" where a database cannot be reached at all, or pip-audit or cargo-deny is not installed.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
LOCK, MANIFEST = ROOT / "docker" / "requirements.lock", ROOT / "core" / "Cargo.toml"


def main() -> int:
    """Audit packages and crates; return the exit status."""
    return max(audit_packages(), audit_crates())


def audit_crates() -> int:
    """Run cargo-deny on the crates, and print what it says of each that is not allowed."""
    if shutil.which("cargo-deny") is None:
        print("NOT AUDITED: crates: cargo-deny is missing: cargo install cargo-deny")
        return 0
    command = ["cargo-deny", f"--manifest-path={MANIFEST}", "--log-level=error", "check"]
    allowed = subprocess.run([*command, "bans", "licenses", "sources"]).returncode
    advisories = subprocess.run([*command, "advisories"], capture_output=True, text=True)
    offline = "failed to fetch advisory database" in advisories.stderr
    if offline:
        print("NOT AUDITED: crates: the advisory database of RustSec cannot be reached")
    else:
        print(advisories.stderr, end="")
    return 1 if allowed or (advisories.returncode and not offline) else 0


def audit_packages() -> int:
    """Run pip-audit on the lock and judge what it says."""
    program = Path(sys.executable).with_name("pip-audit")
    if not program.exists():
        print("NOT AUDITED: packages: pip-audit is missing: pip install '.[audit]'")
        return 0
    options = ["--disable-pip", "--require-hashes", "--progress-spinner=off", "--format=json"]
    ended = subprocess.run([program, *options, "-r", LOCK], capture_output=True, text=True)
    try:
        report = json.loads(ended.stdout)
    except ValueError:
        # Without a network there is no report, only a last line that says so.
        lines = ended.stderr.strip().splitlines() or ["pip-audit said nothing"]
        connection = "ConnectionError" in ended.stderr or "Could not connect" in ended.stderr
        print(f"{'NOT AUDITED: packages' if connection else 'pip-audit failed'}: {lines[-1]}", flush=True)
        return 0 if connection else 1
    lines, status = judge(report)
    print("\n".join(lines), flush=True)
    return status


def judge(report: Mapping[str, Any]) -> tuple[list[str], int]:
    """Return the lines to print and the exit status for pip-audit's report."""
    packages = report["dependencies"]
    skipped = [one for one in packages if "skip_reason" in one]
    if packages and len(skipped) == len(packages):
        return [f"NOT AUDITED: none of {len(packages)} packages is known to the database that is reached from here"], 0
    lines = [
        f"{one['name']} {one['version']}: {found['id']}, mended in {', '.join(found['fix_versions']) or 'no version'}"
        for one in packages
        for found in one.get("vulns", ())
    ]
    lines += [f"{one['name']}: not looked up: {one['skip_reason']}" for one in skipped]
    if not packages:
        lines.append("the lock pins nothing")
    looked = f"{len(packages) - len(skipped)} packages looked up, {len(lines)} findings"
    return [*lines, looked], 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
