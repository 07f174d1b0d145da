"""Says which version of the golden set a run's figures were counted with, where that matters."""

from __future__ import annotations

from collections.abc import Iterator

from claimwise.report.format import pluralize
from claimwise.store import Store
from claimwise.store.files import SqlFolder

_SQL = SqlFolder("claimwise.run_report")
_WHERE = "claimwise corpus history"


def describe_golden_changes(store: Store, run_id: str) -> Iterator[str]:
    """Yield what has changed in the golden set under a run; nothing where all is as it was."""
    retired, carried, corrected = store.query(_SQL["golden_changes"], {"run_id": run_id})[0]
    if retired:
        are = "is" if retired == 1 else "are"
        yield f"{pluralize(retired, 'retired item')} {are} left out of every figure ({_WHERE})."
    if carried:
        have = "has" if carried == 1 else "have"
        yield (
            "Context recall counts the gold spans of the corpus version that the run read: "
            f"{pluralize(carried, 'item')} {have} been carried over to another since ({_WHERE})."
        )
    if corrected:
        yield (
            f"The gold spans of {pluralize(corrected, 'item')} were corrected after the run began: "
            f"context recall counts the corrected ones ({_WHERE})."
        )
