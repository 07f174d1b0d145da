"""Reads Inspect's logs: ``.eval``, a ZIP file of JSON, and ``.json``.

A sample is one answer: the model's last output. What tools returned in it is its evidence, and its
reasoning is left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from claimwise.disk.input import refuse
from claimwise.readers.evalfiles.archives import read_members
from claimwise.readers.evalfiles.chat import ChatMessage, read_chat
from claimwise.readers.evalfiles.columns import look_up, recognise_columns
from claimwise.readers.evalfiles.depth import guard_depth
from claimwise.readers.evalfiles.made import yield_traces
from claimwise.readers.evalfiles.passages import read_passages
from claimwise.readers.evalfiles.records import decode_json, load_json
from claimwise.readers.evalfiles.sketch import sketch_head
from claimwise.readers.evalfiles.values import strip_reasoning, to_id, to_text, to_time
from claimwise.readers.outside import RecordKind, Records
from claimwise.types.traces import Passage, Recognised, Trace

_Record = Mapping[str, Any]
_FIELDS = {
    "question": "input",
    "answer": "output.choices",
    "contexts": "tool messages and metadata",
    "reference": "target",
}
_HEADER = "eval"  # what is said of the whole evaluation
_REFERENCES = ("attachment://", "tc://")
_MOST_ATTRIBUTES = 24
_MOST_LETTERS = 80
_MOST_DEPTH = 30


class InspectReader:
    """Reads one answer per sample and epoch."""

    yields: RecordKind = "traces"

    def recognise(self, path: Path, head: bytes) -> float | None:
        """Go by a ZIP file's first member, or by the names of a log."""
        sketch = sketch_head(head)
        if sketch.form == "zip":
            members = (b"_journal/start.json", b"header.json", b"samples/", b"summaries.json")
            return 0.9 if any(name in head for name in members) else None
        known = sketch.has("status", f"{_HEADER}.task") or sketch.has(
            f"{_HEADER}.task_id", f"{_HEADER}.model"
        )
        return 0.9 if sketch.form == "json" and known else None

    def read(self, path: Path, options: Mapping[str, str]) -> Records:
        """Yield the answers of all samples."""
        return guard_depth(path, self._read(path, options))

    def _read(self, path: Path, options: Mapping[str, str]) -> Records:
        yield 1, Recognised(reader="inspect", fields=_FIELDS)
        dropped: Counter[str] = Counter()
        yield from yield_traces(path, _list_traces(path, dropped), dropped, "samples")


def _list_traces(path: Path, dropped: Counter[str]) -> Iterator[tuple[int, Trace | None]]:
    for number, (header, sample) in enumerate(_list_samples(path), start=1):
        yield number, _read_sample(path, header, sample, dropped)


def _list_samples(path: Path) -> Iterator[tuple[_Record, _Record]]:
    with path.open("rb") as file:
        packed = file.read(4) == b"PK\x03\x04"
    if packed:
        header = _read_header(path)
        for name, data in read_members(path, _is_sample):
            sample = decode_json(path, data, name=name)
            if isinstance(sample, Mapping):
                yield header, sample
        return
    log = load_json(path)
    samples = log.get("samples") if isinstance(log, Mapping) else None
    if not isinstance(samples, list):
        raise refuse(path, "a log without samples", "one written with its samples (log_samples)")
    header = _object(log, _HEADER)
    yield from ((header, one) for one in samples if isinstance(one, Mapping))


def _is_sample(name: str) -> bool:
    return name.startswith("samples/") and name.endswith(".json")


def _read_header(path: Path) -> _Record:
    """Return what the log says of the whole evaluation; a log that was cut off has its start."""
    found: dict[str, _Record] = {}
    for name, data in read_members(path, {"header.json", "_journal/start.json"}.__contains__):
        log = decode_json(path, data, name=name)
        if isinstance(log, Mapping):
            found[name] = _object(log, _HEADER)
    return found.get("header.json") or found.get("_journal/start.json") or {}


def _object(record: _Record, name: str) -> _Record:
    found = record.get(name)
    return found if isinstance(found, Mapping) else {}


def _read_sample(
    path: Path, header: _Record, sample: _Record, dropped: Counter[str]
) -> Trace | None:
    sample = _resolve(sample, _object(sample, "attachments"))
    messages = read_chat(sample.get("messages")) or []
    output = _object(sample, "output")
    question = _find_question(sample, messages)
    answer = _find_answer(output, messages, dropped)
    failure = None if answer else _find_failure(sample, output)
    if question is None or (answer is None and failure is None):
        return None
    spoken = sum(one.role == "assistant" and bool(one.text) for one in messages)
    dropped["interim messages of the assistant"] += max(spoken - 1, 0)
    dropped["scores"] += len(_object(sample, "scores"))
    passages = _find_passages(sample, messages)
    epoch = sample.get("epoch")
    identifier = to_id(sample.get("id"))
    return Trace(
        origin="trace",
        place=str(path),
        question=question,
        answer=answer or "",
        failure=failure,
        passages=passages,
        actions=tuple(call for one in messages for call in one.calls),
        trace_id=f"{identifier}_epoch_{epoch}" if identifier and epoch else identifier,
        model=to_id(header.get("model")) or to_id(output.get("model")),
        happened_at=to_time(sample.get("started_at")) or to_time(header.get("created")),
        gold_answer=to_text(sample.get("target")),
        attributes=_read_attributes(header, sample),
    )


def _resolve(value: Any, attachments: _Record, depth: int = 0) -> Any:
    """Return a value with its attachments in place; those of events are not looked at."""
    if isinstance(value, str) and value.startswith(_REFERENCES):
        return attachments.get(value.partition("://")[2], value)
    if depth > _MOST_DEPTH or not attachments:
        return value
    if isinstance(value, Mapping):
        return {
            name: part
            if name in ("events", "attachments")
            else _resolve(part, attachments, depth + 1)
            for name, part in value.items()
        }
    return (
        [_resolve(part, attachments, depth + 1) for part in value]
        if isinstance(value, list)
        else value
    )


def _find_question(sample: _Record, messages: list[ChatMessage]) -> str | None:
    given = sample.get("input")
    if isinstance(given, str):
        return to_text(given)
    asked = [one for one in read_chat(given) or messages if one.role == "user" and one.text]
    return asked[-1].text if asked else None


def _find_answer(output: _Record, messages: list[ChatMessage], dropped: Counter[str]) -> str | None:
    choices = output.get("choices")
    said = [one.get("message") for one in choices if isinstance(one, Mapping)] if isinstance(
        choices, list) else []  # fmt: skip
    final = read_chat(said[:1]) or []
    texts = [one.text for one in final if one.text]
    dropped["reasoning parts"] += sum(one.reasoning for one in messages or final)
    dropped["other choices"] += max(len(said) - 1, 0)
    if not texts:
        text, _ = strip_reasoning(to_text(output.get("completion")) or "")
        texts = [text] if text.strip() else []
    if not texts:
        texts = [one.text for one in messages if one.role == "assistant" and one.text][-1:]
    return texts[0] if texts else None


def _find_failure(sample: _Record, output: _Record) -> str | None:
    for one in (sample.get("error"), output.get("error")):
        text = to_text(one, ("message",))
        if text:
            return text.partition("\n")[0]
    return None


def _find_passages(sample: _Record, messages: list[ChatMessage]) -> tuple[Passage, ...] | None:
    """Return what tools gave, and contexts among the sample's metadata."""
    metadata = _object(sample, "metadata")
    columns = recognise_columns([str(name) for name in metadata])
    given = [read_passages(look_up(metadata, name)) for name in columns.taken.get("contexts", ())]
    found = [p for passages in given for p in passages or ()]
    tools = [p for one in messages for p in one.passages]
    return (*found, *tools) if found or tools or any(one is not None for one in given) else None


def _read_attributes(header: _Record, sample: _Record) -> dict[str, str]:
    given = {"task": header.get("task"), **_object(sample, "metadata")}
    short = {
        str(name): text
        for name, value in given.items()
        if (text := to_id(value)) is not None and len(text) <= _MOST_LETTERS
    }
    return dict(list(short.items())[:_MOST_ATTRIBUTES])
