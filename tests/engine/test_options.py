"""Beam's options with our flags beside them."""

import pickle

from apache_beam.options.pipeline_options import DirectOptions, StandardOptions

from wikianchor.pipelines.engine.options import EngineOptions, ParsedOptions


def test_views_are_made_once_and_share_their_values() -> None:
    options = ParsedOptions(["--runner=FnApiRunner", "--verbose"])
    assert options.view_as(StandardOptions) is options.view_as(StandardOptions)
    options.view_as(DirectOptions).direct_num_workers = 3
    assert options.view_as(DirectOptions).direct_num_workers == 3
    assert options.get_all_options()["direct_num_workers"] == 3
    assert options.view_as(EngineOptions).verbose


def test_options_can_be_sent_to_a_worker() -> None:
    options = ParsedOptions(["--runner=FnApiRunner"])
    options.view_as(StandardOptions)
    sent = pickle.loads(pickle.dumps(options))
    assert sent.view_as(StandardOptions).runner == "FnApiRunner"
