"""Recipes of EASE's tables as data: rows, options and evaluation tasks; and the command line of the recipes."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from wikianchor.io.errors import UsageError
from wikianchor.io.options import add_options, option, program, read_options
from wikianchor.trainer.config import Config, add_flags
from wikianchor.trainer.presets import PRESETS

VARIANTS = ("paper", "released")
LABSE = "sentence-transformers/LaBSE"
MONOLINGUAL, MULTILINGUAL = ("bert", "roberta"), ("mbert", "xlmr")
NAMES = {"bert": "BERT", "roberta": "RoBERTa", "mbert": "mBERT", "xlmr": "XLM-R", "labse": "LaBSE"}
OBJECTIVES = {"ease": "EASE", "simcse": "SimCSE"}
# What is said where EASE does not start from vectors of entities (section 3.3).
WITHOUT_VECTORS = "w/o Wikipedia2Vec"
# Wikis of the five languages that LaBSE has not seen (section 6), and Tatoeba's codes.
LOW_RESOURCE = {"kab": "kab", "pam": "pam", "kw": "cor", "br": "bre", "mhr": "mhr"}


@dataclass(frozen=True)
class TableRow:
    """A row of a table.

    Attributes:
        backbone: a key of `NAMES`.
        objective: a key of `OBJECTIVES`; "" for a backbone that is not trained.
        note: end of the row's title, for rows with the same objective and backbone.
        changes: options that differ from those of the preset.
        pooler: of a backbone that is not trained.
        whiten: directions kept by whitening, 0 for vectors as they are.
        checkpoint: a published model to score instead of the backbone, by its name on the Hub.
    """

    backbone: str
    objective: str = ""
    note: str = ""
    changes: Mapping[str, Any] = field(default_factory=dict)
    pooler: str = "avg"
    whiten: int = 0
    checkpoint: str = ""

    @property
    def name(self) -> str:
        """Title of the row."""
        if self.checkpoint:
            return self.note
        prefix = f"{OBJECTIVES[self.objective]}-" if self.objective else ""
        return f"{prefix}{NAMES[self.backbone]} {self.note}".strip()


@dataclass(frozen=True)
class Recipe:
    """A table.

    Attributes:
        title: of the table.
        rows: of the table.
        tasks: evaluation tasks, as for `--tasks`.
        base: options of all trainings.
        split, seeds: options of the evaluation.
        published: rows of published models, shown with `--published`.
        figures: the paper's own numbers for rows that have no command here, by column.
    """

    title: str
    rows: Sequence[TableRow]
    tasks: str
    base: Mapping[str, Any] = field(default_factory=dict)
    split: str = "test"
    seeds: int = 10
    published: Sequence[TableRow] = ()
    figures: Mapping[str, Mapping[str, float]] = field(default_factory=dict)


def main_rows(backbones: Sequence[str]) -> list[TableRow]:
    """Return three rows for each backbone: not trained, SimCSE, and EASE."""
    rows = []
    for backbone in backbones:
        rows += [TableRow(backbone, note="(avg.)"), TableRow(backbone, "simcse"), TableRow(backbone, "ease")]
    return rows


def monolingual_rows() -> list[TableRow]:
    """Return the rows of table 1, and those of tables 14 and 15 that need a backbone alone.

    The whitening of the paper, taken from SimCSE's, is fitted on NLI; here on the training sentences. It keeps all
    directions.
    """
    rows = []
    for row in main_rows(MONOLINGUAL):
        rows.append(row)
        if not row.objective:
            rows.append(TableRow(row.backbone, note="(first-last avg.)", pooler="avg_first_last"))
            if row.backbone == "bert":
                rows.append(TableRow("bert", note="whitening", pooler="avg_first_last", whiten=768))
    return rows


# Appendix F: "we use the published checkpoints".
_PUBLISHED = (
    TableRow("bert", note="CT-BERT, published", checkpoint="Contrastive-Tension/BERT-Base-CT"),
    TableRow(
        "bert",
        note="SimCSE-BERT, published",
        checkpoint="princeton-nlp/unsup-simcse-bert-base-uncased",
        pooler="cls_before_pooler",
    ),
    TableRow(
        "bert", note="EASE-BERT, published", checkpoint="sosuke/ease-bert-base-uncased", pooler="cls_before_pooler"
    ),
    TableRow("roberta", note="DeCLUTR-RoBERTa, published", checkpoint="johngiorgi/declutr-base"),
    TableRow(
        "roberta",
        note="SimCSE-RoBERTa, published",
        checkpoint="princeton-nlp/unsup-simcse-roberta-base",
        pooler="cls_before_pooler",
    ),
)
_COLUMNS_14 = ("STS12", "STS13", "STS14", "STS15", "STS16", "STS-B", "SICK-R", "Avg. of 7")
# Rows of table 14 whose models are no checkpoint of a transformer.
_TABLE_14 = {
    name: dict(zip(_COLUMNS_14, values, strict=True))
    for name, values in {
        "GloVe embeddings (avg.)": (55.1, 70.7, 59.7, 68.3, 63.7, 58.0, 53.8, 61.3),
        "BERT-flow": (58.4, 67.1, 60.9, 75.2, 71.2, 68.7, 64.5, 66.6),
        "IS-BERT": (56.8, 69.2, 61.2, 75.2, 70.2, 69.2, 64.3, 66.6),
    }.items()
}


def batch_rows() -> list[TableRow]:
    """Return the grid of appendix A, from which table 9 has the best: batch size and learning rate."""
    return [
        TableRow(
            backbone, objective, f"{size} / {rate:.0e}", {"softmax_size": size, "step_size": 0, "learning_rate": rate}
        )
        for backbone, objective in (
            *((name, "simcse") for name in MULTILINGUAL),
            *((name, "ease") for name in (*MONOLINGUAL, *MULTILINGUAL)),
        )
        for size in (64, 128, 256, 512)
        for rate in (3e-5, 5e-5)
    ]


def balance_rows() -> list[TableRow]:
    """Return the grid of tau and lambda (section 4.4.8 of the thesis, which names 0.01 twice: one is taken for 0.1)."""
    return [
        TableRow(
            backbone, "ease", f"tau {tau:g}, lambda {weight:g}", {"entity_temperature": tau, "entity_weight": weight}
        )
        for backbone in (*MONOLINGUAL, *MULTILINGUAL)
        for tau in (100.0, 10.0, 1.0)
        for weight in (0.01, 0.1, 1.0)
    ]


def ablation_rows(backbones: Sequence[str]) -> list[TableRow]:
    """Return the rows of table 7."""
    parts: dict[str, dict[str, Any]] = {
        "": {},
        "w/o self-supervised CL": {"sentence_weight": 0.0},
        "w/o hard negative": {"negatives": 0},
        WITHOUT_VECTORS: {"entity_vectors": ""},
    }
    rows = []
    for backbone in backbones:
        rows += [TableRow(backbone, "ease", note, part) for note, part in parts.items()]
        # Footnote 18 of the thesis: the backbone with the pooler of its EASE, which has no head in tests.
        pooler = "cls_before_pooler" if PRESETS[f"ease-{backbone}-paper"]["pooler"] == "cls" else "avg"
        rows.append(TableRow(backbone, note="w/o all", pooler=pooler))
    return rows


def pooler_rows() -> list[TableRow]:
    """Return the rows of table 10."""
    poolers: dict[str, dict[str, Any]] = {
        "[CLS] w/ MLP": {"pooler": "cls", "mlp": True, "mlp_only_train": False},
        "[CLS] w/ MLP (train)": {"pooler": "cls", "mlp": True, "mlp_only_train": True},
        "[CLS] w/o MLP": {"pooler": "cls_before_pooler", "mlp": False},
        "mean": {"pooler": "avg", "mlp": False},
    }
    return [
        TableRow("mbert", objective, note, pooler)
        for objective in ("simcse", "ease")
        for note, pooler in poolers.items()
    ]


def labse_rows() -> list[TableRow]:
    """Return the rows of figure 2: LaBSE, and LaBSE adapted to each language with 5,000 pairs of it and of English.

    The paper gives no further options; those of mBERT are used.
    """
    rows = [TableRow("labse", pooler="")]
    for wiki in LOW_RESOURCE:
        # In a language with fewer pairs they are repeated.
        changes = {"quota": f"enwiki=5000,{wiki}wiki=5000", "pooler": "", "mlp": False}
        rows.append(TableRow("labse", "ease", f"(en + {wiki})", changes))
    return rows


# Section 5.1. The presets have the dev sets.
_MANY = {"quota": "50000"}
RECIPES = {
    "table1": Recipe(
        "Table 1: monolingual STS and short text clustering",
        monolingual_rows(),
        "mono",
        published=_PUBLISHED,
        figures=_TABLE_14,
    ),
    "table2": Recipe("Table 2: multilingual STS", main_rows(MULTILINGUAL), "STS17", _MANY),
    "table3": Recipe("Table 3: MewsC-16", main_rows(MULTILINGUAL), "mewsc16", _MANY),
    "table4": Recipe("Tables 4 and 5: Tatoeba", main_rows(MULTILINGUAL), "tatoeba", _MANY),
    "table6": Recipe("Table 6: MLDoc, zero-shot", main_rows(MULTILINGUAL), "mldoc", _MANY, seeds=3),
    "table7": Recipe("Table 7: ablation, monolingual", ablation_rows(MONOLINGUAL), "sts"),
    "table7-multilingual": Recipe("Table 7: ablation, multilingual", ablation_rows(MULTILINGUAL), "STS17", _MANY),
    "table9": Recipe(
        "Table 9: batch size and learning rate, on dev parts",
        batch_rows(),
        "STSBenchmark,SICK-R.senteval",
        _MANY,
        split="dev",
    ),
    "table9-balance": Recipe(
        "Appendix A: tau and lambda, on dev parts", balance_rows(), "STSBenchmark,SICK-R.senteval", _MANY, split="dev"
    ),
    "table10": Recipe(
        "Table 10: poolers, on dev parts", pooler_rows(), "STSBenchmark,SICK-R.senteval", _MANY, split="dev"
    ),
    "table11": Recipe("Table 11: BUCC", [*main_rows(MULTILINGUAL), TableRow("labse", pooler="")], "bucc", _MANY),
    "figure2": Recipe("Figure 2: LaBSE adapted", labse_rows(), "tatoeba"),
}


def possible(
    shown: Sequence[TableRow], flags: Mapping[str, Any], wikis: Collection[str]
) -> tuple[list[TableRow], list[str]]:
    """Return the rows that can be trained, and a line for each other row.

    Args:
        shown: rows of the table.
        flags: options of the trainer that the user sets.
        wikis: those that the pairs come from.
    """
    rows, notes = [], []
    for row in shown:
        stated = str(row.changes.get("quota", ""))
        absent = sorted({part.partition("=")[0] for part in stated.split(",") if "=" in part} - set(wikis))
        if absent:
            notes.append(f"{row.name}: {flags['data']} has no pairs of {', '.join(absent)}, but of {', '.join(wikis)}")
        elif row.changes.get("entity_vectors") == "" and not flags.get("entity_vectors"):
            notes.append(f"{row.name}: the same as with them, since there are no --entity_vectors")
        else:
            rows.append(row)
    return rows, notes


def preset_of(row: TableRow, variant: str) -> dict[str, Any]:
    """Return the preset's options of a row that is trained; `variant` is a member of `VARIANTS`."""
    backbone = "mbert" if row.backbone == "labse" else row.backbone
    name = f"simcse-{backbone}" if row.objective == "simcse" else f"ease-{backbone}-{variant}"
    model = {"model": LABSE} if row.backbone == "labse" else {}
    return {**PRESETS[name], "preset": name, **model}


ABOUT = """\
`python -m wikianchor.trainer.papers table2 --data=... --dev=... --evaluation=... --output=...`: a table of EASE's
paper.

`python -m wikianchor.trainer.papers sdjc --help` tells of the other recipe: from a domain's text to table 8 of SDJC's
paper.

Each row of the table is trained with its preset once for each seed, each model is evaluated, and the table shows the
mean over the seeds and their standard deviation. What a former call has trained or scored is not done again, so
tables that share a model share its training, and an interrupted call goes on.

Every option of `wikianchor train` may be given and then holds for all rows that are trained. `--backbones` chooses
among the backbones of a table, and puts a directory in the place of a name on the Hub:
`--backbones=bert,mbert=models/mbert`.

The monolingual tables want pairs of English alone, the multilingual ones pairs of the 18 wikis, 50,000 rows of each.
"""


def parse_backbones(text: str, recipe: Recipe) -> dict[str, str]:
    """Return the backbones to show and the model of each, empty for the preset's own: all of the recipe by default."""
    known = list(dict.fromkeys(row.backbone for row in recipe.rows))
    parts = [part.partition("=") for part in text.split(",")] if text else [(name, "", "") for name in known]
    chosen = {name.strip(): model.strip() for name, _, model in parts}
    for name in chosen:
        if name not in known:
            raise UsageError(f"--backbones: no {name!r} in {recipe.title}: choose of {', '.join(known)}")
    return chosen


@dataclass(frozen=True, kw_only=True)
class RecipeOptions:
    """Options of a table, beside those of the training."""

    recipe: str = option(positional=True, choices=RECIPES, help="the table")
    evaluation: str = option(
        metavar="DIR", help="directory with evaluation sets, as wikianchor.trainer.evaluate takes it"
    )
    seeds: tuple[int, ...] = option((42, 43, 44), help="seeds with commas, one training for each")
    variant: str = option("paper", choices=VARIANTS, help="whose settings, where they differ")
    published: bool = option(False, help="score the published models as well that the paper compares with: table1")
    backbones: str = option("", help="backbones to show, and what replaces them: bert,mbert=DIR", unset="all")


def parse(argv: Sequence[str] | None) -> tuple[dict[str, Any], RecipeOptions]:
    """Return the options of the training that are given, and those of the table.

    Raises:
        UsageError: an option is missing, or has no meaning here.
    """
    parser = program("python -m wikianchor.trainer.papers", ABOUT)
    add_options(parser.add_argument_group("the recipe"), RecipeOptions)
    add_flags(parser, "ease")
    given = parser.parse_args(argv)
    flags = training_flags(given)
    for name, instead in (
        ("seed", "--seeds"),
        ("preset", "--variant"),
        ("model", "--backbones"),
        ("new", "--backbones"),
    ):
        if name in flags:
            raise UsageError(f"--{name}: a recipe has several: use {instead}")
    for name in ("data", "output"):
        if not flags.get(name):
            raise UsageError(f"--{name} is missing")
    return flags, read_options(RecipeOptions, given)


def training_flags(given: argparse.Namespace) -> dict[str, Any]:
    """Return the options of a training among those that are given."""
    names = {option.name for option in dataclasses.fields(Config)}
    return {name: value for name, value in vars(given).items() if name in names}
