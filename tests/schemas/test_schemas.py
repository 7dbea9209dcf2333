"""The contract: what every schema says of itself, and the columns that others rely on."""

import ast
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from wikianchor import schemas
from wikianchor.pipelines.pairs.decisions import ROW_SCHEMA
from wikianchor.pipelines.pairs.entity_table import ROUTES
from wikianchor.schemas import documents, entities, pairs, sentences, titles

ALL = {
    "entities": entities.SCHEMA,
    "sitelinks": entities.SITELINKS,
    "pairs": pairs.SCHEMA,
    "pairs.entities": pairs.ENTITIES,
    "sentences": sentences.SCHEMA,
    "titles": titles.SCHEMA,
    "documents": documents.SCHEMA,
}


@pytest.mark.parametrize("name", ALL)
def test_a_schema_says_what_it_is_and_what_each_column_means(name: str, tmp_path: Path) -> None:
    schema = ALL[name]
    # Said in the file itself, to whoever reads it.
    pq.write_table(schema.empty_table(), tmp_path / "empty.parquet")
    stored = pq.read_schema(tmp_path / "empty.parquet")
    assert stored.equals(schema, check_metadata=True)
    assert stored.metadata[b"wikianchor.dataset"] == name.encode()
    assert stored.metadata[b"wikianchor.schema_version"].count(b".") == 1
    for column in stored:
        assert column.metadata[b"description"], column.name


def test_pairs_have_the_columns_that_trainers_read() -> None:
    integers = {name: pairs.SCHEMA.field(name).type for name in ("mention_start", "mention_end", "entity_id")}
    assert set(integers.values()) == {pa.int32()}
    for name in ("entity_qid", "sentence_id", "page_id", "rev_id", "type_qid"):
        assert pairs.SCHEMA.field(name).type == pa.int64()
    assert pairs.SCHEMA.field("hard_negative_ids").type.value_type == pa.int32()
    assert pairs.SCHEMA.field("hard_negative_qids").type.value_type == pa.int64()
    nullable = {column.name for column in pairs.SCHEMA if column.nullable}
    assert nullable == {"type_qid"}


def test_what_the_pipelines_write_is_what_the_schema_names() -> None:
    assert set(ROUTES) == set(pairs.TYPE_ROUTES)
    # A row in the shuffle has two hashes more.
    assert ROW_SCHEMA.names[:-2] == pairs.SCHEMA.names


def test_schemas_import_nothing_of_ours() -> None:
    for path in Path(schemas.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            sides = ("wikianchor.pipelines", "wikianchor.trainer", "tests")
            assert not any(name.startswith(sides) for name in names), path
