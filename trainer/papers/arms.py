"""`wikianchor papers figure2` and `negatives`: arms trained with several seeds, with intervals over seeds and items.

What a run has scored is kept in OUTPUT/scores, and its model is removed, so that the same command goes on where it was
stopped and a run costs a few kilobytes.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from wikianchor.io.errors import InputError, UsageError
from wikianchor.io.hub import model_revision
from wikianchor.io.markdown import markdown_table
from wikianchor.io.storage import files_in, filesystem, replacing, writing
from wikianchor.trainer import task
from wikianchor.trainer.config import Config, make
from wikianchor.trainer.data.shards import PairDataset, open_pairs, read_wikis
from wikianchor.trainer.distributed import choose_device
from wikianchor.trainer.entity_vectors import initial_vectors
from wikianchor.trainer.entity_vectors.options import EntityVectorsOptions
from wikianchor.trainer.evaluate.command import LoadedSets, load_tasks
from wikianchor.trainer.evaluate.languages import short
from wikianchor.trainer.evaluate.options import EvaluateOptions
from wikianchor.trainer.evaluate.task import SentenceVectors
from wikianchor.trainer.models.encoder import Encoder
from wikianchor.trainer.papers.intervals import Interval, Outcomes, Values, joint_interval
from wikianchor.trainer.papers.judges import item_values, set_values, typed_values
from wikianchor.trainer.papers.options import ArmOptions
from wikianchor.trainer.papers.rows import Arm, Comparison
from wikianchor.trainer.papers.variants import VARIANTS, is_held_out, read_pairs, write_variant

# Pairs of each wiki in an epoch where languages are adapted one by one: section 6 of EASE.
ROWS = 5_000
# Raised when a run of the same options trains or scores something else.
VERSION = 1


@dataclass(frozen=True)
class ArmsRun:
    """A comparison that is trained and scored.

    Attributes:
        comparison: what is compared.
        flags: options of the trainer that the user gives; they hold for all arms.
        chosen: the command's own options.
    """

    comparison: Comparison
    flags: Mapping[str, Any]
    chosen: ArmOptions

    @property
    def output(self) -> str:
        """The directory of everything that the command writes."""
        return str(self.flags["output"])

    @property
    def model(self) -> str:
        """The model that training begins with, "" with --new."""
        return "" if self.flags.get("new") else str(self.flags["model"])

    @cached_property
    def pairs(self) -> PairDataset:
        """The dataset that the rows come from."""
        return open_pairs(str(self.flags.get("data") or build_pairs(self.chosen.dumps, f"{self.output}/build")))

    @cached_property
    def revision(self) -> str:
        """A short hash of what vectors of entities and mined negatives depend on: the pairs and the model."""
        revision = model_revision(self.model) if os.path.isdir(self.model) else self.model
        return hashlib.sha256("\0".join([self.pairs.fingerprint, revision]).encode()).hexdigest()[:16]

    @cached_property
    def rows(self) -> pa.Table:
        """The rows that are trained on."""
        rows = read_pairs(self.pairs)
        return rows.filter(pa.array(~is_held_out(rows))) if self.comparison.held_out else rows

    @cached_property
    def held_out(self) -> pa.Table:
        """The rows of entities that are held out."""
        rows = read_pairs(self.pairs)
        return rows.filter(pa.array(is_held_out(rows)))

    def languages(self) -> Sequence[str]:
        """Return the languages that are adapted one by one; one "" where all are trained together."""
        if not self.comparison.by_language:
            return ("",)
        wikis = read_wikis(self.pairs)
        languages = [wiki.removesuffix("wiki") for wiki in wikis if wiki != "enwiki"]
        if not languages or "enwiki" not in wikis:
            raise InputError(f"{self.pairs.path}: has pairs of {', '.join(wikis)}: English and another are needed")
        return languages

    @cached_property
    def vectors(self) -> str:
        """The file of initial entity vectors: the user's, the labels in the vectors of the model, or "" with --new."""
        if (given := self.flags.get("entity_vectors")) or not self.model:
            return str(given or "")
        path = f"{self.output}/vectors-{self.revision}.safetensors"
        if not os.path.exists(path):
            options = EntityVectorsOptions(data=self.pairs.path, encode=self.model, output=path)
            print(initial_vectors.make(options), file=sys.stderr)
        return path

    def sets(self, language: str) -> LoadedSets:
        """Return the test sets of a language, or of all languages of the pairs."""
        wikis = tuple(wiki.removesuffix("wiki") for wiki in read_wikis(self.pairs))
        options = EvaluateOptions(languages=(language,) if language else wikis)
        sets = load_tasks(self.chosen.evaluation, self.comparison.tasks.split(","), options)
        sets.check(complete=True)
        return sets

    def config(self, arm: Arm, language: str, seed: int) -> Config:
        """Return the options of a training."""
        options = {**self.flags, **arm.options, "seed": seed, "keep": "last", "data": self.data(arm)}
        options["output"] = f"{self.output}/runs/{self.name(arm, language, seed)}"
        if language:
            rows = self.flags.get("quota") or ROWS
            options["quota"] = f"enwiki={rows},{language}wiki={rows}"
        if arm.objective == "simcse":
            options = {name: value for name, value in options.items() if not name.startswith("entity_")}
            if preset := options.get("preset"):
                # That of the same backbone.
                options["preset"] = f"simcse-{preset.split('-')[1]}"
        else:
            options["entity_vectors"] = self.vectors
        return make(arm.objective, options, {})

    @staticmethod
    def name(arm: Arm, language: str, seed: int) -> str:
        """Return the name of a run."""
        return "-".join(filter(None, [arm.name.replace(", ", "-").replace(" ", "-"), language, str(seed)]))

    def data(self, arm: Arm) -> str:
        """Return the directory of an arm's pairs; write them if they are not there."""
        if not arm.variant and not self.comparison.held_out:
            return self.pairs.path
        directory = f"{self.output}/data/{arm.variant or 'typed'}-{self.revision}"
        if not os.path.exists(directory):
            change = VARIANTS.get(arm.variant)
            rows = change(self.rows, self.pairs, self.model) if change else self.rows
            write_variant(self.pairs, rows, directory)
        return directory

    def outcomes(self, arm: Arm, language: str, seed: int) -> Outcomes:
        """Train and score a run, or read what an earlier command has scored."""
        config = self.config(arm, language, seed) if arm.objective else None
        facts = config.record() if config else {"model": self.model}
        facts = {name: value for name, value in facts.items() if name not in ("output", "cache")}
        sets = self.sets(language)
        files = sorted(digest for _, parts in sets.tasks for part in parts for digest in part.source.files.values())
        key = json.dumps([facts, self.revision, files, VERSION], sort_keys=True)
        path = f"{self.output}/scores/{self.name(arm, language, seed)}.npz"
        if os.path.exists(path):
            with np.load(path) as kept:
                if str(kept["key"]) == key:
                    return {name: kept[name] for name in kept.files if name != "key"}
        print(f"-- {self.name(arm, language, seed)}", file=sys.stderr, flush=True)
        model = task.run(config) if config else self.model
        outcomes = self.judge(Encoder.load(model, device=choose_device(str(self.flags.get("device", "")))), sets)
        arrays: Any = {"key": np.array(key), **outcomes}
        with writing(path), replacing(filesystem(path)[0], path, f"{path}.new") as stream:
            np.savez_compressed(stream, **arrays)
        if config:
            shutil.rmtree(config.output)
        return outcomes

    def judge(self, encoder: Encoder, sets: LoadedSets) -> dict[str, Values]:
        """Return the value of each item of each set."""
        vectors = SentenceVectors(encoder)
        outcomes: dict[str, Values] = {
            f"{evaluation.name.partition('.')[0]} {short(part.name)}": set_values(part, vectors)
            for evaluation, parts in sets.tasks
            for part in parts
        }
        if self.comparison.held_out:
            rows = self.held_out
            outcomes |= {"entities of one type": typed_values(rows, vectors), "items": item_values(rows, vectors)}
        return {name: values for name, values in outcomes.items() if len(values)}

    def run(self) -> str:
        """Train and score all arms with all seeds; return the report as Markdown.

        Seeds come before arms and languages, so that what is scored when a command is stopped can be compared.
        """
        # With --new there is no encoder before the training, and none that mines negatives.
        arms = [arm for arm in self.comparison.arms if self.model or (arm.objective and arm.variant != "mined")]
        languages = self.languages()
        if not self.chosen.seeds:
            raise UsageError("--seeds: name one at least")
        scored: dict[str, dict[str, list[Outcomes]]] = {}
        for seed in self.chosen.seeds:
            for language in languages:
                for arm in arms:
                    runs = scored.setdefault(language, {}).setdefault(arm.name, [])
                    if arm.objective or not runs:
                        runs.append(self.outcomes(arm, language, seed))
                print(self.report(scored), file=sys.stderr, flush=True)
        return self.report(scored)

    def report(self, scored: Mapping[str, Mapping[str, Sequence[Outcomes]]]) -> str:
        """Return the scores of each set, in per cent, and differences from the first arm and from the arm before.

        Args:
            scored: the runs of each arm, by language.
        """
        first = self.comparison.arms[0].name
        lines = []
        for arms in scored.values():
            names = list(arms[first][0])
            for name in [*names, *(["all sets"] if len(names) > 1 else [])]:
                others = before = [_only(run, name) for run in arms[first]]
                for arm, runs in arms.items():
                    kept = [_only(run, name) for run in runs]
                    differences = ["", ""] if arm == first else [_difference(kept, others), _difference(kept, before)]
                    lines.append([name, arm, str(joint_interval(kept)), *differences])
                    before = kept
        head = ["set", "arm", "score", f"above {first}", "above the arm before it"]
        seeds = max(len(runs) for arms in scored.values() for runs in arms.values())
        about = (
            f"{self.model or 'a new model'}, {seeds} seed{'s' * (seeds > 1)}, {self.pairs.rows:,} pairs, fingerprint "
            f"{self.pairs.fingerprint[:16]}; 95 % intervals over seeds and test items."
        )
        return f"## {self.comparison.title}\n\n{about}\n\n{markdown_table(head, lines)}"


def _only(outcomes: Outcomes, name: str) -> Outcomes:
    return outcomes if name == "all sets" else {name: outcomes[name]}


def _difference(runs: Sequence[Outcomes], base: Sequence[Outcomes]) -> str:
    difference: Interval = joint_interval(runs, base)
    return f"{difference}{' *' if difference.excludes_zero else ''}"


def build_pairs(dumps: str, output: str) -> str:
    """Build `pairs` from dumps unless they are there; return their directory.

    The commands of the pipelines run in processes of their own, since the trainer does not import them.

    Raises:
        InputError: a command has failed, and has said why.
    """
    items = f"{output}/wikidata.json.gz"
    commands = [("items", dumps, items), ("build", f"{dumps},{items}", output)]
    files = [file for part in dumps.split(",") for file in (part, *files_in(part))]
    if any(re.search(r"(?<!/download)\.json(\.gz|\.bz2)?$|page_props", file) for file in files):
        commands = [("build", dumps, output)]
    for name, source, target in commands:
        flags = [f"--dumps={source}", f"--output={target}"]
        if subprocess.run([sys.executable, "-m", "wikianchor", name, *flags], stdout=sys.stderr).returncode:
            raise InputError(f"`wikianchor {name} {' '.join(flags)}` has failed")
    return f"{output}/pairs"
