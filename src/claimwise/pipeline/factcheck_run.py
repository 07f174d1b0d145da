"""Judges the claims of a stored run closed-book: in threads, resumable, each answer in one call.

The run's claims are the pieces, so that this judge, a verifier and people label the same claims.
An answer without claims is split first, as ``verify`` would; one that states nothing, as a
refusal, is not sent. Labels are written in small transactions that hold whole answers. Who kills
it loses what was under way; the replies that came are in the cache, and the next call goes on
where the store ends.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import NamedTuple, cast

from claimwise.errors import PromptError, StoreError
from claimwise.pipeline.agreement import measure_agreement
from claimwise.pipeline.factcheck import Round, group_claims, judge_once, label_piece
from claimwise.pipeline.tasks import Labels, Outcome, Task, TaskReader, bind_job
from claimwise.store import Store
from claimwise.store.judging import (
    AnswerKey,
    Judging,
    State,
    begin_judging,
    count_unscored,
    count_verdicts,
    knows_labeler,
    list_answers,
    read_answers,
    read_domains,
    read_prompt_ver,
)
from claimwise.types.checking import AnswerClaim, ClaimVerdict
from claimwise.types.factchecking import (
    DOUBTFUL,
    FactcheckRunResult,
    FactClaim,
    Frame,
    Piece,
    QueuedClaim,
    Spent,
)
from claimwise.types.llm import LlmCall
from claimwise.types.rows import (
    Citation,
    Claim,
    ClosedBookLabel,
    FactLabel,
    Labeler,
    Placed,
    Row,
    Unscored,
)
from claimwise.verify.closed_book import ClosedBookJudge
from claimwise.verify.closed_guards import find_field
from claimwise.verify.verifier import Verifier

_NEIGHBOURS = 16
_FLUSH_SECONDS = 1.0
_NO_MAJORITY = "repeats_disagree"


@dataclass(frozen=True, kw_only=True, slots=True)
class FactcheckProgress:
    """How far a command has come."""

    answers: int
    done: int
    unscored: int


Watch = Callable[[FactcheckProgress], None]


class _Job(NamedTuple):
    """An answer's claims as pieces, what is told with them, and what is stored with the labels."""

    key: AnswerKey
    claims: tuple[Claim, ...]
    pieces: list[Piece]
    labelled: frozenset[str]
    rows: list[Row]
    frame: Frame

    @property
    def asked(self) -> list[Piece]:
        """The pieces to send: all of them for the context, none when none states anything."""
        return self.pieces if any(piece.factual for piece in self.pieces) else []


class FactcheckRun:
    """A run as a closed-book judge sees it.

    Args:
        store: where the run is.
        run_id: the run.
        judge: the judge.
        domain_hint: the field; without one each item's own ``domain`` is used.
        again: label anew what the judge has labelled already; the later label counts.

    Raises:
        StoreError: there is no such run, or it has no answers.
    """

    def __init__(
        self,
        store: Store,
        run_id: str,
        judge: ClosedBookJudge,
        *,
        domain_hint: str | None = None,
        again: bool = False,
    ) -> None:
        self._store = store
        self._judge = judge
        self._hint = domain_hint
        self._judging = begin_judging(store, run_id, judge.labeler, "closed_book", again=again)
        self._states = list_answers(store, self._judging)
        if not self._states:
            raise StoreError(
                f"{store.place}: found no answers of run {run_id!r}: import them first"
            )
        self._reader = TaskReader(store, self._judging)

    def plan(self) -> Iterator[LlmCall]:
        """Yield the calls that are left to make; compound claims may add one to each."""
        for job in self._read_jobs():
            if job.asked:
                yield self._judge.make_call(job.asked, job.frame)

    def judge(
        self,
        *,
        resplit: bool = True,
        repeats: int = 1,
        concurrency: int = 8,
        watch: Watch | None = None,
    ) -> FactcheckRunResult:
        """Judge every open answer and store labels and failures; see the module."""
        begin = time.monotonic()
        self._register()
        tally = _Tally(total=sum(state == "open" for _, state in self._states))
        writer = _Writer(self._store, self._judging)

        def work(job: _Job) -> list[Round]:
            return [
                judge_once(job.asked, self._judge, job.frame, resplit=resplit, fresh=n > 0)
                for n in range(repeats)
            ]

        for job, rounds in _run_in_threads(self._read_jobs(), work, concurrency):
            rows = list(self._make_rows(job, rounds, tally))
            tally.add_rounds(job, rounds)
            writer.add([*job.rows, *rows])
            if watch is not None:
                watch(tally.look())
        writer.flush()
        return self._sum_up(tally, writer, repeats, time.monotonic() - begin)

    def _register(self) -> None:
        """Describe the judge, unless the store knows it, or knows another text of its prompt."""
        prompt = self._judge.prompt
        first = read_prompt_ver(self._store, self._judge.labeler) or prompt.edition
        if first != prompt.edition:
            raise PromptError(
                f"{self._store.place}: found labels of {self._judge.labeler} by another text of "
                f"{prompt.label}: {first}, now {prompt.edition}; raise the prompt's version; "
                "nothing was sent"
            )
        if not knows_labeler(self._store, self._judge.labeler):
            row = Labeler(
                labeler=self._judge.labeler,
                labeler_kind="verifier",
                model=self._judge.model,
                prompt_ver=prompt.edition,
            )
            self._store.load([Placed(row, 0, 1)], [self._judge.labeler])

    def _read_jobs(self) -> Iterator[_Job]:
        """Yield the open answers, read a few neighbours at a time."""
        for begin in range(0, len(self._states), _NEIGHBOURS):
            group = self._states[begin : begin + _NEIGHBOURS]
            keys = [key for key, state in group if state == "open"]
            if keys:
                yield from self._read_unit(keys)

    def _read_unit(self, keys: Sequence[AnswerKey]) -> Iterator[_Job]:
        first, last = keys[0].item_id, keys[-1].item_id
        wanted = set(keys)
        answers = [
            answer
            for answer in read_answers(self._store, self._judging, first, last)
            if answer.key in wanted
        ]
        domains = {} if self._hint else read_domains(self._store, first, last)
        split = self._split_answers([answer.key for answer in answers if not answer.claims])
        for answer in answers:
            rows: list[Row] = [] if answer.claims else split.get(answer.key, [])
            claims = answer.claims or tuple(row for row in rows if isinstance(row, Claim))
            hint = self._hint or domains.get(answer.key.item_id)
            yield _Job(
                key=answer.key,
                claims=claims,
                pieces=_make_pieces(claims),
                labelled=answer.labelled,
                rows=rows,
                frame=Frame(domain_hint=hint, question=answer.question),
            )

    def _split_answers(self, keys: Sequence[AnswerKey]) -> dict[AnswerKey, list[Row]]:
        """Return the claims and citations of answers that nobody has split, as verify's are."""
        if not keys:
            return {}
        # Only the rows of the claims are wanted: the judge gives no verdict on sources.
        labels = Labels(self._judging, cast(Verifier, self._judge), self._reader)
        return {task.key: _make_claim_rows(task, labels) for task in self._reader.read(keys)}

    def _make_rows(self, job: _Job, rounds: Sequence[Round], tally: _Tally) -> Iterator[Row]:
        """Yield a label or a failure for every claim that states something; never both.

        A claim that our splitter calls non-factual gets a label when the judge gives one.
        """
        grouped = [group_claims(each.claims) for each in rounds]
        skipped = [{claim.piece for claim in each.judged.skipped} for each in rounds]
        now = self._judging.stamp()
        for claim, piece in zip(job.claims, job.pieces, strict=True):
            given = [claims.get(piece.id, []) for claims in grouped]
            found = [
                label_piece(own, skipped=piece.id in left_out)
                for own, left_out in zip(given, skipped, strict=True)
            ]
            labels = [label for label, _ in found if label is not None]
            if claim.claim_id in job.labelled or not (labels or claim.claim_type != "non_factual"):
                continue
            deciding = _find_majority(labels)
            tally.add_claim(claim, given[0], labels, deciding)
            if deciding is None:
                code = _NO_MAJORITY if labels else next(code for _, code in found if code)
                yield self._make_failure(claim, code, given[0], labels, now)
                continue
            # Of several labels the latest counts: those that agree with most come last.
            said = zip(found, given, strict=True)
            ordered = sorted(
                ((label, own) for (label, _), own in said if label is not None),
                key=lambda pair: pair[0] == deciding,
            )
            for number, (label, own) in enumerate(ordered):
                at = now + timedelta(microseconds=number)
                yield self._make_label(claim, label, own, at)

    def _make_label(
        self, claim: Claim, label: FactLabel, own: Sequence[FactClaim], at: datetime
    ) -> ClosedBookLabel:
        part = next(part for part in own if part.label == label)
        named = f"«{part.text}»: " if len(own) > 1 else ""
        return ClosedBookLabel(
            run_id=claim.run_id,
            item_id=claim.item_id,
            claim_id=claim.claim_id,
            label=label,
            decision_basis=f"{named}{part.decision_basis}" or None,
            labeler=self._judge.labeler,
            labeled_at=at,
            label_kind="verifier",
        )

    def _make_failure(
        self,
        claim: Claim,
        code: str,
        own: Sequence[FactClaim],
        labels: Sequence[FactLabel],
        at: datetime,
    ) -> Unscored:
        detail = ", ".join(labels) or next((part.detail for part in own if part.detail), None)
        return Unscored(
            run_id=claim.run_id,
            item_id=claim.item_id,
            claim_id=claim.claim_id,
            judgement="closed_book",
            labeler=self._judge.labeler,
            failed_at=at,
            reason=code,
            detail=detail,
        )

    def _sum_up(
        self, tally: _Tally, writer: _Writer, repeats: int, seconds: float
    ) -> FactcheckRunResult:
        counted: Counter[State] = Counter(state for _, state in self._states)
        return FactcheckRunResult(
            run_id=self._judging.run.run_id,
            judge=self._judge.labeler,
            agreement=measure_agreement(self._store, self._judge.labeler, self._judging.run.run_id),
            answers=len(self._states),
            failed=counted["failed"],
            abstained=counted["abstained"],
            done_before=counted["done"],
            split=writer.added["claims"],
            judged=tally.judged,
            seconds=seconds,
            labels=count_verdicts(self._store, self._judging),
            unscored=count_unscored(self._store, self._judging),
            flags=dict(sorted(tally.flags.items())),
            labels_unflagged=dict(tally.unflagged),
            invented=tally.invented,
            without_hint=tally.without_hint,
            repeats=repeats,
            compared=tally.compared,
            flipped=tally.flipped,
            spent=tally.spent,
            second_look=tuple(tally.second_look),
        )


def _make_pieces(claims: Iterable[Claim]) -> list[Piece]:
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
            Piece(id=f"s{number}", text=claim.claim_text, start=start, end=end, claims=(own,))
        )
    return pieces


def _make_claim_rows(task: Task, labels: Labels) -> list[Row]:
    verdicts = [ClaimVerdict(claim=claim) for claim in bind_job(task.job)]
    rows = labels.make_rows(task, Outcome(verdicts, []), datetime.now(UTC))
    return [row for row in rows if isinstance(row, Claim | Citation)]


def _find_majority(labels: Sequence[FactLabel]) -> FactLabel | None:
    """Return the label that more repeats gave than any other; None when there is no such one."""
    ranked = Counter(labels).most_common(2)
    if not ranked or (len(ranked) > 1 and ranked[0][1] == ranked[1][1]):
        return None
    return ranked[0][0]


def _run_in_threads(
    jobs: Iterator[_Job], work: Callable[[_Job], list[Round]], concurrency: int
) -> Iterator[tuple[_Job, list[Round]]]:
    """Yield jobs as they are done; only a few are read ahead, and the store stays with one thread.

    An error of one job, as of a full disk, ends all.
    """
    waiting: dict[Future[list[Round]], _Job] = {}
    with ThreadPoolExecutor(concurrency) as pool:
        try:
            while True:
                while len(waiting) < 2 * concurrency and (job := next(jobs, None)) is not None:
                    waiting[pool.submit(work, job)] = job
                if not waiting:
                    return
                done, _ = wait(waiting, return_when=FIRST_COMPLETED)
                finished = deque((waiting.pop(future), future.result()) for future in done)
                yield from finished
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


@dataclass(slots=True)
class _Tally:
    """Counts what a command has done so far."""

    total: int
    done: int = 0
    judged: int = 0
    unscored: int = 0
    invented: int = 0
    without_hint: int = 0
    compared: int = 0
    flipped: int = 0
    spent: Spent = field(default_factory=Spent)
    flags: Counter[str] = field(default_factory=Counter)
    unflagged: Counter[str] = field(default_factory=Counter)
    second_look: list[QueuedClaim] = field(default_factory=list)

    def add_claim(
        self,
        claim: Claim,
        own: Sequence[FactClaim],
        labels: Sequence[FactLabel],
        deciding: FactLabel | None,
    ) -> None:
        self.compared += len(labels) > 1
        self.flipped += len(set(labels)) > 1
        self.judged += deciding is not None
        self.unscored += deciding is None
        flags = {flag for part in own for flag in part.flags}
        self.flags.update(flags)
        if deciding is not None and DOUBTFUL.isdisjoint(flags):
            self.unflagged[deciding] += 1
        if deciding == "true" and "second_look" in flags:
            self.second_look.append(
                QueuedClaim(
                    run_id=claim.run_id,
                    item_id=claim.item_id,
                    claim_id=str(claim.claim_id),
                    claim_text=claim.claim_text,
                )
            )

    def add_rounds(self, job: _Job, rounds: Sequence[Round]) -> None:
        self.done += 1
        told = " ".join(piece.text for piece in job.pieces)
        self.without_hint += not job.frame.domain_hint and find_field(told) is not None
        self.invented += sum(len(each.judged.invented) for each in rounds)
        self.spent = sum((each.spent for each in rounds), self.spent)

    def look(self) -> FactcheckProgress:
        return FactcheckProgress(answers=self.total, done=self.done, unscored=self.unscored)


class _Writer:
    """Gathers the rows of whole answers and writes them every second or so."""

    def __init__(self, store: Store, judging: Judging) -> None:
        self.added: Counter[str] = Counter()
        self._store = store
        self._judging = judging
        self._rows: list[Row] = []
        self._flushed = time.monotonic()

    def add(self, rows: Iterable[Row]) -> None:
        self._rows += rows
        if time.monotonic() - self._flushed > _FLUSH_SECONDS:
            self.flush()

    def flush(self) -> None:
        if self._rows:
            placed = [Placed(row, 0, number) for number, row in enumerate(self._rows, start=1)]
            counts = self._store.load(
                placed, [self._judging.labeler], judged_since=self._judging.since
            )
            self.added.update({count.kind: count.added for count in counts})
            self._rows = []
        self._flushed = time.monotonic()
