"""S3 in this process: moto's, on a server that asks for no service but this one and keeps connections open."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

KEYS = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_DEFAULT_REGION": "us-east-1"}


@contextmanager
def serving(methods: Counter[str] | None = None) -> Iterator[dict[str, str]]:
    """Serve a store without buckets, and yield the environment in which pyarrow's clients use it.

    `moto.server.ThreadedMotoServer` lists moto's directory for each request, to see which service of Amazon is meant,
    which takes longer than the answer.

    Args:
        methods: counts the requests by their methods.
    """
    pytest.importorskip("moto.server", reason="NO MOTO: pip install '.[dev]'")
    from moto.moto_server.werkzeug_app import MotoRequestHandler, create_backend_app
    from werkzeug.serving import make_server

    class Handler(MotoRequestHandler):
        protocol_version = "HTTP/1.1"
        # Headers and body in one packet: the next request would wait for the acknowledgement of the first of two.
        wbufsize = 1 << 16

        def handle_expect_100(self) -> bool:
            """Answer at once, which the client waits a second for before it sends a body, in place of werkzeug."""
            proceed = super().handle_expect_100()
            self.wfile.flush()
            del self.headers["Expect"]
            return proceed

        def log_request(self, *given: object) -> None:
            if methods is not None:
                methods[self.command] += 1

    server = make_server("127.0.0.1", 0, create_backend_app("s3"), threaded=True, request_handler=Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield {**KEYS, "AWS_ENDPOINT_URL": f"http://127.0.0.1:{server.server_port}"}
    finally:
        server.shutdown()
        server.server_close()
