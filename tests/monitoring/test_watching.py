"""Days of traffic in a real store: each is read once, and the right alarm is raised."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest

from claimwise.monitoring import watch as watch_module
from claimwise.monitoring.alarms import close_alarm
from claimwise.monitoring.explain import explain_alarm
from claimwise.monitoring.queries import list_alarms, read_points
from claimwise.monitoring.settings import MonitorSettings
from claimwise.monitoring.values import WEEKLY, Alarm
from claimwise.monitoring.watch import watch_all
from claimwise.store import Store, open_store
from support.copies import Fill
from support.monitored_traffic import DAY, FIRST, JUDGE, TrafficWriter, add_anchors

QUIET = 35
SETTINGS = MonitorSettings(wait_days=0, by=("query_type",))


def watch(store: Store, days: int, settings: MonitorSettings = SETTINGS) -> list[Alarm]:
    """Look on the morning after so many days."""
    return watch_all(store, settings, FIRST + days * DAY + timedelta(hours=6)).raised


def add_quiet_days(store: Store) -> None:
    """Five weeks in which nothing changes, and the monitor has read them."""
    TrafficWriter(store).add_days(0, QUIET)
    assert watch(store, QUIET) == []


@pytest.fixture
def quiet(copy_store: Callable[[Fill], str]) -> Iterator[Store]:
    """A store with five quiet weeks."""
    with open_store(copy_store(add_quiet_days)) as store:
        yield store


def list_whole(alarms: list[Alarm]) -> list[tuple[str, str]]:
    """Return signal and system of the alarms that are about no group."""
    return [(alarm.signal, alarm.system) for alarm in alarms if not alarm.slice]


@pytest.mark.each_engine
def test_a_regression_raises_one_alarm_with_its_evidence(quiet: Store) -> None:
    TrafficWriter(quiet, known=True).add_days(QUIET, 45, wrong=9, model="m2")
    raised = [alarm for day in range(QUIET + 1, 46) for alarm in watch(quiet, day)]
    assert list_whole(raised) == [("rate", "bot")]
    alarm = next(one for one in raised if not one.slice)
    found = alarm.evidence
    assert found.baseline == pytest.approx(0.9, abs=0.01)
    assert found.since is not None
    assert abs((found.since - (FIRST + QUIET * DAY).date()).days) <= 2
    assert (found.versions_before, found.versions_since) == (["m1"], ["m2"])
    assert found.judge_state == "unchecked"
    assert all("m2" in run for run in found.runs)
    text = " ".join(explain_alarm(alarm))
    assert "fell from 90" in text
    assert "New since then: version m2." in text
    weeks = {p.window_from: p for p in read_points(quiet) if p.signal == WEEKLY and not p.slice}
    assert len(weeks) == 6
    assert weeks[FIRST].evidence.basis == "corrected"
    assert weeks[FIRST].value == pytest.approx(0.9, abs=0.02)


CHANGES: dict[str, dict[str, Any]] = {
    "unscored": {"unscored": 14},
    "refusals": {"refused": 7},
    "input_mix": {"kind": "multi_hop"},
    "judge": {"judge": "judge:other"},
}


@pytest.mark.parametrize("signal", CHANGES)
def test_each_change_raises_its_own_alarm(quiet: Store, signal: str) -> None:
    TrafficWriter(quiet, known=True, judges=("judge:other",)).add_days(
        QUIET, QUIET + 8, **CHANGES[signal]
    )
    raised = watch(quiet, QUIET + 8)
    assert (signal, "bot") in list_whole(raised)
    assert {one for one, _ in list_whole(raised)} <= {signal}
    assert watch(quiet, QUIET + 8) == []


def test_no_data_and_no_labels_are_alarms_and_no_zeros(quiet: Store) -> None:
    assert list_whole(watch(quiet, QUIET + 1)) == [("no_data", "bot")]
    silent = [p for p in read_points(quiet) if p.window_from == FIRST + QUIET * DAY]
    assert {p.signal: p.value for p in silent if not p.slice} == {
        "volume": 0.0, "rate": None, "judge_rate": None, "unscored": None, "refusals": None,
        "input_mix": None,
    }  # fmt: skip
    TrafficWriter(quiet, known=True).add_days(QUIET + 1, QUIET + 10, labels=0)
    assert ("no_labels", "bot") in list_whole(watch(quiet, QUIET + 10))


def test_a_killed_monitor_goes_on_where_it_was(
    quiet: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed between the points and the alarm of a day, it has read that day not at all."""
    TrafficWriter(quiet, known=True).add_days(QUIET, 45, wrong=9)
    with monkeypatch.context() as patch:

        def die(*_: object) -> None:
            raise KeyboardInterrupt

        patch.setattr(watch_module, "add_alarms", lambda s, alarms, u: die() if alarms else None)
        with pytest.raises(KeyboardInterrupt):
            watch(quiet, 45)
    before = len(read_points(quiet))
    assert list_alarms(quiet) == []
    raised = watch(quiet, 45)
    assert list_whole(raised) == [("rate", "bot")]
    seen = [(p.signal, p.slice, p.window_from, p.value) for p in read_points(quiet)]
    assert len(seen) > before
    assert len({one[:3] for one in seen if one[0] != WEEKLY}) == len(
        [one for one in seen if one[0] != WEEKLY]
    )
    assert watch(quiet, 45) == []
    assert [(p.signal, p.slice, p.window_from, p.value) for p in read_points(quiet)] == seen


def test_an_accepted_change_is_the_new_baseline(quiet: Store) -> None:
    writer = TrafficWriter(quiet, known=True)
    writer.add_days(QUIET, 70, wrong=9)
    alarm = next(one for one in watch(quiet, 45) if not one.slice)
    close_alarm(
        quiet, alarm, who="ann", because="new prompt, accepted", now=FIRST + 46 * DAY,
        new_baseline=True, since=(FIRST + QUIET * DAY).date(),
    )  # fmt: skip
    assert list_whole(watch(quiet, 70)) == []
    rates = [p for p in read_points(quiet) if p.key == ("rate", "") and p.statistic is not None]
    assert rates[-1].evidence.baseline == pytest.approx(0.78, abs=0.02)


def test_a_changed_judge_is_told_apart_from_a_changed_system(quiet: Store) -> None:
    """The judge calls more claims unsupported; people say that nothing changed."""
    settings = MonitorSettings(wait_days=0, anchors="anchors")
    for week in range(9):
        add_anchors(quiet, week, harsh=12 if week >= 6 else 0)
    quiet.execute_all([
        (
            "insert into calibrations (calibration_id, labeler, judgement, slice, status, claims, "
            "items, detail, made_at, expires_at) values ('k1', :judge, 'grounded', '', 'trusted', "
            "100, 50, '{}', :made, :until)",
            {"judge": JUDGE, "made": FIRST, "until": FIRST + 400 * DAY},
        )
    ])  # fmt: skip
    assert list_whole(watch(quiet, QUIET, settings)) == []
    TrafficWriter(quiet, known=True).add_days(QUIET, 63, harsh=10, labels=0)
    raised = watch(quiet, 63, settings)
    judge = next(one for one in raised if one.signal == "judge")
    assert (judge.slice, judge.evidence.judge_state) == (JUDGE, "changed")
    assert judge.evidence.value == pytest.approx(-0.12, abs=0.01)
    expired = quiet.query("select count(*) from calibrations where expires_at <= :now",
                          {"now": FIRST + 64 * DAY})  # fmt: skip
    assert expired == [(1,)]
    rate = next(one for one in raised if one.signal == "judge_rate" and not one.slice)
    assert rate.evidence.judge_alarm == judge.alarm_id
    assert "it may be the judge and not the system" in " ".join(explain_alarm(rate))


def test_two_monitors_at_once_read_a_day_once(quiet: Store) -> None:
    """Both have seen the same past; whoever is second finds the day read, and goes on from it."""
    TrafficWriter(quiet, known=True).add_days(QUIET, QUIET + 1)
    now = FIRST + (QUIET + 1) * DAY
    first, second = (watch_module._load(quiet, SETTINGS, "bot", now) for _ in range(2))
    day, result = (FIRST + QUIET * DAY).date(), watch_module.WatchResult()
    assert watch_module._read_one_day(quiet, first, day, result)
    assert not watch_module._read_one_day(quiet, second, day, result)
    seen = [p for p in read_points(quiet) if p.key == ("volume", "") and p.day == day]
    assert len(seen) == 1


def test_the_exact_rule_over_labels_finds_the_same_drop(quiet: Store) -> None:
    TrafficWriter(quiet, known=True).add_days(QUIET, 45, wrong=12)
    exact = MonitorSettings(wait_days=0, rate_alarm="labels")
    alarm = next(one for one in watch(quiet, 45, exact) if one.signal == "rate")
    assert alarm.evidence.threshold == pytest.approx(7300 * 20)  # of labels, not of days
    assert alarm.evidence.value == pytest.approx(0.7, abs=0.1)
