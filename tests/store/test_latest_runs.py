"""Days of live traffic are not what a command without a run's name is about."""

from __future__ import annotations

import pytest

from claimwise.store import Store
from claimwise.store.runs import find_latest_run, find_previous_run, list_newest_runs
from small_data import load, run, source
from support.traffic_data import fill_traffic


@pytest.mark.each_engine
def test_live_traffic_is_no_latest_run(store: Store) -> None:
    days = fill_traffic(store, system="bot", days=2, answers=1)
    assert find_latest_run(store) == days[-1]  # there is nothing else
    assert [one.run_id for one in list_newest_runs(store, 5)] == days[::-1]

    load(store, source(), run("golden", system="bot"), run("older", system="bot"),
         run("newer", system="bot", started_at="2026-12-01T00:00:00Z"))  # fmt: skip
    assert find_latest_run(store) == "newer"
    assert find_previous_run(store, "newer") in {"golden", "older"}
    assert find_previous_run(store, days[1]) == days[0]
    assert find_previous_run(store, days[0]) is None
    newest = list_newest_runs(store, 5)
    assert [one.run_id for one in newest] == ["newer", "golden", "older"]
    assert {one.runs for one in newest} == {3}
