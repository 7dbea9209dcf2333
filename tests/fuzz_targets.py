"""Targets of coverage-guided fuzzing of what reads input in Python: each takes bytes, and raises where something does
not hold. `make fuzz` runs them by Atheris (`fuzz_python.py`), and `test_fuzz_targets.py` on their seeds alone.

An input is an error of one line, or it is read: the same by both engines, in pieces of any size and cut anywhere.
"""

from __future__ import annotations

import bz2
import json
import lzma
import os
import tempfile
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import cache
from itertools import pairwise, takewhile
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from tests import dumps, fuzzing
from tests.both_engines import BothEngines, raw_page
from tests.fuzz_seeds import BODY, NAME, elements, pages, pages_with_templates
from tests.test_fuzz import PAGE, WIKIS
from wikianchor.io.errors import InputError
from wikianchor.pipelines.commands.update.changes import newest_revision
from wikianchor.pipelines.dataset.card import card
from wikianchor.pipelines.dataset.manifest import damaged_shard, manifest_problems, read_manifest
from wikianchor.pipelines.dataset.part_writer import Part
from wikianchor.pipelines.dataset.workspace import WorkPath, Workspace
from wikianchor.pipelines.engine.resume import load_record
from wikianchor.pipelines.wikimedia.dumps import Chunk, Range, compression, read_range
from wikianchor.pipelines.wikimedia.extractors import make_extractor
from wikianchor.pipelines.wikimedia.pages import cut_pages
from wikianchor.pipelines.wikimedia.site import site_for, site_from_header
from wikianchor.pipelines.wikimedia.sql import page_props_items, read_table
from wikianchor.pipelines.wikimedia.wikidata import BadLine, iter_lines, parse_item
from wikianchor.pipelines.wikimedia.wikitext import Extractor
from wikianchor.trainer.linking.mentions import read_mentions

SOURCE = "the input"
# CPU seconds for one input of a few KB. Atheris takes several times as long as Python alone.
LONGEST = 10.0
_CONTROLS = dict.fromkeys({*range(32)} - {9, 10})


def engines(data: bytes) -> None:
    """Both engines make the same of a page, which is read with the templates after it, if there are any."""
    if not data:
        return
    wiki = WIKIS[data[0] % len(WIKIS)]
    text, *parts = data[1:].decode("utf-8", "replace").split(NAME)
    if not parts:
        assert (problem := _both(wiki).difference([raw_page(text)])) == "", problem
        return
    # What XML cannot carry, `parse_page` leaves out.
    text = text.translate(_CONTROLS)
    templates = {name: body.translate(_CONTROLS) for name, _, body in (part.partition(BODY) for part in parts)}
    site = site_for(wiki)
    python = Extractor(site, find_template=templates.get, asides=True)
    core = make_extractor(site, templates.get, asides=True, engine="core")
    extract, by_core = (extractor.extract(text, fuzzing.TITLE) for extractor in (python, core))
    assert extract == by_core, f"{extract}\n  core: {by_core}"
    assert python.linked_titles(text, fuzzing.TITLE) == core.linked_titles(text, fuzzing.TITLE)
    for links, shown in ((extract.links, extract.text), *((aside.links, aside.text) for aside in extract.asides)):
        assert (problem := fuzzing.problem_of_links(links, shown)) == "", problem


@cache
def _both(wiki: str) -> BothEngines:
    return BothEngines(site_for(wiki))


class _Input:
    """Numbers and bytes taken from an input one after the other; zeros where it has ended."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def take(self, size: int) -> bytes:
        """Return the next bytes, at most as many as are left."""
        self._at += size
        return self._data[self._at - size : self._at]

    def number(self, below: int) -> int:
        """Return the next number from 0 to below a limit."""
        return int.from_bytes(self.take(2), "little") % below

    def rest(self) -> bytes:
        """Return all that is left."""
        return self.take(len(self._data))


_PACK: tuple[Callable[[bytes], bytes], ...] = (
    lambda text: bz2.compress(text, 1),
    lambda text: _gzip(text),
    lambda text: lzma.compress(text, preset=0),
    lambda text: text,
)
# How often the text of a stream is repeated; the last fills several bz2 blocks.
_TIMES = (1, 1, 3, 40, 1500)


def _gzip(text: bytes) -> bytes:
    packer = zlib.compressobj(1, wbits=31)
    return packer.compress(text) + packer.flush()


def packed(data: bytes) -> None:
    """What is unpacked is what was packed, whole and in ranges, or it is an error."""
    source = _Input(data)
    pack, file = _PACK[source.number(len(_PACK))], b""
    is_padded = zeros = 0
    for _ in range(source.number(4)):
        file += pack(source.take(source.number(200)) * _TIMES[source.number(len(_TIMES))])
        # Between streams, zeros are missing data to bz2, and xz takes four at a time.
        is_padded = is_padded or zeros
        zeros = (0, 0, 0, 4, 3)[source.number(5)]
        file += bytes(zeros)
    edits = source.number(4)
    for _ in range(edits):
        at, kind, byte = source.number(len(file) + 1), source.number(4), source.take(1)
        file = (file[:at], file[:at] + byte + file[at + 1 :], file[:at] + byte + file[at:], file + byte)[kind]
    cuts = [source.number(len(file) + 1) for _ in range(source.number(3))]
    file = file or source.rest()
    with tempfile.NamedTemporaryFile(dir=_memory()) as written:
        written.write(file)
        written.flush()
        path, size = written.name, len(file)
        try:
            kind = compression(path)
        except InputError:
            return
        text = _unpacked(kind, file)
        whole = _read([Range(path, 0, size, True)])
        assert whole is None or whole == text, "another text than that of the standard library"
        assert edits or is_padded or zeros % 4 or text is None or whole is not None, "a whole file is refused"
        edges = sorted({0, size, *cuts}) if kind != "xz" else [0, size]
        for blocks in (False, True) if kind == "bz2" else (False,):
            decoded = _read(Range(path, start, end, end == size, blocks) for start, end in pairwise(edges))
            if decoded is None:
                continue
            # No range has all blocks of a stream that is cut, and so none can check the checksum at its end.
            is_same = decoded == text or (
                text is None and blocks and len(edges) > 2 and decoded.startswith(_before_damage(file))
            )
            assert is_same, f"another text in ranges {edges}, blocks={blocks}"


def _read(ranges: Iterable[Range]) -> bytes | None:
    """Return the text of some ranges, each read up to what is not its own; None for an error."""
    try:
        return b"".join(
            chunk.data for part in ranges for chunk in takewhile(lambda chunk: chunk.owned, read_range(part))
        )
    except InputError:
        return None


_UNPACK: dict[str, Callable[[], Any]] = {
    "bz2": bz2.BZ2Decompressor,
    "gz": lambda: zlib.decompressobj(31),
    "xz": lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ),
}


def _unpacked(kind: str, file: bytes) -> bytes | None:
    """Return the text of a file by the standard library; None for an error."""
    if kind == "plain":
        return file
    text = b""
    while file:
        unpacker = _UNPACK[kind]()
        try:
            text += unpacker.decompress(file)
        except (OSError, EOFError, lzma.LZMAError, zlib.error):
            return None
        if not unpacker.eof:
            return None
        file = unpacker.unused_data.lstrip(b"\0")
    return text


def _before_damage(file: bytes) -> bytes:
    """Return the text of the blocks of a bz2 file before its first error, by the standard library."""
    text, unpacker = b"", bz2.BZ2Decompressor()
    # An error loses the text of the call that raises it.
    for byte in range(len(file)):
        if unpacker.eof:
            unpacker = bz2.BZ2Decompressor()
        try:
            text += unpacker.decompress(file[byte : byte + 1])
        except OSError:
            break
    return text


@cache
def _memory() -> str:
    """Return a directory for files of an input, in memory where there is one."""
    return tempfile.mkdtemp(dir="/dev/shm" if os.path.isdir("/dev/shm") else None)


class _Read(NamedTuple):
    """What a reader has returned, and the name of its error, "" for none."""

    decoded: list[Any]
    error: str


def _outcome(read: Callable[[], Iterable[Any]], expected: type[Exception] = InputError) -> _Read:
    decoded: list[Any] = []
    try:
        decoded.extend(read())
    except expected as error:
        return _Read([], "several lines" if "\n" in str(error) else "one line")
    return _Read(decoded, "")


def _same(read: Callable[[int], Iterable[Any]], size: int) -> list[Any]:
    """Return what is read of an input in one piece, and check that it is the same in pieces of some bytes."""
    whole, in_pieces = _outcome(lambda: read(1 << 20)), _outcome(lambda: read(size))
    assert whole == in_pieces, f"other rows in pieces of {size} bytes"
    assert whole.error in ("", "one line"), "an error of several lines"
    return whole.decoded


def _pieces(data: bytes, size: int) -> Iterator[bytes]:
    return (data[start : start + size] for start in range(0, len(data), size))


def dump(data: bytes) -> None:
    """A dump in pieces and in ranges has the same pages, and both engines parse them in the same way."""
    source = _Input(data)
    size, cut, wiki = 1 + source.number(50), source.number(4096), WIKIS[source.number(len(WIKIS))]
    text = source.rest()
    cut = min(cut, len(text))

    def pages(start: int, end: int, size: int) -> Iterator[tuple[bytes, int]]:
        owned = (Chunk(piece, start + size * at, True, True) for at, piece in enumerate(_pieces(text[start:end], size)))
        yield from cut_pages([*owned, *[Chunk(text[end:], end, False, True)] * (end < len(text))], SOURCE)

    _same(lambda size: pages(0, len(text), size), size)
    whole = _outcome(lambda: pages(0, len(text), 1 << 20))
    parts = [_outcome(lambda at=at: pages(*at, 1 << 20)) for at in ((0, cut), (cut, len(text)))]
    if not (whole.error or any(part.error for part in parts)):
        assert whole.decoded == parts[0].decoded + parts[1].decoded, f"other pages in ranges cut at {cut}"
    _outcome(lambda: [site_from_header(text.decode("utf-8", "replace"), None, SOURCE)])
    for raw, _ in whole.decoded:
        assert (problem := _both(wiki).difference([(raw, "a page")])) == "", problem
        _outcome(lambda raw=raw: [newest_revision(raw, SOURCE)])


def sql(data: bytes) -> None:
    """An SQL dump has the same rows in pieces of any size."""
    source = _Input(data)
    size, columns = 1 + source.number(50), (("pp_page", "pp_value"), ("a",), ("a", "b", "c"))[source.number(3)]
    text = source.rest()
    _same(lambda size: read_table(_pieces(text, size), columns, source=SOURCE), size)
    _same(lambda size: page_props_items(_pieces(text, size), SOURCE), size)


def wikidata(data: bytes) -> None:
    """A dump of Wikidata has the same lines in pieces of any size, and each is an item, none, or an error."""
    source = _Input(data)
    size = 1 + source.number(50)
    text = source.rest()
    lines = _same(lambda size: iter_lines(_pieces(text, size), SOURCE), size)
    texts = ("labels", "descriptions", "aliases")
    for line in lines:
        _outcome(lambda line=line: [parse_item(line, ("enwiki", "dewiki"), ("en", "mul"), texts)], BadLine)


def mentions(data: bytes) -> None:
    """A file of mentions has texts and items, or an error, whatever stands in it."""
    name = ("en/mentions.tsv", "aida.tsv", "lines.jsonl")[data[0] % 3 if data else 0]
    with tempfile.TemporaryDirectory(dir=_memory()) as directory:
        path = Path(directory, name)
        (path.parent / "text").mkdir(parents=True)
        (path.parent / "text/1").write_text("Paris is here.")
        path.write_bytes(data[1:])
        with suppress(InputError):
            for mention in read_mentions(str(path), "en"):
                assert {type(text) for text in (mention.left, mention.surface, mention.right, mention.language)} == {
                    str
                }
                assert mention.qid >= 0


def files(data: bytes) -> None:
    """A manifest or a record names no file outside of its directory, whatever stands in it."""
    source, directory = _Input(data), _memory()
    kind = source.number(4)
    path = f"{directory}/{'record' if kind else 'manifest.json'}"
    with open(path, "wb") as file:
        file.write(source.rest())
    if kind:
        work = Workspace(f"{directory}/parts", f"{directory}/scratch", "files")
        record = load_record(path, (tuple[Part, ...], dict[str, Part | None], tuple[int, WorkPath])[kind - 1], work)
        for name in _strings(record) if kind == 3 else ():
            assert os.path.realpath(name).startswith(f"{directory}/") or not name, name
        return
    for manifest in _outcome(lambda: [read_manifest(directory)]).decoded:
        for config in manifest["configs"].values() if not [*manifest_problems(manifest)] else ():
            for shard in config["shards"]:
                assert os.path.realpath(f"{directory}/{shard['path']}").startswith(f"{directory}/data/"), shard
            damaged_shard(directory, manifest)
            _outcome(lambda manifest=manifest: [card(manifest)])


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _strings(item)


def _seeds_of_packed() -> Iterator[bytes]:
    def numbers(*values: int) -> bytes:
        return b"".join(value.to_bytes(2, "little") for value in values)

    text = PAGE.encode()[:150]
    stream = numbers(len(text)) + text
    for kind in range(len(_PACK)):
        yield numbers(kind, 1) + stream + numbers(1, 0, 0, 0)
        yield numbers(kind, 2) + stream + numbers(4, 0) + stream + numbers(3, 3) + numbers(0, 2, 50, 300)
        # Damage in the checksum at the end of a stream, which one range has whole and two do not.
        for cuts in (numbers(0), numbers(1, 80)):
            yield numbers(kind, 1) + stream + numbers(0, 0, 1, len(_PACK[kind](text)) - 3, 1) + b"\x15" + cuts
        for edit in range(4):
            edits = numbers(1, 60 + edit, edit) + b"\x15"
            yield numbers(kind, 3) + (stream + numbers(2, 0)) * 3 + edits + numbers(1, 80)
    for packed_file in (bz2.compress(text), _gzip(text), lzma.compress(text)):
        yield numbers(0, 0, 0, 1, 30) + packed_file


def _seeds_of_dump() -> Iterator[bytes]:
    for number, element in enumerate(elements()):
        yield bytes((number, 0, 20 * number % 256, number % 3, 0, 0)) + element[1:]
    yield bytes(6) + dumps.head() + dumps.page("A", 1, "[[B]].") + dumps.page("B", 2, redirect="A") + dumps.END


_CREATE = (
    b"CREATE TABLE `page_props` (\n  `pp_page` int(10) NOT NULL,\n  `pp_propname` varbinary(60),\n  `pp_value` blob,\n"
)
_INSERT = b"INSERT INTO `page_props` VALUES "
_ROWS = b"(1,'wikibase_item','Q42'),(2,'x','it\\'s;\\n'),(3,'wikibase_item',NULL),(4,_binary 'y',0x41);\n"


def _seeds_of_sql() -> Iterator[bytes]:
    end = b"  PRIMARY KEY (`pp_page`)\n) ENGINE=InnoDB;\n"
    yield bytes(4) + _CREATE + end + _INSERT + _ROWS + _INSERT + _ROWS
    yield bytes(4) + b"-- MySQL dump 10\n" + _CREATE + end + _INSERT + _ROWS + b"-- Dump completed\n"
    yield bytes(4) + b"CREATE TABLE `page_props` (`a\nb` int);\n"
    yield b"\x05\0\1\0" + b"CREATE TABLE t (a float, b varbinary(9));\nINSERT INTO t VALUES (1.5,'x'),(NULL,'y');\n"
    yield (b"\x05\0\2\0" + b"CREATE TABLE t (a int, b enum('(',','), c int);\nREPLACE INTO t VALUES (1,'(',2);\n")


def _seeds_of_wikidata() -> Iterator[bytes]:
    claim = {"mainsnak": {"datavalue": {"value": {"entity-type": "item", "numeric-id": 5}}}, "rank": "normal"}
    item = {
        "type": "item",
        "id": "Q42",
        "labels": {"en": {"value": "A"}, "mul": {"value": "B"}},
        "descriptions": {"en": {"value": "an A"}},
        "aliases": {"en": [{"value": "a"}, {"value": "a"}]},
        "claims": {"P31": [claim, {**claim, "rank": "preferred"}], "P279": [claim], "P106": []},
        "sitelinks": {"enwiki": {"title": "A"}, "frwiki": {"title": "B"}},
        "lastrevid": 7,
    }
    for changed in ({}, {"claims": []}, {"type": "property"}, {"redirect": "Q1"}, {"lastrevid": -1}, {"id": "P1"}):
        line = json.dumps({**item, **changed}).encode()
        yield b"\x07\0[\n" + line + b",\n" + line + b"\n]\n"
        yield b"\x09\0\xef\xbb\xbf" + line + b"\r\n"


def _seeds_of_mentions() -> Iterator[bytes]:
    yield b"\0docid\tposition\tlength\tmention\turl\tqid\n1\t0\t5\tParis\t\tQ90\n"
    url = b"http://en.wikipedia.org/wiki/Paris"
    yield b"\1-DOCSTART- (1)\nParis\tB\tParis\tParis\t" + url + b"\t1\t/m\nis\n\nNice\tB\tNice\t--NME--\n"
    span = {"start": 0, "end": 5, "text": "Paris"}
    context = {"text": "Paris is here.", "language": "en", "document_id": "1"}
    labels = [{"span": [0, 5], "entity_id": "Q90", "optional": False}]
    answers = [{"span": [0, 5], "id": "Q90", "candidates": ["Q90", "Q142"]}]
    for document in (
        {"context": context, "mentions": [{"entity_id": "Q90", "mention_span": span}]},
        {"text": "Paris is here.", "labels": labels, "entity_mentions": answers},
        {"text": "Paris is here.", "labels": [{"entity_reference": "Paris", "start_char": 0, "end_char": 5}]},
        {"text": ["Paris"], "labels": labels},
    ):
        yield b"\2" + json.dumps(document).encode()


def _seeds_of_files() -> Iterator[bytes]:
    shard = {"path": "data/sentences/train-00000-of-00001.parquet", "rows": 1, "bytes": 2, "sha256": "0" * 64}
    manifest = {
        "dataset": "sentences",
        "schema_version": "1.0",
        "inputs": [],
        "options": {},
        "ledger": {},
        "configs": {"sentences": {"rows": 1, "shards": [shard]}},
    }
    for path in (shard["path"], "../../victim", "data/../x", "/etc/passwd"):
        changed = {"configs": {"sentences": {"rows": 1, "shards": [{**shard, "path": path}]}}}
        yield bytes(2) + json.dumps({**manifest, **changed}).encode()
    part = Part("sentences", 0, f"{_memory()}/parts/a", 1, 2, "0" * 64)
    yield bytes((1, 0)) + msgspec.msgpack.encode([part]).replace(b"00", b"\xff\xff", 1)
    for kind, record in (
        (1, [part]),
        (2, {"a": part, "b": None}),
        (3, (1, f"{_memory()}/scratch/a")),
        (3, (1, "../x")),
    ):
        yield bytes((kind, 0)) + msgspec.msgpack.encode(record)


class Target(NamedTuple):
    """A function that takes an input, and its seeds."""

    run: Callable[[bytes], None]
    seeds: Callable[[], Iterator[bytes]]


def _seeds_of_engines() -> Iterator[bytes]:
    yield from pages()
    yield from pages_with_templates()


TARGETS = {
    "engines": Target(engines, _seeds_of_engines),
    "packed": Target(packed, _seeds_of_packed),
    "dump": Target(dump, _seeds_of_dump),
    "sql": Target(sql, _seeds_of_sql),
    "wikidata": Target(wikidata, _seeds_of_wikidata),
    "files": Target(files, _seeds_of_files),
    "mentions": Target(mentions, _seeds_of_mentions),
}


def run(name: str, data: bytes) -> None:
    """Run a target on an input, in the time that it is allowed."""
    start = time.process_time()
    TARGETS[name].run(data)
    seconds = time.process_time() - start
    assert seconds < LONGEST, f"{seconds:.1f} s of CPU for {len(data)} bytes"
