"""Figures are measured once, kept while their run is the same, and never shown as newer."""

from __future__ import annotations

import threading

import pytest

from claimwise.annotate import figures as module
from claimwise.annotate.figures import Figures, Wanted
from claimwise.errors import MetricError
from claimwise.store import Store, open_store
from small_data import answer, item, label, run, source, to_rows


class Counter:
    """Counts how often something was measured."""

    def __init__(self) -> None:
        self.times = 0

    def __call__(self, store: Store) -> int:
        self.times += 1
        return self.times


@pytest.fixture
def kept(store: Store, place: str) -> Figures:
    """Figures of a small run; each is measured over a connection of its own."""
    records = [source(), item("q1"), run(), answer("q1", "It is tall.")]
    store.load(to_rows(records), ["file"])
    return Figures(lambda: open_store(place))


def test_figures_stay_until_their_run_changes(store: Store, kept: Figures) -> None:
    measure = Counter()
    wanted = [Wanted("key", "r", measure)]
    assert kept.get(wanted, patience=60)["key"].value == 1
    assert kept.get(wanted, patience=60)["key"].value == 1
    store.load(to_rows([label("q1", "It is tall.", "unlinked")]), ["file"])
    kept._kept["key"].checked = 0  # the fingerprint is due again
    assert kept.get(wanted, patience=60)["key"].value == 2
    assert measure.times == 2


def test_old_figures_are_made_anew_although_nothing_changed(
    kept: Figures, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = [Wanted("key", "r", Counter())]
    assert kept.get(wanted, patience=60)["key"].value == 1
    monkeypatch.setattr(module, "_OLDEST", 0.0)
    monkeypatch.setattr(module, "_HOLD", 0)
    assert kept.get(wanted, patience=60)["key"].value == 2


def test_requests_do_not_wait_longer_than_they_have_patience(kept: Figures) -> None:
    go = threading.Event()

    def measure(store: Store) -> str:
        go.wait(20)
        return "done"

    wanted = [Wanted("slow", "r", measure)]
    assert kept.get(wanted, patience=0.05) == {}
    # Where the page has spent all of it already: with a whole minute the figure would be there.
    assert kept.get(wanted, patience=60, spent=61) == {}
    go.set()
    assert kept.get(wanted, patience=60)["slow"].value == "done"


def test_older_figures_are_shown_while_newer_are_made(kept: Figures) -> None:
    go = threading.Event()
    values = iter(["old", "new"])

    def measure(store: Store) -> str:
        value = next(values)
        if value == "new":
            go.wait(20)
        return value

    wanted = [Wanted("key", "r", measure)]
    first = kept.get(wanted, patience=60)["key"]
    first.checked, first.fingerprint = 0, ("another",)
    shown = kept.get(wanted, patience=0.05)["key"]
    assert (shown.value, shown.made_at) == ("old", first.made_at)
    go.set()
    assert kept.get(wanted, patience=60)["key"].value == "new"


def test_what_can_not_be_measured_says_why(kept: Figures) -> None:
    def refuse(store: Store) -> None:
        raise MetricError("found no such slice")

    def break_down(store: Store) -> None:
        raise ZeroDivisionError("our insides")

    found = kept.get([Wanted("a", "r", refuse), Wanted("b", "r", break_down)], patience=60)
    assert found["a"].problem == "found no such slice"
    assert found["b"].problem == "measuring failed: ZeroDivisionError"


def test_failures_are_not_kept(kept: Figures) -> None:
    replies = iter([MetricError("the file is broken"), None])

    def measure(store: Store) -> str:
        reply = next(replies)
        if reply:
            raise reply
        return "mended"

    wanted = [Wanted("key", "r", measure)]
    assert kept.get(wanted, patience=60)["key"].problem == "the file is broken"
    assert kept.get(wanted, patience=60)["key"].value == "mended"


def test_many_requests_measure_once(kept: Figures) -> None:
    measure = Counter()
    wanted = [Wanted("key", "r", measure)]
    found: list[int] = []
    threads = [
        threading.Thread(target=lambda: found.append(kept.get(wanted, patience=60)["key"].value))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [1] * 8
    assert measure.times == 1


def test_only_so_many_are_kept(kept: Figures, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_KEPT", 3)
    for number in range(6):
        kept.get([Wanted(number, "r", Counter())], patience=60)
    assert list(kept._kept) == [3, 4, 5]
