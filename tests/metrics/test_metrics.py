"""Each metric: given rows, expected counts. The same on SQLite, PostgreSQL and DuckDB."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from claimwise.metrics import Metric, estimate_metric, load_metrics
from claimwise.store import Store, open_store
from claimwise.transfer import export_store
from claimwise.types.results import CitationPolicy
from claimwise.types.rows import Item
from small_data import answer, claim, closed_label, item, label, load, run, source

pytestmark = pytest.mark.each_engine

Counts = dict[tuple[str, ...], tuple[int, ...]]
METRICS = load_metrics()


@pytest.fixture(params=["as it is", "parquet"])
def measured(request: pytest.FixtureRequest, store: Store, tmp_path: Path) -> Iterator[Any]:
    """Yield a function that counts a metric in the store, or in its export to Parquet."""
    opened: list[Store] = []

    def count(name: str) -> Counts:
        where = store
        if request.param == "parquet":
            export_store(store, tmp_path / "parquet", "parquet")
            where = open_store(tmp_path / "parquet")
            opened.append(where)
        return count_clusters(where, METRICS[name])

    yield count
    for one in opened:
        one.close()


def count_clusters(store: Store, metric: Metric) -> Counts:
    """Return what the metric's SQL returns, by member of the series and item."""
    params = {"run_id": "r"}
    columns = store.describe(metric.sql, params)
    found: Counts = {}
    for values in store.query(metric.sql, params):
        row = dict(zip(columns, values, strict=True))
        key = (row[metric.series],) if metric.series else ()
        figures = [row["numerator"], row["denominator"]]
        figures += [row[name] for name in ("asked", "scored") if name in row]
        assert (*key, row["cluster_id"]) not in found
        found[(*key, row["cluster_id"])] = tuple(int(value) for value in figures)
    return found


Count = Callable[[str], Counts]


def test_faithfulness(store: Store, measured: Count) -> None:
    load(
        store, source(), item("a"), item("b"), item("c"), run(), run("other"),
        answer("a", "one", "two", "three", claim("hello", claim_type="non_factual")),
        answer("b", "four"), answer("c"), answer("a", "one", run_id="other"),
        label("a", "one", "supported"), label("a", "two", "unlinked"),
        label("a", "one", "contradicted", run_id="other"),
        label("b", "four", "supported", labeler="verifier:v1"),
        label("b", "four", "stale", labeled_at="2026-03-01T00:00:00Z"),
    )  # fmt: skip
    # Claim three is asked and unscored; the greeting is never asked; the human outranks.
    assert measured("faithfulness") == {("a",): (1, 2, 3), ("b",): (0, 1, 1)}
    assert measured("stale_share") == {("a",): (0, 2, 3), ("b",): (1, 1, 1)}
    assert measured("unscored_share") == {("a",): (1, 3, 3), ("b",): (0, 1, 1)}
    shares = measured("verdict_shares")
    assert len(shares) == 10
    assert shares["supported", "a"] == (1, 2, 3)
    assert shares["unlinked", "a"] == (1, 2, 3)
    assert shares["stale", "b"] == (1, 1, 1)
    assert shares["overreach", "b"] == (0, 1, 1)


def test_unscored_reasons(store: Store, measured: Count) -> None:
    def failure(text: str, reason: str, day: int, **more: Any) -> dict[str, Any]:
        return {"type": "unscored", "run_id": "r", "item_id": "a", "claim_text": text,
                "labeler": "judge:x", "failed_at": f"2026-01-0{day}T00:00:00Z",
                "reason": reason, **more}  # fmt: skip

    load(
        store, item("a"), item("b"), run(), answer("a", "one", "two", "three"), answer("b", "four"),
        label("a", "one", "supported"), failure("one", "timeout", 1),
        failure("two", "timeout", 1), failure("two", "truncated", 2),
        failure("two", "refused", 3, judgement="closed_book"),
    )  # fmt: skip
    # One was judged in the end; two counts by its last grounded failure; nobody tried the rest.
    assert measured("unscored_reasons") == {
        ("truncated", "a"): (1, 3, 3), ("truncated", "b"): (0, 1, 1),
        ("no_label", "a"): (1, 3, 3), ("no_label", "b"): (1, 1, 1),
    }  # fmt: skip


def test_factual_precision(store: Store, measured: Count) -> None:
    fact = partial(closed_label, labeler="judge:x")

    load(
        store, item("a"), item("b"), item("c"), run(),
        answer("a", "one", "two", "three", "four", "five", claim("ten", claim_type="non_factual")),
        answer("b", "six"), answer("c", "seven"), fact("a", "ten", "true"),
        fact("a", "one", "true"), fact("a", "two", "false"), fact("a", "three", "unverifiable"),
        fact("a", "four", "non_factual"), fact("b", "six", "unverifiable"),
        {"type": "unscored", "run_id": "r", "item_id": "a", "claim_text": "five",
         "labeler": "judge:x", "failed_at": "2026-01-01T00:00:00Z", "reason": "timeout",
         "judgement": "closed_book"},
    )  # fmt: skip
    # numerator, denominator (true and false alone), asked, scored; nobody asked about item c
    assert sorted(measured("factual_precision").items()) == [
        (("a",), (1, 2, 5, 4)), (("b",), (0, 0, 1, 1)),
    ]  # fmt: skip


def test_citations(store: Store, measured: Count) -> None:
    def cited(text: str, *sources: str | None, kind: str = "citation_required") -> dict[str, Any]:
        return claim(text, claim_type=kind, citations=[{"source_id": s} for s in sources])

    span = {"supporting_span": "It opened in 1999", "source_id": "doc"}
    load(
        store, source(), source("other"), item("a"), run(),
        answer(
            "a", cited("right", "doc", "other"), cited("other one", "other"),
            cited("nowhere", None), cited("none"), cited("needs none", "doc", kind="factual"),
            cited("open", "doc"),
        ),
        label("a", "right", "supported", **span), label("a", "other one", "supported", **span),
        label("a", "nowhere", "supported", **span),
        label("a", "needs none", "contradicted", **span),
    )  # fmt: skip
    # Cited: all but “none”; “open” has no verdict. Entailed by what it cites: “right” alone.
    assert measured("citation_precision") == {("a",): (1, 4, 5)}
    # Required: five; carrying a citation that points somewhere: three.
    assert measured("citation_recall") == {("a",): (3, 5, 5)}


def test_which_claims_require_a_citation(store: Store, measured: Count) -> None:
    """Nobody marked any: every factual claim of a run that cites at all; the project may differ."""
    cited = claim("cited", citations=[{"source_id": "doc"}])
    load(
        store, source(), item("a"), run(),
        answer("a", cited, "bare", claim("Hello!", claim_type="non_factual")),
        {**run(), "run_id": "silent"}, answer("a", "bare", run_id="silent"),
    )  # fmt: skip
    assert measured("citation_recall") == {("a",): (1, 2, 2)}
    cases: list[tuple[CitationPolicy, str, list[tuple[int, int]]]] = [
        ("marked", "r", []), ("all", "silent", [(0, 1)]), ("cited", "silent", []),
    ]  # fmt: skip
    for policy, run_id, wanted in cases:
        metric = load_metrics(citations=policy)["citation_recall"]
        found = store.query(metric.sql, {"run_id": run_id})
        assert [(row[3], row[4]) for row in found] == wanted, policy
    table = estimate_metric(store, load_metrics()["citation_recall"], "r")
    assert any(warning.startswith("By policy") for warning in table.overall[0].warnings)


def test_abstention_is_a_pair(store: Store, measured: Count) -> None:
    no = {"answerable": False, "query_type": "unanswerable", "gold_answer": None}
    load(
        store, item("a"), item("b"), item("c", **no), item("d", **no), item("e", **no), run(),
        answer("a", "one"), answer("b", action="abstain"), answer("c", action="abstain"),
        answer("d", "two"),
        {"type": "answers", "run_id": "r", "item_id": "e", "failure": "timeout"},
    )  # fmt: skip
    assert measured("abstention") == {
        ("over_refusal", "a"): (0, 1, 1), ("over_refusal", "b"): (1, 1, 1),
        ("correct_abstention", "c"): (1, 1, 1), ("correct_abstention", "d"): (0, 1, 1),
        ("correct_abstention", "e"): (0, 0, 1),
    }  # fmt: skip


def test_context_recall(store: Store, measured: Count) -> None:
    def span(text: str, required: bool = True) -> dict[str, Any]:
        return {"source_id": "doc", "span_text": text, "required": required}

    def context(text: str, **more: Any) -> dict[str, Any]:
        return {"source_id": "doc", "context_text": text, **more}

    load(
        store, source(), run(),
        item("a", gold_spans=[span("It opened in 1999."), span("Entry costs 5 euros."),
                              span("Dogs may come in.", required=False)]),
        item("b", gold_spans=[span("139 m tall")]), item("c", gold_spans=[span("139 m tall")]),
        item("d", gold_spans=[span("139 m tall")]),
        answer("a", contexts=[context("It opened in 1999. Entry costs"), context("5 euros.")]),
        answer("b", contexts=[]), answer("c"),
        answer("d", contexts=[context("the TOWER (139 m)", span_start=0, span_end=24)]),
        source("lines", source_text="It opened\nin  1999."),
        item("e", gold_spans=[{**span("opened\nin  1999"), "source_id": "lines"}, span("139 m")]),
        answer("e", contexts=[context("It opened in\r\n\t1999.", source_id="lines"),
                              context("139m")]),
    )  # fmt: skip
    # a: one span whole, the other cut in two; b: retrieved nothing; c: nobody recorded it;
    # d: reworded, but its place covers the span; e: the same words with other line breaks, and
    # other words.
    assert measured("context_recall") == {
        ("a",): (1, 2, 2), ("b",): (0, 1, 1), ("c",): (0, 0, 1), ("d",): (1, 1, 1),
        ("e",): (1, 2, 2),
    }  # fmt: skip


def _correct(item_id: str, correct: bool, **more: Any) -> dict[str, Any]:
    return {"type": "answer_labels", "run_id": "r", "item_id": item_id, "correct": correct,
            "labeler": "ana", "labeled_at": "2026-01-01T00:00:00Z", **more}  # fmt: skip


def test_answer_correctness(store: Store, measured: Count) -> None:
    load(
        store, item("a"), item("b"), item("c"), item("d"), item("e", gold_answer=None), run(),
        answer("a"), answer("b"), answer("c", action="abstain"), answer("d"), answer("e"),
        _correct("a", True), _correct("b", True, labeler="judge:x"), _correct("b", False),
        _correct("e", True),
    )  # fmt: skip
    # The person outranks the judge; abstentions and items without a gold answer are not asked.
    assert measured("answer_correctness") == {
        ("a",): (1, 1, 1),
        ("b",): (0, 1, 1),
        ("d",): (0, 0, 1),
    }


def test_quadrant(store: Store, measured: Count) -> None:
    items = [item(name) for name in "abcdefgh"]
    load(
        store, *items, run(), *(answer(name, "one", "two") for name in "abcdef"), answer("g"),
        answer("h", "one", action="abstain"), label("h", "one", "unlinked"), _correct("h", True),
        *(label(name, "one", "supported") for name in "abcdef"),
        label("a", "two", "supported"), label("b", "two", "supported"),
        label("c", "two", "unlinked"), label("d", "two", "contradicted"),
        label("f", "two", "supported"),
        _correct("a", True), _correct("b", False), _correct("c", True), _correct("d", False),
        _correct("e", True), _correct("g", True),
    )  # fmt: skip
    found = measured("quadrant")
    hits = {key: counts for key, counts in found.items() if counts[0]}
    assert hits == {
        ("faithful_correct", "a"): (1, 1, 1), ("faithful_wrong", "b"): (1, 1, 1),
        ("unfaithful_correct", "c"): (1, 1, 1), ("unfaithful_wrong", "d"): (1, 1, 1),
    }  # fmt: skip
    # e has an unscored claim, f no answer label, g no claims: asked, not scored. h abstained.
    assert {found["faithful_correct", name] for name in "efg"} == {(0, 0, 1)}
    assert not [key for key in found if key[1] == "h"]


def test_verifier_agreement(store: Store, measured: Count) -> None:
    def verifier(text: str, verdict: str, day: int = 1, name: str = "v") -> dict[str, Any]:
        when = f"2026-01-0{day}T00:00:00Z"
        return label("a", text, verdict, labeler=f"verifier:{name}", labeled_at=when)

    load(
        store, item("a"), run(), answer("a", "one", "two", "three"),
        label("a", "one", "supported"), label("a", "two", "unlinked"),
        verifier("one", "unlinked", 1), verifier("one", "supported", 2),
        verifier("two", "supported"), verifier("three", "supported"),
        verifier("two", "unlinked", name="w"),
    )  # fmt: skip
    # Its last word counts; claim three has no human to agree with.
    assert measured("verifier_agreement") == {
        ("verifier:v", "a"): (1, 2, 2), ("verifier:w", "a"): (1, 1, 1),
    }  # fmt: skip


def test_verifier_agreement_closed_book(store: Store, measured: Count) -> None:
    def judged(text: str, told: str, day: int = 1) -> dict[str, Any]:
        when = f"2026-01-0{day}T00:00:00Z"
        return closed_label("a", text, told, labeler="verifier:j", labeled_at=when)

    load(
        store, item("a"), run(), answer("a", "one", "two", "three", "four"),
        closed_label("a", "one", "true"), closed_label("a", "two", "false"),
        closed_label("a", "four", "false"), judged("four", "false"),
        judged("one", "false", 1), judged("one", "true", 2), judged("two", "true"),
        judged("three", "true"),
    )  # fmt: skip
    assert measured("verifier_agreement") == {("verifier:j", "a"): (2, 3, 3)}


def test_contested_share(store: Store, measured: Count) -> None:
    later = {"labeled_at": "2026-03-01T00:00:00Z"}
    load(
        store, item("a"), run(), answer("a", "one", "two", "three", "four"),
        label("a", "one", "supported"), label("a", "one", "unlinked", labeler="ben"),
        label("a", "two", "supported"), label("a", "two", "unlinked", labeler="ben"),
        label("a", "two", "supported", labeler="chris", label_kind="adjudicated"),
        label("a", "three", "unlinked"), label("a", "three", "supported", **later),
        label("a", "three", "supported", labeler="ben"), label("a", "four", "stale"),
    )  # fmt: skip
    # one: open; two: adjudicated; three: ana changed her mind; four: one label only.
    assert measured("contested_share") == {("a",): (1, 3, 3)}


def test_every_metric_is_tested_here() -> None:
    text = Path(__file__).read_text(encoding="utf-8")
    assert [name for name in METRICS if f'measured("{name}")' not in text] == []


@pytest.mark.parametrize("name", METRICS)
def test_metrics_of_an_empty_store(store: Store, name: str) -> None:
    load(store, run())
    assert count_clusters(store, METRICS[name]) == {}


@pytest.mark.parametrize("name", METRICS)
def test_metric_holds_its_contract_on_the_demo(demo_store: Store, name: str) -> None:
    metric = METRICS[name]
    for run_id in ("baseline", "candidate"):
        rows = demo_store.query(metric.sql, {"run_id": run_id})
        columns = demo_store.describe(metric.sql, {"run_id": run_id})
        assert rows
        assert "asked" in columns
        for values in rows:
            row = dict(zip(columns, values, strict=True))
            scored = row.get("scored", row["denominator"])
            assert 0 <= row["numerator"] <= row["denominator"] <= scored
            assert scored <= row.get("asked", scored)


def test_changing_only_the_reference_moves_nothing_but_correctness(store: Store) -> None:
    """Metamorphic: a gold answer must not leak into faithfulness."""
    load(store, source(), item("a"), run(), answer("a", "one"), label("a", "one", "supported"))
    before = count_clusters(store, METRICS["faithfulness"])
    load(store, item("a", gold_answer="something else"), update=True)
    assert count_clusters(store, METRICS["faithfulness"]) == before


def test_expected_actions(store: Store, measured: Count) -> None:
    def log(entry: str) -> list[dict[str, str]]:
        return [{"entry_id": "0", "entry_text": "login()"}, {"entry_id": "1", "entry_text": entry}]

    wanted = 'refund(*"order": 7*)'
    load(
        store, run(),
        *(item(name, expected_action=wanted) for name in "abcd"), item("e"),
        item("f", expected_action="100%_sure"),
        answer("a", action_log=log('REFUND({"amount": 5,\n  "order":7})')),
        answer("b", action_log=log('refund({"order": 8})')), answer("c"),
        answer("d", sample=0, action_log=log('refund({"order": 7})')), answer("d", sample=1),
        answer("e", action_log=log("refund()")), answer("f", action_log=log("100 xsure")),
    )  # fmt: skip
    # a: whatever the spaces; b: another order; c: nothing was done; d: once of two times; e: nobody
    # expects anything; f: letters that SQL knows as wildcards stand for themselves.
    assert measured("expected_actions") == {
        ("a",): (1, 1, 1), ("b",): (0, 1, 1), ("c",): (0, 1, 1), ("d",): (1, 2, 2),
        ("f",): (0, 1, 1),
    }  # fmt: skip


def test_expected_actions_of_a_run_without_a_log_are_unscored(
    store: Store, measured: Count
) -> None:
    load(store, run(), item("a", expected_action="refund(*)"), answer("a"))
    assert measured("expected_actions") == {("a",): (0, 0, 1)}


def test_metrics_per_item_have_one_row_per_item_with_its_own_columns(demo_store: Store) -> None:
    """They are taken as they are: what is added up once more would only hide a second row."""
    trusted = [metric for metric in METRICS.values() if metric.per_item]
    assert len(trusted) > 5
    [(run_id,)] = demo_store.query("select max(run_id) from runs")
    for metric in trusted:
        columns = demo_store.describe(metric.sql, {"run_id": run_id})
        item_columns = [name for name in columns if name in Item.__struct_fields__]
        differs = " or ".join(f"m.{c} <> i.{c}" for c in item_columns) or "1 = 0"
        [(rows, items, wrong)] = demo_store.query(
            "select count(*), count(distinct m.cluster_id), "
            f"coalesce(sum(case when {differs} then 1 else 0 end), 0) from ({metric.sql}) as m "
            "join eval_items as i on i.item_id = m.cluster_id", {"run_id": run_id},
        )  # fmt: skip
        assert (rows, wrong) == (items, 0), metric.name
