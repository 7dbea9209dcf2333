"""The process that runs Lua: started by `process.py` as a module, it reads and writes lines of JSON.

A question ["invoke", ...] is answered by ["result", ...]. Before that, the process may ask ["ask", ...]; the answer may
be another question. It ends with its input, so it never outlives the process that started it.
"""

from __future__ import annotations

import html
import json
import os
import re
import resource
import sys
import time
import unicodedata
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Literal

from wikianchor.pipelines.wikimedia.lua.patterns import PatternError, in_ascii_class, in_unicode_class, read_pattern

try:
    from lupa.lua51 import LuaError, LuaRuntime
except ImportError:
    sys.exit(3)

# Bytes of all that Lua allocates: at most, when a call ends, and before a call.
MEMORY, SOFT_MEMORY, CLEAN = 160 << 20, 128 << 20, 24 << 20
# Instructions to make a table of mw.loadData.
DATA_LIMIT = 20_000_000
# CPU seconds of a call, which only work takes that is not counted: to compare or join long texts again and again.
SECONDS = 60
# Patterns and answers that are kept, and the characters of a question whose answer is kept.
CACHED, LONGEST_KEPT = 5_000, 500
# Questions whose answers depend on the wiki and the date of its dump alone, so that they are kept.
CONSTANT = frozenset(
    ("title", "number", "plain_number", "fallbacks", "language_name", "message", "plural", "date", "clock", "time")
)
DATA = Path(__file__).parent / "data"
_BASIC_ENTITY = re.compile(r"&(?:#\d+|#[xX][0-9a-fA-F]+|lt|gt|amp|quot|nbsp);")
_FORMS: tuple[Literal["NFC", "NFD", "NFKC", "NFKD"], ...] = ("NFC", "NFD", "NFKC", "NFKD")


class Child:
    """Runs modules of one wiki.

    Args:
        site: facts of the wiki, for Lua.
    """

    def __init__(self, site: dict[str, Any]) -> None:
        self.lua: Any = LuaRuntime(
            encoding=None, max_memory=MEMORY, register_eval=False, register_builtins=False, unpack_returned_tuples=True
        )
        self._collect = self.lua.globals()[b"collectgarbage"]
        self._collect(b"stop")
        self._chunks: dict[str, Any] = {}
        self._libraries: dict[str, Any] = {}
        self._caches: list[Any] = []
        self._answers: dict[tuple[Any, ...], Any] = {}
        self._kept: list[tuple[Any, bytes]] = []
        self._new_set = self.lua.execute(
            b"local f = python.as_function return function(test) return setmetatable({}, {__index = f(test)}) end"
        )
        self._out_of_memory = False
        self._page, self._of_page = "", False
        functions = (self.ask, self.load_chunk, self.load_library, self.plan, self.program)
        host: dict[str, Any] = {function.__name__: self._safe(function) for function in functions}
        host |= {
            "site": self.lua_value(site),
            "limit": DATA_LIMIT,
            "soft_memory": SOFT_MEMORY >> 10,
            "caches": lambda *tables: self._caches.extend(tables),
        }
        source = (DATA / "sandbox.lua").read_bytes()
        self._invoke, self._reset, self._set_hook = self.lua.execute(source, self.lua.table_from(_encoded(host)))

    def _safe(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that raises nothing: an exception would be an object of Python in the hands of a module."""

        def call(*arguments: Any) -> Any:
            try:
                return function(*arguments)
            except (LuaError, MemoryError) as error:
                self._out_of_memory = self._out_of_memory or "memory" in str(error) or isinstance(error, MemoryError)
            except (ValueError, TypeError, IndexError, KeyError, OverflowError, AttributeError):
                pass
            return None

        return call

    def lua_value(self, value: Any) -> Any:
        """Return a value of JSON as Lua has it."""
        if isinstance(value, str):
            return value.encode("utf-8", "replace")
        if isinstance(value, list):
            return self.lua.table_from([self.lua_value(item) for item in value])
        if isinstance(value, dict):
            return self.lua.table_from({_key(key): self.lua_value(item) for key, item in value.items()})
        return value

    def invoke(self, budget: int, title: str, name: str, frame: list[Any], parent: list[Any] | None) -> list[Any]:
        """Return whether a call succeeded, its text or the reason why not, and the instructions that it took."""

        def table(given: list[Any]) -> Any:
            return self.lua.table_from({0: self.lua_value(given[0]), 1: self.lua_value(given[1])})

        try:
            ok, text, used = self._invoke(
                budget, title.encode(), name.encode(), table(frame), table(parent) if parent else None
            )
        except (LuaError, MemoryError):
            return [False, "limit", 0]
        return [bool(ok), text.decode("utf-8", "replace"), int(used)]

    def call(self, page: str, *arguments: Any) -> list[Any]:
        """Do as `invoke` for a call of a page, by its title, and tidy up after it."""
        self._out_of_memory = False
        self._page, self._of_page = page, False
        limit = int(time.process_time()) + SECONDS
        resource.setrlimit(resource.RLIMIT_CPU, (limit, resource.getrlimit(resource.RLIMIT_CPU)[1]))
        shown = self.invoke(*arguments)
        self._set_hook()
        why, used = self._reset()
        self._set_hook()
        if why is not None:
            shown = [False, why.decode("utf-8", "replace"), int(used)]
        if self._out_of_memory or (not shown[0] and shown[1] == "not enough memory"):
            shown = [False, "memory", max(int(used), arguments[0])]
        if self._used() > CLEAN:
            self._collect(b"collect")
            self._collect(b"stop")
        # More than half of what may be in use before a call is kept: a new process takes less.
        return ["result", *shown, self._of_page, self._used() > CLEAN]

    def page(self) -> bytes:
        """Return the title of the page with the call, on which its result depends from here on."""
        self._of_page = True
        return self._page.encode("utf-8", "replace")

    def _used(self) -> int:
        return int(self._collect(b"count") * 1024)

    def load_library(self, name: bytes) -> Any:
        """Return the function that makes one of our libraries."""
        key = name.decode()
        if key not in self._libraries:
            source = (DATA / f"{key}.lua").read_bytes()
            self._libraries[key] = self.lua.compile(source, name=b"=" + name)
        return self._libraries[key]

    def load_chunk(self, title: bytes, level: int) -> Any:
        """Return the main function of a module; a message if it has errors, None if there is no such page.

        Calls in calls have a copy of their own, because a function has one environment at a time.
        """
        key = title.decode("utf-8", "replace")
        if level == 1 and key in self._chunks:
            return self._chunks[key]
        source = ask_parent("source", key)
        if source is None or source[:1] == "\x1b":
            return None
        try:
            chunk = self.lua.compile(source.encode(), name=b"=" + title[:60])
        except LuaError as error:
            if "memory" in str(error):
                raise
            return b"syntax"
        if level == 1:
            self._chunks[key] = chunk
        return chunk

    def plan(self, table: Any, pattern: bytes) -> float:
        """Return the exponent of the steps that C takes for a pattern, and keep it in the table."""
        try:
            exponent = read_pattern(list(pattern), in_ascii_class).exponent
        except PatternError:
            # C says what is wrong.
            exponent = 0
        return self._keep(table, pattern, exponent)

    def program(self, table: Any, key: bytes) -> Any:
        """Return the program of a pattern, after a letter for bytes or characters, and keep it in the table."""
        kind, pattern = key[:1], key[1:]
        codes = list(pattern) if kind == b"b" else list(map(ord, pattern.decode("utf-8", "replace")))
        try:
            program = read_pattern(codes, in_ascii_class if kind == b"b" else in_unicode_class)
        except PatternError as error:
            return self._keep(table, key, self.lua.table_from({b"message": str(error).encode()}))
        # MOST after ONE for "+": the same set.
        sets = [self._set(operation.test, operation.argument) for operation in program.operations]
        fields = {
            b"op": self.lua.table_from([operation.code for operation in program.operations] + [0]),
            b"set": self.lua.table_from(sets),
            b"arg": self.lua.table_from(
                [operation.argument if isinstance(operation.argument, int) else 0 for operation in program.operations]
            ),
            b"captures": program.captures,
            b"anchored": program.anchored,
        }
        return self._keep(table, key, self.lua.table_from(fields))

    def _set(self, test: Callable[[int], bool] | None, argument: int | tuple[int, int]) -> Any:
        if test is None:
            return self.lua.table_from(list(argument)) if isinstance(argument, tuple) else False

        def look_up(table: Any, code: int) -> bool:
            table[code] = test(int(code))
            return bool(table[code])

        return self._new_set(self._safe(look_up))

    def _keep(self, table: Any, key: bytes, value: Any) -> Any:
        if len(self._kept) >= CACHED:
            for cache, name in self._kept:
                cache[name] = None
            self._kept.clear()
        self._kept.append((table, key))
        table[key] = value
        return value

    def ask(self, name: bytes, *arguments: Any) -> Any:
        """Answer a question of our libraries, here or in the process that reads pages."""
        own = _OWN.get(name.decode())
        if own is not None:
            return own(self, *arguments)
        given = [item.decode("utf-8", "replace") if isinstance(item, bytes) else item for item in arguments]
        question = (name.decode(), *given)
        if question in self._answers:
            return self.lua_value(self._answers[question])
        answer = ask_parent(*question)
        if question[0] in CONSTANT and sum(len(str(item)) for item in given) <= LONGEST_KEPT:
            if len(self._answers) >= CACHED:
                self._answers.clear()
            self._answers[question] = answer
        return self.lua_value(answer)


def _key(key: str) -> Any:
    return int(key) if key.lstrip("-").isdecimal() else key.encode()


def _encoded(host: dict[str, Any]) -> dict[bytes, Any]:
    return {name.encode(): value for name, value in host.items()}


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _codes(child: Child, text: bytes) -> Any:
    chars = text.decode("utf-8", "replace")
    starts, position = [], 1
    for char in chars:
        starts.append(position)
        position += 1 if char < "\x80" else 2 if char < "\u0800" else 3 if char < "\U00010000" else 4
    lists = [child.lua.table_from(list(map(ord, chars))), child.lua.table_from([*starts, position])]
    return child.lua.table_from(lists)


def _sub(child: Child, text: bytes, first: float, last: float) -> bytes:
    chars = text.decode("utf-8", "replace")
    start = int(first) if first > 0 else max(1, len(chars) + int(first) + 1) if first < 0 else 1
    end = int(last) if last >= 0 else len(chars) + int(last) + 1
    return chars[start - 1 : max(0, end)].encode()


def _find(child: Child, text: bytes, part: bytes, first: float) -> Any:
    chars, wanted = text.decode("utf-8", "replace"), part.decode("utf-8", "replace")
    start = int(first) if first > 0 else max(1, len(chars) + int(first) + 1) if first < 0 else 1
    index = chars.find(wanted, start - 1)
    return child.lua.table_from([] if index < 0 else [index + 1, index + len(wanted)])


def _decode(child: Child, text: bytes, named: bytes) -> bytes:
    chars = text.decode("utf-8", "replace")
    pattern = re.compile(r"&#?\w+;") if named else _BASIC_ENTITY
    return pattern.sub(lambda match: html.unescape(match[0]), chars).encode("utf-8", "replace")


def _json_table(child: Child, text: bytes) -> Any:
    return child.lua_value(json.loads(text))


def _normalised(form: Literal["NFC", "NFD", "NFKC", "NFKD"], child: Child, text: bytes) -> bytes:
    return unicodedata.normalize(form, _text(text)).encode()


_OWN: dict[str, Callable[..., Any]] = {
    "page": Child.page,
    "codes": _codes,
    "sub": _sub,
    "find": _find,
    "decode": _decode,
    "lower": lambda child, text: _text(text).lower().encode(),
    "upper": lambda child, text: _text(text).upper().encode(),
    "char": lambda child, *codes: "".join([chr(int(code)) for code in codes]).encode("utf-8", "replace"),
    "isutf8": lambda child, text: b"1" if text == text.decode("utf-8", "replace").encode() else b"",
    "json_text": lambda child, text: json.dumps(_text(text), ensure_ascii=False).encode(),
    "json_table": _json_table,
    **{f"to{form}": partial(_normalised, form) for form in _FORMS},
}


def write(message: list[Any]) -> None:
    """Send a line."""
    _OUT.write(json.dumps(message).encode() + b"\n")
    _OUT.flush()


def read() -> list[Any]:
    """Return the next line; end with the process that sends them."""
    line = sys.stdin.buffer.readline()
    if not line:
        os._exit(0)
    message: list[Any] = json.loads(line)
    return message


def ask_parent(*question: Any) -> Any:
    """Return the answer to a question; run the calls that it takes meanwhile."""
    write(["ask", *question])
    while (message := read())[0] == "invoke":
        # The title of the page is that of the outermost call.
        write(["result", *_child().invoke(*message[2:]), False, False])
    return message[1]


def _child() -> Child:
    return _CHILDREN[0]


_CHILDREN: list[Child] = []
_OUT = os.fdopen(os.dup(1), "wb")

if __name__ == "__main__":
    # Nothing else may write between the lines.
    os.dup2(2, 1)
    _CHILDREN.append(Child(read()[1]))
    write(["ready"])
    while True:
        write(_child().call(*read()[1:]))
