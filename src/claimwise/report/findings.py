"""Says in words which claims of an answer are supported, for tools that show one text per score."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct

_MOST_NAMED = 20


class Finding(Struct, frozen=True, kw_only=True):
    """A claim, and what was found; ``unscored`` is the code of a claim without a verdict."""

    text: str
    verdict: str | None
    reason: str = ""
    unscored: str | None = None


def describe_findings(findings: Iterable[Finding]) -> str:
    """Return the count of supported claims, then every claim that is not, with the reason.

    Claims that could not be judged are named as such: they are neither good nor bad.
    """
    found = list(findings)
    judged = [one for one in found if one.verdict is not None]
    open_ones = [one for one in found if one.verdict is None]
    wrong = [one for one in judged if one.verdict != "supported"]
    if not found:
        return "The answer makes no claim that could be checked."
    lines = [f"{len(judged) - len(wrong)} of {len(judged)} judged claims supported."]
    if not judged:
        lines = ["No claim could be judged."]
    lines += _name("Not supported", wrong)
    lines += _name("Not scored", open_ones)
    return "\n".join(lines)


def _name(heading: str, findings: list[Finding]) -> Iterator[str]:
    for one in findings[:_MOST_NAMED]:
        why = f": {one.reason}" if one.reason else ""
        yield f"{heading}: “{one.text}” ({one.verdict or one.unscored}{why})"
    if len(findings) > _MOST_NAMED:
        yield f"{heading}: {len(findings) - _MOST_NAMED:,} more"
