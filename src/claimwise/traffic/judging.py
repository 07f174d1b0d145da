"""Judges live traffic: every run that has something open, by the engine that judges all runs."""

from __future__ import annotations

from typing import NamedTuple

from claimwise.checking.run import verify_run
from claimwise.judges.judge import Verifier, load_verifier
from claimwise.store import Store
from claimwise.store.files import SqlFolder

_SQL = SqlFolder("claimwise.traffic")


class JudgedTraffic(NamedTuple):
    """What was judged."""

    labeler: str
    runs: list[str]
    judged: int  # claims that got a verdict


def judge_traffic(store: Store, verifier: str | Verifier = "auto") -> JudgedTraffic:
    """Judge what is open in runs of live traffic.

    A claim that the judge could not score stays unscored: `claimwise verify --run RUN` asks again.
    """
    judge = load_verifier(verifier) if isinstance(verifier, str) else verifier
    found = store.query(_SQL["open_runs"], {"labeler": judge.labeler})
    runs = [str(row[0]) for row in found]
    judged = sum(verify_run(store, run_id, judge).judged for run_id in runs)
    return JudgedTraffic(judge.labeler, runs, judged)
