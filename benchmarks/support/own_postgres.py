"""A PostgreSQL of our own for a benchmark: as installed, in a temporary folder, safe on disk."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def start_postgres() -> Iterator[str]:
    """Start a server with its default settings, fsync on; yield its URL."""
    programs = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if not programs:
        raise SystemExit("PostgreSQL is not installed: `make test` installs it; or --postgres URL")
    folder = Path(tempfile.mkdtemp(prefix="claimwise-bench-pg-", dir="/tmp"))
    prefix = ["runuser", "-u", "postgres", "--"] if os.getuid() == 0 else []
    if prefix:
        shutil.chown(folder, "postgres")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    data, pg_ctl = str(folder / "data"), str(programs[-1].parent / "pg_ctl")
    make = [str(programs[-1]), "-D", data, "-U", "postgres", "-A", "trust", "--locale=C.UTF-8"]
    options = f"-p {port} -k {folder} -c listen_addresses=127.0.0.1"
    start = [pg_ctl, "-D", data, "-w", "-l", str(folder / "log"), "-o", options, "start"]
    stop = [pg_ctl, "-D", data, "-m", "fast", "stop"]
    try:
        for command in (make, start):
            subprocess.run([*prefix, *command], cwd="/", check=True, capture_output=True)
        try:
            yield f"postgresql://postgres@127.0.0.1:{port}/postgres"
        finally:
            subprocess.run([*prefix, *stop], cwd="/", check=False, capture_output=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
