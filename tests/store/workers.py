"""What other processes do to a store in the tests of concurrency."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import claimwise.store.load as loading
from claimwise.metrics import estimate_metric, load_metrics
from claimwise.store import Store, open_store
from claimwise.types.rows import Answer, Claim, Item, Label, Placed, Row
from store.builders import load, make, put
from support.waiting import wait_until

LABELS = 5  # of every import


def small_import(name: str) -> list[Row]:
    """Return an item with an answer, its claims and their labels."""
    claims = [f"Claim {n} of {name}." for n in range(LABELS)]
    return [
        make(Item, item_id=name),
        make(Answer, item_id=name),
        *(make(Claim, item_id=name, claim_text=c, position=n) for n, c in enumerate(claims)),
        *(make(Label, item_id=name, claim_text=c, labeler=f"judge:{name}") for c in claims),
    ]


def write_many(place: str, worker: int, imports: int) -> int:
    """Import several times, five times per connection."""
    for first in range(0, imports, 5):
        with open_store(place) as store:
            for number in range(first, first + 5):
                load(store, *small_import(f"w{worker}-{number}"))
    return imports


def read_until(place: str, labels: int) -> int:
    """Query until all labels are there; return how many states were seen."""
    metric = load_metrics()["faithfulness"]
    seen: set[int] = set()

    def look(store: Store) -> bool:
        with store.snapshot():
            found = store.query("select count(*) from labels")[0][0]
            decided = store.query("select count(*) from deciding_labels")[0][0]
            answers = store.query("select count(*) from answers")[0][0]
            claims = store.query("select count(*) from claims")[0][0]
        assert found % LABELS == 0, f"half an import: {found} labels"
        assert found == decided == claims == answers * LABELS
        for overall in estimate_metric(store, metric, "r1").overall:
            assert overall.scored % LABELS == 0, f"half an import: {overall.scored} scored"
        seen.add(found)
        return bool(found >= labels)

    with open_store(place) as store:
        wait_until(lambda: look(store), f"{labels} labels are there")
    return len(seen)


def make_store(place: str) -> int:
    """Open a store that need not exist; return its schema version."""
    with open_store(place, create=True) as store:
        return store.schema_version or 0


def die_while_reading(place: str) -> None:
    """Die in the middle of the file."""

    def read() -> Iterator[Placed]:
        yield from put(make(Item, item_id=f"lost{n}") for n in range(30_000))
        os.kill(os.getpid(), signal.SIGKILL)

    with open_store(place) as store:
        store.load(read(), ["f"])


def die_while_writing(place: str) -> None:
    """Die inside the transaction, when items, answers and claims are written already."""
    real = loading._merge

    def merge(engine, stage, paths, **options):  # type: ignore[no-untyped-def]
        if stage.row_type is Label:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(engine, stage, paths, **options)

    loading._merge = merge
    rows = [row for n in range(1_000) for row in small_import(f"lost{n}")]
    with open_store(place) as store:
        load(store, *rows)
