"""Gates on stored runs: SQLite and PostgreSQL, real rows, the whole way to a decision."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from claimwise.config import Config, Project
from claimwise.errors import MetricError
from claimwise.gates.run import run_gates
from claimwise.gates.values import Gate, GateDecision
from claimwise.store import Store
from small_data import Record, answer, claim, item, label, load, run, source
from support.gates import write_gates


def make_project(folder: Path, *gates: Gate) -> Project:
    return Project(folder, Config(gates=write_gates(*gates)))


def decide(store: Store, folder: Path, **rule: Any) -> GateDecision:
    gate = Gate(**{"metric": "faithfulness", "name": "g", **rule})
    return run_gates(store, make_project(folder, gate), "r").gates[0]


def make_run(
    count: int,
    good: int,
    *,
    run_id: str = "r",
    labeler: str = "ana",
    first: int = 0,
    **of_item: Any,
) -> list[Record]:
    """Answers with four labelled claims each; the first ``good`` claims of each are supported."""
    rows: list[Record] = []
    for n in range(first, first + count):
        name = f"i{n}"
        claims = [f"claim {c}" for c in range(4)]
        rows += [item(name, **of_item)] if run_id == "r" else []
        rows += [answer(name, *claims, run_id=run_id)]
        rows += [
            label(name, text, "supported" if c < good else "unlinked", run_id=run_id,
                  labeler=labeler, **({"supporting_span": "It opened in 1999.", "source_id": "doc"}
                                      if c < good else {}))
            for c, text in enumerate(claims)
        ]  # fmt: skip
    return rows


JUDGE = {"type": "labelers", "labeler": "judge:x", "labeler_kind": "verifier"}


def test_people_decide(store: Store, tmp_path: Path) -> None:
    load(store, source(), run(), *make_run(60, 4))
    found = decide(store, tmp_path, min=0.8)
    assert (found.outcome, found.slices[0].items, found.slices[0].units) == ("pass", 60, 240)
    assert decide(store, tmp_path, min=0.99).outcome == "inconclusive"


def test_a_judge_without_known_agreement_passes_nothing(store: Store, tmp_path: Path) -> None:
    load(store, JUDGE, source(), run(), *make_run(60, 4, labeler="judge:x"))
    found = decide(store, tmp_path, min=0.8)
    assert found.outcome == "inconclusive"
    assert "judge:x: agreement with people unknown" in found.slices[0].reason
    assert found.slices[0].untrusted == 240
    assert decide(store, tmp_path, min=0.8, min_agreement=0.0).outcome == "pass"


def test_a_judge_that_nobody_checked_fails_nothing_either(store: Store, tmp_path: Path) -> None:
    load(store, JUDGE, source(), run(), *make_run(60, 1, labeler="judge:x"))
    assert decide(store, tmp_path, min=0.8).outcome == "inconclusive"
    assert decide(store, tmp_path, min=0.8, min_agreement=0.0).outcome == "fail"


def test_raw_agreement_passes_nothing(store: Store, tmp_path: Path) -> None:
    """A judge that always says “supported” agrees with people wherever most claims are."""
    load(
        store, JUDGE, source(), run(), run("old"),
        *make_run(120, 4, labeler="judge:x"),
        *make_run(120, 4, run_id="old", labeler="judge:x"),
        *_only_labels(make_run(106, 4, run_id="old")),
        *_only_labels(make_run(14, 0, run_id="old", first=106)),
    )  # fmt: skip
    found = decide(store, tmp_path, min=0.9)
    assert found.outcome == "inconclusive"
    reason = found.slices[0].reason
    assert "agrees with people on 88% of 480 claims here, but isn't calibrated" in reason


def test_a_judge_with_a_card_carries_its_own_error(store: Store, tmp_path: Path) -> None:
    """It calls three quarters supported, surely more than 0.6; of people that is not sure."""
    judge = "verifier:embedded-7"
    listed = {"type": "labelers", "labeler": judge, "labeler_kind": "verifier"}
    load(store, listed, source(), run(), *make_run(60, 3, labeler=judge))
    assert decide(store, tmp_path, min=0.6, min_agreement=0.0).outcome == "pass"
    found = decide(store, tmp_path, min=0.6)
    assert (found.outcome, found.slices[0].basis) == ("inconclusive", "judge_only")
    assert f"{judge}, not checked against people here" in found.slices[0].reason
    assert decide(store, tmp_path, min=0.9).outcome == "inconclusive"
    assert decide(store, tmp_path, min=0.1).outcome == "pass"
    assert decide(store, tmp_path, min=0.1, calibration="require").outcome == "inconclusive"


def test_people_and_a_judge_are_no_rate_together(store: Store, tmp_path: Path) -> None:
    """People found three quarters of their claims supported; the judge's are left open."""
    load(
        store, JUDGE, source(), run(), *make_run(60, 3),
        *make_run(6, 4, first=60, labeler="judge:x"),
    )  # fmt: skip
    found = decide(store, tmp_path, min=0.6).slices[0]
    assert (found.basis, found.rate, found.untrusted) == ("people", 0.75, 24)
    assert found.outcome == "pass"
    assert decide(store, tmp_path, min=0.72).outcome == "inconclusive"


def _only_labels(records: list[Record]) -> list[Record]:
    return [record for record in records if record["type"] == "labels"]


def test_unscored_claims_and_unsplit_answers_widen(store: Store, tmp_path: Path) -> None:
    load(store, source(), run(), *make_run(60, 4))
    load(store, *(row for n in range(60, 160) for row in (item(f"i{n}"), answer(f"i{n}"))))
    found = decide(store, tmp_path, min=0.8)
    assert found.outcome == "inconclusive"
    assert found.slices[0].unscored == 400
    assert "100 answers of r were never split into claims" in found.notes[0]


def test_everything_unscored_could_not_run(store: Store, tmp_path: Path) -> None:
    load(store, source(), run(), item("a"), answer("a", "one", "two"))
    with pytest.raises(MetricError, match=r"nothing is scored in run 'r' \(2 unscored"):
        decide(store, tmp_path, min=0.8)


def test_nothing_to_measure_could_not_run(store: Store, tmp_path: Path) -> None:
    load(store, source(), run(), item("a"), answer("a", claim("hi", claim_type="non_factual")))
    with pytest.raises(MetricError, match="run 'r' has no item for faithfulness"):
        decide(store, tmp_path, min=0.8)


def test_an_empty_slice_could_not_run(store: Store, tmp_path: Path) -> None:
    load(store, source(), run(), *make_run(20, 4))
    with pytest.raises(MetricError, match="where stakes=hihg"):
        decide(store, tmp_path, min=0.8, where={"stakes": "hihg"})


def test_a_slice_that_the_run_was_never_asked_is_inconclusive(store: Store, tmp_path: Path) -> None:
    load(store, source(), run(), *make_run(60, 4), item("x", query_type="multi_hop"))
    found = decide(store, tmp_path, min=0.8, by=("query_type",))
    assert found.outcome == "inconclusive"
    assert found.slices[0].reason == "never asked in this run: 1 item"


@pytest.mark.each_engine
@pytest.mark.parametrize("by", [(), ("query_type",)])
def test_items_that_the_run_was_never_asked_are_counted(
    store: Store, tmp_path: Path, by: tuple[str, ...]
) -> None:
    """A run that broke off half-way is told from a whole one."""
    load(store, source(), run(), *make_run(60, 4), *(item(f"x{n}") for n in range(40)))
    load(store, item("high", stakes="high"))
    found = decide(store, tmp_path, min=0.8, by=by, where={"stakes": "low"})
    assert found.outcome == "pass"
    assert found.notes == ("Never asked in this run: 40 of 100 items.",)


def test_a_slice_without_claims_is_named_and_no_gap(store: Store, tmp_path: Path) -> None:
    load(
        store, source(), run(), *make_run(60, 4), item("x", query_type="unanswerable"),
        answer("x", action="abstain"),
    )  # fmt: skip
    found = decide(store, tmp_path, min=0.8, by=("query_type",))
    assert found.outcome == "pass"
    assert found.notes == ("query_type=unanswerable: asked (1), and no claim to measure.",)


def test_where_narrows_and_by_divides(store: Store, tmp_path: Path) -> None:
    load(
        store, source(), run(), *make_run(60, 4, stakes="high"),
        *make_run(60, 1, first=60, stakes="low"),
    )  # fmt: skip
    assert decide(store, tmp_path, min=0.8, where={"stakes": "high"}).outcome == "pass"
    assert decide(store, tmp_path, min=0.8, by=("stakes",)).outcome == "fail"
    assert decide(store, tmp_path, min=0.8, by=("stakes",), where={"stakes": "high"}).slices[
        0
    ].slice == {"stakes": "high"}


def test_unknown_slice_metric_and_run(store: Store, tmp_path: Path) -> None:
    load(store, source(), run(), *make_run(5, 4))
    with pytest.raises(MetricError, match="Unknown column 'colour'"):
        decide(store, tmp_path, min=0.8, by=("colour",))
    with pytest.raises(MetricError, match="Unknown metric"):
        decide(store, tmp_path, metric="faithfullness", min=0.8)
    project = make_project(tmp_path, Gate(metric="faithfulness", name="g", min=0.8))
    with pytest.raises(MetricError, match="Unknown run 'nope'"):
        run_gates(store, project, "nope")


@pytest.mark.each_engine
def test_the_baseline_is_the_previous_run_of_the_system(store: Store, tmp_path: Path) -> None:
    load(
        store, source(), run(started_at="2026-03-01T00:00:00Z"),
        run("older"), run("old", started_at="2026-02-01T00:00:00Z"),
        run("foreign", started_at="2026-02-15T00:00:00Z", system="another"),
        *make_run(60, 4), *make_run(60, 4, run_id="old"), *make_run(60, 1, run_id="older"),
    )  # fmt: skip
    found = decide(store, tmp_path, baseline="previous", margin=0.2)
    assert (found.baseline_id, found.outcome) == ("old", "pass")
    assert decide(store, tmp_path, baseline="older").slices[0].change == pytest.approx(0.75)


@pytest.mark.parametrize(
    ("baseline", "words"),
    [
        ("previous", "the system of 'r' has no run before it"),
        ("nope", "Unknown run 'nope'"),
        ("r", "the run itself"),
        ("v2", "used corpus 'v2' and run 'r' used 'v1'"),
    ],
)
def test_baselines_that_can_not_be_compared_with(
    store: Store, tmp_path: Path, baseline: str, words: str
) -> None:
    load(
        store, source(), source(corpus_ver="v2"), run(),
        run("v2", corpus_ver="v2", started_at="2026-02-01T00:00:00Z"), *make_run(5, 4),
    )  # fmt: skip
    with pytest.raises(MetricError, match=words):
        decide(store, tmp_path, baseline=baseline)


def test_another_judge_is_no_change_of_the_system(store: Store, tmp_path: Path) -> None:
    load(
        store, JUDGE, source(), run(), run("old"), *make_run(60, 1, labeler="judge:x"),
        *make_run(60, 4, run_id="old"),
    )  # fmt: skip
    found = decide(store, tmp_path, baseline="old", min_agreement=0.0)
    assert found.outcome == "inconclusive"
    assert "judge:x judged only one of the two runs" in found.slices[0].reason


def test_an_item_that_now_abstains_stays_in_the_comparison(store: Store, tmp_path: Path) -> None:
    load(
        store, source(), run(), run("old"), *make_run(30, 4), *make_run(30, 4, run_id="old"),
        item("x"), answer("x", action="abstain"), answer("x", "one", run_id="old"),
        label("x", "one", "unlinked", run_id="old"),
        item("y"), answer("y", "one", run_id="old"), label("y", "one", "unlinked", run_id="old"),
    )  # fmt: skip
    found = decide(store, tmp_path, baseline="old").slices[0]
    assert (found.items, found.unpaired) == (31, 1)
    assert found.baseline_rate == pytest.approx(120 / 121)


@pytest.mark.each_engine
def test_metrics_of_a_project_can_be_gated(store: Store, tmp_path: Path) -> None:
    (tmp_path / "metrics").mkdir()
    (tmp_path / "metrics" / "long_claims.sql").write_text(
        "-- title: Long claims\n-- meaning: claims of many letters\n-- grain: item\n"
        "-- better: lower\n"
        "select c.item_id as cluster_id, c.claim_type as kind,\n"
        "    sum(case when length(c.claim_text) > 50 then 1 else 0 end) as numerator,\n"
        "    count(*) as denominator\n"
        "from claims as c where c.run_id = :run_id group by c.item_id, c.claim_type\n",
        encoding="utf-8",
    )
    load(store, JUDGE, source(), run(), *make_run(60, 4, labeler="judge:x"))
    found = decide(store, tmp_path, metric="long_claims", max=0.2, by=("kind",))
    assert found.outcome == "pass"  # no label is in it, so no judge either
    assert found.slices[0].slice == {"kind": "factual"}


@pytest.mark.each_engine
@pytest.mark.parametrize("view", ["deciding_labels", "DECIDING_LABELS", "Labels"])
def test_labels_are_found_however_a_metric_spells_them(
    store: Store, tmp_path: Path, view: str
) -> None:
    (tmp_path / "metrics").mkdir()
    (tmp_path / "metrics" / "own.sql").write_text(
        "-- title: Own\n-- meaning: supported claims\n-- grain: item\n-- better: higher\n"
        "select d.item_id as cluster_id,\n"
        "    sum(case when d.verdict = 'supported' then 1 else 0 end) as numerator,\n"
        "    count(*) as denominator\n"
        f"from {view} as d where d.run_id = :run_id group by d.item_id\n",
        encoding="utf-8",
    )
    load(store, JUDGE, source(), run(), *make_run(60, 4, labeler="judge:x"))
    found = decide(store, tmp_path, metric="own", min=0.8)
    assert (found.outcome, found.slices[0].untrusted) == ("inconclusive", 240)


@pytest.mark.each_engine
def test_no_metric_gets_round_trust_by_counting_other_things(store: Store, tmp_path: Path) -> None:
    """Documents instead of items: whose verdicts a document's are is unknown."""
    (tmp_path / "metrics").mkdir()
    (tmp_path / "metrics" / "own.sql").write_text(
        "-- title: Own\n-- meaning: supported claims\n-- grain: document\n-- better: higher\n"
        "select 'doc-' || d.item_id as cluster_id,\n"
        "    sum(case when d.verdict = 'supported' then 1 else 0 end) as numerator,\n"
        "    count(*) as denominator\n"
        "from deciding_labels as d where d.run_id = :run_id group by d.item_id\n",
        encoding="utf-8",
    )
    load(store, JUDGE, source(), run(), *make_run(60, 4, labeler="judge:x"))
    found = decide(store, tmp_path, metric="own", min=0.8)
    assert (found.outcome, found.slices[0].untrusted) == ("inconclusive", 240)
    assert "counts by something other than items" in found.slices[0].reason
    assert decide(store, tmp_path, metric="own", min=0.8, min_agreement=0.0).outcome == "pass"
    with pytest.raises(MetricError, match=r"own counts by something other than items .* no domain"):
        decide(store, tmp_path, metric="own", min=0.8, by=("domain",))


def slide(store: Store, steps: int) -> None:
    """Runs of one system; in each, six more of 150 items have lost all that they had."""
    load(store, source(), *(item(f"i{n}") for n in range(150)))
    for step in range(steps):
        name = "r" if step == steps - 1 else f"step{step}"
        load(store, run(name, started_at=f"2026-03-{step + 1:02}T00:00:00Z"))
        rows = [*make_run(150 - 6 * step, 4, run_id=name),
                *make_run(6 * step, 0, run_id=name, first=150 - 6 * step)]  # fmt: skip
        load(store, *(row for row in rows if row["type"] != "items"))


def test_a_slow_slide_meets_the_best_earlier_run(store: Store, tmp_path: Path) -> None:
    """Four points a step pass every time; after five steps twenty are lost."""
    slide(store, 6)
    rule = {"baseline": "previous", "margin": 0.1}
    found = decide(store, tmp_path, **rule)
    assert found.outcome == "fail"
    assert (found.baseline_id, found.anchor_id) == ("step4", "step0")
    told = "slow slide: worse than step0 by at least 13.5 points (10 points allowed)"
    assert found.slices[0].reason == told
    assert "Also compared with the earlier run step0." in found.notes
    assert decide(store, tmp_path, **rule, anchor="none").outcome == "pass"
    pinned = decide(store, tmp_path, **rule, anchor="step3")
    assert (pinned.outcome, pinned.anchor_id) == ("pass", "step3")
    with pytest.raises(MetricError, match="Unknown run 'nope'"):
        decide(store, tmp_path, **rule, anchor="nope")


def test_the_previous_run_may_be_the_best(store: Store, tmp_path: Path) -> None:
    slide(store, 2)
    assert decide(store, tmp_path, baseline="previous", margin=0.1).anchor_id is None


@pytest.mark.each_engine
def test_one_half_of_the_abstention_pair_brings_the_other(store: Store, tmp_path: Path) -> None:
    load(
        store, source(), run(), item("a"), answer("a", action="abstain"),
        item("b", answerable=False), answer("b", action="abstain"),
    )  # fmt: skip
    project = make_project(
        tmp_path,
        Gate(metric="over_refusal", name="o", max=0.5),
        Gate(metric="correct_abstention", name="c", min=0.5),
    )
    found = run_gates(store, project, "r", ["c"])
    assert [decision.gate.name for decision in found.gates] == ["o", "c"]
    assert found.exit_code == 3


@pytest.mark.each_engine
def test_items_of_measured_files_are_no_gap_of_a_golden_set(store: Store, tmp_path: Path) -> None:
    """They lie in the same store, and nobody meant to ask them again."""
    measured = {"query_type": None, "answerable": None, "stakes": None}
    load(store, source(), run(), *make_run(60, 4), item("from a file", **measured))
    found = decide(store, tmp_path, min=0.8, by=("query_type",))
    assert found.outcome == "pass"
    assert [one.slice for one in found.slices] == [{"query_type": "lookup"}]
