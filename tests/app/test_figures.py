"""Figures are measured once, kept while their run is the same, and never shown as newer."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from claimwise.app import figures as module
from claimwise.app.figures import FigureStore, ReadyFigures, Wanted
from claimwise.errors import MetricError
from claimwise.store import Store, open_store
from small_data import answer, item, label, run, source, to_rows
from support.waiting import DEADLINE

pytestmark = pytest.mark.each_engine


class Counter:
    """Counts how often something was measured."""

    def __init__(self) -> None:
        self.times = 0

    def __call__(self, store: Store) -> int:
        self.times += 1
        return self.times


@pytest.fixture
def kept(store: Store, place: str) -> FigureStore:
    """Figures of a small run; each is measured over a connection of its own."""
    records = [source(), item("q1"), run(), answer("q1", "It is tall.")]
    store.load(to_rows(records), ["file"], lenient=True)
    return FigureStore(lambda: open_store(place))


def test_figures_stay_until_their_run_changes(store: Store, kept: FigureStore) -> None:
    measure = Counter()
    wanted = [Wanted("key", "r", measure)]
    assert kept.get(wanted, patience=DEADLINE).kept["key"].value == 1
    assert kept.get(wanted, patience=DEADLINE).kept["key"].value == 1
    store.load(to_rows([label("q1", "It is tall.", "unlinked")]), ["file"])
    kept._kept["key"].check_seconds = 0  # the fingerprint is due again
    assert kept.get(wanted, patience=DEADLINE).kept["key"].value == 2
    assert measure.times == 2


def test_old_figures_are_made_anew_although_nothing_changed(
    kept: FigureStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = [Wanted("key", "r", Counter())]
    assert kept.get(wanted, patience=DEADLINE).kept["key"].value == 1
    monkeypatch.setattr(module, "_OLDEST", 0.0)
    monkeypatch.setattr(module, "_HOLD", 0)
    assert kept.get(wanted, patience=DEADLINE).kept["key"].value == 2


def test_requests_do_not_wait_longer_than_they_have_patience(kept: FigureStore) -> None:
    go = threading.Event()

    def measure(store: Store) -> str:
        assert go.wait(DEADLINE)
        return "done"

    wanted = [Wanted("slow", "r", measure)]
    assert kept.get(wanted, patience=0.05).kept == {}
    # Where the page has spent all of it already: with all of it the figure would be there.
    assert kept.get(wanted, patience=DEADLINE, spent=DEADLINE) == ReadyFigures({}, False, None)
    go.set()
    assert kept.get(wanted, patience=DEADLINE).kept["slow"].value == "done"


def test_older_figures_are_shown_while_newer_are_made(kept: FigureStore) -> None:
    go = threading.Event()
    values = iter(["old", "new"])

    def measure(store: Store) -> str:
        value = next(values)
        if value == "new":
            assert go.wait(DEADLINE)
        return value

    wanted = [Wanted("key", "r", measure)]
    first = kept.get(wanted, patience=DEADLINE).kept["key"]
    first.check_seconds, first.fingerprint = 0, ("another",)
    shown = kept.get(wanted, patience=0.05).kept["key"]
    assert (shown.value, shown.made_at) == ("old", first.made_at)
    go.set()
    assert kept.get(wanted, patience=DEADLINE).kept["key"].value == "new"


def test_figures_that_were_not_checked_are_not_called_current(
    store: Store, kept: FigureStore
) -> None:
    """Where reading the fingerprint takes long it is not read for every page."""
    wanted = [Wanted("key", "r", Counter())]
    first = kept.get(wanted, patience=DEADLINE)
    assert first.current
    store.load(to_rows([label("q1", "It is tall.", "unlinked")]), ["file"])
    first.kept["key"].check_seconds = 1000.0
    second = kept.get(wanted, patience=DEADLINE)
    assert (second.kept["key"].value, second.current) == (1, False)
    assert first.as_of is not None
    assert second.as_of is not None
    assert abs(second.as_of - first.as_of) <= timedelta(seconds=1), "no label since then is counted"
    first.kept["key"].check_seconds = 0.0
    third = kept.get(wanted, patience=DEADLINE)
    assert (third.kept["key"].value, third.current) == (2, True)


def test_what_was_stored_before_a_page_is_asked_for_is_counted(
    store: Store, kept: FigureStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where another page's figures are being measured, for which it came too late."""
    monkeypatch.setattr(module, "_REST", 0)
    begun, go = threading.Event(), threading.Event()

    def measure(opened: Store) -> int:
        found = opened.query("select count(*) from labels")[0][0]
        begun.set()
        assert go.wait(DEADLINE)
        return int(found)

    wanted = [Wanted("key", "r", measure)]
    with ThreadPoolExecutor(2) as pages:
        early = pages.submit(kept.get, wanted, patience=DEADLINE)
        assert begun.wait(DEADLINE)
        store.load(to_rows([label("q1", "It is tall.", "unlinked")]), ["file"])
        late = pages.submit(kept.get, wanted, patience=DEADLINE)
        go.set()
        assert early.result().current
        assert (late.result().kept["key"].value, late.result().current) == (1, True)


def test_what_can_not_be_measured_says_why(kept: FigureStore) -> None:
    def refuse(store: Store) -> None:
        raise MetricError("found no such slice")

    def break_down(store: Store) -> None:
        raise ZeroDivisionError("our insides")

    shown = kept.get([Wanted("a", "r", refuse), Wanted("b", "r", break_down)], patience=DEADLINE)
    assert shown.kept["a"].problem == "found no such slice"
    assert shown.kept["b"].problem == "measuring failed: ZeroDivisionError"


def test_failures_are_not_kept(kept: FigureStore) -> None:
    replies = iter([MetricError("the file is broken"), None])

    def measure(store: Store) -> str:
        reply = next(replies)
        if reply:
            raise reply
        return "mended"

    wanted = [Wanted("key", "r", measure)]
    assert kept.get(wanted, patience=DEADLINE).kept["key"].problem == "the file is broken"
    assert kept.get(wanted, patience=DEADLINE).kept["key"].value == "mended"


def test_many_requests_measure_once(kept: FigureStore) -> None:
    measure = Counter()
    wanted = [Wanted("key", "r", measure)]
    found: list[int] = []
    threads = [
        threading.Thread(
            target=lambda: found.append(kept.get(wanted, patience=DEADLINE).kept["key"].value)
        )
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [1] * 8
    assert measure.times == 1


def test_only_so_many_are_kept(kept: FigureStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_KEPT", 3)
    for number in range(6):
        kept.get([Wanted(number, "r", Counter())], patience=DEADLINE)
    assert list(kept._kept) == [3, 4, 5]
