"""A PostgreSQL store whose large tables are divided by run: same rows, one part per query."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from claimwise.errors import StoreError
from claimwise.metrics import estimate_metric, load_metrics
from claimwise.store import Store, bulk, open_store
from small_data import answer, item, label, load, run, source

RUNS = [f"run-{n}" for n in range(8)]


def fill(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    load(store, source(), item("q"), *(run(name) for name in RUNS),
         *(answer("q", "one", "two", run_id=name) for name in RUNS))  # fmt: skip
    load(store, *(label("q", "one", "supported", run_id=name, labeler="v") for name in RUNS))
    monkeypatch.setattr(bulk, "LARGE", 1)
    load(store, *(label("q", text, "unlinked", run_id=name) for name in RUNS[::2]
                  for text in ("one", "two")))  # fmt: skip


def test_store_divided_by_run_gives_the_same_figures(
    postgres_server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = f"{postgres_server}?schema=divided"
    metric = load_metrics()["faithfulness"]
    with (
        open_store(f"{place}&partitions=5", create=True) as divided,
        open_store(tmp_path / "s.db", create=True) as plain,
    ):
        for store in (divided, plain):
            with monkeypatch.context() as large:
                fill(store, large)
            assert set(store.settle().values()) == {0}
        for name in RUNS[:2]:
            assert estimate_metric(divided, metric, name) == estimate_metric(plain, metric, name)
    with open_store(place) as reopened:
        plan = reopened.query("explain select count(*) from deciding_labels where run_id = 'run-3'")
        assert len(set(re.findall(r"labels_part_\d", str(plan)))) == 1
    with pytest.raises(StoreError, match="partitions=many: expected a whole number"):
        open_store(f"{place}&partitions=many")
