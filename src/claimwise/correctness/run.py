"""Labels the answers of a stored run by their gold answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple, Protocol

from claimwise.judges.gold_match import GoldMatch
from claimwise.store import Store
from claimwise.store.files import SqlFolder
from claimwise.store.lookup import find_run
from claimwise.types.rows import AnswerLabel, Placed

_SQL = SqlFolder("claimwise.correctness")
_BATCH = 200  # answers that are stored together: at most so many are asked about again

Watch = Callable[[int, int], None]  # answers done, of how many


class AnswerJudge(Protocol):
    """What compares answers with gold answers: a rule, or a model."""

    labeler: str

    def compare(self, question: str, gold: str, answer: str) -> GoldMatch:
        """Compare an answer with its gold answer."""
        ...


class GoldAnswer(NamedTuple):
    """An answer to an item with a gold answer."""

    item_id: str
    sample: int
    question: str
    gold: str
    text: str
    declined: bool
    labelled: bool


class OpenAnswer(NamedTuple):
    """An answer that was left open, and why."""

    answer: GoldAnswer
    reason: str


@dataclass(frozen=True, kw_only=True, slots=True)
class CorrectnessResult:
    """What a command did, and how the run stands under its labeler."""

    run_id: str
    labeler: str
    answers: int  # with a gold answer, those that declined left out
    declined: int  # answers that abstain or ask back: the abstention pair counts these
    done_before: int
    labelled: int  # by this command
    correct: int  # of the whole run
    incorrect: int
    open: tuple[OpenAnswer, ...]  # of this command
    agreed: int  # with people, of ``compared`` answers that both labelled
    compared: int

    @property
    def rate(self) -> float | None:
        """Correct per labelled answer; None without a label."""
        scored = self.correct + self.incorrect
        return self.correct / scored if scored else None


def read_gold_answers(store: Store, run_id: str, labeler: str) -> list[GoldAnswer]:
    """Return the answers of a run to items that have a gold answer.

    Raises:
        StoreError: there is no such run.
    """
    find_run(store, run_id)
    rows = store.query(_SQL["answers"], {"run_id": run_id, "labeler": labeler})
    return [
        GoldAnswer(item_id, sample, question, gold, text, bool(declined), bool(labelled))
        for item_id, sample, question, gold, text, declined, labelled in rows
    ]


def list_open(answers: Sequence[GoldAnswer], *, again: bool) -> list[GoldAnswer]:
    """Return the answers that are to be compared: not declined, and not labelled before."""
    return [one for one in answers if not one.declined and (again or not one.labelled)]


def judge_correctness(
    store: Store,
    run_id: str,
    judge: AnswerJudge,
    *,
    threads: int = 1,
    again: bool = False,
    watch: Watch | None = None,
) -> CorrectnessResult:
    """Label every answer that the judge can decide; the others stay without a label.

    Labels are stored as they come, some answers at a time, so that a killed command goes on where
    it ended.
    """
    answers = read_gold_answers(store, run_id, judge.labeler)
    asked = list_open(answers, again=again)
    labelled, left = 0, []
    with ThreadPoolExecutor(threads) as pool:
        for batch in _cut(asked):
            found = list(
                pool.map(lambda one: judge.compare(one.question, one.gold, one.text), batch)
            )
            pairs = list(zip(batch, found, strict=True))
            rows = [_make_label(run_id, judge.labeler, one, match) for one, match in pairs
                    if match.correct is not None]  # fmt: skip
            store.load([Placed(row, 0, 1) for row in rows], [judge.labeler])
            labelled += len(rows)
            left += [OpenAnswer(one, match.reason) for one, match in pairs if match.correct is None]
            if watch is not None:
                watch(labelled + len(left), len(asked))
    kept = [one for one in answers if not one.declined]
    said = store.query(_SQL["labels"], {"run_id": run_id, "labeler": judge.labeler})
    compared = [(bool(own), bool(people)) for own, people in said if people is not None]
    correct = sum(bool(own) for own, _ in said)
    return CorrectnessResult(
        run_id=run_id,
        labeler=judge.labeler,
        answers=len(kept),
        declined=len(answers) - len(kept),
        done_before=len(kept) - len(asked),
        labelled=labelled,
        correct=correct,
        incorrect=len(said) - correct,
        open=tuple(left),
        agreed=sum(own == people for own, people in compared),
        compared=len(compared),
    )


def _cut(asked: Sequence[GoldAnswer]) -> Iterator[Sequence[GoldAnswer]]:
    for start in range(0, len(asked), _BATCH):
        yield asked[start : start + _BATCH]


def _make_label(run_id: str, labeler: str, answer: GoldAnswer, match: GoldMatch) -> AnswerLabel:
    return AnswerLabel(
        run_id=run_id,
        item_id=answer.item_id,
        sample=answer.sample,
        correct=bool(match.correct),
        labeler=labeler,
        labeled_at=datetime.now(UTC),
        label_kind="verifier",
        reason=match.reason or None,
    )
