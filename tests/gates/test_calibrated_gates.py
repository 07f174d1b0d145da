"""Gates that rest on an instrument: its calibration decides, as long as it holds."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from claimwise.calibration.calibrate import calibrate_verifier
from claimwise.calibration.values import Calibrated, TrustRule
from claimwise.config import Config, Project, find_project
from claimwise.errors import ConfigError
from claimwise.gates.run import run_gates
from claimwise.gates.settings import read_gates
from claimwise.gates.trust import Doubt, describe_doubts
from claimwise.gates.values import Gate, GateDecision
from claimwise.store import Store
from small_data import Record, answer, item, label, load, run, source
from support.gates import write_gates

JUDGE = {"type": "labelers", "labeler": "judge:x", "labeler_kind": "verifier"}
SPAN = {"supporting_span": "It opened in 1999.", "source_id": "doc"}
TODAY = datetime.now(UTC).replace(tzinfo=None)


def decide(store: Store, folder: Path, **rule: Any) -> GateDecision:
    gate = Gate(**{"metric": "faithfulness", "name": "g", "min": 0.8, **rule})
    return run_gates(store, Project(folder, Config(gates=write_gates(gate))), "r").gates[0]


def give(item_id: str, text: str, verdict: str, labeler: str, run_id: str) -> Record:
    span = SPAN if verdict == "supported" else {}
    return label(item_id, text, verdict, labeler=labeler, run_id=run_id, **span)


def load_runs(store: Store, *, wrong: int = 0, domain: str | None = None, first: int = 0) -> None:
    """A run that the judge calls good, and an old one that people and the judge have labelled.

    Half of the old claims are bad; the judge errs on the first ``wrong`` claims of each item.
    """
    rows: list[Record] = []
    texts = [f"claim {c}" for c in range(4)]
    for n in range(first, first + 60):
        name = f"i{n}"
        rows += [
            item(name, domain=domain),
            answer(name, *texts),
            answer(name, *texts, run_id="old"),
        ]
        for c, text in enumerate(texts):
            truth, other = ("supported", "unlinked") if c % 2 else ("unlinked", "supported")
            rows.append(give(name, text, "supported", "judge:x", "r"))
            rows.append(give(name, text, other if c < wrong else truth, "judge:x", "old"))
            rows += [give(name, text, truth, who, "old") for who in ("ana", "ben")]
    load(store, *rows)


def prepare(store: Store) -> None:
    load(store, JUDGE, source(), run(), run("old"))


def calibrate(store: Store, days_ago: int = 0, **more: Any) -> Calibrated:
    return calibrate_verifier(store, "judge:x", now=TODAY - timedelta(days=days_ago), **more)


def test_a_trusted_judge_may_pass(store: Store, tmp_path: Path) -> None:
    prepare(store)
    load_runs(store)
    assert calibrate(store).overall.status == "trusted"
    found = decide(store, tmp_path)
    assert found.outcome == "pass"
    until = (TODAY + timedelta(days=90)).date()
    assert f"judge:x, by its calibration: trusted until {until}." in found.notes


def test_a_distrusted_judge_may_not(store: Store, tmp_path: Path) -> None:
    prepare(store)
    load_runs(store, wrong=2)
    assert calibrate(store).overall.status == "not trusted"
    found = decide(store, tmp_path)
    assert found.outcome == "inconclusive"
    assert found.slices[0].untrusted == 240
    assert "judge:x is not trusted: balanced accuracy" in found.slices[0].reason
    assert decide(store, tmp_path, min_agreement=0.0).outcome == "pass"


def test_only_a_calibration_gives_trust(store: Store, tmp_path: Path) -> None:
    """Agreement alone would do in 0.6.0, however few people labelled."""
    prepare(store)
    load_runs(store)
    assert decide(store, tmp_path).outcome == "inconclusive"
    calibrate(store, days_ago=1, rule=TrustRule(min_claims=1000))
    found = decide(store, tmp_path)
    assert found.outcome == "inconclusive"
    assert "judge:x is not known to be trusted" in found.slices[0].reason
    assert "1,000 are needed" in found.slices[0].reason
    calibrate(store)
    assert decide(store, tmp_path).outcome == "pass"
    assert decide(store, tmp_path, calibration="ignore").outcome == "inconclusive"


def test_doubts_that_hold_in_several_places_are_told_once() -> None:
    doubts = [Doubt("x is not trusted", "domain=a", "50%"), Doubt("y judged one of the runs")]
    assert describe_doubts(doubts) == "x is not trusted in domain=a: 50%; y judged one of the runs"
    doubts.append(Doubt("x is not trusted", "domain=b", "60%"))
    assert describe_doubts(doubts) == (
        "x is not trusted in domain=a, domain=b (claimwise calibrate says why); "
        "y judged one of the runs"
    )


def test_a_trusted_judge_is_believed_only_as_far_as_its_error(store: Store, tmp_path: Path) -> None:
    """It found every claim supported, and was never seen to err on 240: that is no certainty."""
    prepare(store)
    load_runs(store)
    calibrate(store)
    found = decide(store, tmp_path, min=0.99)
    assert (found.outcome, found.slices[0].basis) == ("inconclusive", "judge_only")
    assert found.slices[0].rate == 1.0
    assert "with the error of its calibration" in found.slices[0].reason
    assert 0.9 < (found.slices[0].low or 0) < 0.99


def test_an_expired_calibration_gives_no_trust(store: Store, tmp_path: Path) -> None:
    prepare(store)
    load_runs(store)
    calibrate(store, days_ago=91)
    found = decide(store, tmp_path)
    assert found.outcome == "inconclusive"
    ended = (TODAY - timedelta(days=1)).date()
    assert f"expired on {ended}" in found.slices[0].reason
    calibrate(store)
    assert decide(store, tmp_path).outcome == "pass"


def test_a_calibration_can_be_required(store: Store, tmp_path: Path) -> None:
    prepare(store)
    load_runs(store)
    found = decide(store, tmp_path, calibration="require")
    assert found.outcome == "inconclusive"
    assert "judge:x: no calibration for such items" in found.slices[0].reason


@pytest.mark.each_engine
def test_trust_in_one_domain_is_no_trust_in_another(store: Store, tmp_path: Path) -> None:
    prepare(store)
    load_runs(store, domain="law")
    load_runs(store, domain="health", wrong=2, first=60)
    calibrate(store)
    found = decide(store, tmp_path, by=("domain",))
    slices = {row.slice["domain"]: row for row in found.slices}
    assert (slices["law"].outcome, slices["health"].outcome) == ("pass", "inconclusive")
    assert "not trusted in domain=health" in slices["health"].reason
    whole = decide(store, tmp_path)
    assert (whole.outcome, whole.slices[0].untrusted) == ("inconclusive", 480)


def test_a_metric_of_other_labels_is_not_concerned(store: Store, tmp_path: Path) -> None:
    prepare(store)
    load_runs(store)
    calibrate(store)
    found = decide(store, tmp_path, metric="unscored_share", min=None, max=0.1)
    assert not any("calibration" in note for note in found.notes)


def test_the_key_is_checked(tmp_path: Path) -> None:
    path = tmp_path / "claimwise.toml"
    path.write_text('[[gates]]\nmetric = "faithfulness"\nmin = 0.8\ncalibration = "maybe"\n')
    with pytest.raises(ConfigError, match="calibration"):
        read_gates(find_project(tmp_path))
