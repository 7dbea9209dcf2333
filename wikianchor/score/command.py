"""`wikianchor score`: read a dataset `export`, score it, filter and mine, and write a dataset `export`.

The work of a shard is kept in the output's workspace, so that the same command goes on where it was stopped:

    rows-N     hashes of the shard's texts; each distinct text is encoded with the first shard that has it
    vectors    of all distinct texts, one memory-mapped array; encoded-N marks the shards whose texts are in it
    scores-N   cosines of the rows, and how many of a sample are nearer than the positive
    mined-N    the hardest negatives, with --mine
"""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import torch

from wikianchor.io.errors import InputError
from wikianchor.io.hub import model_revision
from wikianchor.io.markdown import markdown_table
from wikianchor.io.options import recorded
from wikianchor.io.rules import digest_of
from wikianchor.io.storage import writing
from wikianchor.io.version import package_version, program_version
from wikianchor.pipelines.arrays.hashing import hash_string, hash_strings, mix
from wikianchor.pipelines.arrays.tables import distinct, find
from wikianchor.pipelines.dataset.inputs import fingerprint
from wikianchor.pipelines.dataset.manifest import claim, commit, damaged_shard, read_manifest
from wikianchor.pipelines.dataset.part_writer import Part, PartWriter
from wikianchor.pipelines.dataset.reader import Dataset
from wikianchor.pipelines.dataset.reasons import most
from wikianchor.pipelines.dataset.summary import made, next_lines, spent
from wikianchor.pipelines.dataset.workspace import RECORDS, Workspace, fingerprint_of, workspace_of
from wikianchor.pipelines.export.core_texts import text_keys
from wikianchor.schemas.choices import KINDS
from wikianchor.score.rows import Arrays, Shard, joined, open_export, open_pairs, page_keys
from wikianchor.trainer.command import run_command
from wikianchor.trainer.distributed import choose_device
from wikianchor.trainer.models.encoder import Encoder
from wikianchor.trainer.models.gpu import default_precision
from wikianchor.trainer.models.memory import tokens_at_once
from wikianchor.trainer.score.filters import (
    NEAR,
    REASONS,
    SAMPLE,
    WEAK,
    count_nearer,
    judge,
    measures,
    negative_limits,
)
from wikianchor.trainer.score.mining import Queries, Relation, Search
from wikianchor.trainer.score.options import ScoreOptions, parse
from wikianchor.trainer.score.vectors import Ints, Vectors

ROW_GROUP = 10_000


def main(argv: Sequence[str]) -> int:
    """Return the exit status."""
    return run_command("score", lambda: run(parse(argv)))


def run(options: ScoreOptions) -> str:
    """Make the dataset unless it is there, and return what is printed.

    Raises:
        UsageError, InputError: an input cannot be used, no row is left, or the output cannot be written.
    """
    start, output = time.monotonic(), options.output
    export = open_export(options.data)
    beside = f"{os.path.dirname(export.directory) or '.'}/pairs"
    pairs = open_pairs(options.pairs or beside, export) if options.mine else None
    encoder = Encoder.load(options.model, device=choose_device(options.device), prompt=options.prompt)
    encoder.precision = default_precision(encoder.device)
    if encoder.device.type == "cuda":
        encoder.cuda_tokens = tokens_at_once(encoder, torch.cuda.get_device_properties(encoder.device).total_memory)
    head = head_of(options, export, encoder)
    old = read_manifest(output) or {}
    if all(old.get(name) == head[name] for name in ("inputs", "scored")) and not damaged_shard(output, old):
        return f"{output}: up to date, skipped"
    name = fingerprint_of(head, output)
    with claim(output, "export", name):
        manifest = Scoring(export, options, encoder, workspace_of(output, name, "files")).commit(head, pairs)
    made_of = made(Dataset(output, manifest))
    titles = ["", "rows", "mean positive", "mean negative", f"positives below {WEAK}", f"negatives within {NEAR} of it"]
    lines = [
        [when, f"{cosines['rows']:,}", *(f"{cosines[name]:.3f}" for name in ("positive", "negative", "weak", "near"))]
        for when, cosines in manifest["ledger"]["cosines"].items()
    ]
    return "\n".join(
        [markdown_table(titles, lines), made_of, spent(start), *next_lines(["wikianchor", "verify", output])]
    )


def head_of(options: ScoreOptions, export: Dataset, encoder: Encoder) -> dict[str, Any]:
    """Return the head of the manifest: that of the export, with the model and the options of scoring."""
    versions = {name: package_version(name) for name in ("pyarrow", "torch")}
    made_with = {**export.manifest["made_with"], "wikianchor": program_version(), "pyarrow": versions["pyarrow"]}
    # A name on the Hub has the hash of a commit.
    commit_hash = getattr(encoder.backbone.config, "_commit_hash", None)
    revision = model_revision(options.model) if os.path.isdir(options.model) else commit_hash
    head = {name: export.manifest[name] for name in ("dataset", "schema_version", "inputs", "options")}
    scored = {"export": fingerprint(export), "revision": revision, "rules": digest_of(("score.command",)), **versions}
    return {**head, "made_with": made_with, "scored": {**recorded(options), **scored}}


class Scoring:
    """The steps of the command.

    Args:
        export: what is scored.
        options: those of the command.
        encoder: the model.
        work: the directories of the run.
    """

    def __init__(self, export: Dataset, options: ScoreOptions, encoder: Encoder, work: Workspace) -> None:
        self._export, self._options, self._encoder, self._work = export, options, encoder, work
        self._directory = f"{work.scratch}/{RECORDS}"
        with writing(options.output):
            os.makedirs(self._directory, exist_ok=True)
        self._shards = range(len(export.shards("export")))
        keys = [distinct(self._rows(number)["keys"].ravel()) for number in self._shards]
        # The keys of all texts, whose order is that of the vectors, and the first shard of each.
        self._keys, first = np.unique(np.concatenate(keys), return_index=True)
        self._first = np.searchsorted(np.cumsum([len(of_shard) for of_shard in keys]), first, side="right")
        with writing(options.output):
            self._vectors = Vectors(f"{self._directory}/vectors.npy", len(self._keys), encoder.dim)
        for number in self._shards:
            self._kept(f"encoded-{number}", partial(self._encode, number))

    def _kept(self, name: str, make: Callable[[], Arrays]) -> Arrays:
        """Return arrays that an earlier run has kept, or make and keep them."""
        path = f"{self._directory}/{name}.npz"
        if not os.path.exists(path):
            arrays: Any = make()
            with writing(self._options.output), open(f"{path}.new", "wb") as file:
                np.savez(file, **arrays)
            os.replace(f"{path}.new", path)
        with np.load(path) as kept:
            return dict(kept)

    def _rows(self, number: int) -> Arrays:
        return self._kept(f"rows-{number}", lambda: Shard.read(self._export, number).arrays())

    def _all(self, name: str) -> npt.NDArray[Any]:
        """Return an array of the rows of all shards."""
        return np.concatenate([self._rows(number)[name] for number in self._shards])

    def _encode(self, number: int) -> Arrays:
        """Encode the texts that a shard is the first to have."""
        columns, rows = Shard.read(self._export, number).rows.columns, np.flatnonzero(self._first == number)
        keys, index = np.unique(self._rows(number)["keys"].T, return_index=True)
        texts = joined(columns).take(pa.array(index[find(keys, self._keys[rows])])).to_pylist()
        done = int((self._first < number).sum())
        for chunk in self._vectors.encode(self._encoder, texts, rows):
            done += chunk
            print(f"score: {done:,} of {len(self._keys):,} texts encoded", file=sys.stderr, flush=True)
        return {}

    def _score(self, number: int, samples: Mapping[int, tuple[Ints, Ints]]) -> Arrays:
        """Return the cosines of a shard's rows, and how many of the sample of their group are nearer than the
        positive."""
        rows = self._rows(number)
        texts, nearer = find(self._keys, rows["keys"]), np.zeros(len(rows["items"]), np.int64)
        for group, (sample, items) in samples.items():
            part = np.flatnonzero(rows["groups"] == group)
            nearer[part] = count_nearer(self._vectors, texts[part, :2], rows["items"][part], sample, items)
        return {"cosines": self._vectors.cosines(texts), "nearer": nearer}

    def _samples(self) -> dict[int, tuple[Ints, Ints]]:
        """Return a sample of the positives of each group, by a keyed hash: texts and items."""
        keys, items, groups = self._all("keys")[:, 1], self._all("items"), self._all("groups")
        first = np.unique(mix(0, keys.view(np.int64), items), return_index=True)[1]
        chosen = {group: first[groups[first] == group][:SAMPLE] for group in distinct(groups)}
        return {group: (find(self._keys, keys[rows]), items[rows]) for group, rows in chosen.items()}

    def _mine(self, pairs: Dataset, scored: Sequence[Arrays]) -> tuple[pa.Table, list[Arrays]]:
        """Return the texts that may be negatives, and which of them are the hardest for the rows of each shard.

        Args:
            pairs: the pairs that the rows are from.
            scored: the cosines of each shard.
        """
        _, positive, negative = KINDS[self._export.options["kind"]]
        tables = []
        for number in self._shards:
            shard = Shard.read(self._export, number)
            table = shard.texts().slice(0 if positive == negative else len(shard.rows))
            keys, groups = hash_strings(table["text"].combine_chunks()), self._rows(number)["groups"]
            added = {"key": keys, "folded": text_keys(table["text"]), "group": np.resize(groups, len(table))}
            tables.append(_first_rows(pa.table({**dict(zip(table.column_names, table.columns, strict=True)), **added})))
        table = _first_rows(pa.concat_tables(tables))
        items, folded = table["entity_qid"].to_numpy(), table["folded"].to_numpy()
        types = _types_of(pairs)
        links, of_text = self._links(pairs, folded)
        search = Search(
            vectors=self._vectors,
            rows=find(self._keys, table["key"].to_numpy()),
            keys=folded,
            pools=_pools(types, items, table["group"].to_numpy()),
            links=links,
            texts=Relation.make(np.concatenate([items, of_text.values]), np.concatenate([folded, of_text.keys])),
            device=self._encoder.device,
        )

        def mine(number: int) -> Arrays:
            rows = self._rows(number)
            limits = negative_limits(scored[number]["cosines"][:, 0], self._options.negative_share)
            queries = Queries(
                anchors=find(self._keys, rows["keys"][:, 0]),
                texts=rows["folded"],
                items=rows["items"],
                pages=rows["pages"],
                limits=limits if self._options.keep else np.full_like(limits, np.inf),
            )
            pools = _pools(types, rows["items"], rows["groups"])
            return dict(zip(("texts", "cosines"), search.mine(queries, pools, self._options.mine), strict=True))

        return table, [self._kept(f"mined-{number}", partial(mine, number)) for number in self._shards]

    def _links(self, pairs: Dataset, folded: npt.NDArray[np.uint64]) -> list[Relation]:
        """Return the items that pages of the export link to, by page, and those that its texts link to, by text.

        Args:
            pairs: the pairs, whose rows are the links.
            folded: keys of the texts.
        """
        known: list[tuple[Callable[[pa.Table], Any], Any, list[Any]]] = [
            (page_keys, distinct(self._all("pages")), []),
            (lambda rows: text_keys(rows["text"]), distinct(folded), []),
        ]
        for batch in pairs.batches("pairs", ["wiki", "page_id", "entity_qid", "text"]):
            rows = pa.Table.from_batches([batch])
            for key_of, wanted, links in known:
                keys = key_of(rows)
                inside = find(wanted, keys) >= 0
                links.append((keys[inside], rows["entity_qid"].to_numpy()[inside]))
        return [Relation.make(*map(np.concatenate, zip(*links, strict=True))) for _, _, links in known]

    def commit(self, head: Mapping[str, Any], pairs: Dataset | None) -> dict[str, Any]:
        """Write the dataset, and return its manifest.

        Args:
            head: the head of the manifest.
            pairs: the pairs that negatives are mined by; None to leave them.

        Raises:
            InputError: no row is left.
        """
        samples = self._samples() if self._options.keep else {}
        scored = [self._kept(f"scores-{number}", partial(self._score, number, samples)) for number in self._shards]
        before, nearer = (np.concatenate([arrays[name] for arrays in scored]) for name in ("cosines", "nearer"))
        table, mined = self._mine(pairs, scored) if pairs is not None else (None, [])
        after = before
        if mined:
            after = np.hstack([before[:, :1], np.concatenate([arrays["cosines"] for arrays in mined])])
        verdict = judge(after, nearer, self._options)
        left = np.take_along_axis(after, np.pad(1 + verdict.negatives, ((0, 0), (1, 0))), axis=1)
        ledger, parts, start = self._ledger(verdict.reasons), list[Part](), 0
        for number in self._shards:
            shard = Shard.read(self._export, number)
            of_shard = slice(start, start := start + len(shard.rows))
            kept = np.flatnonzero(verdict.reasons[of_shard] == 0)
            columns = verdict.negatives[of_shard][kept]
            if table is not None:
                texts = table.take(pa.array(mined[number]["texts"][kept[:, None], columns].T.ravel()))
            else:
                texts = shard.texts().take(pa.array(((1 + columns) * len(shard.rows) + kept[:, None]).T.ravel()))
            parts += self._write(number, shard.with_negatives(kept, texts, left[of_shard][kept]))
        if not parts:
            counts = dict(zip(REASONS, np.bincount(verdict.reasons, minlength=len(REASONS)).tolist(), strict=True))
            raise InputError(f"{self._options.output}: no row is left: most ended as {most('export', counts)}")
        left = left[verdict.reasons == 0]
        counts = {"seen": int(np.isfinite(after[:, 1:]).sum()), "near_positive": verdict.near, "kept": left[:, 1:].size}
        ledger["negatives"] = {**counts, "left_out": 2 * counts["seen"] - sum(counts.values())}
        ledger["cosines"] = {"before": measures(before), "after": measures(left)}
        options = {**head["options"], "negatives": verdict.negatives.shape[1]}
        return commit(self._options.output, self._work.parts, parts, {**head, "options": options, "ledger": ledger})

    def _ledger(self, reasons: npt.NDArray[np.int8]) -> dict[str, Any]:
        """Return the ledger of the export after more of its rows were left out, given the reason of each."""
        wikis, items, rows, entities = self._all("wikis"), self._all("items"), {}, {}
        for wiki, buckets in self._export.ledger["rows"].items():
            of_wiki = wikis == hash_string(wiki)
            numbers = np.bincount(reasons[of_wiki], minlength=len(REASONS)).tolist()
            rows[wiki] = dict(Counter({**buckets, "kept": 0}) + Counter(dict(zip(REASONS, numbers, strict=True))))
            kept = len(distinct(items[of_wiki & (reasons == 0)]))
            entities[wiki] = {**self._export.ledger["entities"][wiki], "kept": kept}
        return {"rows": rows, "entities": entities}

    def _write(self, number: int, shard: Shard) -> Iterator[Part]:
        """Write a shard; yield its files."""
        for config, rows in shard._asdict().items():
            name = "export" if config == "rows" else config
            with PartWriter(self._work.parts, name, number, rows.schema) as file:
                for start in range(0, len(rows), ROW_GROUP):
                    file.write(rows.slice(start, ROW_GROUP).combine_chunks())
            if file.part:
                yield file.part


def _types_of(pairs: Dataset) -> Relation:
    """Return the types of items."""
    batches = list(pairs.batches("entities", ["qid", "types"]))
    items = [batch["qid"].take(pc.list_parent_indices(batch["types"])).to_numpy() for batch in batches]
    return Relation.make(
        np.concatenate(items), np.concatenate([batch["types"].flatten().to_numpy() for batch in batches])
    )


def _pools(types: Relation, items: Ints, groups: npt.NDArray[np.uint64]) -> Relation:
    """Return the rows of each pool, the items of a type in a group, given the item and the group of each row."""
    rows, of_rows = types.of(items)
    return Relation.make(mix(0, of_rows, groups[rows].view(np.int64)), rows)


def _first_rows(texts: pa.Table) -> pa.Table:
    """Return the first row of each text of an item."""
    keys = mix(0, texts["entity_qid"].to_numpy(), texts["key"].to_numpy().view(np.int64))
    return texts.take(pa.array(np.sort(np.unique(keys, return_index=True)[1]))).combine_chunks()
