"""Days of live traffic, written straight into a store: what the monitor reads, without a model."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from itertools import count
from typing import Any

from claimwise.store import Store

FIRST = datetime(2026, 9, 7)  # noqa: DTZ001 - a Monday; stores keep UTC without a zone
JUDGE, PERSON = "verifier:test", "ann"
DAY = timedelta(days=1)

_RUNS = ("run_id", "system", "model", "corpus_ver", "started_at")
_ITEMS = ("item_id", "query", "query_type", "source_corpus_ver")
_ANSWERS = ("run_id", "item_id", "sample", "answer_text", "context_count", "proposed_action")
_TRAFFIC = (
    "run_id", "item_id", "sample", "trace_id", "system", "answered_at", "received_at", "rule",
    "inclusion_probability",
)  # fmt: skip
_CLAIMS = (
    "run_id", "item_id", "claim_id", "sample", "position", "claim_text", "claim_type", "unit",
)  # fmt: skip
_LABELS = (
    "run_id", "item_id", "claim_id", "claim_text", "claim_type", "verdict", "labeler", "labeled_at",
    "label_kind", "confidence", "inclusion_probability",
)  # fmt: skip


class TrafficWriter:
    """Writes one day after the other; figures vary a little, the same way every time."""

    def __init__(
        self, store: Store, system: str = "bot", *, known: bool = False, judges: Iterable[str] = ()
    ) -> None:
        self._store = store
        self._system = system
        self._numbers = count(1_000_000 if known else 0)
        labelers = [(judge, "verifier") for judge in judges]
        if not known:
            labelers += [(JUDGE, "verifier"), (PERSON, "human")]
        with store.write():
            store.insert_rows("labelers", ("labeler", "labeler_kind"), labelers)

    def add_days(self, first: int, last: int, **day: Any) -> None:
        """Write days by their numbers, the last not included; see :meth:`list_day`."""
        tables: dict[tuple[str, tuple[str, ...]], list[tuple[Any, ...]]] = {}
        for number in range(first, last):
            for table, columns, row in self.list_day(number, **day):
                tables.setdefault((table, columns), []).append(row)
        order = ("runs", "eval_items", "answers", "traffic_answers", "claims", "labels")
        with self._store.write():
            for table, columns in sorted(tables, key=lambda one: order.index(one[0])):
                self._store.insert_rows(table, columns, tables[table, columns])

    def list_day(
        self,
        number: int,
        *,
        wrong: int = 4,
        harsh: int = 0,
        unscored: int = 0,
        refused: int = 1,
        answers: int = 20,
        labels: int = 20,
        kind: str = "lookup",
        model: str = "m1",
        judge: str = JUDGE,
    ) -> Iterable[tuple[str, tuple[str, ...], tuple[Any, ...]]]:
        """Yield a day's rows: answers of two claims, of which so many are wrong.

        The judge rejects ``harsh`` more that are right; people label the first claim of ``labels``
        answers. One claim more or less is wrong from day to day.
        """
        start = FIRST + number * DAY
        run = f"traffic-{self._system}-{start:%Y-%m-%d}-{model}"
        yield "runs", _RUNS, (run, self._system, model, "c1", start)
        wrong += (0, 1, -1, 0, 1, 0, -1)[number % 7] if wrong else 0
        for place in range(answers):
            item = f"{self._system}-{next(self._numbers)}"
            at = start + timedelta(minutes=place)
            yield "eval_items", _ITEMS, (item, f"Question {place}?", kind, "c1")
            action = "abstain" if place < refused else "answer"
            yield "answers", _ANSWERS, (run, item, 0, "An answer.", 2, action)
            yield "traffic_answers", _TRAFFIC, (
                run, item, 0, f"t-{item}", self._system, at, at, "all", 1.0,
            )  # fmt: skip
            for position in (0, 1):
                yield from self._list_claim(
                    (run, item, position), at, 2 * place + position,
                    wrong=wrong, harsh=harsh, unscored=unscored, judge=judge,
                    labelled=position == 0 and place < labels,
                )  # fmt: skip

    def _list_claim(
        self,
        key: tuple[str, str, int],
        at: datetime,
        order: int,
        *,
        wrong: int,
        harsh: int,
        unscored: int,
        judge: str,
        labelled: bool,
    ) -> Iterable[tuple[str, tuple[str, ...], tuple[Any, ...]]]:
        run, item, position = key
        claim, text = f"c{position}", f"Claim {position} of {item}."
        yield "claims", _CLAIMS, (run, item, claim, 0, position, text, "factual", "atomic")
        bad = order % 2 == 0 and order // 2 < wrong  # first claims of the first answers
        said = "contradicted" if order % 2 == 0 and order // 2 < wrong + harsh else "supported"
        row = (run, item, claim, text, "factual")
        if order >= unscored:
            yield "labels", _LABELS, (*row, said, judge, at + DAY / 24, "verifier", 0.9, None)
        if labelled:
            told = "contradicted" if bad else "supported"
            yield "labels", _LABELS, (*row, told, PERSON, at + DAY / 12, "human", None, 0.5)


def add_anchors(
    store: Store, week: int, *, harsh: int = 0, judge: str = JUDGE, first: datetime = FIRST
) -> None:
    """Have the judge judge a hundred frozen claims again, in a week of its number.

    It rejects ten of them, one more or less in turn, and ``harsh`` more.
    """
    run = "anchors"
    labels: list[tuple[Any, ...]] = []
    claims: list[tuple[Any, ...]] = []
    for number in range(100):
        item, text = f"anchor-{number}", f"Anchor {number}."
        said = "contradicted" if number < 10 + harsh + week % 2 else "supported"
        row = (run, item, "c0", text, "factual")
        at = first + (7 * week + 2) * DAY
        labels.append((*row, said, judge, at, "verifier", 0.9, None))
        if week == 0:
            labels.append((*row, "supported", PERSON, first, "human", None, None))
            claims.append((run, item, "c0", 0, 0, text, "factual", "atomic"))
    with store.write():
        if week == 0:
            items = [claim[1] for claim in claims]
            store.insert_rows("runs", _RUNS, [(run, "anchors", "m", "c1", first)])
            store.insert_rows(
                "eval_items",
                _ITEMS,
                [(item, f"Question of {item}?", "lookup", "c1") for item in items],
            )
            store.insert_rows(
                "answers", _ANSWERS, [(run, item, 0, "An answer.", 1, "answer") for item in items]
            )
            store.insert_rows("claims", _CLAIMS, claims)
        store.insert_rows("labels", _LABELS, labels)
