"""Every finished week's rate with its range, of a system and of each of its versions.

The system's is the number that ``claimwise estimate`` prints for the week.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime, timedelta

import numpy as np

from claimwise.estimates.queries import Period, read_window
from claimwise.estimates.strata import assign_strata
from claimwise.estimates.window import (
    WindowClaim,
    WindowEstimate,
    estimate_table,
    estimate_window,
)
from claimwise.monitoring.figures import AnswerKey, WatchedClaim, gather_claims
from claimwise.monitoring.judge_watch import WEEK, start_of_week
from claimwise.monitoring.queries import (
    DayRows,
    TrafficRow,
    add_points,
    has_point,
    read_day,
    read_points,
    to_start,
)
from claimwise.monitoring.values import WEEKLY, WHOLE, MonitorPoint, PointEvidence
from claimwise.store import Store

VERSION = "version="


def add_weeks(store: Store, system: str, first: date, last: date, now: datetime) -> None:
    """Estimate every week that is finished and not there yet, and keep it.

    Args:
        store: where traffic and points are.
        system: the system.
        first: the day of its first answer.
        last: the last day that the monitor reads.
        now: the time.
    """
    done = {p.day for p in read_points(store, system) if p.signal == WEEKLY}
    week = start_of_week(first)
    while week + WEEK <= last + timedelta(days=1):
        if week not in done:
            points = list(estimate_week(store, system, week, now))
            with store.write("monitor"):
                if not has_point(store, points[0]):
                    add_points(store, points)
        week += WEEK


def estimate_week(store: Store, system: str, week: date, now: datetime) -> Iterator[MonitorPoint]:
    """Yield the points of a week: the system's, then those of its versions."""
    start = to_start(week)
    rows = read_day(store, system, start, start + WEEK, now)
    period = Period(start=start, until=start + WEEK, name=f"{week:%G-W%V}")
    data = read_window(store, system, period)
    found = None
    if len(data.table.scores):
        found = estimate_table(
            data.table,
            unscored=data.unscored,
            unscored_weight=data.unscored_weight,
            barred=data.barred,
        )
    judge = data.judge.labeler if data.judge else None
    yield _make_point((system, WHOLE), start, now, rows.answers, found, judge)
    yield from _estimate_versions(rows, system, start, now)


def _estimate_versions(
    rows: DayRows, system: str, start: datetime, now: datetime
) -> Iterator[MonitorPoint]:
    claims = gather_claims(rows.labels)
    for version in dict.fromkeys(answer.version for answer in rows.answers):
        own = [answer for answer in rows.answers if answer.version == version]
        scored, missing = _list_scored(own, claims)
        found = estimate_window(scored, unscored=missing) if scored else None
        yield _make_point((system, f"{VERSION}{version}"), start, now, own, found, None)


def _list_scored(
    answers: list[TrafficRow], claims: dict[AnswerKey, list[WatchedClaim]]
) -> tuple[list[WindowClaim], int]:
    """Return the claims that a judge scored, and how many it did not."""
    asked = [
        (answer, claim)
        for answer in answers
        for claim in claims.get((answer.run_id, answer.item_id, answer.sample), [])
    ]
    scored = [(answer, claim) for answer, claim in asked if claim.judge is not None]
    strata, names = assign_strata(
        np.array([claim.approved for _, claim in scored], dtype=bool),
        np.array([max(claim.score, 1 - claim.score) for _, claim in scored], dtype=np.float64),
    )
    found = [
        WindowClaim(
            cluster=answer.conversation or answer.item_id,
            item=answer.item_id,
            stratum=names[place],
            score=claim.score,
            label=claim.label,
            inclusion=claim.inclusion,
            weight=1 / answer.inclusion_probability,
            approved=claim.approved,
        )
        for (answer, claim), place in zip(scored, strata, strict=True)
    ]
    return found, len(asked) - len(scored)


def _make_point(
    stream: tuple[str, str],
    start: datetime,
    now: datetime,
    answers: list[TrafficRow],
    found: WindowEstimate | None,
    judge: str | None,
) -> MonitorPoint:
    """Return a week's point: the corrected rate, or the judge's own, marked as such."""
    evidence = PointEvidence(
        answers=len(answers),
        runs=list(dict.fromkeys(answer.run_id for answer in answers)),
        judge=judge,
        basis="none",
    )
    value = None
    if found is not None:
        told = found.rate is not None
        value = found.rate if told else found.judge_only
        evidence.basis = found.basis if told else "judge only"
        evidence.low = found.low if told else found.judge_low
        evidence.high = found.high if told else found.judge_high
        evidence.claims, evidence.unscored = found.claims, found.unscored
        evidence.labels, evidence.refusals = found.labels, list(found.refusals)
    return MonitorPoint(
        signal=WEEKLY,
        system=stream[0],
        slice=stream[1],
        window_from=start,
        window_until=start + WEEK,
        computed_at=now,
        value=value,
        statistic=None,
        evidence=evidence,
    )
