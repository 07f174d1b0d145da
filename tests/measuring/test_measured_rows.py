"""Answers of files as rows: ids from content, unknown facts, evidence that is its answer's."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from claimwise.checking.run import verify_run
from claimwise.errors import InputError
from claimwise.measuring import measure as measuring
from claimwise.measuring.measure import keep_run
from claimwise.measuring.rows import SystemAnswers, list_rows, make_runs
from claimwise.metrics import estimate_metric, load_metrics
from claimwise.store import Store, open_store
from claimwise.store.lookup import select_rows
from claimwise.types.rows import Run
from claimwise.types.traces import Passage, ToolCall, Trace

pytestmark = pytest.mark.each_engine

MENU = "https://example.org/menu"
NOW = datetime(2026, 11, 16, tzinfo=UTC)


def make_trace(answer: str = "Tea costs 2 euros.", **values: Any) -> Trace:
    given: dict[str, Any] = {
        "origin": "trace",
        "place": "x.jsonl",
        "question": "What does tea cost?",
        "answer": answer,
        "passages": (Passage(text="Tea costs 2 euros."),),
    }
    return Trace(**{**given, **values})


def make_run(*traces: Trace, **options: Any) -> SystemAnswers:
    (run,) = make_runs(traces, "tea", now=NOW, **options)
    return run


def keep(store: Store, *traces: Trace, **options: Any) -> str:
    run = make_run(*traces, **options)
    keep_run(store, run)
    return run.run_id


def test_same_answers_add_nothing_and_others_are_another_run(store: Store) -> None:
    first = keep(store, make_trace(), make_trace("It is hot.", question="Is it hot?"))
    before = store.count_rows()
    moved = [make_trace(place="y.csv"), make_trace("It is hot.", question="Is it hot?")]
    assert keep(store, *moved) == first
    assert store.count_rows() == before
    other = keep(store, make_trace("Tea is free."), make_trace("It is hot.", question="Is it hot?"))
    assert other != first
    counted = store.count_rows()
    assert (counted["runs"], counted["eval_items"], counted["answers"]) == (2, 2, 4)


def test_trace_of_an_answer_is_kept(store: Store) -> None:
    keep(store, make_trace(trace_id="t-1"), make_trace(question="Is it hot?"))
    assert store.query("select trace_id from answers order by trace_id is null") == [
        ("t-1",), (None,)
    ]  # fmt: skip


def test_what_a_file_does_not_tell_is_null(store: Store) -> None:
    keep(store, make_trace(conversation_id="talk-1"))
    assert store.query(
        "select query, query_type, answerable, stakes, domain, cluster_id from eval_items"
    ) == [("What does tea cost?", None, None, None, None, "talk-1")]
    assert store.count_rows()["run_actions"] == 0


def test_equal_rows_are_samples_and_other_contexts_another_item(store: Store) -> None:
    other = (Passage(text="Tea costs 3 euros."),)
    run_id = keep(
        store,
        make_trace(),
        make_trace("Two."),
        make_trace(passages=other),
        make_trace("Three.", passages=other),
        make_trace(conversation_id="talk"),
    )
    rows = store.query(
        "select item_id, sample from answers where run_id = :run order by item_id, sample",
        {"run": run_id},
    )
    assert len({item for item, _ in rows}) == 3
    assert sorted(sample for _, sample in rows) == [0, 0, 0, 1, 1]


def test_one_question_is_one_item_of_two_runs(store: Store) -> None:
    keep(store, make_trace())
    keep(store, make_trace(passages=(Passage(text="Tea is dear."),)))
    assert store.count_rows()["eval_items"] == 1


@pytest.mark.parametrize("facts", [{"gold_answer": "2"}, {"attributes": {"team": "b"}}])
def test_question_with_other_facts_is_another_item(store: Store, facts: dict[str, Any]) -> None:
    keep(store, make_trace(attributes={"team": "a"}))
    again = keep(store, make_trace(**facts))
    assert store.count_rows()["eval_items"] == 2
    assert keep(store, make_trace(**facts)) == again
    assert store.count_rows()["eval_items"] == 2


def test_passages_of_one_document_are_one_source_and_tool_outputs_are_apart(store: Store) -> None:
    texts = ["Tea costs 2 euros.", "Tea is hot."]
    parts = tuple(Passage(source_id="menu", text=text) for text in texts)
    tools = tuple(Passage(source_id="till", text=t, kind="tool_output") for t in ("7", "8"))
    keep(store, make_trace(passages=(*parts, *tools)))
    rows = store.query("select source_id, source_text, source_kind from sources order by source_id")
    assert ("menu", "Tea costs 2 euros.\n\nTea is hot.", "passage") in rows
    kinds = sorted((text, kind) for name, text, kind in rows if name != "menu")
    assert kinds == [("7", "tool_output"), ("8", "tool_output")]
    places = store.query("select source_id, span_start from contexts order by position")
    assert [start for _, start in places] == [0, 20, 0, 0]


def test_source_ids_are_kept_and_long_ones_are_shortened(store: Store) -> None:
    long = "https://example.org/" + "x" * 300
    keep(store, make_trace(passages=(Passage(source_id=long, text="Tea."),)))
    [(name,)] = store.query("select source_id from sources")
    assert name.startswith("s1:")


def test_actions_are_the_action_log(store: Store) -> None:
    calls = (ToolCall(name="refund", arguments='{"order": 7}', call_id="a"),)
    keep(store, make_trace(actions=(*calls, *calls, ToolCall(name="close"))))
    rows = store.query("select entry_id, entry_text from action_log order by entry_id")
    assert rows == [
        ("a", 'refund({"order": 7})'), ("call-2", 'refund({"order": 7})'), ("call-3", "close()"),
    ]  # fmt: skip


def test_answers_without_contexts_are_unscored_even_beside_others(store: Store) -> None:
    """Not judged by nothing, nor by what another answer was given or cites."""
    bare = [
        make_trace("Tea costs 9 euros.", question="None recorded?", passages=None),
        make_trace("Tea costs 9 euros.", question="Nothing found?", passages=()),
        make_trace(f"Tea costs 9 euros ([menu]({MENU})).", question="Id alone?",
                   passages=(Passage(source_id=MENU),)),
    ]  # fmt: skip
    whole = make_trace(passages=(Passage(source_id=MENU, text="Tea costs 2 euros."),))
    run_id = keep(store, whole, *bare)
    result = verify_run(store, run_id, "lexical")
    assert result.verdicts == {"supported": 1}
    assert result.unscored == {"no_contexts": 3}


def test_nobody_knows_whether_a_passage_still_holds(store: Store) -> None:
    """A share of 0.000 would be invented: no document of the file has a date."""
    run_id = keep(store, make_trace())
    verify_run(store, run_id, "lexical")
    metrics = load_metrics()
    assert estimate_metric(store, metrics["faithfulness"], run_id).overall[0].micro == 1.0
    table = estimate_metric(store, metrics["stale_share"], run_id)
    assert table.overall[0].micro is None
    assert table.needs == ("documents with valid_until or superseded_by",)


def test_failed_answers_are_failures(store: Store) -> None:
    keep(store, make_trace("", failure="timeout"))
    assert store.query("select answer_text, failure from answers") == [(None, "timeout")]


def test_systems_of_one_file_are_runs_of_their_own() -> None:
    traces = [make_trace(system="a"), make_trace(system="b"), make_trace("x", system="a")]
    found = make_runs(traces, "file", now=NOW)
    assert [(run.system, len(run.traces)) for run in found] == [("a", 2), ("b", 1)]
    assert len({run.run_id for run in found}) == 2
    (one,) = make_runs(traces, "file", system="all", now=NOW)
    assert len(one.traces) == 3


def test_runs_are_dated_by_their_answers_but_never_ahead() -> None:
    old, ahead = datetime(2025, 1, 2, tzinfo=UTC), datetime(2031, 1, 1, tzinfo=UTC)
    assert make_run(make_trace(happened_at=old)).started_at == old
    assert make_run(make_trace(happened_at=ahead)).started_at == NOW
    assert make_run(make_trace(happened_at=old), make_trace()).started_at == NOW


def test_chosen_run_id_of_other_answers_is_refused(store: Store) -> None:
    keep(store, make_trace(), run_id="mine")
    before = store.count_rows()
    keep(store, make_trace(), run_id="mine")
    assert store.count_rows() == before
    with pytest.raises(InputError):
        keep(store, make_trace("Tea is free."), run_id="mine")
    assert store.count_rows() == before


def test_process_that_comes_second_keeps_what_the_first_stored(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both begin before either has stored anything; each dates the run by its own clock."""
    with open_store(place, create=True) as first, open_store(place) as second:
        run = make_run(make_trace())
        late = list_rows(second, replace(run, started_at=NOW + timedelta(seconds=1)))
        keep_run(first, run)
        seen = iter([[], select_rows(first, Run)])
        monkeypatch.setattr(measuring, "_find_kept", lambda store, run: next(seen))
        monkeypatch.setattr(measuring, "list_rows", lambda store, run: late)
        before = first.count_rows()
        keep_run(second, run)
        assert first.count_rows() == before


def test_turns_of_a_conversation_are_one_cluster(store: Store) -> None:
    traces = [
        make_trace(question=f"Turn {turn}?", conversation_id=f"talk-{talk}",
                   attributes={"half": str(turn // 2)})
        for talk in range(3)
        for turn in range(4)
    ]  # fmt: skip
    run_id = keep(store, *traces)
    verify_run(store, run_id, "lexical")
    metric = load_metrics()["faithfulness"]
    table = estimate_metric(store, metric, run_id, ["half", "stakes"], margins=True)
    assert (table.overall[0].items, table.overall[0].claims) == (3, 12)
    assert {row.items for row in table.slices} == {3}
