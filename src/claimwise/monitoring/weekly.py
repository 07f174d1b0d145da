"""Every finished week's rate with its range, of a system and of each of its versions."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime, timedelta

from claimwise.estimates.window import WindowClaim, estimate_window
from claimwise.monitoring.figures import AnswerKey, JudgedClaim, gather_claims
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
from claimwise.monitoring.values import WEEKLY, WHOLE, Point, PointEvidence
from claimwise.store import Store

VERSION = "version="


def add_weeks(store: Store, system: str, first: date, last: date, now: datetime) -> None:
    """Estimate every week that is finished and not there yet, and keep it.

    Args:
        store: where traffic and points are.
        system: the system.
        first: the day of its first answer.
        last: the last day that the monitor reads.
        now: the time; later labels are not counted.
    """
    done = {p.day for p in read_points(store, system) if p.signal == WEEKLY}
    week = start_of_week(first)
    while week + WEEK <= last + timedelta(days=1):
        if week not in done:
            start = to_start(week)
            rows = read_day(store, system, start, start + WEEK, now)
            points = list(_estimate_week(rows, system, start, now))
            with store.write("monitor"):
                if not has_point(store, points[0]):
                    add_points(store, points)
        week += WEEK


def _estimate_week(rows: DayRows, system: str, start: datetime, now: datetime) -> Iterator[Point]:
    """Yield the points of a week: the system's, then those of its versions."""
    claims = gather_claims(rows.labels)
    yield _estimate(rows.answers, claims, (system, WHOLE), start, now)
    versions = dict.fromkeys(answer.version for answer in rows.answers)
    for version in versions:
        own = [answer for answer in rows.answers if answer.version == version]
        yield _estimate(own, claims, (system, f"{VERSION}{version}"), start, now)


def _estimate(
    answers: list[TrafficRow],
    claims: dict[AnswerKey, list[JudgedClaim]],
    stream: tuple[str, str],
    start: datetime,
    now: datetime,
) -> Point:
    asked = [
        (answer, claim)
        for answer in answers
        for claim in claims.get((answer.run_id, answer.item_id, answer.sample), [])
    ]
    scored = [_to_window_claim(answer, claim) for answer, claim in asked if claim.judge is not None]
    missing = len(asked) - len(scored) + sum(not answer.is_split for answer in answers)
    found = estimate_window(scored, unscored=missing) if scored else None
    judge_only = found.judge_only if found else None
    rate = found.rate if found else None
    evidence = PointEvidence(
        answers=len(answers),
        claims=len(asked),
        unscored=missing,
        labels=found.labels if found else 0,
        basis=found.basis if found and rate is not None else "judge only" if found else "none",
        low=(found.low if rate is not None else found.judge_low) if found else None,
        high=(found.high if rate is not None else found.judge_high) if found else None,
        refusals=list(found.refusals) if found else [],
        runs=list(dict.fromkeys(answer.run_id for answer in answers)),
        judge=next((claim.judge for _, claim in asked if claim.judge), None),
    )
    return Point(
        signal=WEEKLY,
        system=stream[0],
        slice=stream[1],
        window_from=start,
        window_until=start + WEEK,
        computed_at=now,
        value=judge_only if rate is None else rate,
        statistic=None,
        evidence=evidence,
    )


def _to_window_claim(answer: TrafficRow, claim: JudgedClaim) -> WindowClaim:
    sure = max(claim.score, 1 - claim.score)
    band = "sure" if sure >= 0.9 else "likely" if sure >= 0.7 else "unsure"
    return WindowClaim(
        cluster=answer.conversation or answer.item_id,
        item=answer.item_id,
        stratum=f"{'supported' if claim.approved else 'not supported'}, {band}",
        score=claim.score,
        label=claim.label,
        inclusion=claim.inclusion,
        weight=1 / answer.inclusion_probability,
        approved=claim.approved,
    )
