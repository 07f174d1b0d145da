"""Peak memory of the benchmark's own process."""

from __future__ import annotations

import re
from pathlib import Path


def read_peak_memory() -> float:
    """Return this process's peak in MB. getrusage would count the parent's too."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(re.findall(r"VmHWM:\s+(\d+) kB", status)[0]) / 1024
