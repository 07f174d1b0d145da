"""Which label decides is kept beside it: what is kept is what comparing all labels gives."""

from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path

import pytest

from claimwise.cli.main import run as run_command
from claimwise.disk.duckdb_files import connect_duckdb
from claimwise.store import Store, bulk, list_views, migrations, open_store
from claimwise.store.deciding import KEPT_SINCE
from claimwise.transfer import export_store, import_files
from small_data import answer, closed_label, item, label, load, run, source
from support.waiting import DEADLINE, wait_until

TALL, OLD = "It is 139 m tall.", "It opened in 1999."
DAY = "2026-02-{:02}T00:00:00Z"
DECIDED = "select claim_text, labeler, verdict from deciding_labels order by 1"


def retraction(store: Store, labeler: str, day: int) -> dict[str, object]:
    [(claim_id,)] = store.query("select claim_id from claims where claim_text = :t", {"t": TALL})
    return {"type": "label_retractions", "run_id": "r", "item_id": "q", "claim_id": claim_id,
            "judgement": "grounded", "labeler": labeler, "labeled_at": DAY.format(day),
            "retracted_at": DAY.format(20), "retracted_by": labeler}  # fmt: skip


def fill(store: Store) -> None:
    load(
        store, source(), item("q"), run(), answer("q", TALL, OLD),
        label("q", TALL, "supported", labeler="verifier:v", labeled_at=DAY.format(5)),
        label("q", OLD, "unlinked", labeler="verifier:v", labeled_at=DAY.format(5)),
        closed_label("q", TALL, "true", labeler="verifier:v", labeled_at=DAY.format(5)),
    )  # fmt: skip


INSERT = (
    "insert into labels (run_id, item_id, claim_id, claim_text, claim_type, verdict, labeler, "
    "labeled_at, label_kind) select run_id, item_id, claim_id, claim_text, claim_type, 'unlinked', "
    ":labeler, :day, 'human' from claims where claim_text = :text"
)


def insert_label(store: Store, labeler: str, day: int) -> None:
    params = {"labeler": labeler, "day": datetime(2026, 2, day), "text": TALL}  # noqa: DTZ001
    with store.write(turn=labeler):  # as the desk does: people don't wait for each other
        store.execute(INSERT, params)


def test_of_two_labels_at_once_one_decides(postgres_place: str) -> None:
    """Neither sees the other's: the second waits for the first, and compares then."""
    locked = "select count(*) from pg_stat_activity where wait_event_type = 'Lock'"
    with (
        open_store(postgres_place, create=True) as first,
        open_store(postgres_place) as watching,
        ThreadPoolExecutor(1) as pool,
    ):
        fill(first)
        load(first, *({"type": "labelers", "labeler": name, "labeler_kind": "human"}
                      for name in ("ana", "ben")))  # fmt: skip

        def label_too() -> None:
            with open_store(postgres_place) as second:
                insert_label(second, "ben", 2)

        with first.write(turn="ana"):
            insert_label(first, "ana", 1)
            other = pool.submit(label_too)
            wait_until(lambda: other.done() or watching.query(locked) != [(0,)], "the second waits")
        other.result(DEADLINE)
        assert (TALL, "ben", "unlinked") in first.query(DECIDED)
        assert len(first.query(DECIDED)) == 2  # claims
        assert set(first.settle().values()) == {0}


def test_flags_follow_labels_retractions_and_deletions(store: Store) -> None:
    fill(store)
    steps = [
        (label("q", TALL, "overreach", labeler="ana", labeled_at=DAY.format(1)), "ana"),
        (label("q", TALL, "unlinked", labeler="ben", labeled_at=DAY.format(2)), "ben"),
        (label("q", TALL, "stale", labeler="verifier:w", labeled_at=DAY.format(9)), "ben"),
        (label("q", TALL, "supported", labeler="ben", label_kind="adjudicated",
               labeled_at=DAY.format(1)), "ben"),
    ]  # fmt: skip
    for record, decider in steps:
        load(store, record)
        assert (TALL, decider) in [row[:2] for row in store.query(DECIDED)]
        assert store.settle() == {"labels": 0, "closed_book_labels": 0, "claim_index": 0}
    for day, decider in ((1, "ben"), (2, "ana")):
        load(store, retraction(store, "ben", day))
        assert (TALL, decider) in [row[:2] for row in store.query(DECIDED)]
    store.execute_all([("delete from labels where labeler = 'ana'", {})])
    assert store.query(DECIDED) == [
        (TALL, "verifier:w", "stale"), (OLD, "verifier:v", "unlinked")
    ]  # fmt: skip
    store.execute_all([("delete from label_retractions", {})])
    assert store.query(DECIDED)[0][1:] == ("ben", "supported")
    assert set(store.settle().values()) == {0}


def test_deep_doctor_corrects_what_no_trigger_saw(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with open_store("claimwise.db", create=True) as store:
        fill(store)
        load(store, label("q", TALL, "overreach", labeler="ana", labeled_at=DAY.format(1)))
        right = store.query(DECIDED)
        store.execute_all([("update labels set decides = not decides", {}),
                           ("update claim_index set verdict = 'stale'", {})])  # fmt: skip
        assert store.query(DECIDED) != right
    run_command(["doctor", "--deep"])
    out = capsys.readouterr().out
    assert "FAULT  3 rows of labels" in out
    assert "now corrected" in out
    with open_store("claimwise.db") as store:
        assert store.query(DECIDED) == right
    run_command(["doctor", "--deep"])
    assert "ok     each claim is decided by the label" in capsys.readouterr().out


def test_parquet_keeps_decisions_and_old_exports_are_compared(tmp_path: Path) -> None:
    with open_store(tmp_path / "s.db", create=True) as store:
        fill(store)
        load(store, label("q", TALL, "overreach", labeler="ana", labeled_at=DAY.format(1)))
        load(store, label("q", OLD, "stale", labeler="ana", labeled_at=DAY.format(1)))
        load(store, retraction(store, "ana", 1))
        right = store.query(DECIDED)
        export_store(store, tmp_path / "new", "parquet")
    with open_store(tmp_path / "new") as parquet:
        flags = parquet.query("select labeler, decides from labels order by 1, claim_text")
        assert [row[1] for row in flags] == [False, True, True, False]
        assert parquet.query(DECIDED) == right
        assert set(parquet.settle().values()) == {0}
    old = shutil.copytree(tmp_path / "new", tmp_path / "old")
    with connect_duckdb("a test") as db:
        db.execute(f"copy (select * exclude decides from '{tmp_path}/new/labels.parquet') "
                   f"to '{old}/labels.parquet'")  # fmt: skip
    with open_store(old) as parquet:
        assert parquet.query(DECIDED) == right
    with open_store(tmp_path / "again.db", create=True) as again:
        import_files(again, [tmp_path / "new"], lenient=True)
        assert again.query(DECIDED) == right, "and what a file says of it is not believed"


def test_many_labels_at_once_are_kept_as_one_by_one(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Triggers pause for these; a store that took them one by one holds the same."""
    batches = [
        [label("q", TALL, "supported", labeler="verifier:v", labeled_at=DAY.format(5)),
         label("q", OLD, "unlinked", labeler="verifier:v", labeled_at=DAY.format(5)),
         closed_label("q", TALL, "true", labeler="verifier:v", labeled_at=DAY.format(5)),
         closed_label("q", OLD, "false", labeler="ana", labeled_at=DAY.format(5))],
        [label("q", TALL, "overreach", labeler="ana", labeled_at=DAY.format(1)),
         label("q", TALL, "stale", labeler="ana", labeled_at=DAY.format(2)),
         closed_label("q", OLD, "true", labeler="ben", labeled_at=DAY.format(4))],
        [label("q", OLD, "stale", labeler="verifier:w", labeled_at=DAY.format(1))],
    ]  # fmt: skip
    with open_store(tmp_path / "one_by_one.db", create=True) as other:
        for target in (store, other):
            load(target, source(), item("q"), run(), answer("q", TALL, OLD))
        with monkeypatch.context() as large:
            large.setattr(bulk, "LARGE", 1)
            for batch in batches:
                load(store, *batch)
                assert store.query("select count(*) from bulk_load") == [(0,)]
                assert set(store.settle().values()) == {0}
        for batch in batches:
            for record in batch:
                load(other, record)
        indexed = "select claim_id, judgement, verdict, dispute from claim_index order by 1, 2"
        for sql in (DECIDED, indexed):
            assert store.query(sql) == other.query(sql)
    assert store.query(DECIDED) == [(TALL, "ana", "stale"), (OLD, "verifier:v", "unlinked")]


def test_labels_of_an_old_store_are_compared_once(
    new_place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as old:
        known = [one for one in migrations.list_migrations() if one[0] < KEPT_SINCE]
        views = list_views(kept=False)
        old.setattr(migrations, "list_migrations", lambda: known)
        old.setattr(migrations, "list_views", lambda **_: views)
        with open_store(new_place, create=True) as store:
            fill(store)
            load(store, label("q", TALL, "overreach", labeler="ana", labeled_at=DAY.format(1)))
            load(store, label("q", TALL, "stale", labeler="ben", labeled_at=DAY.format(2)))
            load(store, retraction(store, "ben", 2))
            right = store.query(DECIDED)
    with open_store(new_place) as store:
        assert store.query(DECIDED) == right == [
            (TALL, "ana", "overreach"), (OLD, "verifier:v", "unlinked")
        ]  # fmt: skip
        assert store.query("select count(*) from labels where not decides") == [(2,)]
        assert set(store.settle().values()) == {0}
