"""A report built from a real store."""

from __future__ import annotations

import pytest

from claimwise.metrics import load_metrics
from claimwise.run_report import build_report
from claimwise.store import Store


@pytest.mark.parametrize("run_id", ["baseline", "candidate"])
def test_report_leads_with_the_slice_most_clearly_bad(demo_store: Store, run_id: str) -> None:
    report = build_report(demo_store, load_metrics(), run_id, version="0")
    lead = report.worst[0]
    assert lead.estimate.metric == "faithfulness"
    assert lead.estimate.slice == {"query_type": "aggregation"}
    assert lead.stands_out
    table = report.tables[0]
    ends = [row.simultaneous_high for row in table.slices if row.micro is not None]
    assert lead.estimate.simultaneous_high == min(end for end in ends if end is not None)
    # Smaller slices have lower rates, and say less.
    assert table.slices[0].micro is not None
    assert lead.estimate.micro is not None
    assert table.slices[0].micro < lead.estimate.micro
    assert table.slices[0].items < lead.estimate.items


@pytest.mark.parametrize("run_id", ["baseline", "candidate"])
def test_worst_slices_are_never_better_than_the_whole(demo_store: Store, run_id: str) -> None:
    report = build_report(demo_store, load_metrics(), run_id, version="0")
    assert len(report.worst) >= 8
    for worst in report.worst:
        rate, overall = worst.estimate.micro, worst.overall
        assert rate is not None
        assert overall is not None
        assert (rate <= overall) == (worst.estimate.better == "higher") or rate == overall


@pytest.mark.each_engine
def test_report_counts_what_was_not_scored(demo_store: Store) -> None:
    report = build_report(demo_store, load_metrics(), "baseline", version="0")
    [unscored] = demo_store.query(
        "select count(*) from claims as c left join deciding_labels as d "
        "on d.run_id = c.run_id and d.item_id = c.item_id and d.claim_id = c.claim_id "
        "and d.label_kind <> 'verifier' "  # the report's rate is people's
        "where c.run_id = 'baseline' and c.claim_type <> 'non_factual' and d.claim_id is null"
    )
    assert sum(row.numerator for row in report.unscored) == unscored[0] == 12
    assert report.failed_answers == 1
    verifier = next(one for one in report.instruments if one.labeler == "verifier:overlap-v0")
    assert verifier.agreement is not None
    assert verifier.agreement.claims == 245 + 177  # of both runs, whichever is reported on
    assert verifier.agreement.micro == pytest.approx(0.80332, abs=1e-5)
    judge = next(one for one in report.instruments if one.labeler.startswith("judge:"))
    assert judge.agreement is None
    assert any("not yet checked against people" in warning for warning in report.warnings)
