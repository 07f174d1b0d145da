"""Calibrated probabilities: whose map is applied, to what, and that nothing else changes."""

from __future__ import annotations

import csv
import json
import math
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from claimwise.calibration.calibrate import calibrate_verifier
from claimwise.calibration.probabilities import (
    find_probability_basis,
    list_probabilities,
    map_verdicts,
    measure_probabilities,
    score_verdict,
)
from claimwise.calibration.probability_text import describe_probabilities
from claimwise.calibration.status import NEVER, CalibrationStatuses, read_calibration_statuses
from claimwise.calibration.values import Calibrated, ProbabilityMap, RunProbabilities
from claimwise.checking.check import calibrate_result
from claimwise.errors import StoreError
from claimwise.store import Store, open_store
from claimwise.transfer.files import export_store, import_files
from claimwise.types.verdicts import AnswerClaim, CheckResult, ClaimVerdict, MapBasis
from small_data import Record, answer, item, label, load, run, source

NOW = datetime(2026, 11, 15, 12)  # noqa: DTZ001 - stores keep times in UTC without a zone
NAME = "verifier:v-1"
VERIFIER: Record = {
    "type": "labelers", "labeler": NAME, "labeler_kind": "verifier", "model": "m",
    "prompt_ver": "p1",
}  # fmt: skip
SPAN = {"supporting_span": "It opened in 1999.", "source_id": "doc"}


def make_rows(items: int, domain: str | None, prefix: str = "i") -> list[Record]:
    """Items with four claims: the instrument is 0.9 sure of all, and right about three in four."""
    rows: list[Record] = []
    for n in range(items):
        name = f"{prefix}{n}"
        rows += [item(name, domain=domain), answer(name, *(f"claim {c}" for c in range(4)))]
        for c in range(4):
            said, told = (
                ("supported" if c < 2 else "unlinked"),
                ("supported" if c % 2 else "unlinked"),
            )
            told = said if (n + c) % 4 else told
            for verdict, who in ((said, NAME), (told, "ana")):
                sure = {"confidence": 0.9 if c else 0.6} if who == NAME else {}
                span = SPAN if verdict == "supported" else {}
                rows.append(label(name, f"claim {c}", verdict, labeler=who, **span, **sure))
    return rows


def calibrate(
    store: Store, *, now: datetime = NOW, by: tuple[str, ...] = ("domain",)
) -> Calibrated:
    return calibrate_verifier(store, "v-1", now=now, by=by)


@pytest.fixture
def filled(store: Store) -> Store:
    """Claims of law with a map, and two items of health that are too few for one."""
    load(store, VERIFIER, source(), run(), *make_rows(30, "law"), *make_rows(2, "health", "h"))
    return store


def find(store: Store, domain: str | None, *, labeler: str = NAME, now: datetime = NOW) -> MapBasis:
    return find_probability_basis(read_calibration_statuses(store, now), labeler, domain)[0]


def test_a_map_speaks_for_its_own_domain_alone(filled: Store) -> None:
    found = calibrate(filled)
    law = next(one for one in found.slices if one.slice == {"domain": "law"})
    basis = find(filled, "law")
    assert (basis.calibration_id, basis.claims, basis.runs) == (law.calibration_id, 120, ("r",))
    assert find(filled, "health").why == "too few labelled claims for a map, or of one kind only"
    assert find(filled, "sport").why == "its calibration rests on no item of domain sport"
    assert find(filled, None).why == "its calibration rests on no item without a domain"
    assert find(filled, "law", labeler="verifier:v-2").why == NEVER


def test_a_map_of_all_claims_speaks_for_the_domains_that_it_saw(filled: Store) -> None:
    whole = calibrate(filled, by=()).overall
    for domain in ("law", "health"):
        assert find(filled, domain).calibration_id == whole.calibration_id
    assert find(filled, "sport").calibration_id is None


def test_the_newest_calibration_counts_and_an_expired_one_does_not(filled: Store) -> None:
    first = find_after(filled, NOW)
    second = find_after(filled, NOW + timedelta(days=1))
    assert first.calibration_id != second.calibration_id
    assert find(filled, "law", now=NOW + timedelta(days=2)) == second
    late = find(filled, "law", now=NOW + timedelta(days=400))
    assert (late.calibration_id, late.why) == (None, "its calibration expired on 2027-02-14")


def find_after(store: Store, now: datetime) -> MapBasis:
    calibrate(store, now=now)
    return find(store, "law", now=now)


def test_another_prompt_or_model_is_another_instrument(filled: Store) -> None:
    calibrate(filled)
    standings = read_calibration_statuses(filled, NOW)
    assert find_probability_basis(standings, NAME, "law", "p1")[0].why is None
    basis, none = find_probability_basis(standings, NAME, "law", "p2")
    assert none is None
    assert basis.why == "it was calibrated with another prompt or other settings"
    for other in ({"prompt_ver": "p2"}, {"model": "m2"}):
        load(filled, {**VERIFIER, **other}, update=True)
        assert find(filled, "law").why == NEVER


def test_a_map_of_closed_book_verdicts_speaks_for_no_grounded_one(filled: Store) -> None:
    """Nobody fits one today; a store that holds one must not mislead."""
    found = replace(calibrate(filled).overall, judgement="closed_book")
    assert found.fit is not None
    standings = CalibrationStatuses([found], NOW)
    assert standings.find_map(NAME, "law") == (None, NEVER)
    assert not standings.knows(NAME)
    assert standings.list_mapped() == []


@pytest.mark.each_engine
def test_a_map_of_an_earlier_version_is_not_used(filled: Store) -> None:
    """Those fitted one curve to all verdicts, and say nothing of a drop."""
    calibrate(filled)
    rows = filled.query("select calibration_id, detail from calibrations")
    for name, detail in rows:
        document = json.loads(detail)
        if document["fit"] is not None:
            del document["fit"]["map"]["drop"]
        filled.execute_all([(
            "update calibrations set detail = :detail where calibration_id = :name",
            {"detail": json.dumps(document), "name": name},
        )])  # fmt: skip
    assert find(filled, "law").why == "its map is of an earlier version of claimwise"
    assert read_calibration_statuses(filled, NOW).list_mapped() == []
    assert read_calibration_statuses(filled, NOW).knows(NAME)


@pytest.mark.each_engine
def test_the_latest_verdict_counts_and_one_taken_back_does_not(filled: Store) -> None:
    calibrate(filled)
    standings = read_calibration_statuses(filled, NOW)
    load(filled, label("i0", "claim 1", "contradicted", labeler=NAME, confidence=0.5,
                       labeled_at="2026-03-01T00:00:00Z"))  # fmt: skip

    def measure() -> tuple[int, float | None, int]:
        found = measure_probabilities(filled, "r", NAME, standings)
        law = next(one for one in found if one.basis.domain == "law")
        return law.verdicts, law.score, len(list(list_probabilities(filled, standings)))

    total = 30 * (0.6 + 0.9 + 0.1 + 0.1)
    assert measure() == pytest.approx((120, (total - 0.9 + 0.5) / 120, 129))
    filled.execute_all([(
        "insert into label_retractions select run_id, item_id, claim_id, 'grounded', labeler, "
        "labeled_at, labeled_at, 'amy' from labels where verdict = 'contradicted'", {},
    )])  # fmt: skip
    assert measure() == pytest.approx((120, total / 120, 128))


def test_means_of_a_run_are_means_of_its_claims(filled: Store) -> None:
    calibrate(filled)
    standings = read_calibration_statuses(filled, NOW)
    rows = {one.basis.domain: one for one in measure_probabilities(filled, "r", NAME, standings)}
    law, health = rows["law"], rows["health"]
    assert (law.verdicts, health.verdicts, law.without_confidence) == (120, 8, 0)
    assert law.score == pytest.approx((0.6 + 0.9 + 0.1 + 0.1) / 4)
    assert health.calibrated is None
    one_by_one = [one.calibrated for one in list_probabilities(filled, standings)
                  if one.item_id.startswith("i")]  # fmt: skip
    known = [value for value in one_by_one if value is not None]
    assert len(known) == 120
    assert law.calibrated == pytest.approx(sum(known) / 120)


def test_a_verdict_is_mapped_as_it_was_fitted(filled: Store) -> None:
    """What a map takes off for verdicts other than supported is taken off those, and no other."""
    calibrate(filled)
    found = find_probability_basis(read_calibration_statuses(filled, NOW), NAME, "law")[1]
    assert found is not None
    assert found.fit is not None
    curve = ProbabilityMap(kind="platt", slope=1.0, offset=0.5, drop=2.0)
    lower = replace(found, fit=replace(found.fit, map=curve))
    given = [("supported", 0.6), ("unlinked", 0.4), ("stale", 0.4)]
    assert [score_verdict(*one) for one in given] == [0.6] * 3
    odds = math.log(0.6 / 0.4) + 0.5
    expected = [1 / (1 + math.exp(-x)) for x in (odds, odds - 2, odds - 2)]
    assert map_verdicts(lower, given) == pytest.approx(expected)


@pytest.mark.each_engine
def test_labels_stay_as_they_are(filled: Store) -> None:
    before = filled.query("select * from labels order by 1, 2, 3, labeler")
    calibrate(filled)
    list(list_probabilities(filled, read_calibration_statuses(filled, NOW)))
    assert filled.query("select * from labels order by 1, 2, 3, labeler") == before


def test_verdicts_without_a_confidence_are_counted(filled: Store) -> None:
    calibrate(filled)
    load(filled, item("n", domain="law"), answer("n", "x"),
         label("n", "x", "unlinked", labeler=NAME))  # fmt: skip
    standings = read_calibration_statuses(filled, NOW)
    law = next(one for one in measure_probabilities(filled, "r", NAME, standings)
               if one.basis.domain == "law")  # fmt: skip
    assert (law.verdicts, law.without_confidence) == (120, 1)
    assert describe_probabilities([law])[0].endswith("; 1 more have none")


@pytest.mark.parametrize("form", ["jsonl", "csv", "parquet"])
def test_an_export_has_both_and_can_be_imported(filled: Store, tmp_path: Path, form: str) -> None:
    assert "probabilities" not in {path.stem for path, _ in export_store(filled, tmp_path, form)}
    calibrate_verifier(filled, "v-1", now=datetime.now())  # noqa: DTZ005 - must not be expired
    counts = {path.stem: count for path, count in export_store(filled, tmp_path, form)}
    assert counts["probabilities"] == 128
    if form == "parquet":  # the folder is a store
        with open_store(tmp_path) as opened:
            assert opened.query("select count(*) from labels") == [(256,)]
        return
    row = read_first(tmp_path / f"probabilities.{form}", "i0")
    assert float(row["score"]) == score_verdict(row["verdict"], float(row["confidence"]))
    assert 0 < float(row["calibrated"]) < 1
    with open_store(tmp_path / "again.db", create=True) as again:
        import_files(again, [tmp_path])
        assert again.query("select count(*) from labels") == [(256,)]


@pytest.mark.each_engine
def test_an_export_leaves_no_probabilities_of_a_map_that_no_longer_holds(
    filled: Store, tmp_path: Path
) -> None:
    calibrate_verifier(filled, "v-1", now=datetime.now())  # noqa: DTZ005 - must not be expired
    export_store(filled, tmp_path, "csv")
    calibrate(filled, now=datetime(2020, 1, 1))  # noqa: DTZ001 - as stores keep it
    counts = {path.stem: count for path, count in export_store(filled, tmp_path, "csv")}
    assert counts["probabilities"] == 128
    filled.execute_all([("update calibrations set expires_at = made_at, detail = '{}'", {})])
    with pytest.raises(StoreError, match="another version"):
        export_store(filled, tmp_path, "csv")
    counts = {p.stem: n for p, n in export_store(filled, tmp_path, "csv", calibrated=False)}
    assert (counts["probabilities"], counts["labels"]) == (0, 256)


def read_first(path: Path, item_id: str) -> dict[str, str]:
    text = path.read_text("utf-8")
    rows = csv.DictReader(text.splitlines()) if path.suffix == ".csv" else map(
        json.loads, text.splitlines()
    )  # fmt: skip
    return next(row for row in rows if row["item_id"] == item_id)


def test_a_checked_answer_gets_both_and_keeps_its_verdicts(filled: Store) -> None:
    calibrate(filled)
    standings = read_calibration_statuses(filled, NOW)
    claim = AnswerClaim(text="x", start=0, end=1, wording="x")
    result = CheckResult(
        answer="x", verifier=NAME,
        claims=(
            ClaimVerdict(claim=claim, verdict="supported", confidence=0.9),
            ClaimVerdict(claim=claim, verdict="contradicted", confidence=0.9),
            ClaimVerdict(claim=claim, unscored="timeout"),
        ),
    )  # fmt: skip
    found = calibrate_result(result, standings, "law")
    found_map = find_probability_basis(standings, NAME, "law")[1]
    expected = map_verdicts(found_map, [("supported", 0.9), ("contradicted", 0.9)])
    assert [one.calibrated for one in found.claims] == [*expected, None]
    assert [replace(one, calibrated=None) for one in found.claims] == list(result.claims)
    assert calibrate_result(result, standings, "health").claims == result.claims
    assert calibrate_result(result, CalibrationStatuses([], NOW), "law") == result
    silent = replace(result, claims=(ClaimVerdict(claim=claim, verdict="supported"),))
    assert calibrate_result(silent, standings, "law") == silent


def test_means_weigh_domains_by_their_verdicts() -> None:
    """A domain without any probability has no say, and no line."""
    basis = MapBasis(labeler=NAME, domain="law", made_at=NOW, kind="identity", claims=60,
                     runs=("r",), ece_before=0.1, ece_after=0.1)  # fmt: skip
    rows = [
        RunProbabilities(basis=basis, verdicts=30, without_confidence=0, score=0.5, calibrated=0.2),
        RunProbabilities(basis=replace(basis, domain="tax"), verdicts=10, without_confidence=2,
                         score=0.9, calibrated=0.6),
        RunProbabilities(basis=MapBasis(labeler=NAME, domain="x", why="no"), verdicts=0,
                         without_confidence=9, score=None, calibrated=None),
    ]  # fmt: skip
    [line] = describe_probabilities(rows)
    assert "are as given, as no map does better on 60 labelled claims of r" in line
    assert line.endswith("mean score of 40 verdicts 0.600, calibrated 0.300; 2 more have none")
    assert describe_probabilities(rows[2:]) == []


def test_lines_name_domains_only_where_they_differ(filled: Store) -> None:
    calibrate(filled)
    rows = measure_probabilities(filled, "r", NAME, read_calibration_statuses(filled, NOW))
    told = describe_probabilities(rows)
    assert len(told) == 2
    assert (
        "verifier:v-1: probabilities of support in health are not calibrated here: too" in told[0]
    )
    assert "in law are calibrated on 120 labelled claims of r (2026-11-15; " in told[1]
    calibrate(filled, now=NOW + timedelta(days=1), by=())
    later = read_calibration_statuses(filled, NOW + timedelta(days=1))
    [line] = describe_probabilities(measure_probabilities(filled, "r", NAME, later))
    assert "probabilities of support are calibrated on 128 labelled claims" in line
