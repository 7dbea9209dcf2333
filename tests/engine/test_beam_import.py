"""Commands and workers import Beam without the optional packages that they do not use; other programs do not."""

import subprocess
import sys

IMPORT = "from wikianchor.pipelines.engine.beam_import import import_beam, own_process; import sys; "
LOADED = "print(sorted({'apache_beam', 'pandas', 'boto3', 'pymongo'} & set(sys.modules))); "


def said(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def test_unused_packages_are_left_out_in_a_process_of_ours_and_can_be_imported_later() -> None:
    assert said(f"{IMPORT}own_process(); import_beam(); {LOADED}import pandas") == "['apache_beam']"


def test_in_another_program_beam_is_imported_as_its_user_wants_it() -> None:
    assert said(f"{IMPORT}import_beam(); {LOADED}") == "[]"


def test_a_bundle_ends_at_once_in_a_process_of_ours() -> None:
    code = """own_process(); import_beam(); import time
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
    code = """own_process(); import_beam()
from apache_beam.runners.worker.statecache import get_deep_size
class Watched:
    __dict__ = property(lambda self: 1 / 0)
sys.modules["watched"] = Watched()
print(1000 < get_deep_size([bytes(1000)]) < 2000)
"""
    assert said(IMPORT + code) == "True"


def test_the_parameters_of_a_method_are_looked_up_once() -> None:
    code = """own_process(); import_beam()
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
