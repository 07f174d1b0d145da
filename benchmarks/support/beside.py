"""The same benchmark of two versions in turns, so that a busy machine is busy for both."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any


def run_in_turns(script: Path, checkout: Path, python: Path, turns: int) -> list[tuple[Any, Any]]:
    """Return what a benchmark prints in its last line, as JSON: ours and another version's.

    Both run with ``--quick``, one after the other, as many times as there are turns.

    Args:
        script: the benchmark, in our folder of benchmarks.
        checkout: the other version's files, with a benchmark of the same name.
        python: the Python of an environment in which that version is installed.
        turns: how many times each is run.
    """
    other = checkout / "benchmarks" / script.name
    return [
        (_run([sys.executable, str(script)]), _run([str(python), str(other)])) for _ in range(turns)
    ]


def _run(command: list[str]) -> Any:
    done = subprocess.run([*command, "--quick"], stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.strip().splitlines()[-1])
