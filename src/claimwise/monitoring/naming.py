"""Names alarms."""

from __future__ import annotations

from datetime import date
from hashlib import sha256


def name_alarm(signal: str, system: str, group: str, day: date) -> str:
    """Return an alarm's id: the same for the same stream and day, whoever finds it."""
    told = "\0".join((signal, system, group, day.isoformat()))
    return f"{signal}-{day:%Y%m%d}-{sha256(told.encode()).hexdigest()[:6]}"
