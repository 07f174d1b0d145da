"""Reads what a user calls a window: 7d, 2026-W46, w46, a day, or FROM..UNTIL."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from claimwise.errors import ClaimwiseError
from claimwise.estimates.queries import Period

_LAST = re.compile(r"([1-9]\d{0,3})([dh])")
_WEEK = re.compile(r"(?:(\d{4})-)?w(\d{1,2})", re.IGNORECASE)
_DAY = timedelta(days=1)


def parse_period(text: str, now: datetime) -> Period:
    """Return the window that a text names; all times are UTC, and the end is not included.

    ``7d`` and ``24h`` end now. A week is an ISO week; without a year it is the latest of that
    number that has begun. A day in ``FROM..UNTIL`` is its beginning.

    Raises:
        ClaimwiseError: nothing of that form, or the window ends before it begins.
    """
    words = text.strip()
    if last := _LAST.fullmatch(words):
        length = int(last[1]) * (_DAY if last[2] == "d" else timedelta(hours=1))
        return Period(
            start=now - length, until=now, name=f"the last {_name_length(last)}", option=words
        )
    if week := _WEEK.fullmatch(words):
        return _read_week(week, now, text)
    first, dots, end = words.partition("..")
    try:
        start = _read_time(first)
        until = _read_time(end) if dots else start + _DAY
    except ValueError:
        raise ClaimwiseError(_describe(text)) from None
    if until <= start:
        raise ClaimwiseError(f"Window {text!r} ends before it begins; write FROM..UNTIL.")
    return Period(start=start, until=until, name=words, option=words)


def _name_length(last: re.Match[str]) -> str:
    count = int(last[1])
    word = "day" if last[2] == "d" else "hour"
    return f"{count} {word}s" if count > 1 else word


def _read_week(week: re.Match[str], now: datetime, text: str) -> Period:
    number = int(week[2])
    try:
        start = _start_week(int(week[1]) if week[1] else now.isocalendar().year, number)
        if not week[1] and start > now:
            start = _start_week(now.isocalendar().year - 1, number)
    except ValueError:
        raise ClaimwiseError(_describe(text)) from None
    name = start.strftime("%G-W%V")
    return Period(start=start, until=start + 7 * _DAY, name=name, option=name)


def _start_week(year: int, number: int) -> datetime:
    return datetime.fromisocalendar(year, number, 1)  # at midnight, without a zone: UTC


def _read_time(text: str) -> datetime:
    found = datetime.fromisoformat(text.strip())
    return found.astimezone(UTC).replace(tzinfo=None) if found.tzinfo else found


def _describe(text: str) -> str:
    return (
        f"Unknown window {text!r}. Write 7d, 24h, 2026-W46, w46, 2026-11-16, or FROM..UNTIL "
        "(UTC, UNTIL not included)."
    )
