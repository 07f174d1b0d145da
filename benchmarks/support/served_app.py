"""A real server in a process of its own, for benchmarks."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path


class Server:
    """``claimwise serve`` in a process of its own, which can be killed and started again.

    ``command`` starts a rival instead; ``{port}`` in it stands for the port.
    """

    def __init__(self, place: str, folder: Path, command: Sequence[str] | None = None) -> None:
        self._command = command
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = int(probe.getsockname()[1])
        self._place, self._folder = place, folder
        self._log = folder / "server.log"
        self._process = self._start()

    def _start(self) -> subprocess.Popen[bytes]:
        code = "from claimwise.cli.main import main; main()"
        own = ["-c", code, "serve", "--port", "{port}", "--store", self._place]
        command = [part.replace("{port}", str(self.port)) for part in self._command or own]
        with self._log.open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, *command], cwd=self._folder, stdout=log, stderr=log
            )
        give_up = time.monotonic() + 60
        while time.monotonic() < give_up:
            if process.poll() is not None:
                raise SystemExit(f"the server ended: {self._log.read_text('utf-8')}")
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return process
            time.sleep(0.05)
        raise SystemExit(f"the server did not start: {self._log.read_text('utf-8')}")

    @property
    def pid(self) -> int:
        """The id of the process."""
        return self._process.pid

    def read_memory(self) -> float:
        """Return how much memory it holds now, in MB."""
        status = Path(f"/proc/{self.pid}/status").read_text(encoding="utf-8")
        return int(re.findall(r"VmRSS:\s+(\d+) kB", status)[0]) / 1024

    def read_cpu(self) -> float:
        """Return the seconds of the processor that it has used."""
        fields = (
            Path(f"/proc/{self.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        )
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def kill(self) -> None:
        """End it as a power cut would: no handler runs."""
        os.kill(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def restart(self) -> None:
        """Start it again on the same port and store."""
        self._process = self._start()

    def stop(self) -> None:
        """End it as Ctrl-C does."""
        self._process.send_signal(signal.SIGINT)
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self.kill()


@contextmanager
def serve(place: str, folder: Path, command: Sequence[str] | None = None) -> Iterator[Server]:
    """Serve a store, or what a command starts, until the block ends."""
    server = Server(place, folder, command)
    try:
        yield server
    finally:
        server.stop()
