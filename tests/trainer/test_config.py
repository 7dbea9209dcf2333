"""One frozen config: presets, environment, flags, and JSON that says it all."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from wikianchor.__main__ import run_program
from wikianchor.io.errors import InputError, UsageError
from wikianchor.trainer.config import PRESETS, make
from wikianchor.trainer.evaluate.options import parse as evaluate_options
from wikianchor.trainer.task import main, parse

PLACES = {"data": "d", "output": "o"}


@pytest.mark.parametrize("name", sorted(name for name in PRESETS if not name.startswith("mboe")))
def test_presets_are_whole(name: str) -> None:
    config = make(PRESETS[name]["objective"], PLACES | {"preset": name}, {})
    assert config.model
    assert not config.mask_duplicates
    stated = json.loads(config.to_json())
    assert make(stated["objective"], stated, {}) == config
    assert not {"span_length", "corruption_rate"} & stated.keys()


@pytest.mark.parametrize(
    ("name", "softmax", "step", "rate", "tau", "pooler", "projection", "weight"),
    [
        ("ease-bert-paper", 64, 64, 3e-5, 100, "cls", "linear", 0),
        ("ease-roberta-paper", 128, 128, 5e-5, 100, "cls", "linear", 0),
        ("ease-mbert-paper", 256, 256, 5e-5, 10, "avg", "linear", 0),
        ("ease-xlmr-paper", 64, 64, 3e-5, 10, "avg", "linear", 0),
        ("ease-bert-released", 8, 128, 3e-5, 100, "cls", "tanh", 1),
        ("ease-mbert-released", 8, 256, 5e-5, 10, "avg", "tanh", 1),
    ],
)
def test_what_was_published(
    name: str, softmax: int, step: int, rate: float, tau: float, pooler: str, projection: str, weight: float
) -> None:
    config = make("ease", PLACES | {"preset": name}, {})
    assert (config.softmax_size, config.step_size, config.learning_rate) == (softmax, step, rate)
    assert (config.entity_temperature, config.entity_weight, config.sentence_temperature) == (tau, 0.01, 0.05)
    assert (config.pooler, config.mlp, config.mlp_only_train) == (pooler, pooler == "cls", True)
    assert (config.projection, config.hard_negative_weight) == (projection, weight)


@pytest.mark.parametrize(
    ("name", "softmax", "rate", "pooler", "sets"),
    [
        ("simcse-bert", 64, 3e-5, "cls", ("STSBenchmark",)),
        ("simcse-roberta", 512, 1e-5, "cls", ("STSBenchmark",)),
        ("simcse-mbert", 128, 3e-5, "avg", ("STSBenchmark", "SICK-R")),
        ("simcse-xlmr", 128, 3e-5, "avg", ("STSBenchmark", "SICK-R")),
    ],
)
def test_simcse_of_the_papers(name: str, softmax: int, rate: float, pooler: str, sets: tuple[str, ...]) -> None:
    """EASE's table 9 for the multilingual ones, SimCSE's appendix A for the others; both score every 250 steps."""
    config = make("simcse", PLACES | {"preset": name}, {})
    assert (config.softmax_size, config.step_size, config.learning_rate) == (softmax, softmax, rate)
    assert (config.pooler, config.dev_tasks) == (pooler, sets)
    assert (config.epochs, config.eval_steps, config.sentence_temperature) == (1, 250, 0.05)


@pytest.mark.parametrize(("backbone", "both"), [("bert", False), ("roberta", False), ("mbert", True), ("xlmr", True)])
@pytest.mark.parametrize("variant", ["paper", "released"])
def test_the_dev_sets_of_ease(backbone: str, both: bool, variant: str) -> None:
    config = make("ease", PLACES | {"preset": f"ease-{backbone}-{variant}"}, {})
    assert config.dev_tasks == (("STSBenchmark", "SICK-R") if both else ("STSBenchmark",))
    assert config.eval_steps == (250 if variant == "paper" else 125)


@pytest.mark.parametrize(
    ("name", "count", "rate"),
    [("base-clinic", 4, 5e-5), ("large-clinic", 5, 1e-5), ("base-edu", 5, 5e-5), ("large-edu", 6, 1e-5)],
)
def test_sdjc_trains_all_negatives(name: str, count: int, rate: float) -> None:
    """Section 5.3.2. Both presets train each pair of an anchor and a negative five times."""
    paper, released = (make("sdjc", PLACES | {"preset": f"sdjc-{name}-{kind}"}, {}) for kind in ("paper", "released"))
    assert (paper.negatives, paper.resample_negatives, paper.row_per_negative, paper.epochs) == (
        *(1, True, False),
        5 * count,
    )
    assert (released.negatives, released.row_per_negative, released.epochs) == (count, True, 5)
    assert (paper.learning_rate, released.learning_rate, paper.softmax_size) == (rate, 1e-5, 512)
    assert (paper.pooler, released.pooler, released.export_pooler) == ("avg", "cls", "avg")


def test_flags_override_presets_and_the_environment() -> None:
    environment = {
        "AIP_MODEL_DIR": "gs://b/m/",
        "AIP_CHECKPOINT_DIR": "gs://b/c",
        "AIP_TENSORBOARD_LOG_DIR": "gs://b/t",
    }
    config = make("ease", {"data": "d", "preset": "ease-bert-paper", "softmax_size": 32}, environment)
    assert (config.output, config.checkpoints, config.tensorboard) == ("gs://b/m", "gs://b/c", "gs://b/t")
    assert (config.softmax_size, config.step_size) == (32, 32)
    assert make("ease", PLACES | {"model": "m"}, environment).output == "o"
    assert make("ease", PLACES | {"model": "m"}, {}).checkpoints == "o/checkpoints"


def test_the_command_line() -> None:
    config = parse(
        ["ease", "--data=d", "--model=m", "--output=o", "--no-mask_duplicates", "--epochs=3", "--pooler=cls"]
    )
    assert (config.mask_duplicates, config.epochs, config.pooler) == (False, 3, "cls")
    with pytest.raises(dataclasses.FrozenInstanceError):
        config.epochs = 4  # type: ignore[misc]


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ({"model": "m", "output": "o"}, "--data is missing"),
        (PLACES, "--model is missing"),
        (PLACES | {"preset": "simcse-bert"}, "is for simcse"),
        (PLACES | {"model": "m", "softmax_size": 1}, "--softmax_size=1: must be 2 or more"),
        (PLACES | {"model": "m", "new": "tiny"}, "--new=tiny and --model=m: give one"),
        (PLACES | {"model": "m", "quota": "5", "language_temperature": 0.5}, "give one"),
        (PLACES | {"model": "m", "language_temperature": 1.5}, "between 0 and 1"),
        (PLACES | {"model": "m", "patience": 2}, "--patience needs dev scores: give --eval_steps and --held_out"),
        (PLACES | {"model": "m", "step_size": 96}, "--step_size=96: must be a multiple of --softmax_size=64"),
        (PLACES | {"model": "m", "held_out": 5}, "--held_out=5: must fill a softmax of 64 sentences"),
    ],
)
def test_what_does_not_go_together(flags: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        make("ease", flags, {})


def test_errors_are_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ease", "--data=/nowhere", "--model=m", "--output=/tmp/none"]) == 1
    assert capsys.readouterr().err.splitlines() == [
        "trainer: /nowhere/manifest.json: not there, so this is no finished dataset: wikianchor build makes one"
    ]
    assert main(["simcse", "--data=d", "--model=m", "--output=o", "--step_size=3"]) == 2


def test_what_is_complete_stays_as_it_is() -> None:
    config = make("ease", PLACES | {"model": "m"}, {})
    assert config.completed() == config


def test_a_file_of_options_and_flags_that_override_it(tmp_path: Path) -> None:
    file = tmp_path / "run.toml"
    file.write_text('[train.ease]\npreset = "ease-mbert-paper"\ndata = "d"\nepochs = 3\nresume = false\nseed = 7\n')
    config = parse(["ease", f"--config={file}", "--output=o", "--seed=8"])
    assert (config.data, config.epochs, config.resume, config.seed) == ("d", 3, False, 8)
    assert config == make("ease", PLACES | {"preset": "ease-mbert-paper", "epochs": 3, "resume": False, "seed": 8})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[train.ease]\nepoch = 3", "unknown flag --epoch=3: did you mean --epochs"),
        ("[train.simcse]\nepochs = 3", r"needs a table \[train.ease\]"),
        ('[train.ease]\nepochs = "many"', "invalid int value"),
        ("epochs", "not TOML"),
    ],
)
def test_a_wrong_file_of_options(tmp_path: Path, text: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "run.toml").write_text(text)
    with pytest.raises((InputError, UsageError), match=said) as caught:
        parse(["ease", f"--config={tmp_path}/run.toml", "--data=d", "--output=o"])
    assert "\n" not in str(caught.value)
    with pytest.raises(SystemExit) as ended:
        run_program("train", "ease", f"--config={tmp_path}/run.toml")
    assert ended.value.code in (1, 2)
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_files_of_options_of_mboe_and_of_the_evaluation(tmp_path: Path) -> None:
    (tmp_path / "run.toml").write_text('[train.mboe]\nseeds = 2\n[evaluate]\nsts = ["a,b.tsv", "c.tsv"]\nseeds = 3\n')
    places = ["--data=d", "--model=m", "--output=o", "--entities=none"]
    assert parse(["mboe", f"--config={tmp_path}/run.toml", *places]).seeds == (2,)
    assert parse(["mboe", f"--config={tmp_path}/run.toml", "--seeds=4,5", *places]).seeds == (4, 5)
    options = evaluate_options([f"--config={tmp_path}/run.toml", "--model=m"])
    assert (options.sts, options.seeds) == (("a,b.tsv", "c.tsv"), 3)
