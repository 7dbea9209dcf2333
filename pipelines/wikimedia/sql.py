"""Read rows from MediaWiki's SQL dumps (`enwiki-20260101-page_props.sql.gz` and others) without a database.

The columns and their order differ between MediaWiki versions, so they are taken from the `CREATE TABLE` statement of
the file. https://www.mediawiki.org/wiki/Manual:Database_layout describes the tables. That statement is compiled into
one regular expression which cuts and parses the rows; values may contain anything, even SQL statements. Time is linear
in the input. Memory is a few windows of `WINDOW` bytes, or a few times the longest row.

Every byte belongs to a comment, a row, or a statement that dumps have; anything else is an error, because a damaged
`INSERT INTO` must not lose its rows in silence. Damage inside a value cannot be told from another value.
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
# The first line of a dump names the program that wrote it; the last line shows that the dump is complete. mysqldump
# --skip-comments writes neither.
_DUMPED = re.compile(rb"(?:\xef\xbb\xbf)?(?:/\*.{,60}\*/;?\s*)?-- (?:MySQL|MariaDB) dump ")
_COMMENT = 200

# Statements of dumps that say nothing about rows. mysqldump, phpMyAdmin and others write them around tables.
_SKIPPED = (
    b"ALTER",
    b"BEGIN",
    b"COMMIT",
    b"CREATE DATABASE",
    b"DELIMITER",
    b"DROP",
    b"LOCK",
    b"SET",
    b"START TRANSACTION",
    b"UNLOCK",
    b"USE",
)
_STARTS = (b"--", b"/*", b"CREATE TABLE", b"INSERT", b"REPLACE", *_SKIPPED)
# No two ways to match the same bytes, so that malformed text fails in linear time.
_INSIDE = rb"[^'\\]*(?:\\.[^'\\]*)*"
_QUOTED = rb"(?:'%b'|\"[^\"\\]*(?:\\.[^\"\\]*)*\"|`[^`\n]*`)" % _INSIDE
_TO_THE_END = rb"[^;'\"`]*(?:%b[^;'\"`]*)*;" % _QUOTED
_STATEMENT = re.compile(
    rb"CREATE TABLE (?:IF NOT EXISTS )?`?(?P<create>\w+)`?\s*\("
    rb"|(?:INSERT|REPLACE) (?:IGNORE )?INTO `?(?P<insert>\w+)\b`?\s*(?:VALUES|(?P<other>[^\sV`]))"
    rb"|(?P<skipped>(?:%b)\b%b)" % (b"|".join(_SKIPPED), _TO_THE_END),
    re.IGNORECASE | re.DOTALL,
)
_OPTIONS = re.compile(_TO_THE_END, re.DOTALL)
_LINE_COMMENT = rb"--(?:[^\S\n][^\n]*)?"
_LAST_LINE = re.compile(_LINE_COMMENT + rb"\Z")
# A byte order mark is also where files were joined. Comments are not nested: a second /* shows a damaged end.
_BETWEEN = re.compile(rb"[\s;]+|\xef\xbb\xbf|(?P<line>%b\n)|/\*[^/*]*(?:(?:/(?!\*)|\*(?!/))[^/*]*)*\*/" % _LINE_COMMENT)
# In a skipped statement or a comment: the end of it is damaged, and it continues in the next statement.
_SWALLOWED = re.compile(rb"\b(?:INSERT|REPLACE) (?:IGNORE )?INTO\b|\bCREATE TABLE\b", re.IGNORECASE)

_DEFINITION_TOKEN = re.compile(rb"'(?:[^'\\]|\\.|'')*'|`[^`\n]*`|[(),]|[^'`(),;]+", re.DOTALL)
_DEFINITION = re.compile(rb"\s*(?:`(?P<quoted>[^`\n]+)`|(?P<bare>\w+)\b)\s*(?P<kind>\w*)")
_NOT_A_COLUMN = {"PRIMARY", "UNIQUE", "KEY", "INDEX", "FULLTEXT", "SPATIAL", "CONSTRAINT", "FOREIGN", "CHECK"}
# https://dev.mysql.com/doc/refman/8.0/en/data-types.html, without those of geometry. A type of no list is damaged.
_OTHER_KINDS = set(
    b"bit bool boolean serial date datetime timestamp time char character varchar nchar nvarchar national binary "
    b"varbinary tinyblob blob mediumblob longblob tinytext text mediumtext longtext long enum set json uuid".split()
)

_BARE = rb"[^,'()]+"
_STRING = rb"(?:(?:'|_binary ')%b'|%b)" % (_INSIDE, _BARE)
# The same, slower where it matches and much faster where a value of many MB has no end yet.
_LONG_INSIDE = rb"(?:[^'\\]*\\.)*[^'\\]*"
_LONG_STRING = rb"(?:(?:'|_binary ')%b'|%b)" % (_LONG_INSIDE, _BARE)
_STRING_CAPTURED = rb"(?:(?:'|_binary ')(%b)'|(%b))" % (_INSIDE, _BARE)
_NUMBER_CAPTURED = rb"(%b)" % _BARE
# The beginning of a row that the end of the window cuts off at any point.
_CUT_ROW = re.compile(
    rb"\s*,\s*(?:\((?:%b,)*(?:%b|(?:'|_binary ')%b(?:\\|')?)?)?\Z" % (_LONG_STRING, _BARE, _LONG_INSIDE), re.DOTALL
)
# Digits. Ids of pages, categories and items are far smaller; longer numbers might not fit into 64 bits.
_LONGEST_INTEGER = 18
_PLAIN_NUMBER = re.compile(rb"[-+.0-9Ee]+")
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
    text = _Text(chunks, source, f"CREATE TABLE `{table}`" if table else "CREATE TABLE")
    parsers: dict[str, _RowParser] = {}
    reading: _RowParser | None = None
    while statement := text.next_statement():
        name = (statement["create"] or statement["insert"]).decode()
        if statement["create"]:
            is_wanted = reading is None and table in (None, name)
            parsers[name] = _RowParser(name, text.definitions(name), columns if is_wanted else (), source)
            reading = parsers[name] if is_wanted else reading
        elif name not in parsers:
            raise text.error(f"rows of {name} before the CREATE TABLE that names their columns")
        elif statement["other"]:
            raise text.error(f"rows of {name} in a form that is not read; dump the table without --complete-insert")
        else:
            for batch in text.rows(parsers[name]):
                yield from batch
    if reading is None:
        raise text.no_table()


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
                cells.append(_BARE if number else _STRING if columns else _LONG_STRING)
            elif number:
                cells.append(_NUMBER_CAPTURED)
                decoders[column] = (number, groups)
                groups += 1
            else:
                cells.append(_STRING_CAPTURED)
                decoders[column] = (_strings, groups)
                groups += 2
        # The last group matches whatever is not a complete row, so that `findall` cannot skip malformed text. With two
        # groups at least it returns tuples.
        self._row = re.compile(
            rb"(?:,|;\s*INSERT INTO `%b` VALUES)\s*\(%b\)\s*%b|(.+)"
            % (name.encode(), b",".join(cells), b"" if columns else b"()"),
            re.DOTALL,
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

    def __init__(self, chunks: Iterable[bytes], source: str, wanted: str) -> None:
        self._wanted = wanted
        self._tables: list[str] = []
        self._windows = (chunk[at : at + WINDOW] for chunk in chunks for at in range(0, len(chunk), WINDOW))
        self._source = source
        self._buffer = b""
        self._head = self._tail = b""
        self._bytes_read = 0

    def error(self, problem: str) -> InputError:
        """Return the error for a problem at the next unread byte."""
        return InputError(f"{self._source}: byte {self._bytes_read - len(self._buffer)} of the SQL text: {problem}")

    def no_table(self) -> InputError:
        """Return the error for a text without the wanted table."""
        tables = f"it has {', '.join(self._tables)}" if self._tables else "is it a SQL dump?"
        return InputError(f"{self._source}: no {self._wanted} in this file; {tables}")

    def next_statement(self) -> re.Match[bytes] | None:
        """Skip to the next CREATE TABLE or INSERT, and past its head; return None at the end.

        Raises:
            InputError: something else than comments and statements of dumps is before it.
        """
        while True:
            self._skip_comments()
            match = _STATEMENT.match(self._buffer)
            if match and match["skipped"]:
                self._skip(match.end())
            elif match:
                self._buffer = self._buffer[match.end() :]
                return match
            elif len(self._buffer) > _LONGEST_CREATE:
                raise self._no_statement()
            elif not self._read(len(self._buffer)):
                if last_line := _LAST_LINE.match(self._buffer):
                    self._skip(last_line.end())
                if self._buffer:
                    raise self._no_statement()
                self._check_end()
                return None

    def _skip_comments(self) -> None:
        while between := _BETWEEN.match(self._buffer):
            if between["line"]:
                self._skip(between.end())
            else:
                self._buffer = self._buffer[between.end() :]

    def _skip(self, size: int) -> None:
        """Skip a comment, or a statement without rows."""
        if _SWALLOWED.search(self._buffer, 0, size):
            raise self.error("what follows continues in the next statement: its end is damaged: fetch the file again")
        self._buffer = self._buffer[size:]

    def _no_statement(self) -> InputError:
        """Return the error for the text at the beginning of the buffer."""
        cut_off = any(start.startswith(self._buffer[: len(start)].upper()) for start in _STARTS)
        if cut_off and b";" not in self._buffer:
            return self._too_short()
        problem = f"{self._buffer[:20]!r} begins no comment and no statement of a dump"
        if self._tables:
            return self.error(f"{problem}: fetch the file again")
        return InputError(f"{self._source}: no {self._wanted} in this file; {problem}: is it a SQL dump?")

    def definitions(self, table: str) -> dict[str, bytes]:
        """Read a CREATE TABLE to its end, and return its columns, name -> type, in order. The buffer begins after the
        opening bracket."""
        while not (parsed := self._parse_definitions(table)):
            if len(self._buffer) > _LONGEST_CREATE:
                raise self.error(f"the CREATE TABLE of {table} does not end")
            if not self._read(len(self._buffer)):
                raise self._too_short()
        columns, size = parsed
        self._skip(size)
        self._tables.append(table)
        return columns

    def _parse_definitions(self, table: str) -> tuple[dict[str, bytes], int] | None:
        try:
            parsed = _definitions(self._buffer)
        except ValueError as error:
            raise self.error(f"in the CREATE TABLE of {table}, {error}: fetch the file again") from None
        end = _OPTIONS.match(self._buffer, parsed[1]) if parsed else None
        return (parsed[0], end.end()) if parsed and end else None

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
    it is incomplete.

    Raises:
        ValueError: a definition is malformed.
    """
    columns: dict[str, bytes] = {}
    definition = b""
    depth = at = 0
    while token := _DEFINITION_TOKEN.match(text, at):
        at = token.end()
        depth += (token[0] == b"(") - (token[0] == b")")
        if depth < 0 or (depth == 0 and token[0] == b","):
            match = _DEFINITION.match(definition)
            name = (match["quoted"] or match["bare"]).decode() if match else ""
            if not match or match["quoted"] or name.upper() not in _NOT_A_COLUMN:
                if not match or match["kind"].lower() not in _KINDS:
                    raise ValueError(f"{definition.strip()[:40]!r} is no column")
                columns[name] = match["kind"]
            definition = b""
            if depth < 0:
                return columns, at
        else:
            definition += token[0]
    if text[at : at + 1] == b";":
        raise ValueError("a semicolon is before its end")
    if text[at : at + 1] == b"`" and b"\n" in text[at:]:
        raise ValueError("a ` has no end")
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
    return _ESCAPED.sub(lambda escape: _ESCAPES.get(escape[1], escape[1]), cell) if b"\\" in plain else plain


def _bare(cell: bytes) -> bytes | None:
    if cell == b"NULL":
        return None
    if cell.startswith(b"0x"):  # mysqldump --hex-blob
        return bytes.fromhex(cell[2:].decode())
    if not _PLAIN_NUMBER.fullmatch(cell):
        raise ValueError(f"{cell[:20]!r} is no value")
    return cell


_NUMBERS: dict[bytes, _Decoder] = {
    **dict.fromkeys((b"tinyint", b"smallint", b"mediumint", b"int", b"integer", b"bigint", b"year"), _integers),
    **dict.fromkeys((b"float", b"double", b"real", b"decimal", b"numeric"), _floats),
}
_KINDS = _NUMBERS.keys() | _OTHER_KINDS
