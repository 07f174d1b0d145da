"""Reads promptfoo's results: its JSON export, JSON Lines, and its CSV with a column per prompt."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from claimwise.disk.input import refuse
from claimwise.errors import Problem
from claimwise.readers.evalfiles.chat import find_last_turn, read_chat
from claimwise.readers.evalfiles.columns import Columns
from claimwise.readers.evalfiles.depth import guard_depth
from claimwise.readers.evalfiles.made import choose_columns, yield_traces
from claimwise.readers.evalfiles.passages import read_passages
from claimwise.readers.evalfiles.records import load_json, read_records
from claimwise.readers.evalfiles.sketch import sketch_head
from claimwise.readers.evalfiles.values import (
    parse_cell,
    strip_reasoning,
    to_id,
    to_json,
    to_text,
    to_time,
)
from claimwise.readers.outside import RecordKind, Records
from claimwise.types.traces import Passage, Recognised, Trace

_Record = Mapping[str, Any]
# promptfoo's ResultFailureReason: 1 is an assertion that failed, which is no failure to answer.
_FAILED_TO_ANSWER = 2
_REFERENCES = frozenset({"equals", "similar", "factuality", "model-graded-factuality",
                         "answer-relevance", "context-recall", "iequals"})  # fmt: skip
_PROMPT_COLUMN = re.compile(r"\[(?P<provider>[^\]]+)\] ?(?P<label>.*)\Z", re.DOTALL)
_CELL = re.compile(r"\[(?P<status>PASS|FAIL|ERROR)\]\s*(\(\d+(\.\d+)?\)\s*)?", re.DOTALL)
_LONGEST_LABEL = 60
_MARKS = ("Status", "Score", "Named Scores", "Grader Reason", "Comment", "Latency (ms)")


class PromptfooReader:
    """Reads one answer per test and prompt; the provider is the system."""

    yields: RecordKind = "traces"

    def recognise(self, path: Path, head: bytes) -> float | None:
        """Go by the names of promptfoo's results, or by its columns ``[provider] prompt``."""
        sketch = sketch_head(head)
        if sketch.form == "csv":
            prompts = any(_PROMPT_COLUMN.match(name) for name in sketch.header)
            return 0.85 if prompts and len(sketch.header) > 1 else None
        export = sketch.has("evalId", "results") or sketch.has("results.prompts", "results.version")
        row = any(
            sketch.has(f"{place}vars", f"{place}provider")
            for place in ("", "[].", "results[].", "results.results[].")
        )
        return 0.9 if sketch.form == "json" and (export or row) else None

    def read(self, path: Path, options: Mapping[str, str]) -> Records:
        """Yield the answers of all providers."""
        return guard_depth(path, self._read(path, options))

    def _read(self, path: Path, options: Mapping[str, str]) -> Records:
        records = list(_list_results(path))
        tests = [dict(_object(one, "vars")) for _, one in records if isinstance(one, Mapping)]
        columns = choose_columns(path, tests, options)
        dropped: Counter[str] = Counter()
        reader = _ResultReader(path, columns, records, dropped)
        yield 1, Recognised(reader="promptfoo", fields=reader.describe())
        yield from yield_traces(path, reader.read(records), dropped, "results")


def _object(record: _Record, name: str) -> _Record:
    found = record.get(name)
    return found if isinstance(found, Mapping) else {}


def _list_results(path: Path) -> Iterator[tuple[int, _Record | Problem]]:
    """Yield results as the JSON export has them, whatever the file's form."""
    first = True
    for number, record in read_records(path):
        if isinstance(record, Problem):
            yield number, record
        elif any(map(_PROMPT_COLUMN.match, record)):
            yield from ((number, one) for one in _open_csv_row(record))
        elif "vars" in record or "promptIdx" in record:
            yield number, record
        elif isinstance(record.get("results"), Mapping):
            yield from enumerate(_open_export(path, record), start=1)
        elif first:  # an object with other lists of records than the results
            yield from enumerate(_open_export(path, load_json(path)), start=1)
            return
        first = False


def _open_export(path: Path, export: Any) -> list[_Record]:
    results = export.get("results") if isinstance(export, Mapping) else None
    if isinstance(results, Mapping):
        results = results.get("results")
    if not isinstance(results, list):
        raise refuse(path, "no results.results", "promptfoo's export: promptfoo eval -o out.json")
    return [one for one in results if isinstance(one, Mapping)]


def _open_csv_row(record: _Record) -> Iterator[_Record]:
    """Yield a result for every prompt's column; the columns before the first one are vars."""
    names = list(record)
    prompts = [name for name in names if _PROMPT_COLUMN.match(name)]
    before = names[: names.index(prompts[0])]
    tests = {name: parse_cell(record[name]) for name in before if name != "Description"}
    for name in prompts:
        match = _PROMPT_COLUMN.match(name)
        if match is None:
            continue
        after = names[names.index(name) + 1 :]
        marks = [one.partition(".")[0] for one in after[: len(_MARKS) + 1]]
        beside = {mark: str(record[after[n]]) for n, mark in reversed(list(enumerate(marks)))}
        text, failed = _open_cell(str(record[name] or ""), beside.get("Status", ""))
        error = text or beside.get("Grader Reason") or "error"
        yield {
            "vars": tests,
            "provider": match["provider"],
            "prompt": {"label": match["label"]},
            "response": {} if failed else {"output": text},
            "error": error if failed else None,
            "failureReason": _FAILED_TO_ANSWER if failed else 0,
        }


def _open_cell(text: str, status: str) -> tuple[str, bool]:
    """Return a cell's answer and whether it is an error instead.

    Older versions put the status before the answer, and a failed assertion's reason with a line.
    """
    match = _CELL.match(text)
    if match:
        status = match["status"]
        text = text[match.end() :]
        if status == "FAIL" and "\n---\n" in text:
            text = text.partition("\n---\n")[2]
    return text, status == "ERROR"


class _ResultReader:
    def __init__(
        self,
        path: Path,
        columns: Columns,
        records: Sequence[tuple[int, _Record | Problem]],
        dropped: Counter[str],
    ) -> None:
        self._path = path
        self._columns = columns
        self._dropped = dropped
        found = [one for _, one in records if isinstance(one, Mapping)]
        names = {name for one in found for name in _object(one, "vars") if not name.startswith("_")}
        self._only_var = names.pop() if len(names) == 1 else None
        self._several_prompts = len({label for one in found if (label := _find_label(one))}) > 1

    def describe(self) -> dict[str, str]:
        """Return what was taken for what."""
        fields = {role: f"vars.{name}" for role, name in self._columns.describe().items()}
        question = f"vars.{self._only_var}" if self._only_var else "prompt.raw"
        return {
            "question": fields.pop("question", question),
            "answer": "response.output",
            **{role: name for role, name in fields.items() if role != "answer"},
            "system": "provider",
        }

    def read(
        self, records: Sequence[tuple[int, _Record | Problem]]
    ) -> Iterator[tuple[int, Trace | Problem | None]]:
        for number, record in records:
            yield number, record if isinstance(record, Problem) else self._read_one(record)

    def _read_one(self, record: _Record) -> Trace | None:
        tests, response = dict(_object(record, "vars")), _object(record, "response")
        question = self._find_question(record, tests)
        answer, failure = self._find_answer(record, response)
        if question is None or (answer is None and failure is None):
            return None
        self._dropped["assertion results"] += len(
            _object(record, "gradingResult").get("componentResults") or ()
        )
        domain = to_text(self._columns.find(tests, "domain"))
        return Trace(
            origin="trace",
            place=str(self._path),
            question=question,
            answer=answer or "",
            failure=failure,
            passages=self._find_passages(record, tests, response),
            trace_id=to_id(record.get("id")),
            conversation_id=to_id(_object(record, "metadata").get("conversationId")),
            system=self._find_system(record),
            happened_at=to_time(record.get("timestamp")),
            gold_answer=self._find_reference(record, tests),
            domain=domain,
            attributes=_read_attributes(record),
        )

    def _find_question(self, record: _Record, tests: _Record) -> str | None:
        found = to_text(self._columns.find(tests, "question"))
        if found is None and self._only_var:
            found = to_text(tests.get(self._only_var))
        if found is None:
            raw = _object(record, "prompt").get("raw")
            messages = read_chat(raw)
            turn = find_last_turn(messages) if messages else None
            found = turn.question if turn else to_text(raw)
        return found

    def _find_answer(self, record: _Record, response: _Record) -> tuple[str | None, str | None]:
        output = response.get("output")
        answer = to_json(output) if isinstance(output, dict | list) and output else to_text(output)
        inner = to_text(output, ("answer", "response", "output", "text", "content"))
        text, thoughts = strip_reasoning((inner if isinstance(output, dict) else answer) or "")
        self._dropped["reasoning parts"] += thoughts
        said_so = to_text(response.get("error"))
        # An error beside an answer is one of grading it, unless the provider reports it.
        failed = not text.strip() or (record.get("failureReason") == _FAILED_TO_ANSWER and said_so)
        error = said_so or to_text(record.get("error"))
        return (None, error) if failed and error else (text if text.strip() else None, None)

    def _find_passages(
        self, record: _Record, tests: _Record, response: _Record
    ) -> tuple[Passage, ...] | None:
        for name in self._columns.taken.get("contexts", ()):
            found = read_passages(tests.get(name))
            if found is not None:
                return found
        for holder in (response, _object(response, "metadata"), _object(record, "metadata")):
            for name in ("context", "contexts", "documents", "sources", "retrievedContext"):
                found = read_passages(holder.get(name))
                if found:
                    return found
        return None

    def _find_reference(self, record: _Record, tests: _Record) -> str | None:
        found = to_text(self._columns.find(tests, "reference"))
        asserted = _object(record, "testCase").get("assert")
        for one in asserted if isinstance(asserted, list) and found is None else ():
            if isinstance(one, Mapping) and one.get("type") in _REFERENCES:
                found = found or to_text(one.get("value"))
        return found

    def _find_system(self, record: _Record) -> str | None:
        provider = record.get("provider")
        if isinstance(provider, Mapping):
            provider = provider.get("label") or provider.get("id")
        name = to_id(provider)
        label = _name_prompt(record) if self._several_prompts else None
        return " · ".join(filter(None, (name, label))) or None


def _find_label(record: _Record) -> str | None:
    return to_id(_object(record, "prompt").get("label"))


def _name_prompt(record: _Record) -> str | None:
    """Return a prompt's label; where that is the prompt itself, its number."""
    label, number = _find_label(record), record.get("promptIdx")
    if label is None or (len(label) <= _LONGEST_LABEL and "\n" not in label):
        return label
    return f"prompt {number + 1}" if isinstance(number, int) else f"{label[:_LONGEST_LABEL]}…"


def _read_attributes(record: _Record) -> dict[str, str]:
    case = _object(record, "testCase")
    given = {"description": case.get("description"), **_object(case, "metadata")}
    texts = {str(name): to_id(value) for name, value in given.items()}
    return {name: text for name, text in texts.items() if text and len(text) <= 80}
