"""A real ``claimwise serve`` in a process of its own."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import threading
from pathlib import Path
from types import TracebackType
from typing import Self

from support.waiting import DEADLINE

_ADDRESS = re.compile(r"serving .* at (http://[^/\s]+)")
_SETUP = re.compile(r"(http://\S+/setup/\S+)")


class AppProcess:
    """Starts the server on a free port; knows its address and, on a first start, the setup link."""

    def __init__(self, folder: Path, place: str, *options: str) -> None:
        command = [sys.executable, "-c", "from claimwise.cli.main import main; main()"]
        self._process = subprocess.Popen(
            [*command, "serve", "--port", "0", "--store", place, *options],
            cwd=folder,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.address = ""
        self.setup_link: str | None = None
        self.lines: list[str] = []
        self._ready = threading.Event()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        if not self._ready.wait(DEADLINE) or not self.address:
            self.stop()
            raise AssertionError("the server did not start:\n" + "\n".join(self.lines))

    def _read(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            self.lines.append(line.rstrip())
            link, address = _SETUP.search(line), _ADDRESS.search(line)
            self.setup_link = link[1] if link else self.setup_link
            if address:
                self.address = address[1]
                self._ready.set()
        self._ready.set()

    @property
    def pid(self) -> int:
        """The id of the process."""
        return self._process.pid

    def stop(self) -> None:
        """End the process that we started."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
            try:
                self._process.wait(DEADLINE)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self._reader.join(DEADLINE)
        if self._process.stderr:
            self._process.stderr.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()
