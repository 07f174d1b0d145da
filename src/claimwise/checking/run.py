"""Judges the claims of a stored run against the evidence of its answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, cast

from claimwise.checking.calls import plan_job
from claimwise.checking.engine import Flips, RunJudge, RunResult, judge_run
from claimwise.checking.queries import AnswerKey, JudgingScope
from claimwise.checking.tasks import (
    AnswerJob,
    Basis,
    JudgeTask,
    Labels,
    SeenAnswers,
    TaskOutcome,
    TaskReader,
    run_job,
)
from claimwise.judges.judge import Verifier, load_verifier
from claimwise.store import Store
from claimwise.types.llm import Batches, LlmCall
from claimwise.types.progress import Watch
from claimwise.types.rows import Judgement, Labeler, Row

if TYPE_CHECKING:
    from claimwise.judges.grounded import GroundedJudge


@dataclass(frozen=True, kw_only=True, slots=True)
class VerifyResult:
    """What a command did, and how the run stands under its labeler."""

    run_id: str
    labeler: str
    agreement: str | None
    settings: str | None  # prompts and mode of a judge
    answers: int
    failed: int  # answers that the system did not give
    abstained: (
        int  # answers in which the system declined or asked for clarification: they claim nothing
    )
    done_before: int  # answers whose claims had all been judged
    without_claims: int  # answers that claim nothing
    split: int  # claims that this command found and stored
    judged: int  # labels that this command added
    seconds: float
    bases: dict[Basis, int]  # what the answers of this command were judged by
    verdicts: dict[str, int]  # of the whole run
    unscored: dict[str, int]  # of the whole run, by reason
    warnings: dict[str, int]  # and how many answers they were given for


def verify_run(
    store: Store,
    run_id: str,
    verifier: str | Verifier = "auto",
    *,
    jobs: int = 1,
    threads: int = 1,
    again: bool = False,
    watch: Watch | None = None,
) -> VerifyResult:
    """Judge every claim of a run that the verifier has not judged yet, and store its labels.

    Args:
        store: where the run is.
        run_id: the run.
        verifier: the instrument, or its name.
        jobs: processes that judge; this one reads and writes.
        threads: answers judged at once in this process, in place of ``jobs``: for a judge that
            waits for a server, which must be safe to use from many threads.
        again: re-judge claims that have a label of this verifier.
        watch: called with the progress.

    Raises:
        StoreError: there is no such run, or it has no answers.
        PromptError: the labels were made with other settings, and ``again`` is not given.
    """
    judge = GroundedRun(verifier)
    judged = judge_run(store, run_id, judge, jobs=jobs, threads=threads, again=again, watch=watch)
    return make_verify_result(judge.verifier, judge.row, judged.result, judged.deciding.seen)


def verify_rounds(
    store: Store,
    run_id: str,
    judge: GroundedJudge,
    *,
    repeats: int = 1,
    threads: int = 1,
    again: bool = False,
    watch: Watch | None = None,
    batches: Batches | None = None,
) -> tuple[VerifyResult, Flips | None]:
    """Judge a run with a language model, in several rounds if asked to: see ``judge_run``.

    Returns:
        The first round's result, and how often rounds disagree.
    """
    run = GroundedRun(judge)
    judged = judge_run(
        store,
        run_id,
        run,
        repeats=repeats,
        threads=threads,
        again=again,
        watch=watch,
        batches=batches,
    )
    result = make_verify_result(judge, run.row, judged.result, judged.deciding.seen)
    return result, judged.result.flips


def make_verify_result(
    verifier: Verifier, row: Labeler, result: RunResult, seen: SeenAnswers
) -> VerifyResult:
    """Return what a round did, and how the run stands."""
    told = dict.fromkeys(result.warnings, 1)
    return VerifyResult(
        run_id=result.run_id,
        labeler=result.labeler,
        agreement=getattr(verifier, "agreement", None),
        settings=row.prompt_ver,
        answers=result.answers,
        failed=result.failed,
        abstained=result.abstained,
        done_before=result.done_before,
        without_claims=result.without_claims,
        split=result.split,
        judged=result.judged,
        seconds=result.seconds,
        bases=dict(seen.bases),
        verdicts=result.verdicts,
        unscored=result.unscored,
        warnings={**told, **dict(seen.warnings.most_common())},
    )


class GroundedRun:
    """Judges a run's claims against the evidence of their answers, by a verifier or a judge."""

    judgement: Judgement = "grounded"

    def __init__(self, verifier: str | Verifier) -> None:
        self._given = verifier
        self.verifier = load_verifier(verifier) if isinstance(verifier, str) else verifier

    @property
    def row(self) -> Labeler:
        """The verifier as a labeler."""
        return describe_verifier(self.verifier)

    def open_session(self, store: Store, judging: JudgingScope) -> GroundedSession:
        """Begin a round. A process of its own loads a verifier by name, or gets the one given."""
        sent = self.verifier.name if isinstance(self._given, str) else self._given
        return GroundedSession(TaskReader(store, judging), judging, self.verifier, sent)

    def repeat_as(self, number: int) -> RunJudge[GroundedSession]:
        """Return the judge for a further round: only a language model may say otherwise."""
        return GroundedRun(cast("GroundedJudge", self.verifier).repeat_as(number))


def describe_verifier(verifier: Verifier) -> Labeler:
    """Return a verifier or judge as it is registered."""
    return Labeler(
        labeler=verifier.labeler,
        labeler_kind="verifier",
        version=getattr(verifier, "version", None),
        model=getattr(verifier, "model", None),
        prompt_ver=getattr(verifier, "prompt_ver", None),
    )


class GroundedSession:
    """One round: answers with their evidence go in, verdicts with spans come out."""

    def __init__(
        self, reader: TaskReader, judging: JudgingScope, verifier: Verifier, sent: str | Verifier
    ) -> None:
        self.seen = SeenAnswers()
        self._reader = reader
        self._labels = Labels(judging, reader, (verifier.name, verifier.labeler))
        self._verifier = verifier
        self._sent = sent

    def read(self, keys: Sequence[AnswerKey]) -> list[JudgeTask]:
        """Return the answers with something open, and what they are judged by."""
        return self._reader.read(keys)

    def plan(self, work: JudgeTask) -> list[LlmCall]:
        """Return the calls about one answer."""
        return plan_job(work.job, cast("GroundedJudge", self._verifier))

    def ask(self, work: JudgeTask) -> TaskOutcome:
        """Judge one answer."""
        return run_job(work.job, self._verifier)

    def make_rows(self, work: JudgeTask, outcome: TaskOutcome, at: datetime) -> Iterator[Row]:
        """Yield claims and citations of an answer that was split, and labels or failures."""
        self.seen.add(work, outcome)
        return self._labels.make_rows(work, outcome, at)

    def pack(self, work: JudgeTask) -> AnswerJob:
        """Return what another process needs of it."""
        return work.job

    def make_worker(self) -> Callable[[AnswerJob], TaskOutcome]:
        """Return what judges in another process."""
        return _Worker(self._sent)


class _Worker:
    """Judges in a process of its own; a verifier is loaded there, when first needed."""

    def __init__(self, verifier: str | Verifier) -> None:
        self._verifier = verifier

    def __call__(self, job: AnswerJob) -> TaskOutcome:
        if isinstance(self._verifier, str):
            self._verifier = load_verifier(self._verifier)
        return run_job(job, self._verifier)
