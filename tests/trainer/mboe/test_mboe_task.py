"""M-BoE from documents to scores: transfer by entities alone, ablations, seeds, reports, bad input."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.planted import WAYS, planted
from tests.trainer.mboe.mentions import write_interlanguage
from tests.trainer.mboe.toy import write_toy
from wikianchor.io.errors import InputError
from wikianchor.trainer.mboe.bags import make_bag_maker, make_bags
from wikianchor.trainer.mboe.config import make
from wikianchor.trainer.mboe.documents import read_documents
from wikianchor.trainer.mboe.model import load
from wikianchor.trainer.mboe.train import encode_documents, predict
from wikianchor.trainer.task import main

Run = Callable[..., dict[str, Any]]


@pytest.fixture
def run(flags: dict[str, Any]) -> Run:
    """Runs the command and returns what it says of its scores."""

    def command(**more: Any) -> dict[str, Any]:
        options = flags | more
        lines = [f"--{name}={value}" for name, value in options.items() if not isinstance(value, bool)]
        lines += [f"--{'' if value else 'no-'}{name}" for name, value in options.items() if isinstance(value, bool)]
        assert main(["mboe", *lines]) == 0
        scores_of_run: dict[str, Any] = json.loads((Path(options["output"]) / "scores.json").read_text())
        return scores_of_run

    return command


def test_entities_carry_over_to_languages_never_seen(run: Run, tmp_path: Path) -> None:
    with_entities = run()["seeds"]["42"]
    plain = run(entities="none", output=tmp_path / "plain")["seeds"]["42"]
    # Both learn English; there are four classes.
    assert plain["en"] >= 0.9
    for language in ("de", "ja"):
        assert with_entities[language] >= 0.9
        assert plain[language] <= 0.5


@pytest.mark.parametrize(
    "more",
    [
        {"attention": "none"},
        {"attention": "cosine"},
        {"attention": "commonness"},
        {"entities": "oracle"},
        {"combine": "concatenation", "all_spans": True},
        {"entity_dim": 8, "freeze_encoder": True, "entity_learning_rate": 0.05, "learning_rate": 1e-2},
    ],
    ids=str,
)
def test_ablations_carry_over_too(run: Run, more: dict[str, Any]) -> None:
    scores_of_run = run(**more)["seeds"]["42"]
    assert min(scores_of_run["de"], scores_of_run["ja"]) >= 0.75


def test_several_labels(run: Run, tmp_path: Path) -> None:
    data, mentions = write_toy(tmp_path / "several", several=True, size=3)
    # The text itself is learnt by heart before the entities are: the encoder stays as it is.
    rates = {"freeze_encoder": True, "learning_rate": 1e-2, "entity_learning_rate": 5e-2}
    scores_of_run = run(data=data, mentions=mentions, **rates)
    assert scores_of_run["metric"] == "macro-F1"
    assert scores_of_run["seeds"]["42"]["de"] >= 0.8


def test_seeds_table_comparison_and_reports(run: Run, tmp_path: Path) -> None:
    run(seeds="42,43", epochs=4, entities="none", output=tmp_path / "plain")
    scores_of_run = run(seeds="42,43", epochs=4, compare=tmp_path / "plain", detection_rate="0,1")
    assert list(scores_of_run["seeds"]) == ["42", "43"]
    table = (tmp_path / "out" / "scores.md").read_text().splitlines()
    assert table[0] == "| language | accuracy, % | entities of a document | other accuracy, % | p | seeds |"
    assert [line.split(" | ")[0] for line in table[2:]] == ["| en (train)", "| de", "| ja", "| mean of targets"]
    assert "±" in table[-1]
    p = float(table[-1].split(" | ")[4])
    assert 0 <= p <= 1
    curve = (tmp_path / "out" / "detection_rate.md").read_text().splitlines()
    assert curve[2] == "| rate | en | de | ja | targets |"
    assert [line.split(" | ")[0] for line in curve[4:]] == ["| 0", "| 1"]
    said = (tmp_path / "out" / "explanations.md").read_text()
    assert said.count("predicted: ") == 9
    assert "| entity | item | in the text | commonness | attention |" in said


def test_the_same_seed_gives_the_same_scores_and_model(run: Run, tmp_path: Path) -> None:
    first = run(epochs=3)
    assert run(epochs=3, output=tmp_path / "again") == first
    item, other = ((tmp_path / name / "seed-42/model/mboe.safetensors").read_bytes() for name in ("out", "again"))
    assert item == other


def test_a_model_read_again_predicts_the_same(run: Run, toy: tuple[Path, Path], flags: dict[str, Any]) -> None:
    scores = run(epochs=8)["seeds"]["42"]
    loaded = load(str(Path(flags["output"]) / "seed-42" / "model"))
    documents = read_documents(str(toy[0]), "json", "en").of("test", "ja")
    bags = make_bags(documents, make_bag_maker(loaded.config), 512)
    part = encode_documents(
        documents,
        loaded.model.encoder,
        bags,
        qids=loaded.qids,
        labels=loaded.labels,
        max_length=64,
        multi_label=loaded.multi_label,
    )
    probabilities, weights = predict(loaded.model, loaded.config, part)
    assert float((part.gold.argmax(1) == probabilities.argmax(1)).mean()) == pytest.approx(scores["ja"])
    sums = np.array([row.sum() for row in weights])
    assert sums == pytest.approx(np.ones(len(documents)), abs=1e-5)


def test_a_model_that_lacks_weights_is_refused(run: Run, flags: dict[str, Any]) -> None:
    run(epochs=1)
    directory = Path(flags["output"]) / "seed-42" / "model"
    facts = json.loads((directory / "mboe.json").read_text())
    (directory / "mboe.json").write_text(json.dumps(facts | {"config": facts["config"] | {"attention": "none"}}))
    with pytest.raises(InputError, match=r"does not go with mboe\.json: attention\.weight\.weight"):
        load(str(directory))


def test_vectors_from_a_file_and_titles_in_the_report(run: Run, tmp_path: Path) -> None:
    vectors = tmp_path / "vectors.txt"
    vectors.write_text("\n".join(f"ENTITY/Thing {qid}\t" + " ".join(["0.1"] * 32) for qid in (1, 2, 3)) + "\n")
    titles = write_interlanguage(tmp_path / "interlanguage")
    run(entity_vectors=vectors, titles=titles, unknown="drop", epochs=2, entity_learning_rate=0, explain=60)
    qids = load(str(tmp_path / "out" / "seed-42" / "model")).qids.tolist()
    assert qids == [1, 2, 3]
    said = (tmp_path / "out" / "explanations.md").read_text()
    assert "| Thing 1 | Q1 | morning star | 1.00 |" in said
    assert "Q4" not in said


def test_a_linkers_file(run: Run, toy: tuple[Path, Path], tmp_path: Path) -> None:
    rows = [json.loads(line) for line in toy[0].read_text().splitlines()]
    links = tmp_path / "links.jsonl"
    links.write_text("".join(json.dumps({"id": row["id"], "entities": row["entities"]}) + "\n" for row in rows))
    assert run(entities="linker", links=links)["seeds"]["42"]["de"] >= 0.9


def test_documents_without_entities(run: Run, toy: tuple[Path, Path], tmp_path: Path) -> None:
    rows = [json.loads(line) for line in toy[0].read_text().splitlines()]
    data = tmp_path / "some.jsonl"
    for directory, row in enumerate(rows):
        if directory % 2:
            row["text"] = "\ud800 nothing at all"
    data.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    assert np.isfinite(run(data=data, epochs=3)["seeds"]["42"]["de"])
    for row in rows:
        row["text"] = "nothing"
    data.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    assert np.isfinite(run(data=data, epochs=2, output=tmp_path / "none")["seeds"]["42"]["de"])


@pytest.mark.parametrize(
    ("more", "status", "message"),
    [
        ({"mentions": ""}, 2, "--mentions is missing: --entities=detected needs a dictionary"),
        ({"entities": "linker"}, 2, "--links is missing"),
        ({"detection_rate": "0,2"}, 2, "--detection_rate=0,2: must be between 0 and 1"),
        ({"detection_rate": "x"}, 2, "must be numbers with commas between"),
        ({"epochs": 0}, 2, "--epochs=0: must be 1 or more"),
        ({"test_documents": -1}, 2, "--test_documents=-1: must not be negative"),
        ({"language": "fr"}, 1, "has no train documents in fr"),
        ({"data": "nowhere.jsonl"}, 1, "nowhere.jsonl: no such file: documents are lines of JSON with text"),
        ({"kind": "mldoc"}, 1, "english.train.1000: not there: MLDoc is made from Reuters RCV1 and RCV2"),
        ({"kind": "ted"}, 1, "get ted-cldc.tar.gz from http"),
        ({"kind": "shinra"}, 1, "register at http://shinra-project.info/shinra2020ml/"),
        ({"kind": "shinra", "entities": "oracle"}, 2, "--titles is missing: --entities=oracle needs the items"),
        ({"kind": "ted", "entities": "oracle"}, 2, "the documents of --kind=ted have no links"),
        ({"compare": "nowhere"}, 1, "nowhere/scores.json"),
        ({"titles": "nowhere"}, 1, "wikianchor interlanguage makes one"),
    ],
    ids=str,
)
def test_what_is_refused(
    flags: dict[str, Any],
    more: dict[str, Any],
    status: int,
    message: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["mboe", *(f"--{name}={value}" for name, value in (flags | more).items())]) == status
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("trainer: ")]
    assert len(lines) == 1
    assert message in lines[0]


def test_labels_and_languages_outside_the_set(
    flags: dict[str, Any], toy: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [json.loads(line) for line in toy[0].read_text().splitlines()]

    def refused(**changed: Any) -> str:
        data = tmp_path / "changed.jsonl"
        data.write_text("".join(f"{json.dumps(row)}\n" for row in [*rows, rows[-1] | {"id": "odd"} | changed]))
        assert main(["mboe", *(f"--{name}={value}" for name, value in (flags | {"data": data}).items())]) == 1
        return capsys.readouterr().err.splitlines()[-1]

    assert "odd: its label 'weather' is of no training document, which have food, music, sea, sky" in refused(
        label="weather"
    )
    assert "no dictionary for the language 'el', only for de, en, ja" in refused(language="el")
    assert "line 301: split is 'all': must be train, dev or test" in refused(split="all")
    assert "line 301: text is missing or no string" in refused(text=None)
    assert "`label` and `labels` in one set" in refused(labels=["sky"])


def test_config_says_what_it_is() -> None:
    config = make({"data": "d", "model": "m", "output": "o/", "entities": "none"})
    assert config.output == "o"
    assert (config.learning_rate, config.step_size, config.link_probability, config.commonness) == (
        2e-5,
        32,
        0.01,
        0.05,
    )


@pytest.mark.parametrize(
    ("name", "batch", "rate"),
    [
        ("mboe-mbert-mldoc", 32, 2e-5),
        ("mboe-mbert-ted", 16, 2e-5),
        ("mboe-mbert-shinra", 128, 5e-5),
        ("mboe-xlmr-mldoc", 32, 2e-5),
        ("mboe-xlmr-ted", 16, 5e-5),
        ("mboe-xlmr-shinra", 64, 2e-5),
    ],
)
def test_the_presets_are_table_3_2(name: str, batch: int, rate: float) -> None:
    config = make({"preset": name, "data": "d", "output": "o", "mentions": "m"})
    assert (config.step_size, config.learning_rate, config.seeds, config.clip_norm) == (
        batch,
        rate,
        (*range(42, 52),),
        1.0,
    )
    # Section 3.3.1: "all words and phrases".
    assert config.all_spans
    assert config.kind == name.rpartition("-")[2]


@pytest.mark.parametrize("config", ["candidates", "interlanguage"])
@pytest.mark.parametrize("way", WAYS)
def test_no_shard_outside_of_its_dataset_is_read(
    flags: dict[str, Any],
    toy: tuple[Path, Path],
    way: str,
    config: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    source = toy[1] if config == "candidates" else write_interlanguage(tmp_path / "titles")
    with planted(source, config, tmp_path, way) as (dataset, path):
        more = {"mentions" if config == "candidates" else "titles": dataset}
        status = main(["mboe", *(f"--{name}={value}" for name, value in (flags | more).items())])
    lines = capsys.readouterr().err.splitlines()
    assert status == 1
    assert [line for line in lines if "trainer: " in line] == lines[-1:]
    assert f"trainer: {dataset}/manifest.json: '{dataset}/{path}' is outside of the dataset" in lines[-1]
