"""Judges the claims of a stored run closed-book, each answer in one call.

The run's claims are the pieces, so that this judge, a verifier and people label the same claims.
An answer without claims is split first, as ``verify`` would; one that states nothing, as a
refusal, is not sent.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import NamedTuple

from claimwise.checking.engine import JudgedRun, judge_run
from claimwise.checking.queries import (
    AnswerKey,
    JudgingScope,
    RepeatedClaim,
    StoredAnswer,
    read_answers,
    read_domains,
)
from claimwise.checking.tasks import JudgeTask, Labels, TaskOutcome, TaskReader, bind_job
from claimwise.fact_check.answer import AnswerJudgement, group_claims, judge_once, label_piece
from claimwise.judges.closed_book import ClosedBookJudge
from claimwise.judges.doubts import find_field
from claimwise.metrics.judge_agreement import measure_agreement
from claimwise.store import Store
from claimwise.types.closed_book import (
    AnswerPiece,
    FactcheckRunResult,
    FactClaim,
    Frame,
    QueuedClaim,
    Spent,
)
from claimwise.types.llm import Batches, LlmCall
from claimwise.types.progress import Watch
from claimwise.types.rows import (
    Citation,
    Claim,
    ClosedBookLabel,
    FactLabel,
    Judgement,
    Labeler,
    Row,
    Unscored,
)
from claimwise.types.verdicts import AnswerClaim, ClaimVerdict


def factcheck_run(
    store: Store,
    run_id: str,
    judge: ClosedBookRun,
    *,
    repeats: int = 1,
    threads: int = 1,
    again: bool = False,
    watch: Watch | None = None,
    batches: Batches | None = None,
) -> FactcheckRunResult:
    """Label every claim of a run that the judge has not labelled yet: see ``judge_run``.

    Raises:
        StoreError: there is no such run, or it has no answers.
        PromptError: the labels were made with another prompt, and ``again`` is not given.
    """
    judged = judge_run(
        store,
        run_id,
        judge,
        repeats=repeats,
        threads=threads,
        again=again,
        watch=watch,
        batches=batches,
    )
    agreement = measure_agreement(store, judge.judge.labeler)
    return _sum_up(judged, agreement, repeats)


def _sum_up(
    judged: JudgedRun[ClosedBookSession], agreement: str | None, repeats: int
) -> FactcheckRunResult:
    result, tally = judged.result, judged.deciding.tally
    flips = result.flips
    changed = () if flips is None else tuple(_queue(result.run_id, c) for c in flips.claims)
    return FactcheckRunResult(
        run_id=result.run_id,
        judge=result.labeler,
        agreement=agreement,
        answers=result.answers,
        failed=result.failed,
        abstained=result.abstained,
        done_before=result.done_before,
        without_claims=result.without_claims,
        split=result.split,
        judged=result.judged,
        seconds=result.seconds,
        labels=result.verdicts,
        unscored=result.unscored,
        flags=dict(sorted(tally.flags.items())),
        labels_unflagged=dict(tally.unflagged),
        invented=sum(session.tally.invented for session in judged.sessions),
        without_hint=tally.without_hint,
        repeats=repeats,
        compared=0 if flips is None else flips.compared,
        flipped=0 if flips is None else flips.flipped,
        spent=sum((session.tally.spent for session in judged.sessions), Spent()),
        second_look=tuple(tally.second_look),
        changed=changed,
        warnings=result.warnings,
    )


def _queue(run_id: str, claim: RepeatedClaim) -> QueuedClaim:
    return QueuedClaim(
        run_id=run_id,
        item_id=claim.item_id,
        claim_id=claim.claim_id,
        claim_text=claim.claim_text,
    )


@dataclass(frozen=True, slots=True)
class ClosedBookRun:
    """Judges a run's claims by what a model knows."""

    judge: ClosedBookJudge
    domain_hint: str | None = None  # the field; without one each item's own ``domain`` is used
    resplit: bool = True  # whether compound claims are sent back once

    @property
    def judgement(self) -> Judgement:
        """Its labels are closed-book ones."""
        return "closed_book"

    @property
    def row(self) -> Labeler:
        """The judge as a labeler."""
        return Labeler(
            labeler=self.judge.labeler,
            labeler_kind="verifier",
            model=self.judge.model,
            prompt_ver=self.judge.prompt.edition,
        )

    def open_session(self, store: Store, judging: JudgingScope) -> ClosedBookSession:
        """Begin a round."""
        pieces = PieceReader(store, judging, self.domain_hint)
        return ClosedBookSession(self.judge, pieces, judging, resplit=self.resplit)

    def repeat_as(self, number: int) -> ClosedBookRun:
        """Return the judge for a further round."""
        return ClosedBookRun(self.judge.repeat_as(number), self.domain_hint, self.resplit)


class PieceWork(NamedTuple):
    """An answer's claims as pieces, what is told with them, and what is stored with the labels."""

    key: AnswerKey
    claims: tuple[Claim, ...]
    pieces: list[AnswerPiece]
    labelled: frozenset[str]
    rows: list[Row]
    frame: Frame

    @property
    def asked(self) -> list[AnswerPiece]:
        """The pieces to send: all of them for the context, none when none states anything."""
        return self.pieces if any(piece.factual for piece in self.pieces) else []


class PieceReader:
    """Reads answers with open claims as pieces for a closed-book judge."""

    def __init__(self, store: Store, judging: JudgingScope, domain_hint: str | None) -> None:
        self._store = store
        self._judging = judging
        self._hint = domain_hint
        self._tasks = TaskReader(store, judging)

    def read(self, keys: Sequence[AnswerKey]) -> list[PieceWork]:
        """Return the work in some neighbouring answers."""
        first, last, wanted = keys[0].item_id, keys[-1].item_id, set(keys)
        answers = [
            answer
            for answer in read_answers(self._store, self._judging, first, last)
            if answer.key in wanted and _is_open(answer)
        ]
        domains = {} if self._hint else read_domains(self._store, first, last)
        split = self._split_answers([answer.key for answer in answers if not answer.claims])
        return [
            self._make_work(answer, split.get(answer.key, []), domains.get(answer.key.item_id))
            for answer in answers
        ]

    def _make_work(self, answer: StoredAnswer, rows: list[Row], domain: str | None) -> PieceWork:
        claims = answer.claims or tuple(row for row in rows if isinstance(row, Claim))
        return PieceWork(
            key=answer.key,
            claims=claims,
            pieces=_make_pieces(claims),
            labelled=answer.labelled,
            rows=rows,
            frame=Frame(domain_hint=self._hint or domain, question=answer.question),
        )

    def _split_answers(self, keys: Sequence[AnswerKey]) -> dict[AnswerKey, list[Row]]:
        """Return the claims and citations of answers that nobody has split, as verify's are."""
        if not keys:
            return {}
        # Only the rows of the claims are wanted: the judge gives no verdict on sources.
        labels = Labels(self._judging, self._tasks)
        return {task.key: _make_claim_rows(task, labels) for task in self._tasks.read(keys)}


def _is_open(answer: StoredAnswer) -> bool:
    """Tell whether an answer is still to be split, or a claim of it still to be labelled."""
    return not answer.claims or any(
        claim.claim_type != "non_factual" and claim.claim_id not in answer.labelled
        for claim in answer.claims
    )


def _make_pieces(claims: Iterable[Claim]) -> list[AnswerPiece]:
    """Return stored claims as pieces; a claim's place may be unknown."""
    pieces = []
    for number, claim in enumerate(claims, start=1):
        start, end = claim.answer_start or 0, claim.answer_end or 0
        own = AnswerClaim(
            text=claim.claim_text,
            start=start,
            end=end,
            wording=claim.claim_text,
            claim_type=claim.claim_type,
        )
        pieces.append(
            AnswerPiece(id=f"s{number}", text=claim.claim_text, start=start, end=end, claims=(own,))
        )
    return pieces


def _make_claim_rows(task: JudgeTask, labels: Labels) -> list[Row]:
    verdicts = [ClaimVerdict(claim=claim) for claim in bind_job(task.job)]
    rows = labels.make_rows(task, TaskOutcome(verdicts, []), datetime.now(UTC))
    return [row for row in rows if isinstance(row, Claim | Citation)]


class ClosedBookSession:
    """One round: pieces go in, labels by a model's own knowledge come out."""

    def __init__(
        self, judge: ClosedBookJudge, reader: PieceReader, judging: JudgingScope, *, resplit: bool
    ) -> None:
        self.tally = _Tally()
        self._judge = judge
        self._reader = reader
        self._labeler = judging.labeler
        self._resplit = resplit

    def read(self, keys: Sequence[AnswerKey]) -> list[PieceWork]:
        """Return the answers with something open as pieces."""
        return self._reader.read(keys)

    def plan(self, work: PieceWork) -> list[LlmCall]:
        """Return the call about one answer; compound claims may add one to it."""
        return [self._judge.make_call(work.asked, work.frame)] if work.asked else []

    def ask(self, work: PieceWork) -> AnswerJudgement:
        """Judge one answer."""
        return judge_once(work.asked, self._judge, work.frame, resplit=self._resplit)

    def make_rows(self, work: PieceWork, outcome: AnswerJudgement, at: datetime) -> Iterator[Row]:
        """Yield claims of an answer that was split, and a label or a failure for every claim.

        A claim that our splitter calls non-factual gets a label when the judge gives one.
        """
        self.tally.add_round(work, outcome)
        yield from work.rows
        grouped = group_claims(outcome.claims)
        skipped = {claim.piece for claim in outcome.judged.skipped}
        for claim, piece in zip(work.claims, work.pieces, strict=True):
            own = grouped.get(piece.id, [])
            label, code = label_piece(own, skipped=piece.id in skipped)
            if claim.claim_id in work.labelled:
                continue
            if label is None and claim.claim_type == "non_factual":
                continue
            self.tally.add_claim(claim, own, label)
            if label is None:
                detail = next((part.detail for part in own if part.detail), None)
                yield make_unscored(claim, self._labeler, code or "", detail, at)
            else:
                yield make_label(claim, self._labeler, label, _word_basis(own, label), at)


def _word_basis(own: Sequence[FactClaim], label: FactLabel) -> str:
    """Return why a claim has its label; where it was taken apart, which part decides."""
    part = next(part for part in own if part.label == label)
    named = f"“{part.text}”: " if len(own) > 1 else ""
    return f"{named}{part.decision_basis}"


def make_label(
    claim: Claim, labeler: str, label: FactLabel, basis: str, at: datetime
) -> ClosedBookLabel:
    """Return a closed-book label of a stored claim."""
    return ClosedBookLabel(
        run_id=claim.run_id,
        item_id=claim.item_id,
        claim_id=claim.claim_id,
        label=label,
        decision_basis=basis or None,
        labeler=labeler,
        labeled_at=at,
        label_kind="verifier",
    )


def make_unscored(
    claim: Claim, labeler: str, code: str, detail: str | None, at: datetime
) -> Unscored:
    """Return why a stored claim has no closed-book label."""
    return Unscored(
        run_id=claim.run_id,
        item_id=claim.item_id,
        claim_id=claim.claim_id,
        judgement="closed_book",
        labeler=labeler,
        failed_at=at,
        reason=code,
        detail=detail,
    )


@dataclass(slots=True)
class _Tally:
    """What to doubt in the labels of a round, and what it took."""

    invented: int = 0
    without_hint: int = 0
    spent: Spent = field(default_factory=Spent)
    flags: Counter[str] = field(default_factory=Counter)
    unflagged: Counter[str] = field(default_factory=Counter)
    second_look: list[QueuedClaim] = field(default_factory=list)

    def add_claim(self, claim: Claim, own: Sequence[FactClaim], label: FactLabel | None) -> None:
        if claim.claim_type == "non_factual" and label != "non_factual":
            return  # no rate counts it, so there is nothing to doubt
        flags = {flag for part in own for flag in part.flags}
        self.flags.update(flags)
        if label is not None:
            self.unflagged[label] += 1
        if label == "true" and "second_look" in flags:
            self.second_look.append(
                QueuedClaim(
                    run_id=claim.run_id,
                    item_id=claim.item_id,
                    claim_id=str(claim.claim_id),
                    claim_text=claim.claim_text,
                )
            )

    def add_round(self, work: PieceWork, outcome: AnswerJudgement) -> None:
        told = " ".join(piece.text for piece in work.pieces)
        self.without_hint += not work.frame.domain_hint and find_field(told) is not None
        self.invented += len(outcome.judged.invented)
        self.spent += outcome.spent
