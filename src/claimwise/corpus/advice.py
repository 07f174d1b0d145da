"""Advice on a golden set: what it can't show, and items that look like mistakes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final

from claimwise.comparison.plan import Goal, plan_items
from claimwise.comparison.plan_values import Plan, PlanRow
from claimwise.corpus.queries import count_shares, list_doubtful_items, read_golden_questions
from claimwise.corpus.values import DOUBTS
from claimwise.metrics import Metric
from claimwise.report.format import pluralize, show_percent
from claimwise.store import Store
from claimwise.store.lookup import select_rows
from claimwise.text.questions import normalise_question
from claimwise.types.results import Settings
from claimwise.types.rows import Run

DROP: Final = 0.1
_SHOWN: Final = 3


def describe_golden_set(store: Store) -> str | None:
    """Return the size of the golden set and the shares of its special items; None without one."""
    found = count_shares(store)
    if not found.items:
        return None
    unanswerable, ambiguous = (
        show_percent(count / found.items) for count in (found.unanswerable, found.ambiguous)
    )
    return (
        f"golden set: {pluralize(found.items, 'item')}, {unanswerable} unanswerable, "
        f"{ambiguous} ambiguous"
    )


def advise_golden_set(
    store: Store, metric: Metric, by: Sequence[str], settings: Settings
) -> Iterator[str]:
    """Yield what should be looked at in a golden set; nothing without one.

    Args:
        store: where it is.
        metric: the metric that a drop should be seen in.
        by: the columns of its groups.
        settings: how the metric is estimated.
    """
    found = count_shares(store)
    if not found.items:
        return
    if not found.unanswerable:
        yield (
            "no item is unanswerable, so abstention is not measured: add questions whose answers "
            "are not in the corpus, where the right thing is to abstain"
        )
    if not found.ambiguous:
        yield (
            "no item is ambiguous, so nothing tests whether the system asks for clarification: add "
            "questions that can be read in several ways (query_type ambiguous)"
        )
    doubts = defaultdict(list)
    for doubt, item_id in list_doubtful_items(store):
        doubts[doubt].append(item_id)
    for doubt, items in doubts.items():
        yield DOUBTS[doubt].describe(len(items), _name(items))
    yield from _find_repeats(read_golden_questions(store))
    yield from _find_small_groups(store, metric, by, settings)


def _name(items: Sequence[str]) -> str:
    return ", ".join(items[:_SHOWN]) + (", …" if len(items) > _SHOWN else "")


def _find_repeats(questions: dict[str, str]) -> Iterator[str]:
    """Yield that items ask the same question, whatever its case, spacing and punctuation."""
    asked = defaultdict(list)
    for item_id, query in questions.items():
        asked[normalise_question(query)].append(item_id)
    repeated = [items for items in asked.values() if len(items) > 1]
    if repeated:
        listed = "; ".join(" = ".join(items[:_SHOWN]) for items in repeated[:_SHOWN])
        more = "; …" if len(repeated) > _SHOWN else ""
        asked_by = "1 question is" if len(repeated) == 1 else f"{len(repeated):,} questions are"
        yield f"{asked_by} asked by several items ({listed}{more}): they count as independent"


def _find_small_groups(
    store: Store, metric: Metric, by: Sequence[str], settings: Settings
) -> Iterator[str]:
    """Yield that groups have too few items for two runs on them to show a drop of ten points."""
    runs = select_rows(store, Run)
    latest = sorted(runs, key=lambda run: (run.started_at, run.run_id), reverse=True)[:2]
    if not latest:
        return
    goal = Goal(drop=DROP, confidence=settings.confidence)
    plan = plan_items(store, metric, latest, by, settings, goal)
    rows = plan.slices or plan.overall
    small = [row for row in rows if row.items and _is_small(row)]
    if small:
        listed = "; ".join(_describe_group(plan, row) for row in small[:_SHOWN])
        more = "; …" if len(small) > _SHOWN else ""
        groups = "1 group is" if len(small) == 1 else f"{len(small):,} groups are"
        yield (
            f"{groups} too small to show a drop of 10 points in {metric.name} ({listed}{more}): "
            "see claimwise plan --drop 0.1"
        )


def _is_small(row: PlanRow) -> bool:
    return row.paired_items is not None and row.items < row.paired_items


def _describe_group(plan: Plan, row: PlanRow) -> str:
    name = ", ".join(f"{value or 'unknown'}" for value in row.slice.values()) or "all items"
    return f"{name}: {row.items:,} of {row.paired_items:,} items"
