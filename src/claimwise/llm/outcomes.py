"""Reads what became of one request: which failures pass, which stay, and how long to wait."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import msgspec

from claimwise.llm.wire import Reading, Wire
from claimwise.types.llm import FailureCode

_RETRIED = frozenset({408, 409, 425})
_FOR_GOOD = frozenset({401, 402, 404})
_FILTERED = ("content_filter", "content management policy")


class RequestOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """How one request ended."""

    reading: Reading
    status: int = 0  # 0: there was no response
    again: bool = False  # it may fare better
    wait: float | None = None  # seconds, when the server said
    for_good: bool = False  # no other call will fare better
    unsure: bool = False  # it may have been billed, and no bill came


def make_failure(
    code: FailureCode, detail: str, *, again: bool = False, sent: bool = False
) -> RequestOutcome:
    """Return the outcome of a request that got no response."""
    return RequestOutcome(reading=Reading(code=code, detail=detail), again=again, unsure=sent)


def read_response(
    wire: Wire, status: int, headers: Mapping[str, str], content: bytes
) -> RequestOutcome:
    """Return what a response means."""
    if 200 <= status < 300:
        reading = wire.read_body(content)
        bad = reading.code == "bad_reply"
        told = find_message(content) if bad else ""
        if told:
            # Some gateways send their errors with a status of 200.
            detail = f"{reading.detail}; it says: {told}"
            reading = msgspec.structs.replace(reading, detail=detail)
        billed = (reading.usage.input_tokens, reading.usage.output_tokens)
        return RequestOutcome(reading=reading, status=status, again=bad, unsure=None in billed)
    told = find_message(content)
    # An exhausted quota comes as 429 too, and no waiting helps.
    limited = status == 429 and "insufficient_quota" not in told
    again = limited or status >= 500 or status in _RETRIED
    code: FailureCode = "refused_request"
    if again:
        code = "rate_limited" if limited else "server_error"
    elif any(words in told for words in _FILTERED):
        code = "content_filter"
    return RequestOutcome(
        reading=Reading(code=code, detail=f"HTTP {status}: {told}"),
        status=status,
        again=again,
        wait=read_retry_after(headers) if again else None,
        for_good=status in _FOR_GOOD or (status == 429 and not limited),
    )


def read_retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that a server asks to wait: a number, or a date; None if it does not."""
    said = headers.get("retry-after", "").strip()
    exact = headers.get("retry-after-ms")
    try:
        if exact is not None:
            return max(0.0, float(exact) / 1000)
        if said[:1].isdigit():
            return max(0.0, float(said))
        until = parsedate_to_datetime(said)
    except (ValueError, OverflowError):
        return None
    aware = until if until.tzinfo else until.replace(tzinfo=UTC)
    return max(0.0, (aware - datetime.now(UTC)).total_seconds())


def find_message(content: bytes) -> str:
    """Return what an error's body says; formats differ, so the whole of it if need be."""
    try:
        found = msgspec.json.decode(content)
        error = found.get("error", found)
        if isinstance(error, dict) and isinstance(error.get("message"), str):
            return " ".join(str(error[k]) for k in ("code", "message") if error.get(k))
    except (msgspec.DecodeError, UnicodeDecodeError, AttributeError, RecursionError):
        pass
    return content.decode("utf-8", "replace")
