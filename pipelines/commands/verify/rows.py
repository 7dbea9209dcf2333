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
import pyarrow.parquet as pq

from wikianchor import schemas
from wikianchor.io.errors import InputError
from wikianchor.io.storage import filesystem, reading
from wikianchor.pipelines.dataset.reader import Dataset, read_batches
from wikianchor.pipelines.dataset.release import RELEASE
from wikianchor.pipelines.dataset.split_configs import split_of
from wikianchor.pipelines.dataset.text_part_reader import read_text_batches
from wikianchor.pipelines.export.text_index import text_keys
from wikianchor.schemas import choices, entities, export, pairs, titles
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
            files, inner = filesystem(path)
            try:
                with reading(path), pq.ParquetFile(files.open_input_file(inner)) as file:
                    columns, rows = file.schema_arrow, file.metadata.num_rows
            except (InputError, pa.ArrowInvalid) as error:
                yield f"{path}: no Parquet file ({str(error).splitlines()[0]})"
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
        for path in dataset.shards(name):
            reported: set[str] = set()
            begin = 0
            is_table = path.endswith(".parquet")
            for batch in read_batches(path, schema.names) if is_table else read_text_batches(path, schema):
                for problem, is_wrong in check(batch, state, tally):
                    rows = np.flatnonzero(is_wrong)
                    if len(rows) and problem not in reported:
                        reported.add(problem)
                        yield f"{path} row {begin + int(rows[0])}: {problem}"
                begin += batch.num_rows


# Yields each problem that a row may have, and for each row of a batch whether it has it.
Check = Callable[[pa.RecordBatch, dict[str, Any], Tally], Iterator[tuple[str, Any]]]


def _numpy(values: Any) -> Any:
    return values.to_numpy(zero_copy_only=False)


def _lengths(values: Any) -> Any:
    return _numpy(pc.list_value_length(values))


def _per_row(values: Any, rows: Any, length: int) -> Any:
    """Return for each row whether any of its values is true; `rows` has the row of each value."""
    return np.bincount(rows[np.asarray(values, bool)], minlength=length) > 0


def _rows_of(lists: Any) -> Any:
    return np.repeat(np.arange(len(lists)), _lengths(lists))


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
) -> Iterator[tuple[str, Any]]:
    count = batch.num_rows
    tally[config,] += count
    texts, links = batch["text"], batch["links"]
    yield "the text is empty", _numpy(pc.equal(pc.utf8_length(texts), 0))
    names = _numpy(batch["region"])
    for region, number in Counter(names.tolist()).items():
        tally[config, region] += number
    yield "the region is unknown", ~np.isin(names, regions)
    yield "it is of another wiki", _numpy(batch["wiki"]) != state["options"].get("wiki")
    flat, rows = links.flatten(), _rows_of(links)
    tally["links", config] += len(flat)
    starts, ends = (flat.field(name).to_numpy() for name in ("start", "end"))
    outside, blank = _spans(texts, rows, starts, ends)
    yield "a link lies outside its text", _per_row(outside, rows, count)
    yield "a link has white space at its edge", _per_row(blank, rows, count)
    overlap = np.zeros(len(rows), bool)
    overlap[1:] = (rows[1:] == rows[:-1]) & (starts[1:] < ends[:-1])
    yield "links overlap", _per_row(overlap, rows, count)
    no_target = _numpy(pc.equal(flat.field("target"), ""))
    yield "a link leads nowhere", _per_row(no_target, rows, count)
    pages, numbers = batch["page_id"].to_numpy(), batch["sentence_index"].to_numpy()
    unordered = np.zeros(count, bool)
    unordered[1:] = (pages[1:] == pages[:-1]) & (numbers[1:] <= numbers[:-1])
    yield "it does not come after the sentence before it", unordered
    yield "it has no page or revision", (pages <= 0) | (batch["rev_id"].to_numpy() < 0) | (numbers < 0)


def _documents(batch: pa.RecordBatch, state: dict[str, Any], tally: Tally) -> Iterator[tuple[str, Any]]:
    count, texts = batch.num_rows, batch["text"]
    tally["documents",] += count
    # Those of `sentences`, and with items.
    wikis = state["options"].get("wikis") or [state["options"].get("wiki")]
    yield "it is of another wiki", ~np.isin(_numpy(batch["wiki"]), wikis)
    yield "it has no page or revision", (batch["page_id"].to_numpy() <= 0) | (batch["rev_id"].to_numpy() < 0)
    for name in ("sections", "blocks", "sentences", "links"):
        values, rows = batch[name].flatten(), _rows_of(batch[name])
        starts, ends = (values.field(side).to_numpy() for side in ("start", "end"))
        outside, blank = _spans(texts, rows, starts, ends)
        yield f"one of its {name} lies outside its text", _per_row(outside, rows, count)
        follows = rows[1:] == rows[:-1]
        unordered = np.zeros(len(rows), bool)
        # A section lies in another, or after it.
        before = starts[:-1] if name == "sections" else ends[:-1]
        unordered[1:] = follows & (starts[1:] < before)
        yield f"its {name} are out of order", _per_row(unordered, rows, count)
        if name in ("sentences", "links"):
            yield f"one of its {name} has white space at its edge", _per_row(blank, rows, count)
        if name in ("blocks", "links"):
            index = values.field("section").to_numpy()
            yield (
                f"one of its {name} is in no section",
                _per_row((index < -1) | (index >= _lengths(batch["sections"])[rows]), rows, count),
            )
    tally["sentences", "documents"] += len(batch["sentences"].flatten())
    links, rows = batch["links"].flatten(), _rows_of(batch["links"])
    of_pages = _numpy(batch["wiki"])[rows]
    tally["links", "documents"] += int((_numpy(links.field("wiki")) == of_pages).sum())
    for wiki, number in Counter(of_pages.tolist()).items():
        tally["documents", wiki] += number
    blocks = links.field("block").to_numpy()
    yield "a link is in no block", _per_row((blocks < 0) | (blocks >= _lengths(batch["blocks"])[rows]), rows, count)
    kinds = batch["blocks"].flatten().field("kind")
    unknown = ~np.isin(_numpy(kinds), choices.BLOCKS)
    yield "the kind of a block is unknown", _per_row(unknown, _rows_of(batch["blocks"]), count)


def _titles(batch: pa.RecordBatch, state: dict[str, Any], tally: Tally) -> Iterator[tuple[str, Any]]:
    redirect = _numpy(batch["redirect"].is_valid())
    tally["redirects",] += int(redirect.sum())
    tally["articles",] += batch.num_rows - int(redirect.sum())
    yield "it has no page", batch["page_id"].to_numpy() <= 0
    yield "the title is empty", _numpy(pc.equal(batch["title"], ""))
    yield "a redirect has links", redirect & (_lengths(batch["links"]) > 0)
    fragment = _numpy(batch["redirect_fragment"].is_valid())
    yield "it has a section of a redirect and no redirect", redirect != fragment
    flags = batch["flags"]
    known = np.isin(_numpy(flags.flatten()), titles.FLAGS)
    yield "a flag is unknown", _per_row(~known, _rows_of(flags), batch.num_rows)


def _ledger(batch: pa.RecordBatch, state: dict[str, Any], tally: Tally) -> Iterator[tuple[str, Any]]:
    counts = batch["counts"]
    names, numbers = counts.flatten().field("name"), counts.flatten().field("number")
    sums = pa.table([names, numbers], ["name", "number"]).group_by("name").aggregate([("number", "sum")])
    for name, number in zip(*(sums[column].to_pylist() for column in ("name", "number_sum")), strict=True):
        tally["ledger", name] += number
    yield "a number is negative", _per_row(_numpy(pc.less(numbers, 0)), _rows_of(counts), batch.num_rows)


def _items(batch: pa.RecordBatch, state: dict[str, Any], tally: Tally) -> Iterator[tuple[str, Any]]:
    tally["items",] += batch.num_rows
    yield "the item has no number", batch["qid"].to_numpy() <= 0
    routes = _numpy(batch["type_route"])
    yield "the route is unknown", ~np.isin(routes, entities.TYPE_ROUTES)
    yield "types and their route disagree", (routes == "none") != (_lengths(batch["types"]) == 0)


def _sitelinks(batch: pa.RecordBatch, state: dict[str, Any], tally: Tally) -> Iterator[tuple[str, Any]]:
    wikis = _numpy(batch["wiki"])
    for wiki, number in Counter(wikis.tolist()).items():
        tally["sitelinks", wiki] += number
    yield "it is of a wiki that was not asked for", ~np.isin(wikis, state["options"].get("wikis", []))
    yield "the item has no number", batch["qid"].to_numpy() <= 0
    known = _numpy(batch["title"].is_valid())
    known = known | _numpy(batch["page_id"].is_valid())
    yield "neither title nor page is known", ~known


def _table(batch: pa.RecordBatch, state: dict[str, Any], tally: Tally) -> Iterator[tuple[str, Any]]:
    begin = tally["entities",]
    tally["entities",] += batch.num_rows
    ids, counts = batch["entity_id"].to_numpy(), batch["count"].to_numpy()
    yield "ids do not go up one by one from 0", ids != np.arange(begin, begin + batch.num_rows)
    before = np.concatenate([[state.get("last", np.iinfo(np.int64).max)], counts[:-1]])
    state["last"] = counts[-1]
    yield "it is linked more often than the entity before it", counts > before
    state.setdefault("qids", []).append(batch["qid"].to_numpy())


def _pairs(batch: pa.RecordBatch, state: dict[str, Any], tally: Tally) -> Iterator[tuple[str, Any]]:
    count = batch.num_rows
    wikis = _numpy(batch["wiki"])
    for wiki, number in Counter(wikis.tolist()).items():
        tally["pairs", wiki] += number
    qids = np.concatenate(state.get("qids", [np.zeros(0, np.int64)]))
    outside, blank = _spans(
        batch["text"], np.arange(count), batch["mention_start"].to_numpy(), batch["mention_end"].to_numpy()
    )
    yield "the link lies outside its text", outside
    yield "the link has white space at its edge", blank
    ids, negatives = batch["entity_id"].to_numpy(), batch["hard_negative_ids"]
    yield "the entity is not in the table", (ids < 0) | (ids >= len(qids))
    yield "entity_id and entity_qid are two entities", _look_up(qids, ids, missing=0) != batch["entity_qid"].to_numpy()
    lengths, rows = _lengths(negatives), _rows_of(negatives)
    flat = negatives.flatten().to_numpy()
    yield "it has another number of hard negatives", lengths != state["options"].get("negatives", lengths)
    yield "the entity is its own hard negative", _per_row(flat == ids[rows], rows, count)
    same = _lengths(batch["hard_negative_qids"]) == lengths
    yield "hard negatives have more ids or more items", ~same
    if same.all():
        other = _look_up(qids, flat, missing=0) != batch["hard_negative_qids"].flatten().to_numpy()
        yield "ids and items of the hard negatives disagree", _per_row(other, rows, count)
    order = np.lexsort((flat, rows))
    twice = np.zeros(len(flat), bool)
    twice[1:] = (rows[order][1:] == rows[order][:-1]) & (flat[order][1:] == flat[order][:-1])
    yield "a hard negative comes twice", _per_row(twice, rows[order], count)
    # The split of each entity that a row was read of, -1 before.
    splits = state.setdefault("splits", np.full(len(qids), -1, np.int8))
    known = (ids >= 0) & (ids < len(qids))
    yield "the entity is in two splits", known & ~np.isin(_look_up(splits, ids, missing=-1), (-1, state["split"]))
    others = _per_row(~np.isin(_look_up(splits, flat, missing=-1), (-1, state["split"])), rows, count)
    yield "a hard negative is in another split", others
    splits[ids[known]] = state["split"]
    routes = _numpy(batch["type_route"])
    yield "the route is unknown", ~np.isin(routes, pairs.TYPE_ROUTES)
    yield "hard negatives without a type", (lengths > 0) & _numpy(batch["type_qid"].is_null())


def _texts(batch: pa.RecordBatch, state: dict[str, Any], tally: Tally) -> Iterator[tuple[str, Any]]:
    tally["texts",] += batch.num_rows
    # As `export` compares texts: without case and white space.
    texts = {name: batch[name] for name in batch.schema.names if name != export.SCORES.name}
    keys = [text_keys(column) for column in texts.values()]
    for name, column in texts.items():
        yield f"{name} is empty", _numpy(pc.equal(column, ""))
    yield "the positive is the anchor", keys[0] == keys[1]
    for number, key in enumerate(keys[2:], 1):
        yield f"negative_{number} is another text of its row", np.any([key == other for other in keys[: number + 1]], 0)
    if len(texts) < batch.num_columns:
        scores = batch[export.SCORES.name]
        yield "it has another number of scores than of other texts", _lengths(scores) != len(texts) - 1
        # Vectors are rounded to 16 bits.
        is_cosine = np.abs(scores.flatten().to_numpy()) <= 1.01
        yield "a score is no cosine", _per_row(~is_cosine, _rows_of(scores), batch.num_rows)


def _origins(batch: pa.RecordBatch, state: dict[str, Any], tally: Tally) -> Iterator[tuple[str, Any]]:
    count, options = batch.num_rows, state["options"]
    for wiki, number in Counter(_numpy(batch["wiki"]).tolist()).items():
        tally["origins", wiki] += number
    qids, negatives = batch["entity_qid"].to_numpy(), batch["negative_qids"]
    yield (
        "it has no item, page or revision",
        ((qids <= 0) | (batch["page_id"].to_numpy() <= 0) | (batch["rev_id"].to_numpy() < 0)),
    )
    rows = _rows_of(negatives)
    yield "it has another number of negatives", _lengths(negatives) != options["negatives"]
    yield "the entity is its own negative", _per_row(negatives.flatten().to_numpy() == qids[rows], rows, count)
    of_wikidata = choices.KINDS[options["kind"]][1] in choices.OF_WIKIDATA
    with_page = 0 if of_wikidata else options["negatives"]
    for name in ("negative_wikis", "negative_page_ids"):
        yield f"it has another number of {name}", _lengths(batch[name]) != with_page
    for name in ("positive_wiki", "positive_page_id"):
        yield (
            f"{name} and --kind disagree",
            _numpy(batch[name].is_valid()) == of_wikidata,
        )


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
    "entities": {"entities": _items, "sitelinks": _sitelinks},
    "pairs": {"entities": _table, "pairs": _pairs},
    "export": {"export": _texts, "sources": _origins},
}
