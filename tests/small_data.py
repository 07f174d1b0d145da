"""Small consistent data sets for tests, written as files write them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from claimwise.readers.records import KINDS, expand
from claimwise.store import Store
from claimwise.types.rows import Placed

Record = dict[str, Any]

SOURCE = "The tower is 139 m tall. It opened in 1999. Entry costs 5 euros. Dogs may come in."


def source(source_id: str = "doc", **more: Any) -> Record:
    return {"type": "sources", "source_id": source_id, "corpus_ver": "v1", "source_text": SOURCE,
            **more}  # fmt: skip


def item(item_id: str, **more: Any) -> Record:
    base = {"type": "items", "item_id": item_id, "query": "How tall is it?",
            "query_type": "lookup", "answerable": True, "stakes": "low",
            "gold_answer": "139 m", "source_corpus_ver": "v1"}  # fmt: skip
    return {**base, **more}


def run(run_id: str = "r", **more: Any) -> Record:
    base = {"type": "runs", "run_id": run_id, "system": "s", "corpus_ver": "v1",
            "started_at": "2026-01-01T00:00:00Z"}  # fmt: skip
    return {**base, **more}


def answer(item_id: str, *claims: Record | str, run_id: str = "r", **more: Any) -> Record:
    base = {"type": "answers", "run_id": run_id, "item_id": item_id, "action": "answer",
            "answer_text": "An answer that is long enough for every claim.",
            "claims": [c if isinstance(c, dict) else claim(c) for c in claims]}  # fmt: skip
    return {**base, **more}


def claim(claim_text: str, **more: Any) -> Record:
    return {"claim_text": claim_text, **more}


def label(item_id: str, claim_text: str, verdict: str, **more: Any) -> Record:
    base = {"type": "labels", "run_id": "r", "item_id": item_id, "claim_text": claim_text,
            "verdict": verdict, "labeler": "ana", "labeled_at": "2026-02-01T00:00:00Z"}  # fmt: skip
    return {**base, **more}


def closed_label(item_id: str, claim_text: str, told: str, **more: Any) -> Record:
    return {"type": "closed_book_labels", "run_id": "r", "item_id": item_id,
            "claim_text": claim_text, "label": told, "labeler": "ana",
            "labeled_at": "2026-02-01T00:00:00Z", **more}  # fmt: skip


def to_rows(records: Iterable[Record]) -> Iterator[Placed]:
    """Yield the rows of records that each name their type, as if read from one file."""
    for number, record in enumerate(records, start=1):
        rest = {name: value for name, value in record.items() if name != "type"}
        for row in expand(rest, KINDS[record["type"]]):
            yield Placed(row, 0, number)


def load(store: Store, *records: Record, **options: Any) -> None:
    """Load records; labels may give a verdict alone, as tests of figures need no spans."""
    store.load(to_rows(records), ["test.jsonl"], **{"lenient": True, **options})
