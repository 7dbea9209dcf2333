"""Files of compressed text: what is written is read again, and damage is one line."""

import gzip
from pathlib import Path

import pyarrow as pa
import pytest

from wikianchor.io.errors import InputError
from wikianchor.pipelines.dataset.text_parts import ENDINGS, LINES, TextPartWriter, read_text_batches

SCHEMA = pa.schema([("anchor", pa.string()), ("positive", pa.string())])
ROWS = pa.table({"anchor": ['a "b",\n', "", "日本"], "positive": ["x", "NULL", "1"]}, SCHEMA)


def write(directory: Path, kind: str, *tables: pa.Table) -> Path:
    with TextPartWriter(str(directory), "pairs", 0, kind) as writer:
        for table in tables:
            writer.write(table)
    assert writer.part is not None
    return Path(writer.part.path)


@pytest.mark.parametrize("kind", sorted(ENDINGS))
def test_rows_are_read_as_they_were_written(kind: str, tmp_path: Path) -> None:
    many = pa.table({name: [str(number) for number in range(LINES)] for name in SCHEMA.names}, SCHEMA)
    path = write(tmp_path, kind, ROWS, ROWS.slice(0, 0), many)
    batches = list(read_text_batches(str(path), SCHEMA))
    assert pa.Table.from_batches(batches).equals(pa.concat_tables([ROWS, many]).combine_chunks())
    assert max(batch.num_rows for batch in batches) <= 2 * LINES


@pytest.mark.parametrize("kind", sorted(ENDINGS))
@pytest.mark.parametrize("harm", ["cut", "other", "missing"])
def test_a_damaged_file_is_one_line(kind: str, harm: str, tmp_path: Path) -> None:
    path = write(tmp_path, kind, ROWS)
    if harm == "cut":
        path.write_bytes(path.read_bytes()[:-12])
    elif harm == "other":
        path.write_bytes(gzip.compress(b'{"anchor": "no end\n\x00,"'))
    else:
        path.unlink()
    with pytest.raises(InputError) as raised:
        list(read_text_batches(str(path), SCHEMA))
    assert str(raised.value).startswith(f"{path}: ")
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("kind", sorted(ENDINGS))
def test_other_columns_are_named(kind: str, tmp_path: Path) -> None:
    path = write(tmp_path, kind, ROWS.rename_columns(["anchor", "text"]))
    with pytest.raises(InputError, match="has the columns anchor, text, the schema says anchor, positive"):
        list(read_text_batches(str(path), SCHEMA))
