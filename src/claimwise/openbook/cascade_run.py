"""Sends the claims of a stored run through the cascade: a judge first, then a corpus, then people.

Labels are closed-book ones of a labeler of its own. What a label rests on begins with the stage
that decided: ``closed_book:`` or ``corpus:``. Claims for people have no label; they are unscored
with the reason ``for_people``, and why.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import TYPE_CHECKING, NamedTuple, cast

from claimwise.checking.engine import Flips, judge_run
from claimwise.checking.queries import AnswerKey, JudgingScope, count_stages, list_left_over
from claimwise.fact_check.answer import judge_once
from claimwise.fact_check.run import PieceReader, PieceWork, make_label, make_unscored
from claimwise.judges.closed_book import ClosedBookJudge
from claimwise.judges.corpus import Corpus
from claimwise.judges.judge import Splitter, Verifier
from claimwise.metrics.judge_agreement import measure_agreement
from claimwise.openbook.answer import plan_by_corpus
from claimwise.openbook.cascade import settle_claims
from claimwise.openbook.run import name_labeler
from claimwise.store import Store
from claimwise.types.closed_book import combine_labels
from claimwise.types.corpus import (
    CLOSED_BOOK,
    CORPUS,
    PEOPLE,
    CascadeClaim,
    CascadeRunResult,
    PeopleClaim,
    Retrieval,
)
from claimwise.types.llm import LlmCall
from claimwise.types.progress import Watch
from claimwise.types.rows import Claim, Judgement, Labeler, Row

if TYPE_CHECKING:
    from claimwise.judges.grounded import GroundedJudge

FOR_PEOPLE = "for_people"
_SKIPPED = "skipped_piece"
_USUAL = Retrieval()


def cascade_run(
    store: Store,
    run_id: str,
    cascade: CascadeRun,
    *,
    repeats: int = 1,
    threads: int = 1,
    again: bool = False,
    watch: Watch | None = None,
) -> tuple[CascadeRunResult, Flips | None]:
    """Settle every claim of a run that the cascade has not settled yet: see ``judge_run``.

    Raises:
        StoreError: there is no such run, or it has no answers.
        PromptError: the labels were made with other settings, and ``again`` is not given.
    """
    judged = judge_run(
        store, run_id, cascade, repeats=repeats, threads=threads, again=again, watch=watch
    )
    result, judging = judged.result, judged.judging
    queue = tuple(
        PeopleClaim(run_id=run_id, item_id=item, claim_id=claim, claim_text=text, why=why or "")
        for item, claim, text, why in list_left_over(store, judging, FOR_PEOPLE)
    )
    stages = count_stages(store, judging, CLOSED_BOOK, CORPUS)
    warnings = dict.fromkeys((*result.warnings, *judged.deciding.warnings))
    summed = CascadeRunResult(
        run_id=run_id,
        labeler=result.labeler,
        agreement=measure_agreement(store, result.labeler),
        settings=cascade.row.prompt_ver,
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
        stages={
            CLOSED_BOOK: stages.get(CLOSED_BOOK, 0),
            CORPUS: stages.get(CORPUS, 0),
            PEOPLE: len(queue),
        },
        queue=queue,
        warnings=tuple(warnings),
    )
    return summed, result.flips


@dataclass(frozen=True, kw_only=True, slots=True)
class CascadeRun:
    """A closed-book judge, and the corpus that settles what is suspicious."""

    judge: ClosedBookJudge
    corpus: Corpus
    verifier: Verifier  # what reads the passages
    how: Retrieval = _USUAL
    domain_hint: str | None = None
    resplit: bool = True

    @property
    def judgement(self) -> Judgement:
        """Its labels are closed-book ones."""
        return "closed_book"

    @property
    def row(self) -> Labeler:
        """The cascade as a labeler."""
        settings = (
            self.judge.prompt.edition,
            f"passages read by {self.verifier.labeler}",
            self.how.describe(),
        )
        return Labeler(
            labeler=name_labeler("cascade", self.judge.labeler),
            labeler_kind="verifier",
            model=self.judge.model,
            prompt_ver="; ".join(settings),
        )

    def open_session(self, store: Store, judging: JudgingScope) -> CascadeSession:
        """Begin a round."""
        return CascadeSession(self, PieceReader(store, judging, self.domain_hint), judging)

    def repeat_as(self, number: int) -> CascadeRun:
        """Return the cascade for a further round; an offline verifier says the same again."""
        verifier = self.verifier
        if isinstance(verifier, Splitter):
            verifier = cast("GroundedJudge", verifier).repeat_as(number)
        return CascadeRun(
            judge=self.judge.repeat_as(number),
            corpus=self.corpus,
            verifier=verifier,
            how=self.how,
            domain_hint=self.domain_hint,
            resplit=self.resplit,
        )


class Settled(NamedTuple):
    """Where an answer's claims ended, by piece, and warnings."""

    parts: dict[str, list[CascadeClaim]]
    warnings: list[str]


class CascadeSession:
    """One round: claims go in, and end with the judge, with the corpus, or with people."""

    def __init__(self, cascade: CascadeRun, reader: PieceReader, judging: JudgingScope) -> None:
        self.warnings: dict[str, None] = {}
        self._cascade = cascade
        self._reader = reader
        self._labeler = judging.labeler
        self._day: date = judging.day

    def read(self, keys: Sequence[AnswerKey]) -> list[PieceWork]:
        """Return the answers with something open as pieces."""
        return self._reader.read(keys)

    def plan(self, work: PieceWork) -> list[LlmCall]:
        """Return the calls about one answer, as if every claim were suspicious."""
        cascade = self._cascade
        if not work.asked:
            return []
        calls = [cascade.judge.make_call(work.asked, work.frame)]
        if isinstance(cascade.verifier, Splitter):
            calls += plan_by_corpus(
                [claim for piece in work.pieces for claim in piece.factual],
                cascade.corpus,
                cast("GroundedJudge", cascade.verifier),
                question=work.frame.question,
                how=cascade.how,
            )
        return calls

    def ask(self, work: PieceWork) -> Settled:
        """Take the claims of one answer through judge and corpus."""
        cascade = self._cascade
        first = judge_once(work.asked, cascade.judge, work.frame, resplit=cascade.resplit)
        given = (*first.claims, *first.judged.skipped)
        claims, warnings = settle_claims(
            given,
            cascade.corpus,
            cascade.verifier,
            question=work.frame.question,
            as_of=self._day,
            how=cascade.how,
        )
        parts: dict[str, list[CascadeClaim]] = {}
        for claim, settled in zip(given, claims, strict=True):
            parts.setdefault(claim.piece, []).append(settled)
        return Settled(parts, warnings)

    def make_rows(self, work: PieceWork, outcome: Settled, at: datetime) -> Iterator[Row]:
        """Yield claims of an answer that was split, and a label or a failure for every claim."""
        self.warnings.update(dict.fromkeys(outcome.warnings))
        yield from work.rows
        for claim, piece in zip(work.claims, work.pieces, strict=True):
            if claim.claim_id not in work.labelled:
                yield from self._settle(claim, outcome.parts.get(piece.id, []), at)

    def _settle(self, claim: Claim, parts: Sequence[CascadeClaim], at: datetime) -> Iterator[Row]:
        """Yield what becomes of a claim by its parts; nothing of what nobody takes for a claim."""
        part = _find_deciding(parts)
        if part is not None and part.decided is not None:
            basis = _word_basis(part, several=len(parts) > 1)
            yield make_label(claim, self._labeler, part.decided, basis, at)
        elif claim.claim_type != "non_factual":
            code, why = (_SKIPPED, None) if part is None else (FOR_PEOPLE, part.why)
            yield make_unscored(claim, self._labeler, code, why, at)


def _find_deciding(parts: Sequence[CascadeClaim]) -> CascadeClaim | None:
    """Return the part that decides for its claim.

    A false part makes the claim false whatever became of the others; otherwise one that is for
    people leaves the claim to them. Of several that say the same, one that the corpus settled.
    """
    left = next((part for part in parts if part.decided is None), None)
    label = combine_labels(part.decided for part in parts if part.decided is not None)
    if label != "false" and left is not None:
        return left
    agreeing = [part for part in parts if part.decided == label]
    return next((part for part in agreeing if part.stage == CORPUS), next(iter(agreeing), None))


def _word_basis(part: CascadeClaim, *, several: bool) -> str:
    """Say which stage decided, about which part, and by which words of which document."""
    named = f"“{part.text}”: " if several else ""
    span = None if part.corpus is None else part.corpus.judged.span
    place = "" if span is None else f" ({span.source_id}:{span.start}–{span.end} “{span.text}”)"
    return f"{part.stage}: {named}{part.why}{place}"
