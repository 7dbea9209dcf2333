"""Check the rows of a dataset against its schema, one row group at a time, and against each other.

Links lie within their sentence, in order and without white space at their edges; ids are those of the entity table; a
hard negative is neither the entity nor another negative; no entity is in two splits.
"""

from __future__ import annotations

import pkgutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from importlib import import_module
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from wikianchor import schemas
from wikianchor.io.errors import InputError
from wikianchor.pipelines.dataset.reader import Dataset, opened_shard, read_batches
from wikianchor.pipelines.dataset.release import RELEASE
from wikianchor.pipelines.dataset.split_configs import split_of
from wikianchor.pipelines.dataset.text_parts import read_text_batches
from wikianchor.pipelines.export.core_texts import text_keys
from wikianchor.schemas import choices, entities, export, pairs, retrieval, titles
from wikianchor.schemas.pairs import SPLITS

Tally = Counter[tuple[str, ...]]


@cache
def _schemas() -> dict[str, pa.Schema]:
    """Return the schemas of the package `schemas`, by the name in their metadata."""
    modules = [import_module(f"wikianchor.schemas.{module.name}") for module in pkgutil.iter_modules(schemas.__path__)]
    values = [value for module in modules for value in vars(module).values()]
    return {value.metadata[b"wikianchor.dataset"].decode(): value for value in values if isinstance(value, pa.Schema)}


def schema_of(dataset: Dataset, config: str) -> pa.Schema | None:
    """Return the schema of a config, or None where this version does not know it."""
    name, config = dataset.name, split_of(config)[0]
    if (name, config) == ("export", "export"):
        return export.rows_schema(int(dataset.options["negatives"]), scored="scored" in dataset.manifest)
    if name == "pairs" and config != "entities" and RELEASE in dataset.manifest:
        return pairs.PUBLISHED
    return _schemas().get(f"{name}.{config}") or _schemas().get(config) or _schemas().get(name)


def check_schema(dataset: Dataset) -> Iterator[str]:
    """Yield the shards with other columns than the schema, or with another number of rows than the manifest."""
    for name, config in dataset.configs.items():
        schema = schema_of(dataset, name)
        for shard in config["shards"]:
            path = f"{dataset.directory}/{shard['path']}"
            if not path.endswith(".parquet"):
                # Text of `export`, whose bytes are checked.
                continue
            try:
                with opened_shard(path) as file:
                    columns, rows = file.schema_arrow, file.metadata.num_rows
            except InputError as error:
                yield str(error)
                continue
            if rows != shard["rows"] or rows == 0:
                yield f"{path}: has {rows} rows, the manifest says {shard['rows']}"
            if schema is not None and not columns.equals(schema):
                yield f"{path}: {_difference(columns, schema)}"


def _difference(columns: pa.Schema, schema: pa.Schema) -> str:
    if columns.names != schema.names:
        return f"has the columns {', '.join(columns.names)}, the schema says {', '.join(schema.names)}"
    for column, expected in zip(columns, schema, strict=True):
        if not column.equals(expected):
            return f"the column {column}, the schema says {expected}"
    return "has other metadata than the schema"


def check_rows(dataset: Dataset, tally: Tally) -> Iterator[str]:
    """Yield the wrong rows, of each shard the first for each problem, and count rows and links.

    Args:
        dataset: the dataset.
        tally: counts, to which those of the dataset are added, for `check_ledger`.
    """
    checks = _CHECKS.get(dataset.name, {})
    state: dict[str, Any] = {"options": dataset.options}
    configs = {*checks, *(config for config in dataset.configs if split_of(config)[0] in checks)}
    # The entity table comes first: other rows are checked against it.
    for name in sorted(configs, key=lambda name: (name != "entities", name)):
        schema = schema_of(dataset, name)
        assert schema is not None
        check = checks[split_of(name)[0]]
        state["split"] = SPLITS.index(split_of(name)[1])
        # The other formats of `linking` have other fields; their bytes are checked.
        for path in dataset.shards(name) if dataset.options.get("format") not in choices.LINKING_FORMATS[1:] else ():
            reported: set[str] = set()
            begin = 0
            is_table = path.endswith(".parquet")
            for batch in read_batches(path, schema.names) if is_table else read_text_batches(path, schema):
                for problem, is_wrong in check(batch, state, tally).items():
                    rows = np.flatnonzero(is_wrong)
                    if len(rows) and problem not in reported:
                        reported.add(problem)
                        yield f"{path} row {begin + int(rows[0])}: {problem}"
                begin += batch.num_rows


# The problems that a row may have, and for each of them which rows of a batch have it.
Problems = dict[str, Any]
Check = Callable[[pa.RecordBatch, dict[str, Any], Tally], Problems]


def _numpy(values: Any) -> Any:
    return values.to_numpy(zero_copy_only=False)


class _Lists:
    """A column of lists as one array of values.

    Attributes:
        values: the values of all lists.
        lengths: the number of values of each row.
        rows: the row of each value.
    """

    def __init__(self, column: Any) -> None:
        self.values, self.lengths = column.flatten(), _numpy(pc.list_value_length(column))
        self.rows = np.repeat(np.arange(len(column)), self.lengths)

    def field(self, name: str) -> Any:
        """Return a field of the values, which are structs."""
        return _numpy(self.values.field(name))

    def any(self, is_wrong: Any) -> Any:
        """Return for each row whether any of its values is wrong."""
        return np.bincount(self.rows[np.asarray(is_wrong, bool)], minlength=len(self.lengths)) > 0


def _follows(groups: Any, is_wrong: Any) -> Any:
    """Return which values are in the group of the value before them and wrong beside it.

    Args:
        groups: the group of each value; groups lie side by side.
        is_wrong: of each value but the first.
    """
    return np.append(False, (groups[1:] == groups[:-1]) & is_wrong)[: len(groups)]


def _spans(texts: Any, rows: Any, starts: Any, ends: Any) -> tuple[Any, Any]:
    """Return for each span whether it lies outside its text, and whether it has white space at an edge."""
    sizes = _numpy(pc.utf8_length(texts))[rows]
    outside = (starts < 0) | (starts >= ends) | (ends > sizes)
    blank = np.zeros(len(rows), bool)
    strings = texts.to_pylist()
    for index in np.flatnonzero(~outside):
        anchor = strings[rows[index]][starts[index] : ends[index]]
        blank[index] = anchor != anchor.strip()
    return outside, blank


def _sentences(
    batch: pa.RecordBatch, state: dict[str, Any], tally: Tally, config: str, regions: Sequence[str]
) -> Problems:
    texts, names, links = batch["text"], _numpy(batch["region"]), _Lists(batch["links"])
    tally[config,] += batch.num_rows
    tally["links", config] += len(links.rows)
    tally.update((config, region) for region in names.tolist())
    starts, ends = links.field("start"), links.field("end")
    outside, blank = _spans(texts, links.rows, starts, ends)
    pages, numbers = batch["page_id"].to_numpy(), batch["sentence_index"].to_numpy()
    return {
        "the text is empty": _numpy(pc.equal(pc.utf8_length(texts), 0)),
        "the region is unknown": ~np.isin(names, regions),
        "it is of another wiki": _numpy(batch["wiki"]) != state["options"].get("wiki"),
        "a link lies outside its text": links.any(outside),
        "a link has white space at its edge": links.any(blank),
        "links overlap": links.any(_follows(links.rows, starts[1:] < ends[:-1])),
        "a link leads nowhere": links.any(links.field("target") == ""),
        "it does not come after the sentence before it": _follows(pages, numbers[1:] <= numbers[:-1]),
        "it has no page or revision": (pages <= 0) | (batch["rev_id"].to_numpy() < 0) | (numbers < 0),
    }


def _documents(batch: pa.RecordBatch, state: dict[str, Any], tally: Tally) -> Problems:
    lists = {name: _Lists(batch[name]) for name in ("sections", "blocks", "sentences", "links")}
    sections, blocks, links = lists["sections"].lengths, lists["blocks"], lists["links"]
    of_pages, of_blocks = _numpy(batch["wiki"])[links.rows], links.field("block")
    kinds = blocks.field("kind")
    has_row, has_column = (_numpy(blocks.values.field(name).is_valid()) for name in ("row", "column"))
    tally["documents",] += batch.num_rows
    tally["sentences", "documents"] += len(lists["sentences"].rows)
    tally["links", "documents"] += int((links.field("wiki") == of_pages).sum())
    tally.update(("documents", wiki) for wiki in of_pages.tolist())
    # Those of `sentences`, and with items.
    wikis = state["options"].get("wikis") or [state["options"].get("wiki")]
    problems = {
        "it is of another wiki": ~np.isin(_numpy(batch["wiki"]), wikis),
        "it has no page or revision": (batch["page_id"].to_numpy() <= 0) | (batch["rev_id"].to_numpy() < 0),
    }
    for name, spans in lists.items():
        starts, ends = spans.field("start"), spans.field("end")
        outside, blank = _spans(batch["text"], spans.rows, starts, ends)
        # A section lies in another, or after it.
        before = starts[:-1] if name == "sections" else ends[:-1]
        problems[f"one of its {name} lies outside its text"] = spans.any(outside)
        problems[f"its {name} are out of order"] = spans.any(_follows(spans.rows, starts[1:] < before))
        if name in ("sentences", "links"):
            problems[f"one of its {name} has white space at its edge"] = spans.any(blank)
        if name in ("blocks", "links"):
            index = spans.field("section")
            is_outside = (index < -1) | (index >= sections[spans.rows])
            problems[f"one of its {name} is in no section"] = spans.any(is_outside)
    return problems | {
        "a link is in no block": links.any((of_blocks < 0) | (of_blocks >= blocks.lengths[links.rows])),
        "the kind of a block is unknown": blocks.any(~np.isin(kinds, choices.BLOCKS)),
        "a block has the depth of another kind": blocks.any((kinds == "list_item") != (blocks.field("depth") > 0)),
        "a block has the row or column of another kind": blocks.any(
            (has_row != has_column) | (has_row & (kinds != "table_cell"))
        ),
    }


def _mentions(batch: pa.RecordBatch, state: dict[str, Any], tally: Tally) -> Problems:
    candidates, ranks = _Lists(batch["candidates"]), _numpy(pc.fill_null(batch["rank"], -1))
    first = np.cumsum(candidates.lengths) - candidates.lengths
    has_rank = (ranks >= 0) & (ranks < candidates.lengths)
    at_rank, priors = np.zeros(batch.num_rows, np.int64), candidates.field("prior")
    at_rank[has_rank] = candidates.field("qid")[(first + ranks)[has_rank]]
    qids = batch["qid"].to_numpy()
    tally.update(("mentions", wiki) for wiki in _numpy(batch["wiki"]).tolist())
    lengths = batch["end"].to_numpy() - batch["start"].to_numpy()
    return {
        "it is of another wiki": ~np.isin(_numpy(batch["wiki"]), state["options"]["wikis"]),
        "the mention has another length": _numpy(pc.utf8_length(batch["surface"])) != lengths,
        "the item has no number": qids <= 0,
        "the split is unknown": ~np.isin(_numpy(batch["item_split"]), SPLITS),
        "the item is not the candidate of its rank": (ranks >= 0) & (at_rank != qids),
        "the item is a candidate without a rank": (ranks < 0)
        & candidates.any(candidates.field("qid") == qids[candidates.rows]),
        "candidates are out of order": candidates.any(_follows(candidates.rows, priors[1:] > priors[:-1])),
    }


def _titles(batch: pa.RecordBatch, state: dict[str, Any], tally: Tally) -> Problems:
    redirect, flags = _numpy(batch["redirect"].is_valid()), _Lists(batch["flags"])
    tally["redirects",] += int(redirect.sum())
    tally["articles",] += batch.num_rows - int(redirect.sum())
    return {
        "it has no page": batch["page_id"].to_numpy() <= 0,
        "the title is empty": _numpy(pc.equal(batch["title"], "")),
        "a redirect has links": redirect & (_Lists(batch["links"]).lengths > 0),
        "it has a section of a redirect and no redirect": redirect != _numpy(batch["redirect_fragment"].is_valid()),
        "a flag is unknown": flags.any(~np.isin(_numpy(flags.values), titles.FLAGS)),
    }


def _ledger(batch: pa.RecordBatch, state: dict[str, Any], tally: Tally) -> Problems:
    counts = _Lists(batch["counts"])
    columns = [counts.values.field("name"), counts.values.field("number")]
    sums = pa.table(columns, ["name", "number"]).group_by("name").aggregate([("number", "sum")])
    for row in sums.to_pylist():
        tally["ledger", row["name"]] += row["number_sum"]
    return {"a number is negative": counts.any(counts.field("number") < 0)}


def _items(batch: pa.RecordBatch, state: dict[str, Any], tally: Tally) -> Problems:
    routes = _numpy(batch["type_route"])
    tally["items",] += batch.num_rows
    return {
        "the item has no number": batch["qid"].to_numpy() <= 0,
        "the route is unknown": ~np.isin(routes, entities.TYPE_ROUTES),
        "types and their route disagree": (routes == "none") != (_Lists(batch["types"]).lengths == 0),
    }


def _sitelinks(batch: pa.RecordBatch, state: dict[str, Any], tally: Tally) -> Problems:
    wikis = _numpy(batch["wiki"])
    tally.update(("sitelinks", wiki) for wiki in wikis.tolist())
    return {
        "it is of a wiki that was not asked for": ~np.isin(wikis, state["options"].get("wikis", [])),
        "the item has no number": batch["qid"].to_numpy() <= 0,
        "neither title nor page is known": _numpy(pc.and_(batch["title"].is_null(), batch["page_id"].is_null())),
    }


def _table(batch: pa.RecordBatch, state: dict[str, Any], tally: Tally) -> Problems:
    ids, counts = batch["entity_id"].to_numpy(), batch["count"].to_numpy()
    expected = tally["entities",] + np.arange(batch.num_rows)
    before = np.concatenate([[state.get("last", np.iinfo(np.int64).max)], counts[:-1]])
    tally["entities",] += batch.num_rows
    state["last"] = counts[-1]
    state.setdefault("qids", []).append(batch["qid"].to_numpy())
    return {
        "ids do not go up one by one from 0": ids != expected,
        "it is linked more often than the entity before it": counts > before,
    }


def _pairs(batch: pa.RecordBatch, state: dict[str, Any], tally: Tally) -> Problems:
    tally.update(("pairs", wiki) for wiki in _numpy(batch["wiki"]).tolist())
    qids = np.concatenate(state.get("qids", [np.zeros(0, np.int64)]))
    starts, ends = batch["mention_start"].to_numpy(), batch["mention_end"].to_numpy()
    outside, blank = _spans(batch["text"], np.arange(batch.num_rows), starts, ends)
    ids, negatives = batch["entity_id"].to_numpy(), _Lists(batch["hard_negative_ids"])
    known, flat, items = (ids >= 0) & (ids < len(qids)), _numpy(negatives.values), _Lists(batch["hard_negative_qids"])
    same = items.lengths == negatives.lengths
    # Compared one by one where there are as many of both.
    other = _look_up(qids, flat, missing=0) != _numpy(items.values) if same.all() else np.zeros(len(flat), bool)
    order = np.lexsort((flat, negatives.rows))
    sorted_ids = flat[order]
    twice = np.zeros(len(flat), bool)
    twice[order] = _follows(negatives.rows[order], sorted_ids[1:] == sorted_ids[:-1])
    # The split of each entity that a row was read of, -1 before.
    splits = state.setdefault("splits", np.full(len(qids), -1, np.int8))
    of_split = (-1, state["split"])
    problems = {
        "the link lies outside its text": outside,
        "the link has white space at its edge": blank,
        "the entity is not in the table": ~known,
        "entity_id and entity_qid are two entities": _look_up(qids, ids, missing=0) != batch["entity_qid"].to_numpy(),
        "it has another number of hard negatives": negatives.lengths
        != state["options"].get("negatives", negatives.lengths),
        "the entity is its own hard negative": negatives.any(flat == ids[negatives.rows]),
        "hard negatives have more ids or more items": ~same,
        "ids and items of the hard negatives disagree": negatives.any(other),
        "a hard negative comes twice": negatives.any(twice),
        "the entity is in two splits": known & ~np.isin(_look_up(splits, ids, missing=-1), of_split),
        "a hard negative is in another split": negatives.any(~np.isin(_look_up(splits, flat, missing=-1), of_split)),
        "the route is unknown": ~np.isin(_numpy(batch["type_route"]), pairs.TYPE_ROUTES),
        "hard negatives without a type": (negatives.lengths > 0) & _numpy(batch["type_qid"].is_null()),
    }
    splits[ids[known]] = state["split"]
    return problems


def _texts(batch: pa.RecordBatch, state: dict[str, Any], tally: Tally) -> Problems:
    tally["texts",] += batch.num_rows
    # As `export` compares texts: without case and white space.
    texts = {name: batch[name] for name in batch.schema.names if name != export.SCORES.name}
    keys = [text_keys(column) for column in texts.values()]
    problems = {f"{name} is empty": _numpy(pc.equal(column, "")) for name, column in texts.items()}
    problems["the positive is the anchor"] = keys[0] == keys[1]
    for number, key in enumerate(keys[2:], 1):
        is_there = np.any([key == other for other in keys[: number + 1]], 0)
        problems[f"negative_{number} is another text of its row"] = is_there
    if len(texts) < batch.num_columns:
        scores = _Lists(batch[export.SCORES.name])
        problems["it has another number of scores than of other texts"] = scores.lengths != len(texts) - 1
        # Vectors are rounded to 16 bits.
        problems["a score is no cosine"] = scores.any(~(np.abs(_numpy(scores.values)) <= 1.01))
    return problems


def _origins(batch: pa.RecordBatch, state: dict[str, Any], tally: Tally) -> Problems:
    options, qids, negatives = state["options"], batch["entity_qid"].to_numpy(), _Lists(batch["negative_qids"])
    tally.update(("origins", wiki) for wiki in _numpy(batch["wiki"]).tolist())
    of_wikidata = choices.KINDS[options["kind"]][1] in choices.OF_WIKIDATA
    with_page = 0 if of_wikidata else options["negatives"]
    return {
        "it has no item, page or revision": (qids <= 0)
        | (batch["page_id"].to_numpy() <= 0)
        | (batch["rev_id"].to_numpy() < 0),
        "it has another number of negatives": negatives.lengths != options["negatives"],
        "the entity is its own negative": negatives.any(_numpy(negatives.values) == qids[negatives.rows]),
        **{
            f"it has another number of {name}": _Lists(batch[name]).lengths != with_page
            for name in ("negative_wikis", "negative_page_ids")
        },
        **{
            f"{name} and --kind disagree": _numpy(batch[name].is_valid()) == of_wikidata
            for name in ("positive_wiki", "positive_page_id")
        },
    }


def _queries(batch: pa.RecordBatch, state: dict[str, Any], tally: Tally) -> Problems:
    return {
        "no name is masked": ~_numpy(pc.match_substring(batch["text"], "___")) | (_Lists(batch["masked"]).lengths == 0),
        "its sentence is empty": batch["end"].to_numpy() <= batch["start"].to_numpy(),
    }


def _grades(batch: pa.RecordBatch, state: dict[str, Any], tally: Tally) -> Problems:
    return {"its grade is neither 1 nor 2": ~np.isin(batch["score"].to_numpy(), (retrieval.OTHER, retrieval.LEAD))}


def _look_up(table: Any, ids: Any, missing: int) -> Any:
    """Return what a table holds of entity ids; `missing` for an id that is not in it."""
    known = (ids >= 0) & (ids < len(table))
    values = np.full(len(ids), missing, table.dtype)
    values[known] = table[ids[known]]
    return values


_CHECKS: Mapping[str, Mapping[str, Check]] = {
    "sentences": {
        "sentences": partial(_sentences, config="sentences", regions=choices.REGIONS),
        "fragments": partial(_sentences, config="fragments", regions=choices.FRAGMENT_REGIONS),
        "titles": _titles,
        "ledger": _ledger,
        "documents": _documents,
    },
    "documents": {"documents": _documents},
    "linking": {"linking": _mentions},
    "retrieval": {"queries": _queries, "qrels": _grades},
    "entities": {"entities": _items, "sitelinks": _sitelinks},
    "pairs": {"entities": _table, "pairs": _pairs},
    "export": {"export": _texts, "sources": _origins},
}
