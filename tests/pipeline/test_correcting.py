"""Corrected rates over many seeded draws: right on average, whatever was labelled before."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from math import ceil, sqrt
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from claimwise.calibration.correction import correct_run
from claimwise.calibration.correction_text import describe_correction
from claimwise.calibration.queries import count_verdicts_by_item
from claimwise.labelling.draw import draw_round
from claimwise.labelling.rounds import add_guide
from claimwise.store import Store, open_store
from claimwise.types.results import Weights
from small_data import SOURCE, answer, item, label, load, run, source

START = datetime(2026, 11, 15, 12)  # noqa: DTZ001 - stores keep times in UTC without a zone
CLAIMS = 120
SAMPLES = 100
# What is supported, and what two instruments say. They err on different claims.
TRUE = [n % 4 > 0 for n in range(CLAIMS)]
SAID = {
    "verifier:one": [good ^ (n % 15 == 0) for n, good in enumerate(TRUE)],
    "verifier:two": [good ^ (n % 3 == 0) for n, good in enumerate(TRUE)],
}


WEIGHTS = ["1" if n % 2 else "4" for n in range(CLAIMS // 3)]  # of items, by their traffic


class Drawn(NamedTuple):
    """How a round is drawn: the second instrument's strata hide what the first one's tell."""

    verifier: str
    size: int
    again: bool = False
    share: float = 0.5  # of every stratum's drawn claims that people label


FIRST = Drawn("verifier:one", 40, share=1)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """A run with 120 claims, three of an item, that two instruments judged."""
    with open_store(tmp_path / "store.db", create=True) as opened:
        load(opened, source(), run())
        for first in range(0, CLAIMS, 3):
            numbers = range(first, first + 3)
            load(
                opened, item(f"i{first}", attributes={"traffic": WEIGHTS[first // 3]}),
                answer(f"i{first}", *(f"claim {n}" for n in numbers)),
                *(label(f"i{first}", f"claim {n}", "supported" if said[n] else "unlinked",
                        labeler=name, label_kind="verifier",
                        **({"supporting_span": SOURCE, "source_id": "doc"} if said[n] else {}))
                  for name, said in SAID.items() for n in numbers),
            )  # fmt: skip
        load(opened, {"type": "labelers", "labeler": "ana", "labeler_kind": "human"})
        add_guide(opened, "g1", "Judge fairly.", START)
        yield opened


def label_some(
    store: Store, round_id: str, share: float, now: datetime, generator: np.random.Generator
) -> None:
    """Label a share of the drawn claims of every stratum, rounded up, as the truth is."""
    strata: dict[str, list[tuple[str, str, str, str]]] = {}
    rows = store.query(
        "select t.stratum, t.task_id, t.item_id, t.claim_id, c.claim_text from annotation_tasks "
        "as t join claims as c on c.run_id = t.run_id and c.item_id = t.item_id and c.claim_id = "
        "t.claim_id where t.round_id = :round_id order by t.position",
        {"round_id": round_id},
    )
    for stratum, *task in rows:
        strata.setdefault(stratum, []).append(tuple(task))
    changes = []
    for tasks in strata.values():
        for place in generator.permutation(len(tasks))[: ceil(share * len(tasks))].tolist():
            task_id, item_id, claim_id, text = tasks[place]
            verdict = "supported" if TRUE[int(text.split()[1])] else "unlinked"
            changes += [
                ("insert into labels (run_id, item_id, claim_id, claim_text, claim_type, verdict, "
                 "labeler, labeled_at, label_kind) values ('r', :item_id, :claim_id, :text, "
                 "'other', :verdict, 'ana', :now, 'human')",
                 {"item_id": item_id, "claim_id": claim_id, "text": text, "verdict": verdict,
                  "now": now}),
                ("update annotation_slots set state = 'done', labeler = 'ana' "
                 "where task_id = :task_id", {"task_id": task_id}),
            ]  # fmt: skip
    store.execute_all(changes)


def forget(store: Store) -> None:
    """Undo all rounds and what was labelled in them."""
    tables = ("slots", "tasks", "strata", "rounds")
    store.execute_all([
        *((f"delete from annotation_{name}", {}) for name in tables),
        ("delete from labels where labeler = 'ana'", {}),
    ])  # fmt: skip


def label_rounds(store: Store, seed: int, *rounds: Drawn) -> str:
    """Draw rounds one after the other, and label some of each; return the last."""
    generator = np.random.Generator(np.random.PCG64(seed))
    now, round_id = START, ""
    for drawn in rounds:
        round_id = draw_round(
            store, "r", "grounded", title=None, verifier=drawn.verifier, size=drawn.size,
            overlap=0.0, seed=int(generator.integers(2**31)), created_by="amy",
            guide_version="g1", now=now, again=drawn.again,
        ).round_id  # fmt: skip
        label_some(store, round_id, drawn.share, now + timedelta(hours=1), generator)
        now += timedelta(days=1)
    return round_id


def correct_once(store: Store, seed: int, *rounds: Drawn) -> float:
    """Label rounds, and correct the run by the last of them."""
    round_id = label_rounds(store, seed, *rounds)
    found = correct_run(store, "r")
    assert found is not None
    assert (found.round_id, found.claims) == (round_id, CLAIMS)
    forget(store)
    return found.value


@pytest.mark.parametrize(
    "rounds",
    [
        pytest.param((FIRST._replace(share=0.5),), id="one round"),
        pytest.param((FIRST, Drawn("verifier:two", 50)), id="labelled claims left out"),
        pytest.param((FIRST, Drawn("verifier:two", 70, again=True)), id="drawn again"),
    ],
)
def test_the_corrected_rate_is_right_on_average(store: Store, rounds: tuple[Drawn, ...]) -> None:
    """The first round draws claims that are not supported too often, the second knows nothing
    of that: what the first one's labels say must not pass for a random part of the second."""
    values = [correct_once(store, seed, *rounds) for seed in range(SAMPLES)]
    error = float(np.std(values, ddof=1)) / sqrt(SAMPLES)
    assert error < 0.01
    assert abs(np.mean(values) - np.mean(TRUE)) < 3 * error


def test_a_corrected_rate_speaks_for_the_traffic(store: Store) -> None:
    """With a label on every claim it is the weighted share of what is true, and nothing else."""
    label_rounds(store, 1, Drawn("verifier:one", CLAIMS, share=1))
    factors = np.repeat(np.array(WEIGHTS, dtype=float), 3)
    weights = Weights(column="traffic")
    found, plain = correct_run(store, "r", weights=weights), correct_run(store, "r")
    assert found is not None
    assert plain is not None
    assert found.value == pytest.approx(np.average(TRUE, weights=factors))
    assert found.instrument.value == pytest.approx(
        np.average(SAID["verifier:one"], weights=factors)
    )
    assert plain.value == pytest.approx(np.mean(TRUE))
    assert abs(found.value - plain.value) > 0.001
    assert found.low < found.value < found.high
    assert found.high - found.low > plain.high - plain.low
    # As many claims of factor 4 as of factor 1: 2 * (4² + 1²) / (4 + 1)².
    assert "weighted by traffic (design effect 1.36)" in describe_correction(found)


def test_only_a_judges_last_verdict_counts(store: Store) -> None:
    before = count_verdicts_by_item(store, "r", "verifier:one", "grounded")
    text = next(f"claim {n}" for n in range(3) if SAID["verifier:one"][n])
    later = {"labeled_at": "2026-11-15T00:00:00Z"}
    load(
        store, label("i0", text, "unlinked", labeler="verifier:one", label_kind="verifier", **later)
    )
    after = count_verdicts_by_item(store, "r", "verifier:one", "grounded")
    assert sum(after["i0"].values()) == sum(before["i0"].values()) == 3
    assert after["i0"].get("supported", 0) == before["i0"]["supported"] - 1
