"""Read rows from MediaWiki's SQL dumps (`enwiki-20260101-page_props.sql.gz` and others) without a database.

The columns and their order differ between MediaWiki versions, so they are taken from the `CREATE TABLE` statement of
the file. https://www.mediawiki.org/wiki/Manual:Database_layout describes the tables. That statement is compiled into
one regular expression which cuts and parses the rows; values may contain anything, even SQL statements. Time is linear
in the input. Memory is a few windows of `WINDOW` bytes, or a few times the longest row.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from wikianchor.io.errors import InputError, Truncated

Value = bytes | int | float | None
_Groups = Sequence[Sequence[bytes]]
_Decoder = Callable[[_Groups, int], Sequence[Value]]

# Bytes of SQL text whose rows are parsed at once.
WINDOW = 1 << 16

# Bytes. MediaWiki's widest column (mediumblob) holds 16 MB, which escaping can double.
_LONGEST_ROW = 32 << 20
_LONGEST_CREATE = 1 << 20
# Bytes. More than `INSERT INTO` with the longest table name, 64 characters.
_LONGEST_HEAD = 512

_STATEMENT = re.compile(
    rb"^(?:\xef\xbb\xbf)?(?:CREATE TABLE (?:IF NOT EXISTS )?`?(?P<create>\w+)`?\s*\("
    rb"|(?:INSERT|REPLACE) (?:IGNORE )?INTO `?(?P<insert>\w+)\b`?\s*(?:VALUES|(?P<other>[^\sV`])))",
    re.IGNORECASE | re.MULTILINE,
)
# The first line of a dump names the program that wrote it; the last line shows that the dump is complete. mysqldump
# --skip-comments writes neither.
_DUMPED = re.compile(rb"(?:\xef\xbb\xbf)?(?:/\*.{,60}\*/;?\s*)?-- (?:MySQL|MariaDB) dump ")
_COMMENT = 200
_HEADS = (b"CREATE TABLE ", b"INSERT INTO ", b"INSERT IGNORE INTO ", b"REPLACE INTO ")

_DEFINITION_TOKEN = re.compile(rb"'(?:[^'\\]|\\.|'')*'|`[^`]*`|[(),]|[^'`(),]+", re.DOTALL)
_DEFINITION = re.compile(rb"\s*(?:`(?P<quoted>[^`\n]+)`|(?P<bare>\w+)\b)\s*(?P<kind>\w+)")
_NOT_A_COLUMN = {"PRIMARY", "UNIQUE", "KEY", "INDEX", "FULLTEXT", "SPATIAL", "CONSTRAINT", "FOREIGN", "CHECK"}

# No two ways to match the same bytes, so that a malformed row fails in linear time.
_INSIDE = rb"[^'\\]*(?:\\.[^'\\]*)*"
_BARE = rb"[^,'()]+"
_STRING = rb"(?:(?:'|_binary ')%b'|%b)" % (_INSIDE, _BARE)
_STRING_CAPTURED = rb"(?:(?:'|_binary ')(%b)'|(%b))" % (_INSIDE, _BARE)
_NUMBER_CAPTURED = rb"(%b)" % _BARE
# The beginning of a row that the end of the window cuts off at any point.
_CUT_ROW = re.compile(
    rb"\s*,\s*(?:\((?:%b,)*(?:%b|(?:'|_binary ')%b(?:\\|')?)?)?\Z" % (_STRING, _BARE, _INSIDE), re.DOTALL
)
# Digits. Ids of pages, categories and items are far smaller; longer numbers might not fit into 64 bits.
_LONGEST_INTEGER = 18
_ITEM_ID = re.compile(rb"Q[0-9]{1,10}")
_ROWS_END = re.compile(rb"\s*;")

_ESCAPED = re.compile(rb"\\(.)", re.DOTALL)
# https://dev.mysql.com/doc/refman/8.0/en/string-literals.html; any other escaped byte stands for itself.
_ESCAPES = {b"0": b"\0", b"b": b"\b", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"Z": b"\x1a", b"%": b"\\%", b"_": b"\\_"}


def read_table(
    chunks: Iterable[bytes], columns: Sequence[str], table: str | None = None, source: str = "the SQL dump"
) -> Iterator[tuple[Value, ...]]:
    """Read columns of every row of one table.

    Args:
        chunks: the decompressed file in chunks of any size; a few MB each are best.
        columns: names of the columns to return, in this order.
        table: name of the table; by default the first table that the file creates.
        source: name of the file, for messages.

    Yields:
        One tuple per row: `int` for integer columns, `float` for fractions, None for NULL, and `bytes` for all others
        (titles and property values are UTF-8, sort keys need not be).

    Raises:
        InputError: the table or a column is missing, or a row does not fit the table. The message contains the byte
            offset in the decompressed text.
        Truncated: the file ends too early.

    >>> dump = b"CREATE TABLE `t` (`id` int, `name` varbinary(9));\\nINSERT INTO `t` VALUES (1,'a'),(2,NULL);\\n"
    >>> list(read_table([dump], ["name", "id"]))
    [(b'a', 1), (None, 2)]
    """
    text = _Text(chunks, source)
    tables: list[str] = []
    reading: _RowParser | None = None
    while statement := text.next_statement():
        name = (statement["create"] or statement["insert"]).decode()
        if statement["create"]:
            definitions = text.definitions(name)
            tables.append(name)
            if reading is None and table in (None, name):
                reading = _RowParser(name, definitions, columns, source)
        elif name != (reading.name if reading else table or name):
            continue
        elif reading is None:
            raise text.error(f"rows of {name} before the CREATE TABLE that names their columns")
        elif statement["other"]:
            raise text.error(f"rows of {name} in a form that is not read; dump the table without --complete-insert")
        else:
            for batch in text.rows(reading):
                yield from batch
    if reading is None:
        wanted = f"CREATE TABLE `{table}`" if table else "CREATE TABLE"
        raise InputError(
            f"{source}: no {wanted} in this file; " + (f"it has {', '.join(tables)}" if tables else "is it a SQL dump?")
        )


def page_props_items(chunks: Iterable[bytes], source: str = "the page_props dump") -> Iterator[tuple[int, int]]:
    """Yield (page id, number of the Wikidata item) for each page that has an item, from a `page_props` dump.

    Raises:
        InputError: see `read_table`; or a `wikibase_item` is no item id.
        Truncated: the file ends too early.
    """
    for page, name, value in read_table(chunks, ("pp_page", "pp_propname", "pp_value"), "page_props", source):
        if name != b"wikibase_item":
            continue
        if not (isinstance(page, int) and isinstance(value, bytes) and _ITEM_ID.fullmatch(value)):
            raise InputError(f"{source}: page {page!r} has the wikibase_item {value!r:.40}, which is no item id")
        yield page, int(value[1:])


class _RowParser:
    """Parses the rows of one table by a regular expression made of its column definitions."""

    def __init__(self, name: str, definitions: dict[str, bytes], columns: Sequence[str], source: str) -> None:
        for column in columns:
            if column not in definitions:
                raise InputError(f"{source}: table {name} has no column {column}; it has {', '.join(definitions)}")
        self.name = name
        self.width = len(definitions)
        wanted = set(columns)
        cells: list[bytes] = []
        # By column: its decoder and its first group in the expression.
        decoders: dict[str, tuple[_Decoder, int]] = {}
        groups = 0
        for column, kind in definitions.items():
            number = _NUMBERS.get(kind.lower())
            if column not in wanted:
                cells.append(_BARE if number else _STRING)
            elif number:
                cells.append(_NUMBER_CAPTURED)
                decoders[column] = (number, groups)
                groups += 1
            else:
                cells.append(_STRING_CAPTURED)
                decoders[column] = (_strings, groups)
                groups += 2
        # The last group matches whatever is not a complete row, so that `findall` cannot skip malformed text.
        self._row = re.compile(
            rb"(?:,|;\s*INSERT INTO `%b` VALUES)\s*\(%b\)\s*|(.+)" % (name.encode(), b",".join(cells)), re.DOTALL
        )
        self._columns = [decoders[column] for column in columns]

    def parse(self, text: bytes) -> tuple[Iterator[tuple[Value, ...]], bytes]:
        """Return the rows at the beginning of `text`, each after a comma or a new INSERT, and the rest of the text.

        Raises:
            ValueError: a number column contains something else.
        """
        rows = self._row.findall(text)
        rest = rows.pop()[-1] if rows and rows[-1][-1] else b""
        if not rows:
            return iter(()), rest
        # Column by column, so that most loops run in C.
        groups = list(zip(*rows, strict=True))
        return zip(*[decode(groups, group) for decode, group in self._columns], strict=True), rest


class _Text:
    """The SQL text, read forward. The buffer begins at the next unread byte."""

    def __init__(self, chunks: Iterable[bytes], source: str) -> None:
        self._windows = (chunk[at : at + WINDOW] for chunk in chunks for at in range(0, len(chunk), WINDOW))
        self._source = source
        self._buffer = b""
        self._head = self._tail = b""
        self._bytes_read = 0

    def error(self, problem: str) -> InputError:
        """Return the error for a problem at the next unread byte."""
        return InputError(f"{self._source}: byte {self._bytes_read - len(self._buffer)} of the SQL text: {problem}")

    def next_statement(self) -> re.Match[bytes] | None:
        """Skip to the next CREATE TABLE or INSERT at the start of a line, and past its head; return None at the end."""
        while not (match := _STATEMENT.search(self._buffer)):
            # Keep only the beginning of an unfinished line: the rows of another table can be one line of many MB.
            line = self._buffer.rfind(b"\n") + 1
            self._buffer = self._buffer[line : line + _LONGEST_HEAD]
            if not self._read(1):
                if self._buffer and any(head.startswith(self._buffer[: len(head)].upper()) for head in _HEADS):
                    raise self._too_short()
                self._check_end()
                return None
        self._buffer = self._buffer[match.end() :]
        return match

    def definitions(self, table: str) -> dict[str, bytes]:
        """Read the columns of a CREATE TABLE, name -> type, in order. The buffer begins after the opening bracket."""
        while not (parsed := _definitions(self._buffer)):
            if len(self._buffer) > _LONGEST_CREATE:
                raise self.error(f"the CREATE TABLE of {table} does not end")
            if not self._read(len(self._buffer)):
                raise self._too_short()
        columns, size = parsed
        self._buffer = self._buffer[size:]
        return columns

    def rows(self, table: _RowParser) -> Iterator[Iterator[tuple[Value, ...]]]:
        """Yield batches of rows from VALUES to the end of the statement and of INSERTs that directly follow."""
        self._buffer = b"," + self._buffer
        while True:
            try:
                batch, self._buffer = table.parse(self._buffer)
            except ValueError as error:
                raise self.error(f"in the rows of {table.name} that follow, {error}") from None
            yield batch
            if end := _ROWS_END.match(self._buffer):
                self._buffer = self._buffer[end.end() :]
                return
            if self._buffer.strip() and not _CUT_ROW.match(self._buffer):
                raise self.error(f"what follows is no row of the {table.width} columns of {table.name}")
            if len(self._buffer) > _LONGEST_ROW:
                raise self.error(f"a row of {table.name} is longer than {_LONGEST_ROW >> 20} MB")
            # Double the buffer, so that a row much longer than a window is not parsed again at every window.
            if not self._read(len(self._buffer)):
                raise self._too_short()

    def _read(self, size: int) -> bool:
        """Append `size` bytes or more to the buffer, fewer at the end of the text; return False if there are none."""
        parts = [self._buffer]
        while (window := next(self._windows, b"")) and (size := size - len(window)) > 0:
            parts.append(window)
        if window:
            parts.append(window)
        self._buffer = b"".join(parts)
        for part in parts[1:]:
            if len(self._head) < _COMMENT:
                self._head = (self._head + part)[:_COMMENT]
            self._tail = (self._tail + part)[-_COMMENT:]
            self._bytes_read += len(part)
        return len(parts) > 1

    def _check_end(self) -> None:
        """Check for mysqldump's last line, because a file cut off between two statements is valid SQL."""
        if _DUMPED.match(self._head) and b"-- Dump completed" not in self._tail:
            raise self._too_short()

    def _too_short(self) -> Truncated:
        return Truncated(f"{self._source}: cut off at byte {self._bytes_read} of the SQL text: fetch it again")


def _definitions(text: bytes) -> tuple[dict[str, bytes], int] | None:
    """Parse column definitions after the opening bracket; return columns -> types and the length of that text, None if
    it is incomplete."""
    columns: dict[str, bytes] = {}
    definition = b""
    depth = at = 0
    while token := _DEFINITION_TOKEN.match(text, at):
        at = token.end()
        depth += (token[0] == b"(") - (token[0] == b")")
        if depth < 0 or (depth == 0 and token[0] == b","):
            match = _DEFINITION.match(definition)
            if match and (match["quoted"] or match["bare"].decode().upper() not in _NOT_A_COLUMN):
                columns[(match["quoted"] or match["bare"]).decode()] = match["kind"]
            definition = b""
            if depth < 0:
                return columns, at
        else:
            definition += token[0]
    return None


def _integers(groups: _Groups, group: int) -> Sequence[Value]:
    cells = groups[group]
    if cells and max(map(len, cells)) > _LONGEST_INTEGER:
        raise ValueError(f"a number has more than {_LONGEST_INTEGER} digits")
    try:
        return list(map(int, cells))
    except ValueError:
        return [None if cell == b"NULL" else int(cell) for cell in cells]


def _floats(groups: _Groups, group: int) -> Sequence[Value]:
    return [None if cell == b"NULL" else float(cell) for cell in groups[group]]


def _strings(groups: _Groups, group: int) -> Sequence[Value]:
    """Return the values of a column from its two groups: quoted text and unquoted text."""
    inside: list[Value] = [_unescape(cell) if b"\\" in cell else cell for cell in groups[group]]
    bare = groups[group + 1]
    return [_bare(cell) if cell else inside[row] for row, cell in enumerate(bare)] if any(bare) else inside


def _unescape(cell: bytes) -> bytes:
    # Most escapes are apostrophes, and an apostrophe inside a value is always escaped: undo these first.
    plain = cell.replace(b"\\'", b"'")
    if b"\\" not in plain:
        return plain
    return _ESCAPED.sub(lambda escape: _ESCAPES.get(escape[1], escape[1]), cell)


def _bare(cell: bytes) -> bytes | None:
    if cell == b"NULL":
        return None
    return bytes.fromhex(cell[2:].decode()) if cell.startswith(b"0x") else cell  # 0x: mysqldump --hex-blob


_NUMBERS: dict[bytes, _Decoder] = {
    **dict.fromkeys((b"tinyint", b"smallint", b"mediumint", b"int", b"integer", b"bigint", b"year"), _integers),
    **dict.fromkeys((b"float", b"double", b"real", b"decimal", b"numeric"), _floats),
}
