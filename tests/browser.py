"""A headless Chromium for tests, asked through its DevTools pipe: no driver and no package are needed.

https://chromedevtools.github.io/devtools-protocol/ ; messages are JSON with a zero byte behind, on descriptors 3 and 4.
"""

from __future__ import annotations

import base64
import fcntl
import json
import os
import shutil
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
OPTIONS = ("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--remote-debugging-pipe")


class Browser:
    """A browser with one page; `events` are those that came so far, as (method, parameters)."""

    def __init__(self, to_browser: int, from_browser: int) -> None:
        self._to, self._from = to_browser, from_browser
        self._number = 0
        self._waiting = b""
        self._session: str | None = None
        self.events: list[tuple[str, dict[str, Any]]] = []

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Call a method of the protocol and return its result."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                return dict(answer["result"])

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._waiting:
            data = os.read(self._from, 1 << 20)
            assert data, "the browser has ended"
            self._waiting += data
        raw, _, self._waiting = self._waiting.partition(b"\0")
        answer: dict[str, Any] = json.loads(raw)
        if "method" in answer:
            self.events.append((answer["method"], answer["params"]))
        return answer

    def attach(self) -> None:
        """Make the page, and listen to what it says and asks for."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def show(self, url: str, width: int, dark: bool = False) -> None:
        """Open a page in a window of this width."""
        self.events.clear()
        phone = width < 500
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": phone}
        self.call("Emulation.setDeviceMetricsOverride", **size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.call("Page.navigate", url=url)
        while not any(method == "Page.loadEventFired" for method, _ in self.events):
            self._next()

    def value(self, expression: str) -> Any:
        """Return the value of an expression in the page."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def said(self) -> list[str]:
        """Return what stands on the page's console: messages, errors, what its policy refused."""
        return [
            json.dumps(parameters)
            for method, parameters in self.events
            if method in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded")
        ]

    def asked(self) -> list[str]:
        """Return the addresses that the page asked for."""
        return [
            parameters["request"]["url"] for method, parameters in self.events if method == "Network.requestWillBeSent"
        ]

    def screenshot(self, path: Path) -> None:
        """Write what is seen of the whole page."""
        result = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(result["data"]))


@contextmanager
def chromium(profile: Path) -> Iterator[Browser]:
    """Start a browser; without one the test is skipped."""
    program = next((result for name in NAMES if (result := shutil.which(name))), None)
    if program is None:
        pytest.skip("NO BROWSER: install chromium (a Debian package) to look at pages in one")
    to_read, to_write = os.pipe()
    from_read, from_write = os.pipe()
    # Out of the way of 3 and 4 first: the browser finds them there.
    high = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (to_read, from_write)]
    arguments = [program, *OPTIONS, f"--user-data-dir={profile}", "about:blank"]
    actions = [
        *((os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in (0, 1, 2)),
        *((os.POSIX_SPAWN_DUP2, end, number) for end, number in zip(high, (3, 4), strict=True)),
    ]
    process = os.posix_spawn(program, arguments, os.environ, file_actions=actions)
    for end in (to_read, from_write, *high):
        os.close(end)
    browser = Browser(to_write, from_read)
    try:
        browser.attach()
        yield browser
    finally:
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
        os.close(to_write)
        os.close(from_read)
