"""Rows out of SQL dumps: every form of value, cuts anywhere, broken files, and every real sample."""

import gzip
import itertools
import re
import time
import tracemalloc
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wikianchor.io.errors import InputError, Truncated
from wikianchor.pipelines.wikimedia import sql
from wikianchor.pipelines.wikimedia.sql import Value, page_props_items, read_table

FIRST = b"-- MySQL dump 10.13  Distrib 5.1.66, for debian-linux-gnu (x86_64)\n"
HEAD = rb"""--
-- Host: it's "here"    Database: simplewiki
/*!40101 SET NAMES utf8mb4 */;

DROP TABLE IF EXISTS `page_props`;
CREATE TABLE `page_props` (
  `pp_page` int(10) unsigned NOT NULL,
  `pp_propname` varbinary(60) NOT NULL DEFAULT '',
  `pp_value` blob NOT NULL COMMENT 'holds anything, (even) ''this''; `that`',
  `pp_sortkey` float DEFAULT NULL,
  PRIMARY KEY (`pp_page`,`pp_propname`),
  UNIQUE KEY `pp_propname_page` (`pp_propname`,`pp_page`),
  KEY `pp_sortkey` (`pp_sortkey`)
) ENGINE=InnoDB AUTO_INCREMENT=126 DEFAULT CHARSET=binary;

/*!40000 ALTER TABLE `page_props` DISABLE KEYS */;
"""
ROWS = rb"""INSERT INTO `page_props` VALUES (1,'wikibase_item','Q42',NULL),(1,'displaytitle','L\'Aquila, \"x\"',-1.5);
INSERT INTO `page_props` VALUES
  (2,'wikibase_item','Q7',7),
  (3,'odd','a),(b; INSERT INTO `page_props` VALUES (9,\'x\',\'y\',0);\n--',1e-05)
;
"""
TAIL = rb"""/*!40000 ALTER TABLE `page_props` ENABLE KEYS */;
-- Dump completed on 2026-01-01  1:02:03
"""
DUMP = FIRST + HEAD + ROWS + TAIL
OTHER = b"""DROP TABLE IF EXISTS `other`;
CREATE TABLE `other` (`a` int, `b` text);
LOCK TABLES `other` WRITE;
INSERT INTO `other` VALUES (1,'x'),(2,NULL);
UNLOCK TABLES;
"""
ALL = ("pp_page", "pp_propname", "pp_value", "pp_sortkey")
EXPECTED = [
    (1, b"wikibase_item", b"Q42", None),
    (1, b"displaytitle", b'L\'Aquila, "x"', -1.5),
    (2, b"wikibase_item", b"Q7", 7.0),
    (3, b"odd", b"a),(b; INSERT INTO `page_props` VALUES (9,'x','y',0);\n--", 1e-05),
]


def rows(text: bytes, columns: Iterable[str] = ALL, table: str | None = None) -> list[tuple[Value, ...]]:
    return list(read_table([text], tuple(columns), table, "x.sql"))


def insert(*values: bytes) -> bytes:
    """A dump of pp_value alone."""
    cells = b",".join(b"(1,'p',%b,NULL)" % value for value in values)
    return HEAD + b"INSERT INTO `page_props` VALUES " + cells + b";\n" + TAIL


class TestColumns:
    def test_all(self) -> None:
        assert rows(DUMP) == EXPECTED

    @pytest.mark.parametrize("columns", [["pp_value"], ["pp_sortkey", "pp_page"], ["pp_page", "pp_page"]])
    def test_by_name_in_the_order_asked(self, columns: list[str]) -> None:
        assert rows(DUMP, columns) == [tuple(row[ALL.index(column)] for column in columns) for row in EXPECTED]

    def test_a_missing_column_names_those_there_are(self) -> None:
        with pytest.raises(
            InputError, match=r"^x\.sql: .*page_props.* no column pp_title; it has pp_page, pp_propname, "
        ):
            rows(DUMP, ["pp_title"])

    def test_a_table_by_name_among_others(self) -> None:
        other = (
            b"CREATE TABLE `site_stats` (`ss_id` int, `note` blob);\nINSERT INTO `site_stats` VALUES (1,'x'),(2,'y');\n"
        )
        assert rows(other + DUMP, table="page_props") == EXPECTED
        assert rows(DUMP + other, ["note", "ss_id"], "site_stats") == [(b"x", 1), (b"y", 2)]
        assert rows(other + DUMP, ["ss_id"]) == [(1,), (2,)]

    def test_no_such_table(self) -> None:
        with pytest.raises(InputError, match=r"^x\.sql: no CREATE TABLE `page`.* has page_props"):
            rows(DUMP, table="page")

    def test_a_file_that_is_no_dump(self) -> None:
        with pytest.raises(InputError, match=r"^x\.sql: .* is it a SQL dump\?"):
            rows(b"(1,'sk','Bratislava')\n(2,'sk','Dunaj')\n")

    def test_rows_before_their_table(self) -> None:
        with pytest.raises(InputError, match="before the CREATE TABLE"):
            rows(ROWS + HEAD)

    def test_an_insert_with_a_column_list_is_refused_not_passed_over(self) -> None:
        with pytest.raises(InputError, match="--complete-insert"):
            rows(HEAD + b"INSERT INTO `page_props` (`pp_page`) VALUES (1);\n")

    def test_an_empty_table(self) -> None:
        assert rows(HEAD + TAIL) == []


class TestValues:
    @pytest.mark.parametrize(
        ("written", "value"),
        [
            (rb"''", b""),
            (rb"'NULL'", b"NULL"),
            (rb"NULL", None),
            (rb"'\\'", b"\\"),
            (rb"'\\\\\''", b"\\\\'"),
            (rb"'\'\''", b"''"),
            (rb"'\0\b\n\r\t\Z\"\%\_\x'", b'\0\b\n\r\t\x1a"\\%\\_x'),
            (b"'\xff\xfe\x00\n'", b"\xff\xfe\x00\n"),
            (b"'\xe6\x9d\xb1\xe4\xba\xac'", "東京".encode()),
            (rb"'),('", b"),("),
            (b"'\nINSERT INTO `page_props` VALUES (1,2,3,4);\n'", b"\nINSERT INTO `page_props` VALUES (1,2,3,4);\n"),
            (rb"0x00FF27", b"\x00\xff'"),
            (rb"_binary 'a\'b'", b"a'b"),
            (rb"-12", b"-12"),
        ],
    )
    def test_strings(self, written: bytes, value: Value) -> None:
        assert rows(insert(b"'before'", written, b"'after'"), ["pp_value"]) == [(b"before",), (value,), (b"after",)]

    def test_numbers(self) -> None:
        head = b"CREATE TABLE `t` (`a` bigint(20) DEFAULT NULL, `b` double unsigned NOT NULL, `c` decimal(4,2));\n"
        text = head + b"INSERT INTO `t` VALUES (-9007199254740993,0.5,-1.25),(NULL,3,NULL);\n"
        assert rows(text, "abc") == [(-9007199254740993, 0.5, -1.25), (None, 3.0, None)]

    def test_a_word_in_a_number_column(self) -> None:
        with pytest.raises(InputError, match=r"^x\.sql: byte \d+ .*abc"):
            rows(HEAD + b"INSERT INTO `page_props` VALUES (abc,'p','v',NULL);\n")


class TestLayout:
    """The same rows, however the file is laid out."""

    @pytest.mark.parametrize(
        "text",
        [
            DUMP.replace(b"\n", b"\r\n").replace(b"\\r\\n", b"\\n"),
            b"\xef\xbb\xbf" + DUMP[DUMP.index(b"CREATE") :],
            DUMP.replace(b"),(1", b");\nINSERT INTO `page_props` VALUES (1"),
            DUMP.replace(b"),(1", b");INSERT IGNORE INTO `page_props` VALUES (1"),
            DUMP.replace(b"),(1", b")\n,\n(1"),
        ],
    )
    def test_layout(self, text: bytes) -> None:
        assert rows(text) == EXPECTED

    @given(st.lists(st.integers(0, len(DUMP)), max_size=20))
    def test_chunks_may_be_cut_anywhere(self, cuts: list[int]) -> None:
        edges = [0, *sorted(cuts), len(DUMP)]
        assert list(read_table((DUMP[a:b] for a, b in itertools.pairwise(edges)), ALL)) == EXPECTED

    @pytest.mark.parametrize("size", [1, 2, 3, 7, 64])
    def test_chunks_of_few_bytes(self, size: int) -> None:
        assert list(read_table((DUMP[a : a + size] for a in range(0, len(DUMP), size)), ALL)) == EXPECTED

    @given(
        st.lists(
            st.tuples(
                st.integers(-(2**40), 2**40) | st.none(),
                st.binary() | st.sampled_from([b"'", b"\\", b"'),('", b"\\'", b";\nINSERT INTO `t` VALUES (1,'x')"]),
                st.binary() | st.none(),
                st.floats(allow_nan=False, allow_infinity=False) | st.none(),
            )
        ),
        st.integers(1, 300),
    )
    def test_whatever_is_written_is_read(self, values: list[tuple[Value, ...]], size: int) -> None:
        def write(value: Value) -> bytes:
            if value is None:
                return b"NULL"
            if not isinstance(value, bytes):
                return repr(value).encode()
            escapes = {0: b"\\0", 10: b"\\n", 13: b"\\r", 26: b"\\Z", 34: b'\\"', 39: b"\\'", 92: b"\\\\"}
            return b"'%b'" % b"".join(escapes.get(byte, bytes([byte])) for byte in value)

        body = b",".join(b"(%b)" % b",".join(map(write, row)) for row in values)
        text = b"CREATE TABLE `t` (`a` bigint, `b` blob, `c` blob, `d` double);\n"
        text += b"INSERT INTO `t` VALUES " + body + b";\n" if values else b""
        assert list(read_table((text[a : a + size] for a in range(0, len(text), size)), "abcd")) == values


class TestStatements:
    """Every byte outside of rows belongs to a comment or a statement that dumps have."""

    @pytest.mark.parametrize(
        "statement",
        [
            b"SET SQL_MODE = \"a;b\";\nSTART TRANSACTION;\nSET time_zone = '+00:00';\nCOMMIT;",
            b"CREATE DATABASE /*!32312 IF NOT EXISTS*/ `wiki`;\n\nUSE `wiki`;",
            b"LOCK TABLES `page_props` WRITE;\nUNLOCK TABLES;",
            b"/*!50001 CREATE TABLE `view` (\n `a` int\n) */;",
            b"DELIMITER ;;\n/*!50003 CREATE*/ /*!50003 TRIGGER t INSERT INTO log VALUES (1); END */;;\nDELIMITER ;",
            b"CREATE TABLE `p` (`a` int) ENGINE=InnoDB COMMENT='a; b'\n/*!50100 PARTITION BY HASH (a) */;",
            b"--\n--\ttext; text\n/* text -- * / */\n\xef\xbb\xbf",
        ],
    )
    def test_statements_of_dumps(self, statement: bytes) -> None:
        for size in (1, 1000):
            text = statement + b"\n" + DUMP
            pieces = (text[at : at + size] for at in range(0, len(text), size))
            assert list(read_table(pieces, ALL, "page_props")) == EXPECTED

    @pytest.mark.parametrize(
        ("statement", "problem"),
        [
            (b"INSEPT INTO `page_props` VALUES (9,'p','v',NULL);", "b'INSEPT INTO `page_pr' begins no comment and no"),
            (b"INSERT INTO `page_prups` VALUES (9,'p','v',NULL);", "rows of page_prups before the CREATE TABLE"),
            (b"(9,'p','v',NULL);", "begins no comment"),
            (b"# INSERT INTO `page_props`\n", "begins no comment"),
            (b"/* a comment *+;\n", "begins no comment"),
            (b"-- a comment ", "its end is damaged"),
            (b"UNLOCK TABLES", "its end is damaged"),
            (b"CREATE TABLE `t` (`a` int)", "its end is damaged"),
            (b"CREATE TABLE `t` (`a` inu);", "in the CREATE TABLE of t, b'`a` inu' is no column"),
            (b"CREATE TABLE `t` (`a int);", "a ` has no end"),
            (b"CREATE TABLE `t` (`a` int;", "a semicolon is before its end"),
        ],
    )
    def test_damaged_statements(self, statement: bytes, problem: str) -> None:
        first, second = ROWS.split(b"\n", 1)
        head = HEAD + first + b"\n"
        with pytest.raises(InputError, match=rf"^x\.sql: byte \d+ of the SQL text: .*{problem}") as raised:
            rows(head + statement + second + TAIL, table="page_props")
        byte = int(str(raised.value).split()[2])
        assert len(head) <= byte <= len(head) + 31  # past the head of an INSERT

    def test_a_flipped_byte_is_an_error_or_gives_as_many_rows(self) -> None:
        text = FIRST + OTHER + HEAD + ROWS + TAIL
        start = text.index(ROWS)
        for at, mask in itertools.product(range(len(text)), (0xFF, 1, 16, 32)):
            damaged = bytearray(text)
            damaged[at] ^= mask
            try:
                read = rows(bytes(damaged), table="page_props")
            except InputError:
                continue
            # A damaged byte inside a value is another value.
            if start <= at < start + len(ROWS):
                assert len(read) == len(EXPECTED), (at, mask)
            else:
                assert read == EXPECTED, (at, mask)

    def test_a_bare_word_is_no_value(self) -> None:
        with pytest.raises(InputError, match=r"^x\.sql: byte \d+ .* b'NVLL' is no value"):
            rows(insert(b"NVLL"))


class TestBrokenFiles:
    def test_every_cut_is_noticed(self) -> None:
        for size in range(DUMP.index(b"CREATE") + 12, DUMP.index(b"-- Dump") + 17):
            with pytest.raises(Truncated, match=rf"^x\.sql: cut off at byte {size} of the SQL text: fetch it again$"):
                rows(DUMP[:size])

    def test_a_cut_between_statements_is_noticed_in_pieces_of_any_size(self) -> None:
        # The first line, which says that there is a last one, comes in several pieces.
        text = DUMP[: DUMP.index(b"-- Dump")]
        for size in (1, 7, 1000):
            with pytest.raises(Truncated, match=f"cut off at byte {len(text)} "):
                list(read_table((text[at : at + size] for at in range(0, len(text), size)), ALL))

    def test_without_comments_a_cut_between_statements_is_as_good_as_an_end(self) -> None:
        dump = HEAD + ROWS + TAIL
        for size in range(dump.index(b"CREATE") + 12, len(dump)):
            try:
                rows(dump[:size])
            except Truncated as error:
                assert f"at byte {size} " in str(error)  # noqa: PT017
            else:
                assert size < dump.index(b"INSERT") or size >= dump.index(b";\nINSERT") + 1

    @pytest.mark.parametrize(
        "row",
        [b"(1,'p','v')", b"(1,'p','v',NULL,5)", b"(1,'p','v' 'w',NULL)", b"junk", b"(1, 'p','v',NULL)"],
    )
    def test_a_row_that_does_not_fit(self, row: bytes) -> None:
        offset = len(HEAD + b"INSERT INTO `page_props` VALUES (1,'p','v',2)")
        with pytest.raises(InputError, match=rf"^x\.sql: byte {offset} of the SQL text: .* no row of the 4 columns"):
            rows(HEAD + b"INSERT INTO `page_props` VALUES (1,'p','v',2)," + row + b",(3,'p','v',NULL);\n")

    def test_a_row_without_end(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sql, "_LONGEST_ROW", 10_000)
        with pytest.raises(InputError, match="longer than"):
            rows(insert(b"'" + b"x" * 1_000_000))


def test_memory_does_not_grow_with_the_file() -> None:
    def text(megabytes: int) -> Iterator[bytes]:
        yield b"CREATE TABLE `other` (`x` blob);\nINSERT INTO `other` VALUES "
        for _ in range(megabytes):
            yield b"('%b')," % (b"y" * (1 << 20))
        yield b"('');\n" + HEAD + b"INSERT INTO `page_props` VALUES (1,'p','v',NULL)"
        for _ in range(megabytes):
            yield b",(1,'p','v',NULL)" * 30_000
        yield b";\n"

    size = sum(map(len, text(8)))
    tracemalloc.start()
    assert sum(1 for _ in read_table(text(8), ALL, "page_props")) == 1 + 8 * 30_000
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < size / 2


def test_a_row_longer_than_many_chunks_is_not_tried_at_each_of_them() -> None:
    size = 4 << 20
    text = insert(b"'" + (b"x" * 62 + b"\\'") * (size >> 6) + b"'")
    start = time.process_time()
    assert [
        len(value) for (value,) in read_table((text[a : a + 512] for a in range(0, len(text), 512)), ["pp_value"])
    ] == [(size >> 6) * 63]
    assert time.process_time() - start < 20  # a second or two; minutes were it tried at each


class TestPageProps:
    def test_items(self) -> None:
        assert list(page_props_items([DUMP])) == [(1, 42), (2, 7)]

    def test_not_an_item_id(self) -> None:
        with pytest.raises(InputError, match=r"^x\.sql: page 2 has the wikibase_item b'P7'"):
            list(page_props_items([DUMP.replace(b"Q7", b"P7")], "x.sql"))


@pytest.mark.real
class TestRealDumps:
    COUNTS: ClassVar = {
        "mwsql_testfile.sql.gz": 84,
        "itwikibooks-20240301-iwlinks.sql.gz": 0,
        "itwikibooks-20240301-linktarget.sql.gz": 2,
        "itwikibooks-20240301-page.sql.gz": 3,
        "itwikibooks-20240301-page_props.sql.gz": 3,
        "itwikibooks-20240301-pagelinks.sql.gz": 3,
        "loginwiki-20240501-iwlinks.sql.gz": 0,
        "loginwiki-20240501-page.sql.gz": 1,
        "loginwiki-20240501-page_props.sql.gz": 0,
        "loginwiki-20240501-pagelinks.sql.gz": 0,
        "metawiki-20240401-pagelinks.sql.gz": 0,
        "metawiki-20240401-sites.sql.gz": 1025,
        "input-dewiki-SQLcategories.sql": 4,
        "input-dewiki-SQLcategorylinks.sql": 4,
        "sample-skwiki-latest-pagelinks.sql": 97465,
        "sample_categories_input-enwiki-latest-categorylinks.sql": 9,
        "sample_input-enwiki-SQLcategories.sql": 6,
        "sample_input_enwiki-latest-categorylinks-test.sql": 31,
        "sample_input_enwiki-latest-page-test.sql": 88,
        "wikibrain_pagelinks.sql": 1003,
        "wdtk_wikidatawiki-20140420-sites.sql": 880,
    }
    ROWS_ALONE: ClassVar = {
        "sample_input_huwiki-latest-langlinks.sql",
        "sample_input_huwiki-latest-page.sql",
        "sample_input_skwiki-latest-langlinks.sql",
        "sample_input_skwiki-latest-page.sql",
    }

    # Taken from the start of a dump by those who made the sample.
    CUT_OFF: ClassVar = {
        "sample-skwiki-latest-pagelinks.sql",
        "sample_input_enwiki-latest-categorylinks-test.sql",
        "sample_input_enwiki-latest-page-test.sql",
        "sample_input-enwiki-SQLcategories.sql",
        "sample_categories_input-enwiki-latest-categorylinks.sql",
        "wikibrain_pagelinks.sql",
    }

    def test_every_file(self, data_dir: Path) -> None:
        seen = set()
        for path in sorted([*data_dir.glob("sql/**/*.sql*"), *data_dir.glob("wikidata/*.sql")]):
            text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
            seen.add(path.name)
            if path.name in self.ROWS_ALONE:
                with pytest.raises(InputError, match=r"is it a SQL dump\?"):
                    list(read_table([text], ["page_id"], source=path.name))
                continue
            definition = re.search(rb"CREATE TABLE `\w+` \((.*?)\n\)", text, re.DOTALL)
            assert definition
            columns = [name.decode() for name in re.findall(rb"^ *`(\w+)`", definition[1], re.MULTILINE)]
            rows = []
            with pytest.raises(Truncated) if path.name in self.CUT_OFF else nullcontext():
                rows.extend(read_table([text], columns, source=path.name))
            assert len(rows) == self.COUNTS[path.name], path.name
            # No value holds a row's end, in these files, so counting those is a check from outside.
            assert len(re.findall(rb"\)(?=[,;]\s*(?:\(|INSERT|/\*|\n|\Z))", self.inserts(text))) == len(rows), path.name
        assert seen == self.COUNTS.keys() | self.ROWS_ALONE

    @staticmethod
    def inserts(text: bytes) -> bytes:
        return b"\n".join(re.findall(rb"^INSERT INTO .*?;(?=\s*(?:$|/\*|INSERT))", text, re.DOTALL | re.MULTILINE))

    def test_old_and_new_page_tables(self, data_dir: Path) -> None:
        columns = ("page_id", "page_namespace", "page_title", "page_is_redirect")
        new = gzip.decompress(
            (data_dir / "sql/qrank-dumps/loginwiki/20240501/loginwiki-20240501-page.sql.gz").read_bytes()
        )
        old = (data_dir / "sql/sk-project/sample_input_enwiki-latest-page-test.sql").read_bytes()
        assert rows(new, columns, "page") == [(1, 0, b"Main_Page", 0)]
        assert next(read_table([old], columns, "page")) == (10, 0, b"AccessibleComputing", 1)

    def test_page_props(self, data_dir: Path) -> None:
        path = data_dir / "sql/qrank-dumps/itwikibooks/20240301/itwikibooks-20240301-page_props.sql.gz"
        assert list(page_props_items([gzip.decompress(path.read_bytes())])) == [
            (54321, 54321),
            (54322, 54322),
            (123456, 8681970),
        ]
