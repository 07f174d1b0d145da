"""Makes traces of a table's rows: each row is an answer, or a conversation with several."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any, cast

import msgspec

from claimwise.disk.input import refuse
from claimwise.errors import InputError, Problem
from claimwise.readers.documents import STDIN
from claimwise.readers.evalfiles.chat import (
    ChatMessage,
    ChatTurn,
    find_last_turn,
    list_turns,
    read_chat,
    read_tool_calls,
)
from claimwise.readers.evalfiles.columns import (
    ROLES,
    Columns,
    apply_column_map,
    explain_missing,
    list_columns,
    look_up,
    parse_values,
    read_answerable,
    recognise_columns,
    show_columns,
    translate,
)
from claimwise.readers.evalfiles.depth import guard_depth
from claimwise.readers.evalfiles.message_log import gather_messages, is_message_log
from claimwise.readers.evalfiles.passages import add_ids, read_passages
from claimwise.readers.evalfiles.records import Numbered, read_records, spread_systems
from claimwise.readers.evalfiles.values import (
    is_nothing,
    is_score,
    parse_cell,
    strip_reasoning,
    to_id,
    to_json,
    to_text,
    to_time,
)
from claimwise.readers.outside import Records
from claimwise.readers.problems import Complaint, holds_nul, make_problem
from claimwise.types.rows import Stakes
from claimwise.types.traces import Dropped, Passage, Recognised, Trace

Record = dict[str, Any]
_SAMPLE = 200
MAX_ATTRIBUTES = 24
_MOST_LETTERS = 80
_STAKES = ("low", "medium", "high")
# What a tool's own names are in an object that stands for the question or the answer.
_QUESTION_KEYS = (*ROLES["question"], "text", "content")
_ANSWER_KEYS = (*ROLES["answer"], "text", "content", "message", "result", "value")


class TableFormat(msgspec.Struct, frozen=True):
    """What one tool's tables have of their own."""

    name: str
    # Columns that hold gold contexts in this tool's files, though other tools retrieve them.
    gold: tuple[str, ...] = ()
    # Turns a cell of contexts into what it means in this tool's files.
    open_contexts: Callable[[Any], Any] = parse_cell
    # What a file without answers is called.
    without_answers: str = "rows without answers"


def read_table(
    path: Path,
    options: Mapping[str, str],
    layout: TableFormat,
    records: Numbered | None = None,
) -> Records:
    """Yield what a table's columns were taken for, its answers, and what was left out.

    Args:
        path: the file.
        options: "map" and "values", the user's own names.
        layout: what the tool's tables have of their own.
        records: the records, where they are not simply those of the file.

    Raises:
        InputError: no column is the question or the answer, or the user named one that isn't.
    """
    return guard_depth(path, _read_table(path, options, layout, records))


def _read_table(
    path: Path, options: Mapping[str, str], layout: TableFormat, records: Numbered | None
) -> Records:
    stream = iter(read_records(path) if records is None else records)
    sample = list(islice(stream, _SAMPLE))
    if sample and is_message_log(sample[0][1]):
        stream = gather_messages(chain(sample, stream))
    else:
        stream = _spread(chain(sample, stream))
    sample = list(islice(stream, _SAMPLE))
    found = [record for _, record in sample if isinstance(record, dict)]
    columns = _choose_columns(path, found, options, layout)
    yield 1, Recognised(reader=layout.name, fields=columns.describe())
    rows = _RowReader(path, columns, found, parse_values(options.get("values")), layout)
    yield from rows.read(chain(sample, stream))


def _spread(records: Iterable[tuple[int, Record | Problem]]) -> Numbered:
    for line, record in records:
        if isinstance(record, Problem):
            yield line, record
        else:
            yield from ((line, one) for one in spread_systems([record]))


def _choose_columns(
    path: Path, sample: Sequence[Record], options: Mapping[str, str], layout: TableFormat
) -> Columns:
    names = list_columns(sample)
    columns = recognise_columns(names, gold=layout.gold)
    if options.get("map"):
        columns = apply_column_map(columns, names, path, options["map"])
    columns = _descend(columns, sample)
    columns = _take_chat(columns, sample)
    known = set(columns.taken)
    if sample and not {"answer", "messages"} & known and {"question", "reference"} <= known:
        raise explain_goldens(path, layout.without_answers, names)
    for role in ("question", "answer"):
        if sample and not {role, "messages"} & set(columns.taken):
            raise explain_missing(path, role, names)
    return columns


def explain_goldens(path: Path, what: str, names: Sequence[str]) -> InputError:
    """Return the error for a file that has questions and right answers, and no system's answers."""
    listed = f" (columns: {show_columns(names)})" if names else ""
    return refuse(
        path,
        f"{what}{listed}",
        "answers to measure: run your system on the questions first, or --map answer=COLUMN",
    )


def _descend(columns: Columns, sample: Sequence[Record]) -> Columns:
    """Lead a question or answer that is an object to the only text in it, if there is one."""
    taken = dict(columns.taken)
    for role in ("question", "answer"):
        for name in taken.get(role, ()):
            inner = [look_up(record, name) for record in sample]
            texts = {
                key
                for one in inner
                if isinstance(one, Mapping)
                for key, value in one.items()
                if isinstance(value, str)
            }
            if len(texts) == 1 and all(isinstance(one, Mapping) for one in inner):
                taken[role] = (f"{name}.{texts.pop()}",)
    return msgspec.structs.replace(columns, taken=taken)


def _take_chat(columns: Columns, sample: Sequence[Record]) -> Columns:
    """Take a question that is a conversation for the messages that it is."""
    taken = dict(columns.taken)
    if "messages" in taken:
        return columns
    for name in taken.get("question", ()):
        values = [look_up(record, name) for record in sample]
        if any(read_chat(value) for value in values if not is_nothing(value)):
            taken["messages"] = taken.pop("question")
            return msgspec.structs.replace(columns, taken=taken)
    return columns


class _RowReader:
    """Reads the rows of one file, and counts what it leaves out."""

    def __init__(
        self,
        path: Path,
        columns: Columns,
        sample: Sequence[Record],
        values: Mapping[str, str],
        layout: TableFormat,
    ) -> None:
        self._path = path
        self._place = "standard input" if path == STDIN else str(path)
        self._columns = columns
        self._values = values
        self._layout = layout
        self._groups, self._dropped = _choose_groups(columns, sample)

    def read(self, records: Iterable[tuple[int, Record | Problem]]) -> Records:
        """Yield traces and problems, and at the end what was left out."""
        rows = answers = 0
        for line, record in records:
            if isinstance(record, Problem):
                yield line, record
                answers += 1  # the file was not without answers: one could not be read
                continue
            rows += 1
            for trace in self._read_row(line, record):
                answers += 1
                if holds_nul(msgspec.to_builtins(trace)):
                    complaint = Complaint(None, "a NUL character", "text without one")
                    yield line, make_problem(self._path, line, complaint)
                else:
                    yield line, trace
        if not answers:
            if self._dropped["rows without a question"]:
                expected = "a question in each, or --map question=COLUMN"
                raise refuse(self._path, f"rows without questions ({rows:,} in all)", expected)
            what = f"{self._layout.without_answers} ({rows:,} in all)"
            raise explain_goldens(self._path, what, ())
        for what, count in self._dropped.items():
            yield 1, Dropped(what=what, count=count)

    def _read_row(self, line: int, record: Record) -> Iterator[Trace]:
        messages = read_chat(self._columns.find(record, "messages"))
        answer = self._read_text(record, "answer", _ANSWER_KEYS)
        failure = to_text(self._columns.find(record, "failure"))
        if messages is not None and answer is None:
            yield from self._read_chat(record, messages)
            return
        turn = find_last_turn(messages) if messages else None
        question = self._read_text(record, "question", _QUESTION_KEYS)
        question = question or (turn.question if turn else None)
        if answer is None and failure is None:
            self._dropped["rows without an answer"] += 1
        elif question is None:
            self._dropped["rows without a question"] += 1
        else:
            yield self._make_trace(
                record, question, answer or "", None if answer else failure, turn
            )

    def _read_text(self, record: Record, role: str, keys: Sequence[str]) -> str | None:
        value = self._columns.find(record, role)
        chat = read_chat(value) if role == "answer" else None
        if chat is not None:
            turn = find_last_turn(chat)
            value = turn.answer if turn else None
        text = to_text(value, keys)
        if role == "answer" and text is not None:
            text, thoughts = strip_reasoning(text)
            if thoughts:
                self._dropped["reasoning parts"] += thoughts
        return text if text and text.strip() else None

    def _read_chat(self, record: Record, messages: Sequence[ChatMessage]) -> Iterator[Trace]:
        turns = list(list_turns(messages))
        conversation = self._find_conversation(record, turns, messages)
        for turn in turns:
            if turn.answer is None or turn.question is None:
                what = "question" if turn.question is None else "answer"
                self._dropped[f"turns without {'an' if what == 'answer' else 'a'} {what}"] += 1
                continue
            self._dropped.update(turn.dropped)
            trace = self._make_trace(record, turn.question, turn.answer, None, turn)
            yield msgspec.structs.replace(trace, conversation_id=conversation)

    def _find_conversation(
        self, record: Record, turns: Sequence[ChatTurn], messages: Sequence[ChatMessage]
    ) -> str | None:
        """Return the row's id of its conversation, or its own; else one made from what was said."""
        for role in ("conversation_id", "trace_id"):
            found = to_id(self._columns.find(record, role))
            if found:
                return found
        if sum(turn.answer is not None for turn in turns) < 2:
            return None
        said = to_json([[one.role, one.text] for one in messages])
        return f"conversation-{hashlib.sha256(said.encode()).hexdigest()[:12]}"

    def _make_trace(
        self, record: Record, question: str, answer: str, failure: str | None, turn: ChatTurn | None
    ) -> Trace:
        find = self._columns.find
        passages = self._read_passages(record)
        calls, outputs = read_tool_calls(find(record, "tools"))
        evidence = [*outputs, *(turn.passages if turn else ())]
        if evidence:
            passages = (*(passages or ()), *evidence)
        stakes = str(translate(find(record, "stakes"), self._values)).lower()
        kind = to_text(translate(find(record, "query_type"), self._values))
        return Trace(
            origin="trace",
            place=self._place,
            question=question,
            answer=answer,
            failure=failure,
            passages=passages,
            actions=(*calls, *(turn.actions if turn else ())),
            trace_id=to_id(find(record, "trace_id")),
            conversation_id=to_id(find(record, "conversation_id")),
            system=_to_short(find(record, "system")),
            model=_to_short(find(record, "model")),
            happened_at=to_time(find(record, "happened_at")),
            feedback=to_text(find(record, "feedback")),
            gold_answer=_read_reference(find(record, "reference")),
            answerable=read_answerable(self._columns, record, self._values),
            query_type=kind,
            stakes=cast(Stakes, stakes) if stakes in _STAKES else None,
            domain=_to_short(find(record, "domain")),
            attributes=self._read_groups(record),
        )

    def _read_passages(self, record: Record) -> tuple[Passage, ...] | None:
        found: list[Passage] | None = None
        for name in self._columns.taken.get("contexts", ()):
            passages = read_passages(self._layout.open_contexts(look_up(record, name)))
            if passages is not None:
                found = [*(found or []), *passages]
        ids = self._columns.find(record, "context_ids")
        if ids is None:
            return None if found is None else tuple(found)
        if found is None:
            listed = parse_cell(ids)
            named = (to_id(one) for one in (listed if isinstance(listed, list) else [listed]))
            return tuple(Passage(source_id=one) for one in named if one)
        return add_ids(found, ids)

    def _read_groups(self, record: Record) -> dict[str, str]:
        found = {}
        for name, column in self._groups.items():
            value = _to_short(look_up(record, column))
            if value is not None:
                found[name] = value
        return found


def _read_reference(value: Any) -> str | None:
    """Return the right answer, or the right answers, a line each."""
    found = parse_cell(value)
    if isinstance(found, Mapping) and isinstance(found.get("text"), list):  # as in SQuAD
        found = list(dict.fromkeys(map(str, found["text"])))
    return to_text(found)


def _to_short(value: Any) -> str | None:
    """Return a value to group by: a short text, a whole number, yes or no."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) or not isinstance(value, str | int) or is_nothing(value):
        return None
    text = str(value).strip()
    plain = len(text) <= _MOST_LETTERS and "\n" not in text and text[0] not in "[{"
    return text if plain else None


def _choose_groups(
    columns: Columns, sample: Sequence[Record]
) -> tuple[dict[str, str], Counter[str]]:
    """Return the columns to group by under short names, and how many of which kind are not."""
    groups: dict[str, str] = {}
    dropped: Counter[str] = Counter()
    if columns.gold:
        dropped["columns of gold contexts"] = len(columns.gold)
    for column in columns.others:
        values = [value for one in sample if not is_nothing(value := look_up(one, column))]
        if not values or all(isinstance(value, Mapping) for value in values):
            continue
        if all(map(is_score, values)):
            dropped["score columns"] += 1
        elif all(_to_short(value) is not None for value in values) and len(groups) < MAX_ATTRIBUTES:
            short = column.rpartition(".")[2]
            groups[column if short in groups else short] = column
        else:
            dropped["other columns"] += 1
    return groups, dropped
