"""Let the package require its compiled engine, where an index has a wheel of it: part of a release.

    python -m tools.require_core

In a checkout the engine stays an extra: before its first release no index has it, and `make core` builds that of the
checkout.
"""

import re
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1] / "pyproject.toml"
# The platforms of .github/workflows/core-wheels.yml on which the package runs.
MACHINES = "platform_machine == 'x86_64' or platform_machine == 'aarch64' or platform_machine == 'arm64'"
WHEELS = f"platform_python_implementation == 'CPython' and sys_platform != 'win32' and ({MACHINES})"


def with_core(project: str) -> str:
    """Return the text of a pyproject.toml whose dependencies have the extra `core`, with markers.

    >>> print(with_core('dependencies = [\\n    "numpy",\\n]\\ncore = ["engine==1"]').split(";")[0])
    dependencies = [
        "engine==1
    """
    (engine,) = re.findall(r'^core = \["(.+)"\]$', project, re.MULTILINE)
    return project.replace("dependencies = [\n", f'dependencies = [\n    "{engine}; {WHEELS}",\n', 1)


if __name__ == "__main__":
    PROJECT.write_text(with_core(PROJECT.read_text("utf-8")), "utf-8")
