"""Turns answers of other tools' files into runs of the store, with ids made from their content.

The same answers get the same ids, so that a file can be measured again, later and by another
judge, and adds nothing; a changed answer makes another run. What a file does not tell stays null.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final, Protocol

import msgspec

from claimwise.store import Store
from claimwise.store.lookup import select_rows
from claimwise.text.ids import make_content_id
from claimwise.types.rows import (
    ActionEntry,
    Answer,
    Context,
    Item,
    ItemAttribute,
    Row,
    Run,
    Source,
)
from claimwise.types.traces import Passage, Trace

# Items of files were written for no corpus: what each answer rests on is beside it.
CORPUS: Final = "measured"
_MOST_ID: Final = 200
_MOST_NAME: Final = 63
# Passages of one document are stored as one source, up to this size.
_MOST_JOINED: Final = 100_000
_BETWEEN: Final = "\n\n"
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_]+")
_NOT_IN_IDS = re.compile(r"[^\w.-]+")
_RUN_NAME: Final = 40
_RESERVED: Final = frozenset((*Item.__struct_fields__, *Run.__struct_fields__))


@dataclass(frozen=True, kw_only=True, slots=True)
class SystemAnswers:
    """The answers of one system, as they will be stored."""

    run_id: str
    system: str
    model: str | None
    started_at: datetime
    traces: tuple[Trace, ...]
    is_named: bool = False  # the user chose the id: another run may have it

    @property
    def with_contexts(self) -> int:
        """How many answers have a passage to be judged by."""
        return sum(bool(list_texts(trace)) for trace in self.traces if not trace.failure)


def make_runs(
    traces: Sequence[Trace],
    name: str,
    *,
    run_id: str | None = None,
    system: str | None = None,
    now: datetime | None = None,
) -> list[SystemAnswers]:
    """Return one run per system that answered, in the order of the file.

    Args:
        traces: the answers.
        name: what a run is called whose file does not name the system.
        run_id: the id that the user gives; with several systems, what theirs begin with.
        system: the system's name, for all answers.
        now: when it is measured: the time of a run whose answers have none.
    """
    by_system: dict[str, list[Trace]] = defaultdict(list)
    for trace in traces:
        by_system[system or trace.system or name].append(trace)
    now = now or datetime.now(UTC)
    found = []
    for own_name, answers in by_system.items():
        slug, several = make_slug(own_name), len(by_system) > 1
        made = f"{slug}-{_hash_answers(answers)[:8]}"
        chosen = made if run_id is None else f"{run_id}-{slug}" if several else run_id
        models = {trace.model for trace in answers}
        times = [trace.happened_at for trace in answers]
        known = [_in_utc(time) for time in times if time is not None]
        latest = max(known) if len(known) == len(times) else now
        found.append(
            SystemAnswers(
                run_id=chosen[:_MOST_ID],
                system=own_name,
                model=models.pop() if len(models) == 1 else None,
                started_at=min(latest, now),
                traces=tuple(answers),
                is_named=run_id is not None,
            )
        )
    return found


def _in_utc(time: datetime) -> datetime:
    return time.replace(tzinfo=UTC) if time.tzinfo is None else time


def make_slug(name: str) -> str:
    """Return a name as a part of an id."""
    return _NOT_IN_IDS.sub("-", name).strip("-.")[:_RUN_NAME] or "run"


def _hash_answers(answers: Sequence[Trace]) -> str:
    """Return an id of all that is kept of the answers; where they lay is not."""
    kept = [{**msgspec.to_builtins(trace), "place": None, "origin": None} for trace in answers]
    for one in kept:
        del one["properties"]  # not kept, and ids must stay what they were
    return make_id("m1", kept).partition(":")[2]


def make_id(recipe: str, content: Any) -> str:
    """Return an id that the same content always has."""
    return make_content_id(recipe, msgspec.json.encode(content).decode())


def list_texts(trace: Trace) -> list[Passage]:
    """Return the passages of an answer that have a text to be judged by."""
    return [passage for passage in trace.passages or () if (passage.text or "").strip()]


def name_source(passage: Passage) -> str:
    """Return a passage's source: the id that its file gives, or one made from its text."""
    given = (passage.source_id or "").strip()
    if given and len(given) <= _MOST_ID:
        return given
    return make_id("s1", [given, passage.text or ""])


class ItemNames(Protocol):
    """Gives every answer its item and sample, and gathers the rows of the items."""

    rows: list[Row]

    def add(self, trace: Trace) -> tuple[str, int]:
        """Return the item and the sample of an answer."""
        ...


def list_rows(store: Store, run: SystemAnswers) -> list[Row]:
    """Return the rows of a run, parents first; items go by what the store has."""
    return make_run_rows(run, _Items(store))


def make_run_rows(run: SystemAnswers, items: ItemNames) -> list[Row]:
    """Return the rows of a run, parents first."""
    sources = _Sources()
    placed = [
        [sources.add(passage, position) for position, passage in enumerate(list_texts(trace))]
        for trace in run.traces
    ]
    corpus_ver = sources.make_version()
    keys = [items.add(trace) for trace in run.traces]
    rows: list[Row] = [
        *sources.list_rows(corpus_ver),
        *items.rows,
        Run(
            run_id=run.run_id,
            system=run.system,
            model=run.model,
            corpus_ver=corpus_ver,
            started_at=run.started_at,
        ),
    ]
    for trace, key, names in zip(run.traces, keys, placed, strict=True):
        rows += _list_answer(run.run_id, trace, key, names)
    return rows


def _list_answer(
    run_id: str, trace: Trace, key: tuple[str, int], names: Sequence[str]
) -> Iterator[Row]:
    """Yield an answer with its contexts and its action log.

    Where no passage has a text, nobody can say what the answer rests on: it is stored as one whose
    retrieval was not recorded, and its claims stay unscored.
    """
    item_id, sample = key
    own: dict[str, Any] = {"run_id": run_id, "item_id": item_id, "sample": sample}
    yield Answer(
        **own,
        answer_text=None if trace.failure else trace.answer,
        failure=trace.failure,
        context_count=len(names) or None,
        trace_id=trace.trace_id,
    )
    for position, (passage, name) in enumerate(zip(list_texts(trace), names, strict=True)):
        text = passage.text or ""
        yield Context(**own, position=position, source_id=name, context_text=text)
    yield from list_actions(own, trace)


def list_actions(own: Mapping[str, Any], trace: Trace) -> Iterator[ActionEntry]:
    """Yield the action log of an answer: ``own`` says which it is."""
    used: set[str] = set()
    for number, call in enumerate(trace.actions):
        entry_id = (call.call_id or f"call-{number + 1}")[:_MOST_ID]
        if entry_id in used:
            entry_id = f"call-{number + 1}"
        used.add(entry_id)
        yield ActionEntry(**own, entry_id=entry_id, entry_text=describe_call(call))


def describe_call(call: Any) -> str:
    """Write a tool call as an entry of the action log: ``refund({"order": 7})``."""
    return f"{call.name}({call.arguments or ''})"


@dataclass(slots=True)
class _Document:
    title: str | None
    kind: str
    text: str = ""
    parts: set[str] = field(default_factory=set)


class _Sources:
    """Gathers passages into sources: those with one id are parts of one document.

    A tool's outputs have nothing to do with each other, so each is a source of its own.
    """

    def __init__(self) -> None:
        self._documents: dict[str, _Document] = {}
        self._current: dict[str, str] = {}

    def add(self, passage: Passage, position: int) -> str:
        """Return the id of the source that holds a passage of an answer.

        People are shown its title; a passage that has neither title nor id goes by its place.
        """
        text = passage.text or ""
        name = name_source(passage)
        current = self._current.get(name, name)
        found = self._documents.get(current)
        if found is not None and text in found.parts:
            return current
        if found is not None and (
            passage.kind == "tool_output"
            or found.kind != passage.kind
            or len(found.text) + len(text) > _MOST_JOINED
        ):
            current = make_id("s1", [name, passage.kind, text])
            if passage.kind == "passage":
                self._current[name] = current
            found = self._documents.get(current)
            if found is not None:
                return current
        if found is None:
            title = passage.title or (None if passage.source_id else f"context {position + 1}")
            found = self._documents[current] = _Document(title, passage.kind)
        found.text = f"{found.text}{_BETWEEN}{text}" if found.text else text
        found.parts.add(text)
        return current

    def make_version(self) -> str:
        """Return the corpus version: the same texts always have the same."""
        texts = {name: document.text for name, document in sorted(self._documents.items())}
        return f"{CORPUS}-{make_id('m1', texts).partition(':')[2][:12]}"

    def list_rows(self, corpus_ver: str) -> Iterator[Source]:
        """Yield the sources."""
        for name, document in self._documents.items():
            yield Source(
                source_id=name,
                corpus_ver=corpus_ver,
                source_text=document.text,
                title=document.title,
                url=name if name.startswith(("http://", "https://")) else None,
                source_kind="tool_output" if document.kind == "tool_output" else "passage",
            )


class _Items:
    """Gives every answer its item and sample.

    An item goes by question and conversation, so that runs of one set of questions can be compared.
    Where that item has other facts, in this run or in the store, or was answered from other
    passages in this run, the answer gets an item by all of these. Equal ones are samples.
    """

    def __init__(self, store: Store) -> None:
        self.rows: list[Row] = []
        self._store = store
        self._used: dict[str, str] = {}  # item to what makes it equal
        self._samples: dict[str, int] = defaultdict(int)

    def add(self, trace: Trace) -> tuple[str, int]:
        """Return the item and the sample of an answer."""
        item = make_item(trace)
        attributes = read_attributes(trace)
        passages = [[name_source(one), one.text] for one in trace.passages or ()]
        facts = [msgspec.structs.asdict(item), attributes]
        same = make_id("i1", [*facts, passages])
        item_id = self._choose(item, attributes, same)
        sample = self._samples[item_id]
        self._samples[item_id] += 1
        return item_id, sample

    def _choose(self, item: Item, attributes: dict[str, str], same: str) -> str:
        if self._used.get(item.item_id) == same:
            return item.item_id
        if item.item_id in self._used or not self._is_free(item, attributes):
            if same in self._used:
                return same
            item = msgspec.structs.replace(item, item_id=same)
        self._used[item.item_id] = same
        self.rows.append(item)
        self.rows += [
            ItemAttribute(item_id=item.item_id, name=name, value=value)
            for name, value in attributes.items()
        ]
        return item.item_id

    def _is_free(self, item: Item, attributes: dict[str, str]) -> bool:
        """Tell whether the store has nothing, or the very same, under an item's id."""
        where = "where item_id = :item_id"
        found = select_rows(self._store, Item, where, item_id=item.item_id)
        if not found:
            return True
        own = select_rows(self._store, ItemAttribute, where, item_id=item.item_id)
        return found == [item] and {one.name: one.value for one in own} == attributes


def make_item(trace: Trace) -> Item:
    """Return the item of an answer, by its question and conversation."""
    return Item(
        item_id=make_id("q1", [trace.question, trace.conversation_id]),
        query=trace.question,
        query_type=trace.query_type or None,
        answerable=trace.answerable,
        stakes=trace.stakes,
        gold_answer=trace.gold_answer,
        source_corpus_ver=CORPUS,
        domain=trace.domain,
        cluster_id=_shorten_id(trace.conversation_id),
    )


def _shorten_id(given: str | None) -> str | None:
    if not given:
        return None
    return given if len(given) <= _MOST_ID else make_id("k1", given)


def read_attributes(trace: Trace) -> dict[str, str]:
    """Return the row's further columns under names that a store takes."""
    found: dict[str, str] = {}
    for name, value in trace.attributes.items():
        plain = _NOT_IN_NAMES.sub("_", name).strip("_")[:_MOST_NAME]
        if plain[:1].isdigit():
            plain = f"_{plain}"[:_MOST_NAME]
        if plain and plain not in _RESERVED:
            found.setdefault(plain, value)
    return found
