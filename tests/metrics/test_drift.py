"""Why a rate moved: causes planted in a store, and found again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from claimwise.comparison.drift import explain_drift
from claimwise.comparison.drift_values import Drift, DriftPart
from claimwise.comparison.queries import find_pair
from claimwise.errors import MetricError
from claimwise.metrics import load_metrics
from claimwise.metrics.run_judges import find_label_views
from claimwise.store import Store, open_store
from claimwise.transfer import export_store
from small_data import SOURCE, answer, item, label, load, run, source

METRICS = load_metrics()
FAITHFULNESS = METRICS["faithfulness"]
MOVED_SOURCE = SOURCE.replace("139 m", "141 m")


def told(run_id: str, item_id: str, *verdicts: str, labeler: str = "ana", **more: Any) -> list[Any]:
    texts = [f"{run_id} {number}" for number in range(len(verdicts))]
    labels = [
        label(item_id, text, verdict, run_id=run_id, labeler=labeler)
        for text, verdict in zip(texts, verdicts, strict=True)
    ]
    return [answer(item_id, *texts, run_id=run_id, **more), *labels]


def good(share: int, of: int = 4) -> list[str]:
    return ["supported"] * share + ["unlinked"] * (of - share)


def drift(store: Store, *by: str, base: str = "old", new: str = "new", **more: Any) -> Drift:
    (found,) = explain_drift(store, FAITHFULNESS, find_pair(store, base, new), by, **more)
    assert sum(part.change for part in found.parts) == pytest.approx(found.change, abs=1e-12)
    return found


def parts_of(found: Drift) -> dict[str, DriftPart]:
    return {" + ".join(part.causes): part for part in found.parts}


def with_gold(item_id: str, text: str, **more: Any) -> Any:
    return item(
        item_id,
        gold_spans=[{"source_id": "doc", "span_text": text, "required": True}],
        **more,
    )


def test_only_the_system_changed(store: Store) -> None:
    records = [source(), run("old", model="a"), run("new", model="b")]
    for number in range(30):
        name = f"i{number:02}"
        records += [item(name), *told("old", name, *good(4)), *told("new", name, *good(3))]
    load(store, *records)
    found = drift(store)
    parts = parts_of(found)
    assert list(parts) == ["system", "instrument", "evidence", "mix"]
    assert parts["system"].change == pytest.approx(-0.25)
    assert parts["system"].is_clear
    for name in ("instrument", "evidence", "mix"):
        part = parts[name]
        assert (part.change, part.low, part.high, part.changed) == (0, 0, 0, False)
    assert [parts[name].basis for name in ("instrument", "evidence", "mix")] == [
        "people in both runs",
        "both runs used corpus v1",
        "both runs were asked the same items",
    ]
    assert found.warnings == ()
    assert found.advice == ()


@pytest.mark.each_engine
def test_the_same_system_twice_is_told(store: Store) -> None:
    load(store, source(), run("old"), run("new"), item("i"), *told("old", "i", *good(4)),
         *told("new", "i", *good(4)))  # fmt: skip
    assert any("name the same system" in warning for warning in drift(store).warnings)


def fill_evidence(store: Store) -> None:
    """The height changed with the corpus, the price did not; only claims on heights got worse."""
    moved = MOVED_SOURCE
    records = [
        source(), source(corpus_ver="v2", source_text=moved),
        run("old", model="a"), run("new", model="b", corpus_ver="v2"),
    ]  # fmt: skip
    for number in range(20):
        name = f"h{number:02}"
        records += [with_gold(name, "The tower is 139 m tall."), *told("old", name, *good(4)),
                    *told("new", name, *good(1))]  # fmt: skip
    for number in range(20):
        name = f"p{number:02}"
        records += [with_gold(name, "Entry costs 5 euros."), *told("old", name, *good(4)),
                    *told("new", name, *good(4 if number else 3))]  # fmt: skip
    load(store, *records)


def test_changed_gold_spans_are_evidence(store: Store) -> None:
    fill_evidence(store)
    found = drift(store)
    parts = parts_of(found)
    assert set(found.moved_evidence) == {f"h{number:02}" for number in range(20)}
    assert found.moved_evidence["h00"] == ("doc",)
    assert parts["system"].change == pytest.approx(-1 / 80)
    assert not parts["system"].is_clear
    assert parts["evidence"].change == pytest.approx(-61 / 160 + 1 / 80)
    assert parts["evidence"].is_clear
    assert "20 shared items whose evidence changed (1 document)" in parts["evidence"].basis
    assert found.advice == (
        "Run the system of old on corpus v2; drift from old to that run shows what the changed "
        "evidence did without assuming that the system moved all items alike.",
    )


def test_passages_a_run_was_given_are_evidence_too(store: Store) -> None:
    both = [source(), source(corpus_ver="v2", source_text=MOVED_SOURCE)]
    given = {
        "same": "Dogs may come in.",  # stands in both texts
        "other": "The tower is 139 m tall.",  # in the old text alone
        "reworded": "The tower measures 139 metres.",  # in neither: the document as a whole counts
    }
    records = [*both, run("old"), run("new", corpus_ver="v2")]
    for name, text in given.items():
        context = [{"source_id": "doc", "context_text": text}]
        records += [item(name), *told("old", name, "supported", contexts=context),
                    *told("new", name, "supported")]  # fmt: skip
    load(store, *records)
    assert set(drift(store).moved_evidence) == {"other", "reworded"}


@pytest.mark.each_engine
@pytest.mark.parametrize(
    "change",
    [{"superseded_by": "next"}, {"valid_until": "2026-01-01"}, {"valid_from": "2020-01-01"}],
)
def test_a_document_whose_validity_changed_is_other_evidence(store: Store, change: Any) -> None:
    load(store, source(), source(corpus_ver="v2", **change), source("next", corpus_ver="v2"),
         run("old"), run("new", corpus_ver="v2"), with_gold("i", "Dogs may come in."), item("j"),
         *told("old", "i", *good(4)), *told("new", "i", *good(4)))  # fmt: skip
    assert set(drift(store).moved_evidence) == {"i"}


def test_a_removed_document_is_other_evidence(store: Store) -> None:
    load(store, source(), source("rest", corpus_ver="v2"), run("old"), run("new", corpus_ver="v2"),
         with_gold("i", "Dogs may come in."), *told("old", "i", *good(4)),
         *told("new", "i", *good(4)))  # fmt: skip
    found = drift(store)
    assert set(found.moved_evidence) == {"i"}
    assert "system + evidence" in parts_of(found)
    assert any("every shared item changed" in warning for warning in found.warnings)
    assert "tells system and evidence apart" in found.advice[0]


@pytest.mark.each_engine
def test_corpora_that_nobody_stored_cannot_be_told_apart(store: Store) -> None:
    load(store, source(), run("old"), run("new", corpus_ver="v9"), item("i"), item("j"),
         *told("old", "i", *good(4)), *told("new", "i", *good(2)))  # fmt: skip
    found = drift(store)
    assert set(parts_of(found)) == {"system + evidence", "mix", "instrument"}
    assert any("No document of corpus v9 is stored" in warning for warning in found.warnings)
    assert any("Import the documents of corpus v9" in advice for advice in found.advice)


def test_items_that_rest_on_nothing_known_are_told(store: Store) -> None:
    fill_evidence(store)
    load(store, item("x"), *told("old", "x", *good(4)), *told("new", "x", *good(4)))
    warnings = drift(store).warnings
    assert any("1 shared item with neither a gold span nor" in warning for warning in warnings)


def test_other_questions_are_mix(store: Store) -> None:
    records = [source(), run("old", model="a"), run("new", model="b")]
    for number in range(40):
        name = f"i{number:02}"
        records += [item(name), *told("old", name, *good(4 - number % 2)),
                    *told("new", name, *good(4 - (number + 1) % 2))]  # fmt: skip
    for number in range(20):
        records += [item(f"n{number:02}", query_type="multi_hop"),
                    *told("new", f"n{number:02}", *good(number % 3))]  # fmt: skip
    load(store, *records)
    found = drift(store, "query_type")
    parts = parts_of(found)
    assert parts["system"].change == pytest.approx(0)
    assert parts["mix"].change == pytest.approx(found.change)
    assert parts["mix"].is_clear
    assert parts["mix"].basis == "0 items only in the baseline, 20 items only in the new run"
    assert found.only_new == tuple(f"n{number:02}" for number in range(20))
    shares = {w.slice["query_type"]: (w.base_share, w.new_share) for w in found.weights}
    assert set(shares) == {"multi_hop", "lookup"}
    assert shares["multi_hop"] == pytest.approx((0, 1 / 3))
    assert shares["lookup"] == pytest.approx((1, 2 / 3))


def fill_judges(store: Store, rejudged: int, at: str = "2026-01-15T00:00:00Z") -> None:
    """The new judge rejects a claim in four; it judged some of the base's items as well."""
    records = [source(), run("old", model="a"), run("new", model="b")]
    for number in range(40):
        name = f"i{number:02}"
        records += [item(name), *told("old", name, *good(4), labeler="verifier:v1"),
                    *told("new", name, *good(3), labeler="verifier:v2")]  # fmt: skip
        if number < rejudged:
            records += [
                label(name, f"old {n}", "supported" if n < 3 else "unlinked", run_id="old",
                      labeler="verifier:v2", labeled_at=at)
                for n in range(4)
            ]  # fmt: skip
    load(store, *records)


def test_another_judge_is_measured_on_what_both_judged(store: Store) -> None:
    fill_judges(store, rejudged=20)
    # The base is still decided by its first judge: its labels are the latest.
    found = drift(store)
    parts = parts_of(found)
    assert found.base_instruments == {"verifier:v1": 160}
    assert found.new_instruments == {"verifier:v2": 160}
    assert found.overlap == 80
    assert parts["instrument"].change == pytest.approx(-0.25)
    assert parts["system"].change == pytest.approx(0)
    assert (
        "80 claims that both judged; other judges gave 100% of the labels, from verifier:v1 to"
        in parts["instrument"].basis
    )
    assert found.advice == ()


def test_judging_again_may_decide_from_then_on(store: Store) -> None:
    """The latest label decides: half of the base's claims are then the new judge's."""
    fill_judges(store, rejudged=20, at="2026-03-01T00:00:00Z")
    found = drift(store)
    parts = parts_of(found)
    assert found.base_instruments == {"verifier:v1": 80, "verifier:v2": 80}
    assert found.base_rate == pytest.approx(0.875)
    assert parts["instrument"].change == pytest.approx(-0.125)
    assert parts["system"].change == pytest.approx(0)


@pytest.mark.each_engine
def test_judges_without_overlap_cannot_be_told_apart(store: Store) -> None:
    fill_judges(store, rejudged=0)
    found = drift(store)
    joint = parts_of(found)["system + instrument"]
    assert joint.change == pytest.approx(-0.25)
    assert joint.basis.endswith("can't be told apart")
    assert any("No claim was judged by both" in warning for warning in found.warnings)
    assert found.advice == (
        "Re-judge 50 claims or more of old, drawn at random, with verifier:v2.",
    )


def test_a_small_overlap_is_told(store: Store) -> None:
    fill_judges(store, rejudged=5)
    found = drift(store)
    assert any("Only 20 claims judged by both" in warning for warning in found.warnings)
    assert found.advice[0].startswith("Re-judge 50 claims")


@pytest.mark.each_engine
def test_people_who_hand_over_half_to_a_judge(store: Store) -> None:
    """The half that a judge took over, which rejects one claim in four, is no part of the rate."""
    records = [source(), run("old", model="a"), run("new", model="b")]
    for number in range(40):
        name = f"i{number:02}"
        records += [item(name), *told("old", name, *good(4))]
        if number % 2:
            records += told("new", name, *good(4))
        else:
            records += told("new", name, *good(3), labeler="verifier:v2")
        records += [
            label(name, f"old {n}", "supported" if n < 3 else "unlinked", run_id="old",
                  labeler="verifier:v2")
            for n in range(4)
        ]  # fmt: skip
    load(store, *records)
    found = drift(store)
    parts = parts_of(found)
    assert found.new_instruments == {"people": 80}
    assert (found.base_rate, found.new_rate, found.new_unscored) == (1.0, 1.0, 80)
    assert not parts["instrument"].changed


@pytest.mark.each_engine
def test_another_guide_is_another_instrument(store: Store) -> None:
    guides = [
        {"type": "guides", "guide_version": name, "guide_text": "Judge.",
         "created_at": "2026-01-01T00:00:00Z"}
        for name in ("g1", "g2")
    ]  # fmt: skip
    load(store, source(), *guides, run("old"), run("new"), item("i"),
         answer("i", "c", run_id="old"), answer("i", "c", run_id="new"),
         label("i", "c", "supported", run_id="old", guide_version="g1"),
         label("i", "c", "supported", run_id="new", guide_version="g2"))  # fmt: skip
    found = drift(store)
    assert found.base_instruments == {"people by guide g1": 1}
    assert "system + instrument" in parts_of(found)
    assert found.advice == ("Let people label 50 claims of old, drawn at random.",)


@pytest.mark.each_engine
def test_guides_are_of_claims_alone(store: Store) -> None:
    """People judged the claims, by another guide each time; a judge says if answers are right."""
    records: list[Any] = [
        {"type": "guides", "guide_version": name, "guide_text": "Judge.",
         "created_at": "2026-01-01T00:00:00Z"}
        for name in ("g1", "g2")
    ]  # fmt: skip
    records.append({"type": "labelers", "labeler": "judge:a", "labeler_kind": "verifier"})
    for name, guide in (("old", "g1"), ("new", "g2")):
        records += [
            run(name),
            answer("i", "c", run_id=name),
            label("i", "c", "supported", run_id=name, guide_version=guide),
            {"type": "answer_labels", "run_id": name, "item_id": "i", "correct": True,
             "labeler": "judge:a", "labeled_at": "2026-01-02T00:00:00Z"},
        ]  # fmt: skip
    load(store, source(), item("i"), *records)
    found = explain_drift(store, METRICS["quadrant"], find_pair(store, "old", "new"))
    assert {drift.member: drift.change for drift in found}["faithful_correct"] == 0
    assert "people by guide g1" in found[0].base_instruments


def test_a_guide_that_nobody_recorded_tells_nothing_apart(store: Store) -> None:
    guide = {"type": "guides", "guide_version": "g", "guide_text": "Judge.",
             "created_at": "2026-01-01T00:00:00Z"}  # fmt: skip
    load(store, source(), guide, run("old"), run("new"), item("i"),
         answer("i", "c", run_id="old"), answer("i", "c", run_id="new"),
         label("i", "c", "supported", run_id="old"),
         label("i", "c", "supported", run_id="new", guide_version="g"))  # fmt: skip
    assert parts_of(drift(store))["instrument"].basis == "people in both runs"


def test_a_metric_without_labels_has_no_instrument(store: Store) -> None:
    load(store, source(), run("old"), run("new"), item("i"), item("u", answerable=False),
         answer("i", run_id="old"), answer("i", run_id="new", action="abstain"),
         answer("u", run_id="old"), answer("u", run_id="new", action="abstain"))  # fmt: skip
    pair = find_pair(store, "old", "new")
    both = explain_drift(store, METRICS["abstention"], pair)
    assert [found.member for found in both] == ["correct_abstention", "over_refusal"]
    assert all(found.change == 1 for found in both)
    basis = parts_of(both[0])["instrument"].basis
    assert basis == "the metric needs no labels"
    (one,) = explain_drift(store, METRICS["abstention"], pair, member="over_refusal")
    assert one == both[1]


def test_the_labels_that_metrics_read() -> None:
    assert find_label_views(FAITHFULNESS) == ["deciding_labels"]
    assert find_label_views(METRICS["abstention"]) == []
    assert find_label_views(METRICS["factual_precision"]) == ["deciding_closed_book_labels"]
    assert find_label_views(METRICS["quadrant"]) == ["deciding_labels", "deciding_answer_labels"]


def test_unscored_claims_are_in_no_part_and_told(store: Store) -> None:
    load(store, source(), run("old"), run("new", model="b"), item("i"),
         answer("i", "c", "d", run_id="old"), answer("i", "c", "d", run_id="new"),
         label("i", "c", "supported", run_id="old"),
         label("i", "c", "unlinked", run_id="new"))  # fmt: skip
    found = drift(store)
    assert found.change == -1
    assert "Unscored: 1 in the baseline, 1 in the new run. No part counts them." in found.warnings


def test_parquet_files_give_the_same(store: Store, tmp_path: Path) -> None:
    fill_evidence(store)
    load(store, label("h00", "old 0", "unlinked", run_id="old", labeler="verifier:v1"))
    export_store(store, tmp_path / "parquet", "parquet")
    with open_store(tmp_path / "parquet") as files:
        assert drift(files, "query_type") == drift(store, "query_type")


def test_bad_input_is_refused_in_one_line(store: Store) -> None:
    load(store, source(), item("a"), item("b"), run("old"), run("new"), run("bare"),
         *told("old", "a", "supported"), *told("new", "b", "supported"),
         answer("a", "c", run_id="bare"))  # fmt: skip
    with pytest.raises(MetricError, match="have no item in common"):
        drift(store)
    with pytest.raises(MetricError, match="nothing is scored in both for faithfulness on the 1"):
        drift(store, new="bare")
    with pytest.raises(MetricError, match="'system' is a column of runs"):
        drift(store, "system", new="bare")
