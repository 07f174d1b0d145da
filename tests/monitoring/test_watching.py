"""Days of traffic in a real store: each is read once, and the right alarm is raised."""

from __future__ import annotations

from datetime import timedelta

import pytest

from claimwise.monitoring.explain import explain_alarm
from claimwise.monitoring.queries import list_alarms
from claimwise.monitoring.settings import MonitorSettings
from claimwise.monitoring.values import Alarm
from claimwise.monitoring.watch import watch_all
from claimwise.store import Store
from support.traffic_data import DAY, FIRST, TrafficWriter

SETTINGS = MonitorSettings(wait_days=0, by=("query_type",))


def watch(store: Store, days: int, settings: MonitorSettings = SETTINGS) -> list[Alarm]:
    """Look on the morning after so many days."""
    return watch_all(store, settings, FIRST + days * DAY + timedelta(hours=6)).raised


@pytest.mark.each_engine
def test_a_regression_raises_one_alarm_with_its_evidence(store: Store) -> None:
    traffic = TrafficWriter(store)
    traffic.add_days(0, 35)
    assert watch(store, 35) == []
    traffic.add_days(35, 49, wrong=9, model="m2")
    raised = [alarm for day in range(36, 50) for alarm in watch(store, day)]
    whole = [alarm for alarm in raised if not alarm.slice]
    assert [(alarm.signal, alarm.system) for alarm in whole] == [("rate", "bot")]
    found = whole[0].evidence
    assert found.baseline == pytest.approx(0.9, abs=0.01)
    assert found.since is not None
    assert abs((found.since - (FIRST + 35 * DAY).date()).days) <= 2
    assert (found.versions_before, found.versions_since) == (["m1"], ["m2"])
    assert found.judge_state == "unchecked"
    assert all("m2" in run for run in found.runs)
    text = " ".join(explain_alarm(whole[0]))
    assert "fell from 90" in text
    assert "New since then: version m2." in text
    assert list_alarms(store, open_only=True)
