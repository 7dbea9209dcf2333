"""The tasks of mteb over a dataset `mewsc16`. mteb, which takes seconds, is imported by the tests themselves."""

import doctest
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.mteb.conftest import SIZES, write_mewsc16
from wikianchor import mteb as our_tasks
from wikianchor.io.errors import InputError
from wikianchor.schemas.mewsc16 import LANGUAGES, TOPICS


def evaluate(encoder: Any, task: Any) -> dict[str, Any]:
    """Return the scores of each language."""
    import mteb

    actual = mteb.evaluate(encoder, [task], cache=None, show_progress_bar=False, co2_tracker=False)
    (result,) = actual.task_results
    assert result.task_name == task.metadata.name
    assert result.dataset_revision == task.metadata.revision
    return {row["hf_subset"]: row for row in result.scores["test"]}


@pytest.mark.parametrize("name", our_tasks.__all__[:2])
def test_metadata_are_what_mteb_asks_of_a_new_task(name: str, news: Path) -> None:
    """The checks of mteb's own tests: `is_filled`, `_validate_metadata`, a name of its own, a citation."""
    import mteb
    from mteb.abstasks.task_metadata import TaskMetadata

    from wikianchor.mteb.tasks import TASKS

    assert set(TASKS) == set(our_tasks.__all__[:2])
    for metadata in (TASKS[name].metadata, TASKS[name](str(news)).metadata):
        assert isinstance(metadata, TaskMetadata)
        metadata._validate_metadata()
        assert metadata.is_filled()
        assert metadata.name == name
        assert metadata.is_multilingual
        assert tuple(metadata.hf_subsets) == LANGUAGES
        assert metadata.intext_citation() == "\\cite{nishikawa-etal-2022-ease}"
        assert metadata.descriptive_stats is None
        # What pydantic checks when it reads them: licence, annotators, domains and so on are among mteb's.
        assert TaskMetadata(**metadata.model_dump()) == metadata
        assert metadata.generate_dataset_card().data.license == "multiple"
    # mteb has no task of this name.
    with pytest.raises(KeyError):
        mteb.get_task(name)


def test_mteb_scores_all_languages_and_the_task_can_be_used_again(news: Path, encoder: Any) -> None:
    task = our_tasks.MewsC16Clustering(str(news))
    scores = evaluate(encoder, task)
    assert tuple(scores) == LANGUAGES
    assert scores["fa"]["languages"] == ["fas-Arab"]
    # Each class has words of its own.
    assert all(score["main_score"] == score["v_measure"] > 0.5 for score in scores.values())
    assert evaluate(encoder, task.filter_languages(["jpn"])) == {"ja": scores["ja"]}


def test_a_score_depends_neither_on_the_other_languages_nor_on_their_order(news: Path, encoder: Any) -> None:
    both = evaluate(encoder, our_tasks.MewsC16Clustering(str(news), languages=["ja", "deu"]))
    assert tuple(both) == ("de", "ja")
    assert evaluate(encoder, our_tasks.MewsC16Clustering(str(news)).filter_languages(["jpn"])) == {"ja": both["ja"]}
    assert evaluate(encoder, our_tasks.MewsC16Clustering(str(news), ["ja"], seed=1))["ja"] != both["ja"]


def test_a_balanced_subset_has_at_most_a_hundred_texts_of_a_class(news: Path) -> None:
    tasks = [our_tasks.MewsC16Clustering(str(news), ["ja"]), our_tasks.MewsC16BalancedClustering(str(news), ["ja"])]
    texts = []
    for task in tasks:
        task.load_data()
        assert task.dataset is not None
        texts.append(task.dataset["ja"]["test"]["sentences"])
    every, some = map(list, texts)
    assert (len(every), len(some)) == (165, 135)
    kept = set(some)
    assert some == [text for text in every if text in kept]
    counts = tasks[1].calculate_descriptive_statistics()["test"]["labels_statistics"]["labels"]
    assert {label: count["count"] for label, count in counts.items()} == dict(
        zip(TOPICS, (100, *SIZES[1:]), strict=False)
    )


def test_a_balanced_subset_depends_on_language_and_page_ids_alone() -> None:
    from wikianchor.mteb.tasks import balanced

    table = pa.table({"page_id": range(200), "label": ["a", "b"] * 100})
    first = set(balanced(table, "ja", 20)["page_id"].to_pylist())
    assert len(first) == 40
    assert first == set(balanced(table.take(list(reversed(range(200)))), "ja", 20)["page_id"].to_pylist())
    half = table.filter(pa.compute.equal(table["label"], "a"))
    assert set(balanced(half, "ja", 20)["page_id"].to_pylist()) < first
    assert first != set(balanced(table, "de", 20)["page_id"].to_pylist())


def test_statistics_have_the_form_of_mtebs_and_no_file_of_mteb_is_written(news: Path) -> None:
    import mteb

    task = our_tasks.MewsC16Clustering(str(news))
    statistics = task.calculate_descriptive_statistics()
    # A multilingual clustering task of mteb's own.
    theirs = mteb.get_task("SIB200ClusteringS2S").metadata.descriptive_stats
    assert theirs is not None

    def form(content: Any) -> set[str]:
        return {key for key in content if key not in ("image_statistics", "audio_statistics", "video_statistics")}

    assert statistics.keys() == theirs.keys() == {"test"}
    assert form(statistics["test"]) == form(theirs["test"])
    assert statistics["test"]["num_samples"] == 15 * 24 + 165
    assert tuple(statistics["test"]["hf_subset_descriptive_stats"]) == LANGUAGES
    ours = statistics["test"]["hf_subset_descriptive_stats"]["ja"]
    assert form(ours) == form(theirs["test"]["hf_subset_descriptive_stats"]["jpn_Jpan"])  # type: ignore[typeddict-item]
    assert ours["text_statistics"]["unique_texts"] == 165
    assert json.loads(json.dumps(statistics)) == statistics
    assert not task.metadata.descriptive_stat_path.exists()


def test_the_example_is_right() -> None:
    from wikianchor.mteb import tasks

    assert doctest.testmod(tasks).failed == 0


def test_the_revision_is_that_of_the_rows(news: Path, tmp_path: Path) -> None:
    first = our_tasks.MewsC16Clustering(str(news)).metadata
    assert first.dataset == {
        "path": str(news),
        "revision": our_tasks.MewsC16BalancedClustering(f"{news}/").metadata.revision,
    }
    assert len(first.revision) == 40
    other = write_mewsc16(tmp_path / "other", dict.fromkeys(LANGUAGES, (12, 8, 5)))
    assert our_tasks.MewsC16Clustering(str(other)).metadata.revision != first.revision


def test_what_cannot_be_evaluated_is_told_in_one_line(news: Path, tmp_path: Path) -> None:
    part = write_mewsc16(tmp_path / "part", {"de": (5, 5), "ja": (5, 5), "sv": (5,)})
    with pytest.raises(InputError, match=r"part: no rows in ar, ca, .*, tr: build .* --languages=de,ja,sv$"):
        our_tasks.MewsC16Clustering(str(part))
    with pytest.raises(InputError, match="--languages=it: MewsC-16 is in ar, ca, "):
        our_tasks.MewsC16Clustering(str(part), ["it", "ja"])
    with pytest.raises(InputError, match="sv has one label: there is nothing to cluster"):
        our_tasks.MewsC16Clustering(str(part), ["sv"]).load_data()
    (part / "data/ja/train-00000-of-00001.parquet").write_bytes(b"PAR1")
    with pytest.raises(InputError, match="missing or not of the size in the manifest"):
        our_tasks.MewsC16Clustering(str(part), ["de"])
    with pytest.raises(InputError, match="unfinished or no dataset"):
        our_tasks.MewsC16Clustering(str(part / "data"))
    paper = write_mewsc16(tmp_path / "paper", {"de": (5, 5)}, mode="paper")
    with pytest.raises(InputError, match="was built with --mode=paper: the tasks are of clean sentences"):
        our_tasks.MewsC16Clustering(str(paper), ["de"])
