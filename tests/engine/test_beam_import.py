"""Commands and workers import Beam without the optional packages that they do not use; other programs do not."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.engine.kills import DEMO
from wikianchor.pipelines.engine.beam_import import SAMPLING_MS

IMPORT = "from wikianchor.pipelines.engine.beam_import import import_arrow, own_process; import sys; "
UNUSED = "'pandas', 'boto3', 'bson', 'pymongo', 'absl', 'apache_beam.io.gcp.bigquery', 'requests'"
LOADED = f"print(sorted({{'apache_beam', {UNUSED}}} & set(sys.modules))); "


def said(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def test_unused_packages_are_left_out_in_a_process_of_ours_and_can_be_imported_later() -> None:
    later = "import pandas, apache_beam.io.gcp.bigquery"
    assert said(f"{IMPORT}own_process(); import apache_beam; {LOADED}{later}") == "['apache_beam']"


def test_arrow_is_used_without_pandas_in_a_process_of_ours_and_data_frames_can_be_made_later() -> None:
    code = """own_process(); import_arrow()
import pyarrow as pa, pyarrow.compute as pc
pc.equal(pa.array(["a"]), "a")
print("pandas" in sys.modules, pa.table({"a": [1]}).to_pandas()["a"].tolist())
import pandas
print(pa.Table.from_pandas(pandas.DataFrame({"a": [1]})).num_rows)
"""
    assert said(IMPORT + code) == "False [1]\n1"


@pytest.mark.parametrize("flags", [[], ["--workers=1"], ["--workers=2"]], ids=["default", "one", "two"])
def test_a_command_and_its_workers_do_without_pandas(tmp_path: Path, flags: list[str]) -> None:
    imported = tmp_path / "imported"
    # It stands first on the path of every process.
    (tmp_path / "pandas.py").write_text(f"open({str(imported)!r}, 'w').close()")
    command = ["sentences", f"--dumps={DEMO}", f"--output={tmp_path / 'out'}", *flags]
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    subprocess.run([sys.executable, "-m", "wikianchor", *command], env=environment, capture_output=True, check=True)
    assert not imported.exists()


def test_tests_have_beam_as_commands_have_it() -> None:
    """`conftest.py` says so before any module that imports Beam."""
    from apache_beam.runners.worker import statesampler

    assert statesampler.StateSampler.__init__.__defaults__ == (SAMPLING_MS,)


def test_in_another_program_beam_is_imported_as_its_user_wants_it() -> None:
    assert said(f"{IMPORT}import apache_beam; print('pandas' in sys.modules)") == "True"


def test_a_bundle_ends_at_once_in_a_process_of_ours() -> None:
    code = """own_process(); import apache_beam; import time
from apache_beam.runners.worker.statesampler import StateSampler
from apache_beam.utils.counters import CounterFactory
def wait():
    sampler = StateSampler("bundle", CounterFactory())
    sampler.start(); time.sleep(0.3); start = time.monotonic(); sampler.stop()
    return time.monotonic() - start
print(min(wait() for _ in range(4)) < 0.02)
"""
    assert said(IMPORT + code) == "True"


def test_a_side_input_is_weighed_without_a_look_at_other_modules() -> None:
    code = """own_process(); import apache_beam
from apache_beam.runners.worker.statecache import get_deep_size
class Watched:
    __dict__ = property(lambda self: 1 / 0)
sys.modules["watched"] = Watched()
print(1000 < get_deep_size([bytes(1000)]) < 2000)
"""
    assert said(IMPORT + code) == "True"


def test_the_parameters_of_a_method_are_looked_up_once() -> None:
    code = """own_process(); import apache_beam
from apache_beam.transforms import core
class Step(core.DoFn):
    def process(self, element, window=core.DoFn.WindowParam, *, other=1):
        pass
signature, calls = core.get_signature, []
core.get_signature = lambda function: calls.append(function) or signature(function)
expected = (["element", "window"], [core.DoFn.WindowParam])
for _ in range(3):
    names, defaults = core.get_function_arguments(Step(), "process")
    assert (names, defaults) == expected, names
    names.clear()
assert core.get_function_args_defaults(lambda a, b=2: a) == (["a", "b"], [2])
print(len(calls) == 2)
"""
    assert said(IMPORT + code) == "True"
