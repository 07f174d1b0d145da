"""Makes rows of an answer of live traffic: item, answer, contexts, sources, actions, and its run.

Everything has an id made from its content, and a run has the beginning of its day as its time, so
that the same trace makes the same rows whoever reads it, and whenever.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, Final, NamedTuple

import msgspec
from msgspec.structs import replace

from claimwise.measuring.rows import list_actions, read_attributes
from claimwise.store import Store
from claimwise.text.ids import make_content_id
from claimwise.traffic.sampling import SamplingDecision
from claimwise.traffic.values import UNKNOWN_SYSTEM
from claimwise.types.rows import (
    SMALLEST_CHANCE,
    Answer,
    Context,
    Item,
    ItemAttribute,
    Row,
    Run,
    Source,
    TrafficAnswer,
)
from claimwise.types.traces import Passage, Trace

# The corpus version of passages that come with their answers, where a trace names none.
CORPUS: Final = "traffic"
MOST_CHARACTERS: Final = 1_000_000  # of one text
MOST_PASSAGES: Final = 500
MOST_ACTIONS: Final = 1_000
_MOST_ID = 200
_RUN_NAME = 40
_NOT_IN_IDS = re.compile(r"[^\w.-]+")
_VERSIONS = ("prompt_ver", "retriever_ver", "corpus_ver")
_IN_RUN = frozenset((*_VERSIONS, "service", "conversation"))
_AHEAD = timedelta(minutes=5)
_EARLIEST = datetime(2015, 1, 1)  # noqa: DTZ001 - times are UTC without a zone


class Arrival(NamedTuple):
    """An answer as it came in, before anything of it is stored."""

    trace: Trace
    system: str
    trace_id: str
    answered_at: datetime
    clock_is_wrong: bool

    @property
    def day(self) -> date:
        """The UTC day on which the answer was given."""
        return self.answered_at.date()


class MadeRows(NamedTuple):
    """The rows of an answer, parents first, and how many of its documents nobody knows."""

    rows: list[Row]
    run_id: str
    unknown_documents: int


def receive(trace: Trace, system: str | None, received_at: datetime) -> Arrival:
    """Return an answer with its system, id and time.

    A trace without an id gets one from its content. A time ahead of ours, or before there were such
    systems, is a clock that is wrong: then the time of receipt counts.
    """
    facts = {**trace.attributes, **trace.properties}
    name = system or trace.system or facts.get("service") or facts.get("system") or UNKNOWN_SYSTEM
    told = trace.happened_at
    if told is not None and told.tzinfo is not None:
        told = told.astimezone(UTC).replace(tzinfo=None)
    wrong = told is not None and not _EARLIEST <= told <= received_at + _AHEAD
    answered_at = received_at if told is None or wrong else told
    trace_id = _make_printable(trace.trace_id or "")
    if not 0 < len(trace_id) <= _MOST_ID:
        parts = (trace_id, trace.question, trace.answer, str(told), trace.conversation_id or "")
        trace_id = make_content_id("t0", *map(_make_printable, parts[: 1 if trace_id else None]))
    if not trace.conversation_id and "conversation" in trace.properties:
        trace = replace(trace, conversation_id=trace.properties["conversation"])
    return Arrival(trace, _make_printable(name)[:_MOST_ID], trace_id, answered_at, wrong)


def _make_printable(text: str) -> str:
    """Return an id or a name as every database takes it: control characters written out."""
    return text if text.isprintable() else text.encode("unicode_escape").decode("ascii")


def list_properties(arrival: Arrival) -> Mapping[str, str]:
    """Return what sampling rules can name of an answer."""
    trace = arrival.trace
    known = {"system": arrival.system, "model": trace.model, "feedback": trace.feedback,
             "domain": trace.domain, "query_type": trace.query_type}  # fmt: skip
    own = {name: value for name, value in known.items() if value}
    return {**trace.attributes, **trace.properties, **own}


def find_flaw(trace: Trace) -> str | None:
    """Return the reason why an answer can't be stored; None where it can."""
    texts = [trace.question, trace.answer, *(p.text or "" for p in trace.passages or ())]
    texts += [call.arguments or "" for call in trace.actions]
    if (
        len(trace.passages or ()) > MOST_PASSAGES
        or len(trace.actions) > MOST_ACTIONS
        or max(map(len, texts)) > MOST_CHARACTERS
    ):
        return "too_large"
    try:
        written = msgspec.json.encode(trace)
    except UnicodeEncodeError:  # half of a character, as JSON can write it
        return "malformed"
    return "nul_character" if b"\\u0000" in written else None


def make_answer_rows(
    store: Store,
    arrival: Arrival,
    choice: SamplingDecision,
    received_at: datetime,
    default_corpus: str | None = None,
) -> MadeRows:
    """Return the rows of an answer that is kept; it has been redacted.

    Args:
        store: where documents given by id alone are looked up.
        arrival: the answer.
        choice: what sampling said of it.
        received_at: when it came in.
        default_corpus: the corpus version of documents whose trace names none.
    """
    trace = arrival.trace
    facts = {**trace.attributes, **trace.properties}
    run = make_run(arrival, facts, default_corpus)
    item_id = make_content_id("t1", arrival.system, arrival.trace_id)
    placed = [place_passage(store, run.corpus_ver, one) for one in trace.passages or ()]
    contexts = [one for one in placed if one is not None]
    own: dict[str, Any] = {"run_id": run.run_id, "item_id": item_id, "sample": 0}
    rows: list[Row] = [source for _, source in contexts if source is not None]
    rows += [_make_item(trace, item_id, run.corpus_ver), *_list_attributes(trace, item_id), run]
    rows.append(
        Answer(
            **own,
            answer_text=None if trace.failure else trace.answer,
            failure=trace.failure,
            context_count=_count_contexts(trace, len(contexts)),
            trace_id=arrival.trace_id,
        )
    )
    rows.append(_make_traffic_answer(own, arrival, choice, received_at))
    rows += [replace(context, **own, position=n) for n, (context, _) in enumerate(contexts)]
    rows += list_actions(own, trace)
    return MadeRows(_drop_repeated(rows), run.run_id, len(placed) - len(contexts))


def make_run(arrival: Arrival, facts: Mapping[str, str], default_corpus: str | None) -> Run:
    """Return the run of an answer: that of its system, versions and day."""
    prompt, retriever, corpus = (facts.get(name) for name in _VERSIONS)
    corpus = corpus or default_corpus or CORPUS
    parts = (arrival.system, arrival.trace.model or "", prompt or "", retriever or "", corpus)
    digest = make_content_id("v1", *parts).partition(":")[2][:6]
    slug = _NOT_IN_IDS.sub("-", arrival.system).strip("-.")[:_RUN_NAME] or "system"
    return Run(
        run_id=f"traffic-{slug}-{arrival.day.isoformat()}-{digest}",
        system=arrival.system,
        model=arrival.trace.model,
        prompt_ver=prompt,
        retriever_ver=retriever,
        corpus_ver=corpus[:_MOST_ID],
        started_at=datetime.combine(arrival.day, time()),
    )


def place_passage(
    store: Store, corpus_ver: str, passage: Passage
) -> tuple[Context, Source | None] | None:
    """Return a passage as a context, and the source to store for it; None: there is no text.

    Where only the id of a document of the corpus is given, its whole text is the context. A passage
    of no such document is a source of its own: its id begins with what the trace calls it and ends
    with a hash, so that another text is never mistaken for it.
    """
    given = (passage.source_id or "").strip()
    known = _find_document(store, corpus_ver, given) if given else None
    text = passage.text if (passage.text or "").strip() else known
    if not text:
        return None
    name = given
    source = None
    if known is None:
        digest = make_content_id("p1", given, passage.kind, passage.title or "", text)
        name = f"{given[: _MOST_ID - 30]}#{digest.partition(':')[2][:12]}" if given else digest
        source = Source(
            source_id=name,
            corpus_ver=corpus_ver,
            source_text=text,
            title=passage.title or given or None,
            url=given if given.startswith(("http://", "https://")) else None,
            source_kind=passage.kind,
        )
    # Whose context it is, and its place, the answer says.
    return Context(run_id="-", item_id="-", position=0, source_id=name, context_text=text), source


def _find_document(store: Store, corpus_ver: str, source_id: str) -> str | None:
    found = store.query(
        "select source_text from sources where source_id = :source_id "
        "and corpus_ver = :corpus_ver and source_kind is null",
        {"source_id": source_id, "corpus_ver": corpus_ver},
    )
    return str(found[0][0]) if found else None


def _count_contexts(trace: Trace, found: int) -> int | None:
    """Return how many contexts an answer had; none at all only where the trace says so."""
    return found or (0 if trace.passages == () else None)


def _make_item(trace: Trace, item_id: str, corpus_ver: str) -> Item:
    conversation = trace.conversation_id
    if conversation and len(conversation) > _MOST_ID:
        conversation = make_content_id("k1", conversation)
    return Item(
        item_id=item_id,
        query=trace.question,
        source_corpus_ver=corpus_ver,
        domain=trace.domain,
        cluster_id=conversation or None,
    )


def _list_attributes(trace: Trace, item_id: str) -> Iterator[ItemAttribute]:
    """Yield what answers can be grouped by: columns of the file, and properties of the system."""
    shown = {name: v for name, v in trace.properties.items() if name not in _IN_RUN}
    known = read_attributes(replace(trace, attributes={**trace.attributes, **shown}))
    for name, value in known.items():
        yield ItemAttribute(item_id=item_id, name=name, value=value)


def _make_traffic_answer(
    own: dict[str, Any], arrival: Arrival, choice: SamplingDecision, received_at: datetime
) -> TrafficAnswer:
    return TrafficAnswer(
        **own,
        trace_id=arrival.trace_id,
        system=arrival.system,
        answered_at=arrival.answered_at,
        received_at=received_at,
        conversation=arrival.trace.conversation_id,
        rule=choice.rule,
        inclusion_probability=max(choice.rate, SMALLEST_CHANCE),
    )


def _drop_repeated(rows: list[Row]) -> list[Row]:
    """Leave out a source that stands there twice: two equal passages of one answer."""
    seen: set[tuple[str, str]] = set()
    kept: list[Row] = []
    for row in rows:
        if isinstance(row, Source):
            key = (row.source_id, row.corpus_ver)
            if key in seen:
                continue
            seen.add(key)
        kept.append(row)
    return kept
