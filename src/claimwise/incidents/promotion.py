"""Turns a wrong answer from production into an item of the golden set.

The incident's answer, claims and passages are kept beside the item as its history. They are part
of no run, so promoting changes no number of a run that is there. The item itself is counted from
the next run on, by the metrics that need no gold: those that need gold spans or a gold answer
leave it out until somebody has filled them in.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from claimwise.checking.check import judge_claims, judge_pieces, split_request
from claimwise.checking.tasks import NO_CONTEXTS
from claimwise.errors import StoreError
from claimwise.incidents.duplicates import (
    find_full_words,
    refuse_repeats,
    refuse_trace,
)
from claimwise.incidents.queries import (
    DecidedClaim,
    FoundAnswer,
    find_holder,
    find_incident,
    find_item,
    has_spans,
    read_entry_ids,
)
from claimwise.incidents.values import ItemChoice, Promotion
from claimwise.judges.judge import Splitter, Verifier
from claimwise.readers.problems import Complaint
from claimwise.readers.records import convert
from claimwise.store import Store
from claimwise.store.corpora import choose_corpus
from claimwise.store.lookup import find_source
from claimwise.text import make_content_id
from claimwise.text.questions import normalise_question
from claimwise.types.rows import (
    QUERY_TYPES,
    GoldSpan,
    Incident,
    IncidentClaim,
    IncidentContext,
    Item,
    ItemAttribute,
    Placed,
    QueueEntry,
    Row,
    Source,
)
from claimwise.types.traces import Passage, Trace
from claimwise.types.verdicts import AnswerClaim, CheckRequest, ClaimVerdict

# The attribute that every promoted item carries: a slice, and what a gate's `where` can name.
ORIGIN, INCIDENT = "origin", "incident"
NO_LABEL = "no_label"
_URGENT = 10
_LONGEST_ID = 200
_BETWEEN = "\n\n"


class _Evidence(NamedTuple):
    """The passages of a trace, matched with the documents of a corpus version."""

    contexts: list[tuple[str, str | None]]  # document, passage
    new: list[Source]
    shown: tuple[Source, ...]
    warnings: list[str]


def make_trace(answer: FoundAnswer) -> Trace:
    """Return a stored answer as a trace."""
    contexts = answer.contexts
    return Trace(
        origin="answer",
        place=f"{answer.run.run_id}/{answer.item.item_id}/{answer.sample}",
        question=answer.item.query,
        answer=answer.text,
        passages=None
        if contexts is None
        else tuple(Passage(source_id=c.source_id, text=c.context_text) for c in contexts),
        model=answer.run.model,
        happened_at=answer.run.started_at,
        answerable=answer.item.answerable,
    )


def promote_trace(
    store: Store,
    trace: Trace,
    choice: ItemChoice,
    *,
    who: str,
    verifier: Verifier,
    stored: FoundAnswer | None = None,
    query_types: Collection[str] = QUERY_TYPES,
) -> Promotion:
    """Make an item of a trace, with its history, and queue what a person has to do.

    Args:
        store: where to.
        trace: the answer that was wrong.
        choice: the item's id, and what a person says of it.
        who: the person.
        verifier: judges the answer's claims, where nobody has labelled them.
        stored: the stored answer that the trace was made from; its item's facts and its claims'
            labels are taken over.
        query_types: those that items may have.

    Raises:
        InputError: the question is asked already, the id is taken, or something is missing;
            nothing was written.
    """
    known = find_item(store, choice.item_id)
    near = refuse_repeats(store, trace, choice, known, stored)
    incident_id = make_content_id("i1", choice.item_id, trace.trace_id or "", trace.answer)
    before = find_incident(store, incident_id)
    if before is not None and known is not None:
        return Promotion(incident=before, item=known, new_item=False, repeated=True)
    corpus = _choose_corpus(store, choice, known, stored)
    item = known or _make_item(trace, choice, corpus, stored, query_types)
    evidence = _match_passages(store, trace.passages or (), corpus)
    claims = _mark_wrong(trace, _judge(trace, evidence, verifier, stored), choice.wrong, who)
    now = datetime.now(UTC)
    incident = _make_incident(incident_id, trace, item.item_id, who, now)
    new = _list_item(item, stored) if known is None else []
    spans = any(isinstance(row, GoldSpan) for row in new)
    ready = not item.answerable or spans or has_spans(store, item.item_id)
    waiting = read_entry_ids(store)
    work = _queue_work(item, stored, claims, now, ready=ready)
    queue = [entry for entry in work if entry.entry_id not in waiting]
    rows = [*evidence.new, *new, incident, *_list_history(incident_id, claims, evidence), *queue]
    store.load([Placed(_check(trace, row), 0, 1) for row in rows], [trace.place])
    return Promotion(
        incident=incident,
        item=item,
        claims=tuple(claims),
        new_item=known is None,
        state="ready" if ready else "needs spans",
        added_documents=tuple(source.source_id for source in evidence.new),
        queued=len(queue),
        warnings=(*near, *evidence.warnings, *_doubt(claims, trace)),
    )


def _check(trace: Trace, row: Row) -> Row:
    """Hold a row that was made here to the same limits as one that was read from a file."""
    try:
        return convert(msgspec.to_builtins(row), type(row))
    except Complaint as complaint:
        field = f"{row.kind} {complaint.field or ''}".strip()
        raise refuse_trace(trace, f"{field}: {complaint.found}", complaint.expected) from complaint


# The item.


def _choose_corpus(
    store: Store, choice: ItemChoice, known: Item | None, stored: FoundAnswer | None
) -> str:
    if known is not None:
        return known.source_corpus_ver
    if choice.corpus_ver is not None:
        return choice.corpus_ver
    if stored is not None:
        return stored.run.corpus_ver
    if not store.query("select 1 from sources limit 1"):
        raise StoreError(
            f"{store.place}: no documents yet, so no corpus version to put the item into. Name one "
            "with --corpus, such as --corpus prod: the passages of the trace become its documents"
        )
    return choose_corpus(store)


def _make_item(
    trace: Trace,
    choice: ItemChoice,
    corpus: str,
    stored: FoundAnswer | None,
    query_types: Collection[str],
) -> Item:
    """Return the new item: what a person says, else what its stored twin or the trace says."""
    answerable = trace.answerable if choice.answerable is None else choice.answerable
    if answerable is None:
        raise refuse_trace(
            trace,
            "no word on whether the corpus can answer it",
            "--answerable or --unanswerable: an abstention is right or wrong by it",
        )
    twin = stored.item if stored else None
    same = twin is not None and twin.answerable == answerable
    known = twin.query_type if twin and same else None
    query_type = choice.query_type or known or ("lookup" if answerable else "unanswerable")
    if query_type not in query_types:
        raise refuse_trace(
            trace, f"--query-type {query_type!r}", f"one of {', '.join(query_types)}"
        )
    return Item(
        item_id=choice.item_id,
        query=trace.question,
        query_type=query_type,
        answerable=answerable,
        stakes=choice.stakes or (twin.stakes if twin else None) or "high",
        gold_answer=choice.gold_answer or (twin.gold_answer if twin and same else None),
        source_corpus_ver=corpus,
        domain=choice.domain or (twin.domain if twin else None),
    )


def _list_item(item: Item, stored: FoundAnswer | None) -> list[Row]:
    """Return a new item, its mark, and the gold spans that it takes over."""
    mark = ItemAttribute(item_id=item.item_id, name=ORIGIN, value=INCIDENT)
    return [item, mark, *_copy_spans(stored, item)]


def _copy_spans(stored: FoundAnswer | None, item: Item) -> list[GoldSpan]:
    """Return the twin's gold spans; they hold in their own corpus version alone."""
    if stored is None or stored.item.source_corpus_ver != item.source_corpus_ver:
        return []
    if not item.answerable:
        return []
    return [replace(span, item_id=item.item_id) for span in stored.gold_spans]


def _make_incident(
    incident_id: str, trace: Trace, item_id: str, who: str, now: datetime
) -> Incident:
    return Incident(
        incident_id=incident_id,
        item_id=item_id,
        origin=trace.origin,
        place=trace.place,
        answer_text=trace.answer,
        trace_id=trace.trace_id,
        model=trace.model,
        happened_at=trace.happened_at,
        feedback=trace.feedback,
        promoted_by=who,
        promoted_at=now,
    )


def _list_history(
    incident_id: str, claims: Sequence[IncidentClaim], evidence: _Evidence
) -> Iterator[Row]:
    for number, claim in enumerate(claims):
        yield replace(claim, incident_id=incident_id, position=number)
    for number, (source_id, text) in enumerate(evidence.contexts):
        yield IncidentContext(
            incident_id=incident_id, position=number, source_id=source_id, context_text=text
        )


def _queue_work(
    item: Item,
    stored: FoundAnswer | None,
    claims: Sequence[IncidentClaim],
    now: datetime,
    *,
    ready: bool,
) -> Iterator[QueueEntry]:
    """Yield what a person has to do: find the spans, and confirm what no person has labelled."""
    if not ready:
        yield QueueEntry(
            entry_id=make_content_id("w1", "gold_spans", item.item_id),
            task="gold_spans",
            item_id=item.item_id,
            reason="an incident: which spans should the answer rest on?",
            priority=_URGENT,
            added_at=now,
        )
    if stored is None:
        return
    for stored_claim, claim in zip(stored.claims, claims, strict=False):
        confirmed = stored_claim.label_kind in ("adjudicated", "human")
        if claim.claim_type != "non_factual" and claim.wrong is not False and not confirmed:
            place = (stored.run.run_id, stored.item.item_id, stored_claim.claim_id)
            yield QueueEntry(
                entry_id=make_content_id("w1", "label", *place),
                task="label",
                run_id=place[0],
                item_id=place[1],
                claim_id=place[2],
                reason="an incident's claim that no person has labelled",
                priority=_URGENT,
                added_at=now,
            )


# Passages and documents.


def _match_passages(store: Store, passages: Sequence[Passage], corpus: str) -> _Evidence:
    """Find the documents of passages; a passage of none becomes a document of its own."""
    contexts: list[tuple[str, str | None]] = []
    new: dict[str, list[str]] = {}
    shown: dict[str, list[str]] = {}
    warnings: list[str] = []
    for passage in passages:
        source_id, text = _match_passage(store, passage, corpus, new, warnings)
        contexts.append((source_id, passage.text))
        if text is not None and text not in shown.setdefault(source_id, []):
            shown[source_id].append(text)
    return _Evidence(
        contexts, _join_documents(new, corpus), tuple(_join_documents(shown, corpus)), warnings
    )


def _match_passage(
    store: Store,
    passage: Passage,
    corpus: str,
    new: dict[str, list[str]],
    warnings: list[str],
) -> tuple[str, str | None]:
    """Return the id of a passage's document, and the text that the system saw."""
    name, text = passage.source_id, passage.text
    if name and len(name) > _LONGEST_ID:
        name = make_content_id("document", name)  # addresses may be longer than ids
    document = find_source(store, corpus, name) if name else None
    if document is not None:
        if text is not None and text not in document.source_text:
            warnings.append(
                f"the passage of {name} is not in that document of corpus version "
                f"{corpus}: reworded, or the document has changed"
            )
        return document.source_id, document.source_text if text is None else text
    if text is None:
        # `name` or `text` is there: the reader has seen to it.
        warnings.append(f"corpus version {corpus} has no document {name}, and the trace no text")
        return name or "", None
    holder = find_holder(store, corpus, text)
    if holder is not None:
        return holder, text
    made = name or make_content_id("passage", text)
    if text not in new.setdefault(made, []):
        new[made].append(text)
    return made, text


def _join_documents(texts: Mapping[str, Sequence[str]], corpus: str) -> list[Source]:
    return [
        Source(source_id=name, corpus_ver=corpus, source_text=_BETWEEN.join(parts))
        for name, parts in texts.items()
    ]


# Claims.


def _judge(
    trace: Trace, evidence: _Evidence, verifier: Verifier, stored: FoundAnswer | None
) -> list[IncidentClaim]:
    """Return the answer's claims; labels of the store stand, else the verifier judges."""
    if stored is not None and stored.claims:
        return [_take_label(claim) for claim in stored.claims]
    request = CheckRequest(answer=trace.answer, sources=evidence.shown, question=trace.question)
    unscored = NO_CONTEXTS if not evidence.shown else None
    pieces = split_request(request)
    splits = isinstance(verifier, Splitter) and verifier.splits
    if splits:
        verdicts, _ = judge_pieces(pieces, request, verifier, unscored=unscored)
        return [_take_verdict(verdict, verifier.labeler) for verdict in verdicts]
    # Logs and listings repeat themselves; a verifier takes its time for every claim.
    firsts: dict[AnswerClaim, AnswerClaim] = {}
    for piece in pieces:
        firsts.setdefault(_forget_place(piece), piece)
    verdicts, _ = judge_claims(list(firsts.values()), request, verifier, unscored=unscored)
    told = [_take_verdict(verdict, verifier.labeler) for verdict in verdicts]
    found = dict(zip(firsts, told, strict=True))
    return [found[_forget_place(piece)] for piece in pieces]


def _forget_place(claim: AnswerClaim) -> AnswerClaim:
    """Return the claim as it is wherever in the answer it stands."""
    marks = tuple(replace(mark, start=0, end=0) for mark in claim.marks)
    return replace(claim, start=0, end=0, marks=marks)


def _take_label(claim: DecidedClaim) -> IncidentClaim:
    return IncidentClaim(
        incident_id="-",
        position=0,
        claim_text=claim.claim_text,
        claim_type=claim.claim_type,
        wrong=None if claim.verdict is None else claim.verdict != "supported",
        verdict=claim.verdict,
        labeler=claim.labeler or "nobody",
        reason=claim.reason if claim.verdict else NO_LABEL,
    )


def _take_verdict(judged: ClaimVerdict, labeler: str) -> IncidentClaim:
    return IncidentClaim(
        incident_id="-",
        position=0,
        claim_text=judged.claim.wording or judged.claim.text,
        claim_type=judged.claim.claim_type,
        wrong=None if judged.verdict is None else judged.verdict != "supported",
        verdict=judged.verdict,
        labeler=labeler,
        reason=judged.unscored or judged.reason or None,
    )


def _mark_wrong(
    trace: Trace, claims: Sequence[IncidentClaim], quotes: Sequence[str], who: str
) -> list[IncidentClaim]:
    """Mark the claims that a person quotes; a verdict that says otherwise gives way."""
    marked = list(claims)
    for quote in quotes:
        hits = [
            number
            for number, claim in enumerate(marked)
            if claim.claim_type != "non_factual" and _means(quote, claim.claim_text)
        ]
        if not hits:
            listed = "; ".join(c.claim_text for c in marked if c.claim_type != "non_factual")
            raise refuse_trace(trace, f"--wrong {quote!r}", f"words of one of its claims: {listed}")
        for number in hits:
            claim = marked[number]
            verdict = None if claim.verdict == "supported" else claim.verdict
            marked[number] = replace(
                claim, wrong=True, verdict=verdict, labeler=who, reason="named as wrong"
            )
    return marked


def _means(quote: str, claim_text: str) -> bool:
    """Tell whether words are a claim's: in any order, for its pronouns may have been replaced."""
    wanted = find_full_words(quote)
    if wanted:
        return wanted <= find_full_words(claim_text)
    return normalise_question(quote) in normalise_question(claim_text)


def _doubt(claims: Sequence[IncidentClaim], trace: Trace) -> list[str]:
    asked = [claim for claim in claims if claim.claim_type != "non_factual"]
    if not asked:
        return ["the answer makes no checkable claim"]
    if any(claim.wrong for claim in asked):
        return []
    if all(claim.wrong is None for claim in asked):
        why = "the trace has no passages" if not trace.passages else "nobody has labelled them"
        return [f"no claim was judged: {why}; --wrong names those that were wrong"]
    return ["no claim was found wrong; --wrong names those that were"]
