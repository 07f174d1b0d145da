"""What a file does not tell stays unknown: stored, exported, read back, and never a figure."""

from __future__ import annotations

from pathlib import Path

import pytest

from claimwise.metrics import estimate_metric, load_metrics
from claimwise.report.format import is_measured
from claimwise.run_report import build_report
from claimwise.run_report.sentences import describe_unmeasured
from claimwise.store import Store, open_store
from claimwise.transfer import export_store, import_files
from claimwise.types.rows import Answer, Claim, Item, Label, RunAction
from store.builders import base_rows, dump_typed, load, make

UNKNOWN = {"query_type": None, "answerable": None, "stakes": None}


def load_unknown(store: Store, *, actions: bool = False) -> None:
    """Store two items of which nothing but the question is known, and one that is known."""
    load(store, *base_rows())
    for number in (2, 3):
        own = {"item_id": f"q{number}"}
        load(store, make(Item, **own, **UNKNOWN, query=f"Why {number}?", cluster_id="talk"))
        load(store, make(Answer, **own, answer_text="Tea."), make(Claim, **own, claim_id=None))
        load(store, make(Label, **own, claim_id=None))
        if actions:
            load(store, make(RunAction, **own, action="abstain"))


@pytest.mark.parametrize("form", ["jsonl", "csv", "parquet"])
def test_unknown_fields_are_exported_and_read_back(store: Store, tmp_path: Path, form: str) -> None:
    load_unknown(store)
    export_store(store, tmp_path / "out", form)
    files = sorted((tmp_path / "out").iterdir())
    with open_store(tmp_path / "again.db", create=True) as again:
        import_files(again, files)
        assert dump_typed(again) == dump_typed(store)
        assert again.query("select item_id from eval_items where answerable is null") == [
            ("q2",), ("q3",),
        ]  # fmt: skip


def test_items_may_leave_out_what_nobody_knows(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "items.jsonl"
    path.write_text('{"item_id": "q9", "query": "Why?", "source_corpus_ver": "v1"}\n')
    import_files(store, [path])
    assert store.query("select query_type, answerable, stakes, cluster_id from eval_items") == [
        (None, None, None, None)
    ]


@pytest.mark.parametrize("actions", [False, True])
def test_abstentions_of_items_that_nobody_knows_are_not_measured(
    store: Store, actions: bool
) -> None:
    """An abstention is right or wrong by ``answerable``: unknown is neither."""
    load_unknown(store, actions=actions)
    table = estimate_metric(store, load_metrics()["abstention"], "r1")
    assert [(row.slice["measure"], row.items) for row in table.overall] == [("over_refusal", 1)]


def test_metrics_say_what_they_need(store: Store) -> None:
    load(store, *[row for row in base_rows() if type(row).__name__ in ("Source", "Run")])
    load(store, make(Item, **UNKNOWN), make(Answer, answer_text="Tea."), make(Claim))
    load(
        store,
        make(Label, supporting_span=None, source_id=None, verdict="unlinked", guide_version=None),
    )
    report = build_report(store, load_metrics(), "r1", version="x")
    told = describe_unmeasured(report.tables)
    assert "abstention (needs answerable)" in told
    assert "context recall (needs gold spans)" in told
    assert "answer correctness (needs gold answers and labels of answers)" in told
    measured = {table.metric for table in report.tables if is_measured(table)}
    assert measured == {"faithfulness", "verdict_shares", "stale_share"}


@pytest.mark.parametrize("column", ["query_type", "stakes", "answerable"])
def test_unknown_is_one_group(store: Store, column: str) -> None:
    load_unknown(store)
    table = estimate_metric(store, load_metrics()["faithfulness"], "r1", [column])
    groups = {row.slice[column]: (row.items, row.claims) for row in table.slices}
    assert groups[None] == (1, 2)  # of one conversation
    assert len(groups) == 2
