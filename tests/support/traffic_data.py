"""Traffic in a store without reading a trace: answers, claims, a judge's verdicts, labels."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import numpy as np

from claimwise.store import Store

MONDAY = datetime(2026, 11, 9)  # noqa: DTZ001 - as stored: UTC without a zone
JUDGE = "verifier:test-1"
RATE = 0.85


def fill_traffic(
    store: Store,
    *,
    system: str = "bot",
    start: datetime = MONDAY,
    days: int = 7,
    answers: int = 30,
    labels: int = 0,
    judge: str = JUDGE,
    rate: float = RATE,
    unscored: int = 0,
    seed: int = 0,
    chance: float | None = None,
) -> list[str]:
    """Add days of traffic of one system, 4 claims per answer, and labels of random claims.

    Every fifth answer was sampled with probability 0.5, the others with 1. Returns the runs.
    """
    generator = np.random.default_rng(seed)
    tables: dict[str, list[dict[str, Any]]] = {
        name: []
        for name in ("runs", "eval_items", "answers", "traffic_answers", "claims", "labels",
                     "unscored_claims")
    }  # fmt: skip
    for day in range(days):
        moment = start + timedelta(days=day)
        run_id = f"traffic-{system}-{moment:%Y-%m-%d}"
        tables["runs"].append(
            {"run_id": run_id, "system": system, "corpus_ver": "v1", "started_at": moment}
        )
        for number in range(answers):
            _add_answer(tables, run_id, system, moment, number, judge, rate, generator)
    _label(tables, labels, chance, generator)
    _fail(tables, unscored, judge)
    with store.write():
        _add_labelers(store, judge)
        for table, rows in tables.items():
            if rows:
                columns = tuple(rows[0])
                store.insert_rows(table, columns, (tuple(row[c] for c in columns) for row in rows))
    return [row["run_id"] for row in tables["runs"]]


def _add_labelers(store: Store, judge: str) -> None:
    known = {row[0] for row in store.query("select labeler from labelers")}
    rows = [(judge, "verifier", "p1", "m1"), ("ann", "human", None, None)]
    store.insert_rows(
        "labelers", ("labeler", "labeler_kind", "prompt_ver", "model"),
        [row for row in rows if row[0] not in known],
    )  # fmt: skip
    if not store.query("select 1 from guide_versions where guide_version = 'g1'"):
        store.insert_rows(
            "guide_versions", ("guide_version", "guide_text", "created_at"),
            [("g1", "Judge fairly.", MONDAY)],
        )  # fmt: skip


def _add_answer(
    tables: dict[str, list[dict[str, Any]]],
    run_id: str,
    system: str,
    moment: datetime,
    number: int,
    judge: str,
    rate: float,
    generator: np.random.Generator,
) -> None:
    item = f"{run_id}-{number:03}"
    key = {"run_id": run_id, "item_id": item}
    at = moment + timedelta(minutes=30 * number % 1440)
    tables["eval_items"].append({"item_id": item, "query": "Why?", "source_corpus_ver": "v1"})
    tables["answers"].append({**key, "sample": 0, "answer_text": "Because."})
    tables["traffic_answers"].append(
        {**key, "sample": 0, "trace_id": item, "system": system, "answered_at": at,
         "received_at": at, "conversation": f"{run_id}-c{number // 2}" if number % 3 else None,
         "rule": "all", "inclusion_probability": 1.0 if number % 5 else 0.5}
    )  # fmt: skip
    share = generator.beta(rate * 3, (1 - rate) * 3)
    for place in range(4):
        right = bool(generator.random() < share)
        score = 1 / (1 + np.exp(-generator.normal(2.0 if right else -0.6, 1.0)))
        claim = {**key, "claim_id": f"{item}-{place}", "claim_text": f"Claim {place}."}
        tables["claims"].append(
            {**claim, "sample": 0, "position": place, "claim_type": "factual", "unit": "sentence",
             "right": right}
        )  # fmt: skip
        tables["labels"].append(
            {**claim, "claim_type": "factual",
             "verdict": "supported" if score >= 0.5 else "unlinked", "labeler": judge,
             "labeled_at": at + timedelta(hours=1), "label_kind": "verifier",
             "guide_version": None, "confidence": float(max(score, 1 - score)),
             "inclusion_probability": None}
        )  # fmt: skip


def _label(
    tables: dict[str, list[dict[str, Any]]],
    labels: int,
    chance: float | None,
    generator: np.random.Generator,
) -> None:
    claims = tables["claims"]
    for at in generator.choice(len(claims), labels, replace=False).tolist():
        claim = claims[at]
        tables["labels"].append(
            {**{name: claim[name] for name in ("run_id", "item_id", "claim_id", "claim_text")},
             "claim_type": "factual", "verdict": "supported" if claim["right"] else "contradicted",
             "labeler": "ann", "labeled_at": tables["runs"][-1]["started_at"] + timedelta(days=2),
             "label_kind": "human", "guide_version": "g1", "confidence": None,
             "inclusion_probability": chance}
        )  # fmt: skip
    for claim in claims:
        del claim["right"]


def _fail(tables: dict[str, list[dict[str, Any]]], unscored: int, judge: str) -> None:
    """Make the judge fail on the first claims."""
    failed = tables["labels"][:unscored]
    tables["labels"] = tables["labels"][unscored:]
    tables["unscored_claims"] += [
        {**{name: row[name] for name in ("run_id", "item_id", "claim_id", "claim_text")},
         "judgement": "grounded", "labeler": judge, "failed_at": row["labeled_at"],
         "reason": "timeout"}
        for row in failed
    ]  # fmt: skip
