"""Says in words what became of a run's answers before any claim was judged."""

from __future__ import annotations

from collections.abc import Iterator

from claimwise.report.format import pluralize


def describe_run_counts(
    *, split: int, done_before: int, failed: int, abstained: int
) -> Iterator[str]:
    """Yield a line for every count that is not zero, as every command on a stored run prints it."""
    if split:
        yield f"{pluralize(split, 'claim')} {_were(split)} found and stored"
    if done_before:
        yield f"{pluralize(done_before, 'answer')} had been judged before"
    for count, why in (
        (failed, "the system gave none"),
        (abstained, "the system abstained or asked for clarification"),
    ):
        if count:
            yield f"{pluralize(count, 'answer')} {_were(count)} skipped: {why}"


def _were(count: int) -> str:
    return "was" if count == 1 else "were"
