"""The monitor's tables: weeks without answers share a line, and every system has its days."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from claimwise.monitoring.report import list_days, list_weeks
from claimwise.monitoring.values import VOLUME, WEEKLY, WHOLE, MonitorPoint, PointEvidence

MONDAY = datetime(2026, 1, 5, tzinfo=UTC)


def make_point(
    signal: str, system: str, start: datetime, answers: int, group: str = WHOLE
) -> MonitorPoint:
    return MonitorPoint(
        signal=signal, system=system, slice=group, window_from=start,
        window_until=start + timedelta(days=1), computed_at=MONDAY,
        value=None if signal == WEEKLY else float(answers), statistic=None,
        evidence=PointEvidence(answers=answers, basis="judge_only" if answers else "none"),
    )  # fmt: skip


def test_weeks_without_answers_share_a_line() -> None:
    answers = [7, 0, 0, 0, 5, 0]
    points = [
        make_point(WEEKLY, "bot", MONDAY + timedelta(weeks=n), count)
        for n, count in enumerate(answers)
    ]
    points += [
        make_point(WEEKLY, "bot", MONDAY, 7, "version=v2"),
        make_point(WEEKLY, "other", MONDAY + timedelta(weeks=5), 0),
    ]
    assert [line[:4] for line in list_weeks(points)] == [
        ("bot", "2026-W02", "all", "7"),
        ("bot", "2026-W02", "v2", "7"),
        ("bot", "2026-W03 to 2026-W05", "all", "0"),
        ("bot", "2026-W06", "all", "5"),
        ("bot", "2026-W07", "all", "0"),
        ("other", "2026-W07", "all", "0"),
    ]


def test_every_system_has_its_last_two_weeks_of_days() -> None:
    points = [
        make_point(VOLUME, system, MONDAY + timedelta(days=n), 3)
        for n in range(20)
        for system in ("bot", "other")
    ]
    days = list_days(points)
    assert [line[0] for line in days] == ["bot"] * 14 + ["other"] * 14
    assert {line[1] for line in days} == {f"2026-01-{day:02}" for day in range(11, 25)}
