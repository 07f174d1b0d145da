"""An HTTP server of a test's own, in a thread."""

from __future__ import annotations

import threading
from http.server import ThreadingHTTPServer
from typing import Self


class LocalServer:
    """Serves from a thread; use it as a context."""

    def serve(self, server: ThreadingHTTPServer) -> None:
        """Take the server that is started on entering."""
        self._server = server
        self._thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def root(self) -> str:
        """The address without a path."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"
