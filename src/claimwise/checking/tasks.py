"""Stored answers as tasks for a verifier, and its verdicts as rows of the store."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from math import isnan
from typing import Literal, NamedTuple

from claimwise.checking.check import judge_claims, judge_pieces
from claimwise.checking.evidence import DocumentEvidence, gather_passages, show_whole
from claimwise.checking.marks import bind_marks, read_target
from claimwise.checking.queries import (
    AnswerKey,
    JudgingScope,
    StoredAnswer,
    find_document,
    keeps_log,
    read_answers,
    read_documents,
    read_run_corpus,
)
from claimwise.decompose import split_answer
from claimwise.judges.judge import Verifier
from claimwise.store import Store
from claimwise.text import make_claim_id
from claimwise.types.label_rules import Evidence as RestsOn
from claimwise.types.label_rules import LabelFacts, find_breach, has_expired
from claimwise.types.rows import Citation, Claim, Label, Row, Source, Unscored
from claimwise.types.verdicts import AnswerClaim, CheckRequest, ClaimVerdict, Mark

# What an answer was judged by: what its system was given, every document of the corpus, the
# documents it cites, nothing, because nobody recorded anything, or passages that were searched for.
Basis = Literal["contexts", "corpus", "cited", "none", "searched"]
NO_CONTEXTS = "no_contexts"
# A verdict that breaks the rules for labels: a plug-in's "supported" without a span.
AGAINST_RULES = "against_rules"
# A corpus up to this size stands in for contexts that nobody recorded.
SMALL_CORPUS = 200
SMALL_CORPUS_CHARACTERS = 1_000_000
_QUOTE = 200


@dataclass(frozen=True, kw_only=True, slots=True)
class AnswerJob:
    """What is sent to a verifier: an answer, its claims when they are known, its evidence."""

    request: CheckRequest
    claims: tuple[AnswerClaim, ...] | None
    # The document of the first context, of the second…: what [1], [2]… mean.
    numbered: tuple[str, ...]
    unscored: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgeTask:
    """A job, and what it takes to store its outcome."""

    key: AnswerKey
    job: AnswerJob
    claim_ids: tuple[str, ...] | None  # of stored claims; None: the answer is still to be split
    evidence: tuple[DocumentEvidence, ...]
    basis: Basis


class TaskOutcome(NamedTuple):
    """The verdicts on an answer's claims, in order, and the verifier's warnings."""

    verdicts: list[ClaimVerdict]
    warnings: list[str]


@dataclass(slots=True)
class SeenAnswers:
    """What the answers of a round were judged by, and what was warned of, in how many answers."""

    bases: Counter[Basis] = field(default_factory=Counter)
    warnings: Counter[str] = field(default_factory=Counter)

    def add(self, task: JudgeTask, outcome: TaskOutcome) -> None:
        """Count an answer."""
        self.bases[task.basis] += 1
        self.warnings.update(set(outcome.warnings))


def run_job(job: AnswerJob, verifier: Verifier) -> TaskOutcome:
    """Split the answer unless its claims are known, and judge them."""
    judge = judge_claims if job.claims is not None else judge_pieces
    bound = bind_job(job)
    return TaskOutcome(*judge(bound, job.request, verifier, unscored=job.unscored))


def bind_job(job: AnswerJob) -> list[AnswerClaim]:
    """Return a job's claims, split where they are not known, with what their markers stand for."""
    claims = job.claims
    if claims is None:
        claims = tuple(split_answer(job.request.answer, question=job.request.question))
    return [bind_marks(claim, job.numbered) for claim in claims]


class TaskReader:
    """Reads answers of a run as tasks.

    What an answer is judged by: the contexts that its system was given. Where nobody recorded
    any, the run's whole corpus if it is small, else the documents that the answer cites, else
    nothing, and its claims are unscored. Gold spans are never evidence: they say what should have
    been found, not what was.
    """

    def __init__(self, store: Store, judging: JudgingScope) -> None:
        self._store = store
        self._judging = judging
        self._cited: dict[str, Source | None] = {}

    @cached_property
    def _logged(self) -> bool:
        return keeps_log(self._store, self._judging.run)

    @cached_property
    def _corpus(self) -> tuple[DocumentEvidence, ...]:
        documents = read_run_corpus(
            self._store,
            self._judging.run,
            documents=SMALL_CORPUS,
            characters=SMALL_CORPUS_CHARACTERS,
        )
        return tuple(show_whole(document) for document in documents or ())

    @cached_property
    def _corpus_sources(self) -> tuple[Source, ...]:
        # One object for all answers, so that a verifier need not read the corpus again for each.
        return tuple(evidence.shown for evidence in self._corpus)

    def read(self, keys: Sequence[AnswerKey]) -> list[JudgeTask]:
        """Return the tasks among some neighbouring answers: those with something still open."""
        first, last = keys[0].item_id, keys[-1].item_id
        answers = read_answers(self._store, self._judging, first, last)
        documents = self._read_documents(first, last)
        wanted = set(keys)
        tasks = (self._make_task(a, documents) for a in answers if a.key in wanted)
        return [task for task in tasks if task is not None]

    def _read_documents(self, first: str, last: str) -> dict[str, Source]:
        return read_documents(self._store, self._judging.run, first, last)

    def find_cited(self, target: str) -> Source | None:
        """Return the document of the corpus that a marker means, if there is one."""
        if target not in self._cited:
            names = read_target(target)
            found = (find_document(self._store, self._judging.run, name) for name in names)
            self._cited[target] = next((source for source in found if source is not None), None)
        return self._cited[target]

    def _make_task(self, answer: StoredAnswer, documents: dict[str, Source]) -> JudgeTask | None:
        open_claims = [
            claim
            for claim in answer.claims
            if claim.claim_type != "non_factual" and claim.claim_id not in answer.labelled
        ]
        if answer.claims and not open_claims:
            return None
        claims = tuple(_to_answer_claim(claim, answer) for claim in open_claims) or None
        evidence, basis = self._find_evidence(answer, claims, documents)
        sources = self._corpus_sources if basis == "corpus" else tuple(e.shown for e in evidence)
        request = CheckRequest(
            answer=answer.text,
            sources=sources,
            question=answer.question,
            actions=answer.actions if answer.actions or self._logged else None,
            as_of=self._judging.day,
        )
        job = AnswerJob(
            request=request,
            claims=claims,
            numbered=tuple(context.source_id for context in answer.contexts),
            unscored=NO_CONTEXTS if basis == "none" else None,
        )
        ids = tuple(str(claim.claim_id) for claim in open_claims) if claims else None
        return JudgeTask(key=answer.key, job=job, claim_ids=ids, evidence=evidence, basis=basis)

    def _find_evidence(
        self,
        answer: StoredAnswer,
        claims: Sequence[AnswerClaim] | None,
        documents: dict[str, Source],
    ) -> tuple[tuple[DocumentEvidence, ...], Basis]:
        if answer.contexts or answer.context_count == 0:
            return gather_passages(answer.contexts, documents), "contexts"
        if self._corpus:
            return self._corpus, "corpus"
        if claims is None:
            claims = split_answer(answer.text, question=answer.question)
        marks = (self.find_cited(mark.target) for claim in claims for mark in claim.marks)
        cited = {
            found.source_id: found
            for found in marks
            if found is not None and found.source_kind is None
        }
        return tuple(map(show_whole, cited.values())), "cited" if cited else "none"


class ClaimReader(TaskReader):
    """Reads answers without evidence, for a judge that searches for passages itself."""

    def _read_documents(self, first: str, last: str) -> dict[str, Source]:
        return {}

    def _find_evidence(
        self,
        answer: StoredAnswer,
        claims: Sequence[AnswerClaim] | None,
        documents: dict[str, Source],
    ) -> tuple[tuple[DocumentEvidence, ...], Basis]:
        return (), "searched"


def _to_answer_claim(claim: Claim, answer: StoredAnswer) -> AnswerClaim:
    """Return a stored claim as the verifier takes it, with its place where that is known."""
    start, end = claim.answer_start, claim.answer_end
    if start is None or end is None:
        start = answer.text.find(claim.claim_text)
        start, end = (start, start + len(claim.claim_text)) if start >= 0 else (0, 0)
    marks = tuple(
        Mark(text=citation.marker or "", start=end, end=end, target=citation.source_id)
        for citation in answer.citations
        if citation.claim_id == claim.claim_id and citation.source_id is not None
    )
    return AnswerClaim(
        text=answer.text[start:end] or claim.claim_text,
        start=start,
        end=end,
        wording=claim.claim_text,
        claim_type=claim.claim_type,
        marks=marks,
    )


class Labels:
    """Turns outcomes into rows: claims and citations of answers that were split, and verdicts.

    A claim gets a label or a failure, never both; what makes no claim gets neither.
    """

    def __init__(
        self, judging: JudgingScope, reader: TaskReader, names: Sequence[str] = ()
    ) -> None:
        self._run_id = judging.run.run_id
        self._labeler = judging.labeler
        self._reader = reader
        self._names = frozenset(names)  # of the judge: a verdict by another one says so

    def make_rows(self, task: JudgeTask, outcome: TaskOutcome, at: datetime) -> Iterator[Row]:
        """Yield the rows of one answer, parents first."""
        verdicts, ids = outcome.verdicts, task.claim_ids
        if ids is None:
            verdicts = [v for v in verdicts if _text_of(v.claim)]
            claims = list(self._make_claims(task.key, [v.claim for v in verdicts]))
            yield from claims
            ids = tuple(str(claim.claim_id) for claim in claims)
            for claim_id, verdict in zip(ids, verdicts, strict=True):
                yield from self._make_citations(task, claim_id, verdict.claim.marks)
        for claim_id, verdict in zip(ids, verdicts, strict=True):
            if verdict.claim.claim_type != "non_factual":
                yield self._make_judgement(task, claim_id, verdict, at)

    def _make_claims(self, key: AnswerKey, claims: Iterable[AnswerClaim]) -> Iterator[Claim]:
        seen: Counter[str] = Counter()
        for position, claim in enumerate(claims):
            text = _text_of(claim)
            claim_id = make_claim_id(key.item_id, text, sample=key.sample, occurrence=seen[text])
            seen[text] += 1
            placed = claim.end > claim.start
            yield Claim(
                run_id=self._run_id,
                item_id=key.item_id,
                claim_id=claim_id,
                sample=key.sample,
                position=position,
                claim_text=text,
                claim_type=claim.claim_type,
                answer_start=claim.start if placed else None,
                answer_end=claim.end if placed else None,
            )

    def _make_citations(
        self, task: JudgeTask, claim_id: str, marks: Sequence[Mark]
    ) -> Iterator[Citation]:
        """A marker that points nowhere is a citation too: of nothing."""
        for position, mark in enumerate(marks):
            yield Citation(
                run_id=self._run_id,
                item_id=task.key.item_id,
                claim_id=claim_id,
                position=position,
                source_id=self._find_cited(task, mark.target),
                marker=mark.text,
            )

    def _find_cited(self, task: JudgeTask, target: str) -> str | None:
        if target in task.job.numbered:
            return target
        found = self._reader.find_cited(target)
        return None if found is None else found.source_id

    def _make_judgement(
        self, task: JudgeTask, claim_id: str, verdict: ClaimVerdict, at: datetime
    ) -> Label | Unscored:
        if verdict.verdict is None:
            code, detail = verdict.unscored or "", verdict.reason
            return self._make_unscored(task, claim_id, code, detail, at)
        span = _place_span(task, verdict)
        breach = find_breach(_state_facts(task, verdict, span))
        if breach is not None:
            detail = f"the judge says {verdict.verdict}; {breach}"
            return self._make_unscored(task, claim_id, AGAINST_RULES, detail, at)
        return Label(
            run_id=self._run_id,
            item_id=task.key.item_id,
            claim_id=claim_id,
            verdict=verdict.verdict,
            supporting_span=span.text,
            source_id=span.source_id,
            labeler=self._labeler,
            labeled_at=at,
            label_kind="verifier",
            span_start=span.start,
            confidence=_to_share(verdict.confidence),
            reason=self._word_reason(verdict, span) or None,
        )

    def _make_unscored(
        self, task: JudgeTask, claim_id: str, code: str, detail: str, at: datetime
    ) -> Unscored:
        return Unscored(
            run_id=self._run_id,
            item_id=task.key.item_id,
            claim_id=claim_id,
            labeler=self._labeler,
            failed_at=at,
            reason=code,
            detail=detail or None,
        )

    def _word_reason(self, verdict: ClaimVerdict, span: PlacedSpan) -> str:
        """Put everything into words that a label has no column for."""
        parts = [verdict.reason]
        if verdict.exceeds and verdict.exceeds not in verdict.reason:
            parts.append(f"beyond the span: “{_shorten(verdict.exceeds)}”")
        if verdict.span and span.text is None:
            parts.append(f"in a reworded passage: “{_shorten(verdict.span.text)}”")
        for conflict in verdict.conflicts:
            parts.append(f"{conflict.source_id} says otherwise: “{_shorten(conflict.text)}”")
        if verdict.instrument and verdict.instrument not in self._names:
            parts.append(f"judged by {verdict.instrument}")
        return "; ".join(part for part in parts if part)


class PlacedSpan(NamedTuple):
    """The columns of a label that say what it rests on."""

    text: str | None = None
    source_id: str | None = None
    start: int | None = None


def _place_span(task: JudgeTask, verdict: ClaimVerdict) -> PlacedSpan:
    """Return a verdict's span as a place in a document, or as an entry of the action log.

    A span of a reworded passage stands in no document: the label names the document alone.
    """
    span = verdict.span
    if span is None or not span.text:
        return PlacedSpan()
    if verdict.claim.claim_type == "action":
        for entry in task.job.request.actions or ():
            if span.text == entry.entry_text or span.source_id == entry.entry_id:
                return PlacedSpan(entry.entry_text)
    for evidence in task.evidence:
        if evidence.document.source_id == span.source_id:
            place = evidence.locate(span)
            text = None if place is None else span.text
            return PlacedSpan(text, span.source_id, place)
    return PlacedSpan()


def _state_facts(task: JudgeTask, verdict: ClaimVerdict, span: PlacedSpan) -> LabelFacts:
    """Return what the rules for labels look at, of a verdict that is about to become one."""
    evidence: RestsOn = "nothing"
    if span.source_id is not None:
        evidence = "document" if span.text is None else "span"
    elif span.text is not None:
        evidence = "entry"
    documents = [one.document for one in task.evidence]
    as_of = task.job.request.as_of
    return LabelFacts(
        verdict=str(verdict.verdict),
        is_action=verdict.claim.claim_type == "action",
        by_judge=True,
        evidence=evidence,
        covered=False,
        expired=as_of is not None
        and any(
            has_expired(one.valid_until, one.superseded_by, as_of)
            for one in documents
            if one.source_id == span.source_id
        ),
    )


def _text_of(claim: AnswerClaim) -> str:
    return claim.wording.strip() or claim.text.strip()


def _to_share(confidence: float | None) -> float | None:
    if confidence is None or isnan(confidence):
        return None
    return min(max(confidence, 0.0), 1.0)


def _shorten(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _QUOTE else f"{line[: _QUOTE // 2]} … {line[-_QUOTE // 2 :]}"
