"""Beam's options with our flags beside them."""

import argparse
import pickle

import pytest
from apache_beam.options.pipeline_options import DebugOptions, DirectOptions, StandardOptions

from wikianchor.pipelines.engine.options import EngineOptions, ParsedOptions


def test_views_are_made_once_and_share_their_values() -> None:
    options = ParsedOptions(["--runner=FnApiRunner", "--verbose"])
    assert options.view_as(StandardOptions) is options.view_as(StandardOptions)
    options.view_as(DirectOptions).direct_num_workers = 3
    assert options.view_as(DirectOptions).direct_num_workers == 3
    assert options.get_all_options()["direct_num_workers"] == 3
    assert options.view_as(EngineOptions).verbose


def test_flags_are_parsed_once_in_a_process(monkeypatch: pytest.MonkeyPatch) -> None:
    flags = ["--runner=FnApiRunner", "--experiments=a", "--job_name=test-of-one-parse"]
    first = ParsedOptions(flags)
    for view in (StandardOptions, DebugOptions):
        first.view_as(view)
    second = ParsedOptions(flags)
    monkeypatch.setattr(argparse.ArgumentParser, "parse_known_args", None)
    assert second.view_as(StandardOptions).runner == "FnApiRunner"
    # Beam adds to the list.
    first.view_as(DebugOptions).experiments.append("b")
    assert second.view_as(DebugOptions).experiments == ["a"]


def test_options_can_be_sent_to_a_worker() -> None:
    options = ParsedOptions(["--runner=FnApiRunner"])
    options.view_as(StandardOptions)
    sent = pickle.loads(pickle.dumps(options))
    assert sent.view_as(StandardOptions).runner == "FnApiRunner"
