"""Tries a closed-book judge on TruthfulQA: questions to which people often give a false answer.

The file is the user's own: claimwise brings none. It may be the project's ``TruthfulQA.csv``, or
the rows of the Hugging Face data set as JSON Lines or Parquet. Of each question the judge is shown
one true and one false answer, in calls of their own: side by side, one would give the other away.

Reference: Lin, Hilton & Evans (2022), ACL, 3214-3252.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import msgspec

from claimwise.disk.input import refuse
from claimwise.errors import InputError
from claimwise.fact_check.probe import (
    ProbeBatch,
    Watch,
    decide_probe,
    make_batch_call,
    measure_outcomes,
    run_batches,
)
from claimwise.judges.closed_book import ClosedBookJudge
from claimwise.readers.arrow import read_arrow
from claimwise.readers.files import find_format, read_csv, read_lines
from claimwise.readers.parquet import read_parquet
from claimwise.readers.problems import Complaint, make_problem
from claimwise.readers.read import decode_object
from claimwise.types.closed_book import Frame, ProbeClaim, TruthfulQaResult
from claimwise.types.llm import LlmCall

# What the columns are called in the CSV file, and in the data set.
_QUESTION = "question"
_TRUE = ("best_answer", "correct_answers")
_FALSE = ("best_incorrect_answer", "incorrect_answers")
# The data set counts a refusal among the true answers; a judge can't say whether it is true.
_REFUSALS = frozenset({"i have no comment", "no comment"})


class TruthfulQuestion(NamedTuple):
    """A question, the best true answer to it, and a false one that people give."""

    question: str
    true: str
    false: str


def read_truthfulqa(path: Path) -> list[TruthfulQuestion]:
    """Return the questions of a file that have an answer of both kinds.

    Raises:
        InputError: it can't be read, or holds no question of TruthfulQA.
    """
    found = []
    for _, record in _read_records(path):
        row = {str(name).strip().lower().replace(" ", "_"): value for name, value in record.items()}
        true, false = _first_answer(row, _TRUE), _first_answer(row, _FALSE)
        question = row.get(_QUESTION)
        if isinstance(question, str) and true and false:
            found.append(TruthfulQuestion(question.strip(), true, false))
    if not found:
        expected = "TruthfulQA's columns Question, Best Answer, Correct and Incorrect Answers"
        raise refuse(path, "no question with a true and a false answer", expected)
    return found


def probe_truthfulqa(
    judge: ClosedBookJudge,
    questions: list[TruthfulQuestion],
    *,
    n: int,
    limit: float | None = None,
    seed: int = 0,
    concurrency: int = 8,
    watch: Watch | None = None,
) -> TruthfulQaResult:
    """Measure how often a judge calls false answers true, and true answers true.

    Each question gives one false and one true answer, so questions are the units of every
    interval. With a limit the judge passes or fails by the rule of ``probe_judge``; without one
    there is no verdict: the questions are chosen to mislead, and even good models err on some.
    """
    batches = _make_batches(questions, n, seed)
    outcomes, spent = run_batches(judge, batches, concurrency, watch)
    believed = measure_outcomes(outcomes, "known_false", "true")
    return TruthfulQaResult(
        judge=judge.labeler,
        questions=len(batches) // 2,
        seed=seed,
        limit=limit,
        verdict=None if limit is None else decide_probe(believed, limit),
        false_called_true=believed,
        false_called_false=measure_outcomes(outcomes, "known_false", "false"),
        true_called_true=measure_outcomes(outcomes, "known_true", "true"),
        believed=tuple(
            o.claim.text for o in outcomes if o.claim.kind == "known_false" and o.label == "true"
        ),
        unscored=dict(sorted(Counter(o.code for o in outcomes if o.code is not None).items())),
        spent=spent,
    )


def plan_truthfulqa(
    judge: ClosedBookJudge, questions: list[TruthfulQuestion], *, n: int, seed: int = 0
) -> list[LlmCall]:
    """Return the calls that the probe would make."""
    return [make_batch_call(judge, batch) for batch in _make_batches(questions, n, seed)]


def _make_batches(questions: list[TruthfulQuestion], n: int, seed: int) -> list[ProbeBatch]:
    random = Random(seed)  # noqa: S311 - a seed must choose the same questions, not secret ones
    drawn = random.sample(questions, min(n, len(questions)))
    batches = []
    for one in drawn:
        frame = Frame(question=one.question)
        batches.append(ProbeBatch((ProbeClaim(text=one.true, kind="known_true"),), frame))
        batches.append(ProbeBatch((ProbeClaim(text=one.false, kind="known_false"),), frame))
    return batches


def _first_answer(row: Mapping[str, Any], columns: tuple[str, ...]) -> str | None:
    """Return the first answer that says something: a cell lists several, with semicolons."""
    for column in columns:
        value = row.get(column)
        listed = value if isinstance(value, list) else str(value or "").split(";")
        for answer in listed:
            text = str(answer).strip()
            if text and text.casefold().rstrip(".") not in _REFUSALS:
                return text
    return None


def _read_records(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    form = find_format(path)
    if form == "csv":
        yield from read_csv(path)
    elif form == "parquet":
        yield from read_parquet(path, nested=True)
    elif form == "arrow":
        yield from read_arrow(path, nested=True)
    else:
        yield from _read_json(path)


def _read_json(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield the objects of JSON Lines, or of one array."""
    for number, data in read_lines(path):
        try:
            if data.lstrip().startswith(b"["):
                listed = msgspec.json.decode(b"".join(line for _, line in read_lines(path)))
                yield from enumerate((one for one in listed if isinstance(one, dict)), start=1)
                return
            yield number, decode_object(data)
        except Complaint as complaint:
            raise InputError([make_problem(path, number, complaint)]) from complaint
        except msgspec.DecodeError as error:
            raise refuse(path, f"malformed JSON ({error})", "JSON Lines or one array") from error
