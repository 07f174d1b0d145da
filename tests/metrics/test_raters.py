"""Agreement from labels in a real store: what counts, what is kept apart, and what is said."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import pytest

from claimwise.agreement.coefficients import NO_OVERLAP, ONE_VERDICT, measure_fleiss
from claimwise.agreement.people import (
    _measure_slices,
    _Table,
    _Unit,
    advise_on,
    is_prevalence_trap,
    measure_people,
)
from claimwise.agreement.values import Agreement, AgreementFigures, Figure
from claimwise.errors import MetricError
from claimwise.labelling.draw import draw_round
from claimwise.labelling.rounds import add_guide, list_rounds
from claimwise.store import Store
from small_data import Record, answer, closed_label, item, label, load, run, source

pytestmark = pytest.mark.each_engine

CLAIMS = ("It is tall.", "It is old.")
NOW = datetime.fromisoformat("2026-03-01")


def guide(version: str) -> Record:
    return {"type": "guides", "guide_version": version, "guide_text": version,
            "created_at": "2026-01-01T00:00:00Z"}  # fmt: skip


def build(store: Store, *labels: Record, items: int = 12) -> None:
    """Load items with two claims each; even ones are lookups, odd ones aggregations."""
    names = [f"i{number:02}" for number in range(items)]
    kinds = ("lookup", "aggregation")
    load(
        store,
        source(),
        run(),
        *(guide(v) for v in ("g1", "g2")),
        *(
            {"type": "labelers", "labeler": n, "labeler_kind": "human"}
            for n in ("ana", "ben", "eve")
        ),
        {"type": "labelers", "labeler": "bot", "labeler_kind": "verifier"},
        *(item(name, query_type=kinds[n % 2]) for n, name in enumerate(names)),
        *(answer(name, *CLAIMS) for name in names),
        *labels,
    )


def tell(number: int, verdict: str, labeler: str, claim: int = 0, **more: Any) -> Record:
    return label(f"i{number:02}", CLAIMS[claim], verdict, labeler=labeler, **more)


def tell_both(verdicts: Sequence[tuple[str, str]], **more: Any) -> list[Record]:
    return [
        tell(number, verdict, labeler, **more)
        for number, pair in enumerate(verdicts)
        for labeler, verdict in zip(("ana", "ben"), pair, strict=True)
    ]


MIXED = [("unlinked", "unlinked")] * 5 + [("overreach", "overreach")] * 4 + [
    ("unlinked", "overreach"), ("contradicted", "unlinked"), ("overreach", "unlinked")
]  # fmt: skip


def test_labels_of_two_people(store: Store) -> None:
    build(store, *tell_both(MIXED), tell(0, "unlinked", "ana", 1))
    found = measure_people(store, "r")
    assert (found.several_labels, found.one_label) == (12, 1)
    assert found.labelers == {"ana": 13, "ben": 12}
    assert found.overall.items == 12
    assert found.overall.raw.value == pytest.approx(9 / 12)
    assert found.cohen.value == pytest.approx((9 / 12 - 67 / 144) / (1 - 67 / 144))
    [pair] = found.pairs
    assert (pair.one, pair.other, pair.claims) == ("ana", "ben", 12)
    assert (pair.kappa.value, pair.kappa.low, pair.kappa.high) == pytest.approx(
        (found.cohen.value, found.cohen.low, found.cohen.high)
    )
    by_name = {one.verdict: one for one in found.verdicts}
    assert by_name["unlinked"].labels == 13
    assert by_name["stale"].prevalence == 0
    assert sum(sum(row) for row in found.matrix) == 12
    assert found.matrix[1] == (0, 5, 2, 1, 0)


def test_claims_of_several_runs_are_units_of_their_own_in_the_clusters_of_items(
    store: Store,
) -> None:
    """The same claim of two runs counts twice; its item, which both asked, once."""
    build(store, *tell_both(MIXED))
    other = [("unlinked", "unlinked")] * 6 + [("unlinked", "contradicted")] * 6
    load(store, run("r2"),
          *(answer(f"i{number:02}", *CLAIMS, run_id="r2") for number in range(12)),
         *({**one, "run_id": "r2"} for one in tell_both(other)))  # fmt: skip
    first, second = measure_people(store, "r"), measure_people(store, "r2")
    both = measure_people(store, ["r", "r2"], by=("run_id",))
    assert (both.run_id, both.runs) == ("r, r2", ("r", "r2"))
    assert both.several_labels == both.overall.claims == 24
    assert both.overall.items == first.overall.items == second.overall.items == 12
    assert both.overall.raw.value == pytest.approx((9 + 6) / 24)
    assert {one.slice["run_id"]: one.figures.raw.value for one in both.slices} == {
        "r": first.overall.raw.value,
        "r2": second.overall.raw.value,
    }
    disputed = [claim.run_id for pair in both.disagreements for claim in pair.claims]
    assert (disputed.count("r"), disputed.count("r2")) == (3, 6)
    # Once is enough: a run named twice is the same run.
    assert measure_people(store, ["r", "r"]) == first


def test_disagreements_are_grouped_by_verdicts_and_rules(store: Store) -> None:
    decided = tell(9, "overreach", "eve", label_kind="adjudicated")
    build(store, *tell_both(MIXED, guide_version="g1"), decided)
    asked: list[tuple[str, str, str]] = []

    def find_rules(version: str, one: str, other: str) -> list[str]:
        asked.append((version, one, other))
        return [f"R9 {one} or {other}"]

    first, second = measure_people(store, "r", find_rules=find_rules).disagreements
    assert (first.one, first.other) == ("unlinked", "overreach")
    assert [claim.item_id for claim in first.claims] == ["i09", "i11"]
    assert [claim.decided for claim in first.claims] == ["overreach", None]
    assert first.claims[1].labels == (("ana", "overreach"), ("ben", "unlinked"))
    assert first.rules == ("R9 unlinked or overreach",)
    assert (second.one, second.other) == ("unlinked", "contradicted")
    assert ("g1", "unlinked", "overreach") in asked


def test_only_what_people_say_on_their_own_counts(store: Store) -> None:
    """An adjudicator has seen the others' labels, and a verifier is no person."""
    build(
        store,
        tell(0, "unlinked", "ana"),
        tell(0, "stale", "eve", label_kind="adjudicated"),
        tell(0, "overreach", "bot"),
    )
    found = measure_people(store, "r")
    assert found.labelers == {"ana": 1}
    assert (found.several_labels, found.one_label) == (0, 1)
    assert found.overall.fleiss == Figure(value=None, why=NO_OVERLAP)


def test_the_latest_label_of_a_person_counts(store: Store) -> None:
    build(
        store,
        tell(0, "unlinked", "ana", labeled_at="2026-02-03T00:00:00Z"),
        tell(0, "overreach", "ana", labeled_at="2026-02-02T00:00:00Z"),
        tell(0, "unlinked", "ben"),
    )
    found = measure_people(store, "r")
    assert found.overall.raw.value == 1
    assert found.labelers == {"ana": 1, "ben": 1}


def test_a_label_that_was_taken_back_does_not_count(store: Store) -> None:
    build(store, *tell_both(MIXED))
    [(claim_id,)] = store.query(
        "select claim_id from claims where item_id = 'i09' and claim_text = :text",
        {"text": CLAIMS[0]},
    )
    load(
        store,
        {"type": "label_retractions", "run_id": "r", "item_id": "i09", "claim_id": claim_id,
         "labeler": "ana", "labeled_at": "2026-02-01T00:00:00Z",
         "retracted_at": "2026-02-02T00:00:00Z", "retracted_by": "ana"},
    )  # fmt: skip
    found = measure_people(store, "r")
    assert (found.several_labels, found.one_label) == (11, 1)
    assert [len(pair.claims) for pair in found.disagreements] == [1, 1]


def test_versions_of_the_guide_are_kept_apart(store: Store) -> None:
    """Labels by two versions differ for a reason that is no disagreement."""
    build(
        store,
        *tell_both(MIXED[:6], guide_version="g1"),
        tell(6, "unlinked", "ana", guide_version="g1"),
        tell(6, "overreach", "ben", guide_version="g2"),
        tell(7, "stale", "ana", guide_version="g2"),
        tell(7, "stale", "ben", guide_version="g2"),
    )
    found = measure_people(store, "r")
    assert found.guides == {"g1": 13, "g2": 3}
    assert found.overall.claims == 7
    assert not found.disagreements
    assert (found.several_labels, found.one_label) == (7, 1)
    [warning] = found.warnings
    assert "2 versions of the guide (g1, g2)" in warning
    assert "Claims with labels by several: 1." in warning
    assert {tuple(one.slice.items()) for one in found.slices} == {
        (("guide_version", "g1"),),
        (("guide_version", "g2"),),
    }


def test_slices_come_lowest_first(store: Store) -> None:
    """People agree on aggregations and differ on lookups."""
    verdicts = [
        pair
        for n in range(6)
        for pair in (("unlinked", "stale"), (("unlinked", "stale")[n % 2],) * 2)
    ]
    build(store, *tell_both(verdicts))
    found = measure_people(store, "r", by=("query_type", "stakes"))
    kappas = [one.figures.fleiss.value for one in found.slices]
    assert kappas == sorted(kappas, key=lambda kappa: kappa or 0)
    first, last = found.slices[0], found.slices[-1]
    assert first.slice["query_type"] == "lookup"
    assert first.figures.raw.value == 0
    assert last.slice["query_type"] == "aggregation"
    assert last.figures.raw.value == 1
    assert len(found.slices) == 2 + 1 + 2


def test_a_slice_stands_out_for_all_slices_together() -> None:
    """A kappa that is low in one of twelve slices may be low by chance: more must differ."""
    seen = set()
    for wrong in range(4, 30, 2):
        units = [
            _Unit(run_id="r", item_id=f"i{n}", claim_id="c", claim_text="", guide_version=None,
                  key=(str(n % 12),), labels=dict(zip(("ana", "ben"), give(n, wrong), strict=True)))
            for n in range(720)
        ]  # fmt: skip
        table = _Table(units, ("supported", "unlinked"))
        whole = measure_fleiss(table.rate()).value or 0.0
        found = {s.slice["x"]: s for s in _measure_slices(table, ("x",), ("x",), 0.95)}["0"]
        seen.add(((found.figures.fleiss.high or 1.0) < whole, found.stands_out))
    assert seen == {(False, False), (True, False), (True, True)}


def give(number: int, wrong: int) -> tuple[str, str]:
    """Return two labels: one in ten pairs differs, and ``wrong`` of the sixty in slice 0."""
    place = number // 12
    first = ("supported", "unlinked")[place % 2]
    differs = place < wrong if number % 12 == 0 else place % 10 == 0
    return first, ("unlinked" if first == "supported" else "supported") if differs else first


def test_labels_without_sources(store: Store) -> None:
    build(
        store,
        closed_label("i00", CLAIMS[0], "true"),
        closed_label("i00", CLAIMS[0], "unverifiable", labeler="ben"),
        closed_label("i01", CLAIMS[0], "false"),
        closed_label("i01", CLAIMS[0], "false", labeler="ben"),
    )
    assert measure_people(store, "r").overall.claims == 0
    found = measure_people(store, "r", judgement="closed_book")
    assert found.overall.raw.value == 0.5
    assert [(pair.one, pair.other) for pair in found.disagreements] == [("true", "unverifiable")]
    assert found.verdicts[0].verdict == "true"


def test_a_round_narrows_the_claims(store: Store) -> None:
    build(store, *tell_both(MIXED), *tell_both(MIXED[:3], claim=1), items=12)
    add_guide(store, "own", "text", NOW)
    draw_round(store, "r", "grounded", title="one", created_by="ana", guide_version="own", now=NOW,
               size=5, overlap=1.0, floor=1, again=True)  # fmt: skip
    [asked] = list_rounds(store)
    whole, part = measure_people(store, "r"), measure_people(store, "r", round_id=asked.round_id)
    tasks = store.query("select item_id, claim_id from annotation_tasks")
    shared = store.query(
        "select item_id, claim_id from labels group by item_id, claim_id having count(*) > 1"
    )
    assert part.overall.claims == len(set(tasks) & set(shared)) < whole.overall.claims
    for pair in part.disagreements:
        assert {claim.round_id for claim in pair.claims} == {asked.round_id}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"round_id": "nope"}, "Unknown round 'nope' in run 'r'"),
        ({"by": ("nope",)}, "Unknown column 'nope'"),
        ({"by": ("x'; drop table labels; --",)}, "Unknown column "),
    ],
)
def test_what_is_not_there_is_named(store: Store, options: dict[str, Any], said: str) -> None:
    build(store)
    with pytest.raises(MetricError, match=said):
        measure_people(store, "r", **options)
    with pytest.raises(MetricError, match="Unknown run 'nope'"):
        measure_people(store, "nope")


def test_nothing_is_labelled(store: Store) -> None:
    build(store)
    found = measure_people(store, "r", by=("query_type",))
    assert found.labelers == {}
    assert found.slices == ()
    assert found.pairs == ()
    assert advise_on(found.overall) == "unknown"
    assert {one.kappa.why for one in found.verdicts} == {NO_OVERLAP}


def test_unequal_chances_are_said(store: Store) -> None:
    build(store, tell(0, "unlinked", "ana", inclusion_probability=0.5),
          tell(1, "unlinked", "ana", inclusion_probability=0.1))  # fmt: skip
    assert any("unequal chances" in one for one in measure_people(store, "r").warnings)


def measure(store: Store, *verdicts: tuple[str, str]) -> Agreement:
    build(store, *tell_both(verdicts), items=len(verdicts))
    return measure_people(store, "r")


def test_one_frequent_verdict_is_a_trap(store: Store) -> None:
    rare = [("unlinked", "overreach")] * 2 + [("overreach", "unlinked")] * 2
    found = measure(store, *[("unlinked", "unlinked")] * 50, *rare)
    assert (found.overall.fleiss.value or 0) < 0
    assert (found.overall.ac1.value or 0) > 0.9
    assert advise_on(found.overall) == "fix the guide"
    assert is_prevalence_trap(found.overall)


def test_one_verdict_throughout(store: Store) -> None:
    found = measure(store, *[("unlinked", "unlinked")] * 12)
    assert found.overall.fleiss == Figure(value=None, why=ONE_VERDICT)
    assert advise_on(found.overall) == "unknown"
    assert not is_prevalence_trap(found.overall)


@pytest.mark.parametrize(
    ("low", "advice"),
    [(None, "unknown"), (0.59, "too few shared claims"), (0.6, "usable"), (0.8, "strong")],
)
def test_the_lower_end_decides(low: float | None, advice: str) -> None:
    kappa = Figure(value=0.9, low=low, high=None if low is None else 0.95)
    figures = AgreementFigures(claims=9, items=9, raw=kappa, fleiss=kappa, alpha=kappa, ac1=kappa)
    assert advise_on(figures) == advice


def test_the_guide_is_blamed_only_when_kappa_is_surely_low() -> None:
    for high, advice in ((0.599, "fix the guide"), (0.6, "too few shared claims")):
        kappa = Figure(value=0.3, low=0.1, high=high)
        figures = AgreementFigures(
            claims=9, items=9, raw=kappa, fleiss=kappa, alpha=kappa, ac1=kappa
        )
        assert advise_on(figures) == advice


def test_the_demo(demo_store: Store) -> None:
    """Fourteen disagreements between ana and ben are planted in its two runs."""
    runs = [measure_people(demo_store, run_id) for run_id in ("baseline", "candidate")]
    disputed = {
        (one.run_id, claim.item_id, claim.claim_id)
        for one in runs
        for pair in one.disagreements
        for claim in pair.claims
    }
    assert len(disputed) == 14
    assert sum(
        claim.decided is not None for one in runs for p in one.disagreements for claim in p.claims
    ) == 11  # fmt: skip
