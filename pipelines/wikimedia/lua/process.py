"""The process that runs Lua, seen from the one that reads pages."""

from __future__ import annotations

import atexit
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

from wikianchor.io.errors import InputError, UsageError

# The time that it has to end.
END_SECONDS = 1.0
_CHILD = "wikianchor.pipelines.wikimedia.lua.child"
NOT_INSTALLED = "--lua=on needs the package lupa: pip install lupa, or give --lua=off"
Answer = Callable[..., Any]
"""Answers a question of the libraries: its name, then its arguments, texts and numbers."""


class Shown(NamedTuple):
    """What a function of a module returned.

    Attributes:
        ok: whether it returned.
        text: what it shows, or why it failed.
        cost: the instructions that it took.
        of_page: whether it depends on the title of the page, asked in it and not in a call within it.
    """

    ok: bool
    text: str
    cost: int
    of_page: bool = False


class LuaProcess:
    """Runs the modules of one wiki in a process of its own, which begins with the first call.

    What reaches the limit of memory is decided by a new process alone, so that it does not depend on the calls before.

    Args:
        site: facts of the wiki for `mw.site`.
        answer: answers questions.
    """

    def __init__(self, site: dict[str, Any], answer: Answer) -> None:
        self._site, self._answer = site, answer
        self._process: subprocess.Popen[bytes] | None = None
        self._pid = self._calls = self._depth = 0

    def invoke(self, *call: Any) -> Shown:
        """Return what a function shows.

        Args:
            call: title of the page, budget of instructions, title of the module, name of the function, title and
                arguments of the frame, and of its parent or None.

        Raises:
            UsageError: lupa is not installed.
            InputError: the process ended twice, or by its limit of CPU.
        """
        if self._depth:
            return self._run(call)
        if self._process is None or self._pid != os.getpid():
            self._start()
        try:
            shown = self._run(call)
        except (EOFError, OSError):
            self._check_time(call)
            shown = None
        if shown is None or (shown.text == "memory" and not shown.ok and self._calls > 1):
            self._start()
            try:
                shown = self._run(call)
            except (EOFError, OSError) as error:
                self._check_time(call)
                assert self._process is not None
                if self._process.wait() < 0:
                    raise InputError(f"{call[2]}: the process that runs Lua was killed: is there memory?") from error
                # Lua ends the process where it has no memory left to report that.
                shown = Shown(False, "memory", 0, of_page=True)
                self.close()
        return shown

    def _check_time(self, call: tuple[Any, ...]) -> None:
        """Raise InputError if the process ended because a call took too long."""
        if self._process is not None and self._process.wait() == -signal.SIGXCPU:
            self.close()
            raise InputError(f"{call[2]}: {call[3]} takes a minute of CPU, but few instructions: give --lua=off")

    def close(self) -> None:
        """End the process."""
        if self._process is not None and self._pid == os.getpid():
            atexit.unregister(self.close)
            # It ends with its input, unless it is in a call.
            with suppress(subprocess.TimeoutExpired):
                self._process.communicate(timeout=END_SECONDS)
            self._process.kill()
            self._process.wait()
        self._process = None

    def _start(self) -> None:
        self.close()
        self._pid, self._calls, self._depth = os.getpid(), 0, 0
        atexit.register(self.close)
        self._process = subprocess.Popen([sys.executable, "-m", _CHILD], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        try:
            self._write(["site", self._site])
            self._read()
        except (EOFError, OSError) as error:
            if self._process.wait() == 3:
                raise UsageError(NOT_INSTALLED) from error
            raise InputError("the process that runs Lua did not start") from error

    def _run(self, call: tuple[Any, ...]) -> Shown:
        self._calls += not self._depth
        self._depth += 1
        try:
            self._write(["invoke", *call])
            while (message := self._read())[0] == "ask":
                self._write(["answer", self._answer(*message[1:])])
        finally:
            self._depth -= 1
        _, *shown, is_full = message
        if is_full:
            self.close()
        return Shown(*shown)

    def _write(self, message: list[Any]) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message).encode() + b"\n")
        self._process.stdin.flush()

    def _read(self) -> list[Any]:
        assert self._process is not None
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise EOFError
        message: list[Any] = json.loads(line)
        return message
