"""Reads the items of OpenAI Evals, as its API exports them, and the logs of ``oaieval``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from claimwise.errors import Problem
from claimwise.readers.evalfiles.chat import find_last_turn, read_chat
from claimwise.readers.evalfiles.columns import Columns
from claimwise.readers.evalfiles.depth import guard_depth
from claimwise.readers.evalfiles.made import choose_columns, yield_traces
from claimwise.readers.evalfiles.passages import read_passages
from claimwise.readers.evalfiles.records import read_records
from claimwise.readers.evalfiles.sketch import sketch_head
from claimwise.readers.evalfiles.values import strip_reasoning, to_id, to_text
from claimwise.readers.outside import RecordKind, Records
from claimwise.types.traces import Passage, Recognised, Trace

_Record = Mapping[str, Any]
_ITEMS = ("item", "datasource_item")
_LOG = ("spec", "final_report", "event_id")


class OpenAiEvalsReader:
    """Reads one answer per item; a question comes from the item, an answer from its sample."""

    yields: RecordKind = "traces"

    def recognise(self, path: Path, head: bytes) -> float | None:
        """Go by the names of an item, or of a log's first lines."""
        sketch = sketch_head(head)
        names = {name.removeprefix("data[].").removeprefix("[].") for name in sketch.names}
        item = names & set(_ITEMS) and names & {"data_source_idx", "grades", "datasource_item_id",
                                                "sample.output"}  # fmt: skip
        log = {"run_id", "event_id", "sample_id", "data"} <= names
        return 0.85 if sketch.form == "json" and (item or log) else None

    def read(self, path: Path, options: Mapping[str, str]) -> Records:
        """Yield the answers of items that have one."""
        return guard_depth(path, self._read(path, options))

    def _read(self, path: Path, options: Mapping[str, str]) -> Records:
        records = list(read_records(path))
        log = [one for one in records if isinstance(one[1], dict) and "event_id" in one[1]]
        dropped: Counter[str] = Counter()
        if log:
            yield (
                1,
                Recognised(
                    reader="openai-evals",
                    fields={"question": "data.prompt", "answer": "data.sampled"},
                ),
            )
            yield from yield_traces(path, _read_log(path, records), dropped, "samples")
            return
        items = [_find_item(one) for _, one in records if isinstance(one, dict)]
        columns = choose_columns(path, items, options)
        fields = {role: f"item.{name}" for role, name in columns.describe().items()}
        if "answer" not in columns.taken:
            fields["answer"] = "sample.output"
        yield 1, Recognised(reader="openai-evals", fields=fields)
        yield from yield_traces(
            path, _read_items(path, records, columns, dropped), dropped, "items"
        )


def _find_item(record: _Record) -> dict[str, Any]:
    found = [record[name] for name in _ITEMS if isinstance(record.get(name), Mapping)]
    return dict(found[0]) if found else {}


def _read_items(
    path: Path,
    records: list[tuple[int, dict[str, Any] | Problem]],
    columns: Columns,
    dropped: Counter[str],
) -> Iterator[tuple[int, Trace | Problem | None]]:
    for number, record in records:
        if isinstance(record, Problem):
            yield number, record
            continue
        item = _find_item(record)
        sample = record.get("sample")
        given: _Record = sample if isinstance(sample, Mapping) else {}
        question = to_text(columns.find(item, "question")) or _find_asked(given.get("input"))
        answer, passages = _find_answer(columns, item, given, dropped)
        failure = to_text(given.get("error"), ("message",)) if answer is None else None
        dropped["scores"] += sum(
            len(record[name])
            for name in ("grades", "results")
            if isinstance(record.get(name), (dict, list))
        )
        if question is None or (answer is None and failure is None):
            yield number, None
            continue
        yield (
            number,
            Trace(
                origin="trace",
                place=str(path),
                question=question,
                answer=answer or "",
                failure=failure,
                passages=passages,
                trace_id=to_id(record.get("id")) or to_id(record.get("data_source_idx")),
                model=to_id(given.get("model")),
                gold_answer=to_text(columns.find(item, "reference")),
                domain=to_text(columns.find(item, "domain")),
                attributes={
                    name: text
                    for name in columns.others
                    if (text := to_id(item.get(name))) is not None and len(text) <= 80
                },
            ),
        )


def _find_asked(value: Any) -> str | None:
    messages = read_chat(value)
    turn = find_last_turn(messages) if messages else None
    return turn.question if turn else to_text(value)


def _find_answer(
    columns: Columns, item: _Record, sample: _Record, dropped: Counter[str]
) -> tuple[str | None, tuple[Passage, ...] | None]:
    passages = read_passages(columns.find(item, "contexts"))
    for name in ("output", "outputs", "output_text"):
        messages = read_chat(sample.get(name))
        turn = find_last_turn(messages) if messages else None
        answer = turn.answer if turn else None
        answer = answer or (None if messages else to_text(sample.get(name)))
        if turn is not None:
            dropped.update(turn.dropped)
            passages = (*(passages or ()), *turn.passages) if turn.passages else passages
        if answer:
            return answer, passages
    text, thoughts = strip_reasoning(to_text(columns.find(item, "answer")) or "")
    dropped["reasoning parts"] += thoughts
    return text or None, passages


def _read_log(
    path: Path, records: list[tuple[int, dict[str, Any] | Problem]]
) -> Iterator[tuple[int, Trace | Problem | None]]:
    """Read a log's sampling events, each with the right answer that a match event tells."""
    wanted: dict[str, Any] = {}
    for _, record in records:
        if isinstance(record, dict) and isinstance(record.get("data"), Mapping):
            expected = record["data"].get("expected", record["data"].get("ideal"))
            if expected is not None:
                wanted[str(record.get("sample_id"))] = expected
    for number, record in records:
        if isinstance(record, Problem):
            yield number, record
        elif record.get("type") == "sampling" and isinstance(record.get("data"), Mapping):
            data = record["data"]
            sampled = data.get("sampled")
            one = sampled[0] if isinstance(sampled, list) and sampled else sampled
            question, answer = _find_asked(data.get("prompt")), to_text(one)
            if question is None or answer is None:
                yield number, None
                continue
            identifier = to_id(record.get("sample_id"))
            yield (
                number,
                Trace(
                    origin="trace",
                    place=str(path),
                    question=question,
                    answer=strip_reasoning(answer)[0],
                    trace_id=identifier,
                    gold_answer=to_text(wanted.get(str(identifier))),
                ),
            )
