"""Processes that are killed, and processes that share a run, on each engine."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from multiprocessing.context import ForkServerContext
from pathlib import Path

import pytest

from claimwise.checking.run import verify_run
from claimwise.store import Store, open_store
from pipeline import instruments
from pipeline.instruments import ExactVerifier
from small_data import SOURCE, answer, item, load, run, source
from support.processes import find_descendants, is_running
from support.waiting import DEADLINE, wait_until

pytestmark = pytest.mark.each_engine

TEXT = "The tower is 139 m tall. Entry costs 9 euros. Cats may come in."
ANSWERS = 60
EFFORT = 5_000  # some milliseconds for every answer


def prepare(place: str) -> None:
    context = {"source_id": "doc", "context_text": SOURCE}
    names = [f"q{n:03}" for n in range(ANSWERS)]
    with open_store(place, create=True) as store:
        load(
            store, source(), run(), *map(item, names),
            *(answer(name, answer_text=TEXT, contexts=[context]) for name in names),
        )  # fmt: skip


def count_doubled(store: Store) -> int:
    [(count,)] = store.query(
        "select count(*) from (select item_id, claim_id, labeler from labels "
        "group by item_id, claim_id, labeler having count(*) > 1) as doubled"
    )
    return int(count)


def check_whole(place: str) -> None:
    """Every claim has one label, and every rule holds."""
    with open_store(place) as store:
        counts = store.count_rows()
        assert counts["claims"] == counts["labels"] == 3 * ANSWERS
        assert count_doubled(store) == 0
        assert store.audit() == []


def has_more_labels(store: Store, than: int) -> bool:
    return store.count_rows()["labels"] > than


@pytest.mark.parametrize("die", [instruments.die_after, instruments.die_while_writing])
@pytest.mark.parametrize("answers", [0, 25])
def test_killed_process_is_resumed(
    place: str, forking: ForkServerContext, die: Callable[[str, str, int], None], answers: int
) -> None:
    prepare(place)
    process = forking.Process(target=die, args=(place, "r", answers))
    process.start()
    process.join(DEADLINE)
    assert process.exitcode == -signal.SIGKILL
    with open_store(place) as store:
        before = store.count_rows()
        assert before["claims"] == before["labels"] <= 3 * answers
        assert bool(before["labels"]) == bool(answers)
        result = verify_run(store, "r", ExactVerifier())
        assert result.judged == 3 * ANSWERS - before["labels"]
    check_whole(place)


def test_killed_at_any_instant(place: str, forking: ForkServerContext) -> None:
    """Kill it again and again, wherever it is: what is stored is whole, and the end is reached."""
    prepare(place)
    stored = 0
    for _ in range(4):
        process = forking.Process(target=instruments.verify_slowly, args=(place, "r", EFFORT))
        process.start()
        with open_store(place) as store:
            wait_until(partial(has_more_labels, store, stored), "more labels are stored")
        process.kill()
        process.join(DEADLINE)
        with open_store(place) as store:
            counts = store.count_rows()
            assert counts["labels"] == counts["claims"] >= stored
            assert counts["labels"] % 3 == 0, "half an answer"
            assert count_doubled(store) == 0
            stored = counts["labels"]
    assert stored > 0
    with open_store(place) as store:
        verify_run(store, "r", ExactVerifier())
    check_whole(place)


def test_processes_share_a_run(place: str, forking: ForkServerContext) -> None:
    prepare(place)
    processes = [
        forking.Process(target=instruments.verify_slowly, args=(place, "r", EFFORT))
        for _ in range(3)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join(DEADLINE)
    assert [process.exitcode for process in processes] == [0, 0, 0]
    check_whole(place)


def test_processes_that_meet_on_one_answer(place: str) -> None:
    """Both have read and judged it before either writes."""
    prepare(place)
    with open_store(place) as first, open_store(place) as second:
        inner = ExactVerifier()
        judge = inner.judge_answer
        met = False

        def judge_late(claims, request):  # type: ignore[no-untyped-def]
            nonlocal met
            if not met:
                met = True
                verify_run(second, "r", ExactVerifier())
            return judge(claims, request)

        inner.judge_answer = judge_late  # type: ignore[method-assign]
        result = verify_run(first, "r", inner)
        assert result.judged == 0
        assert result.verdicts == {
            "supported": ANSWERS,
            "contradicted": ANSWERS,
            "unlinked": ANSWERS,
        }
    check_whole(place)


_PARENT = """
import sys
import claimwise.checking.engine as run_engine
import claimwise.checking.run as verifying
from pipeline.instruments import ExactVerifier
from claimwise.store import open_store
if __name__ == "__main__":
    run_engine._FLUSH_SECONDS = 0
    with open_store(sys.argv[1]) as store:
        verifying.verify_run(store, "r", ExactVerifier(effort=200_000), jobs=2)
"""


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="looks into /proc")
def test_workers_go_when_their_parent_is_killed(tmp_path: Path) -> None:
    place = str(tmp_path / "s.db")
    prepare(place)
    script = tmp_path / "parent.py"
    script.write_text(_PARENT, encoding="utf-8")
    path = os.pathsep.join([str(Path(__file__).parent.parent), os.environ.get("PYTHONPATH", "")])
    process = subprocess.Popen(
        [sys.executable, str(script), place], env={**os.environ, "PYTHONPATH": path}
    )
    try:
        wait_until(lambda: len(find_descendants(process.pid)) >= 2, "there are workers")
        with open_store(place) as store:
            wait_until(lambda: store.count_rows()["labels"] > 0, "they have judged something")
        children = find_descendants(process.pid)
        assert len(children) >= 2
    finally:
        process.kill()
        process.wait()
    wait_until(lambda: not any(map(is_running, children)), "the workers are gone")
    with open_store(place) as store:
        verify_run(store, "r", ExactVerifier())
    check_whole(place)
