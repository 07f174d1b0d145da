"""Compares several answers to one question: does each claim hold by the other answers?

Every claim of an answer is judged against every other answer as if that were its source. The
share of the others that support it is its agreement. It is an instrument, not a verdict: systems
repeat their errors. How well agreement predicts what people say of claims is measured in a
project whose claims they have labelled, beside agreement by counting words.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, NamedTuple, get_args

from msgspec.structs import replace

from claimwise.checking.check import judge_claims
from claimwise.checking.queries import JudgingScope, StoredAnswer, list_answers, read_answers
from claimwise.consistency.values import (
    ComparedAnswer,
    ComparedClaim,
    ConsistencyAccuracy,
    ConsistencyResult,
    GivenAnswer,
    OtherAnswer,
    RunConsistency,
)
from claimwise.decompose import split_answer
from claimwise.errors import ClaimwiseError, StoreError
from claimwise.judges.judge import Verifier, load_verifier
from claimwise.judges.overlap import OverlapVerifier
from claimwise.metrics.accuracy import Rating, Resampling, compare_sets, measure_set, rate_claims
from claimwise.readers.documents import UNSTORED
from claimwise.store import Store
from claimwise.store.lookup import find_run
from claimwise.store.people import read_approved
from claimwise.types.llm import LlmCall
from claimwise.types.rows import Claim, Judgement, Source
from claimwise.types.verdicts import AnswerClaim, CheckRequest, ClaimVerdict

if TYPE_CHECKING:
    from claimwise.judges.grounded import GroundedJudge

# Agreement from which a claim is taken for approved, when balanced accuracy is measured.
THRESHOLD = 0.5
_NEIGHBOURS = 16
_KINDS: tuple[Judgement, ...] = get_args(Judgement)
Watch = Callable[[int, int], None]
"""Told how many items are done, and how many there are."""


def compare_answers(
    answers: Sequence[str] | Mapping[str, str],
    *,
    question: str | None = None,
    verifier: str | Verifier = "auto",
) -> ConsistencyResult:
    """Compare answers to one question, claim by claim, offline unless the verifier is a judge.

    >>> result = compare_answers(["It is 139 m tall.", "It is 139 m tall.", "It is 200 m tall."])
    >>> result.answers[2].claims[0].agreement, result.answers[2].claims[0].contradiction

    Args:
        answers: two or more, by name or in order.
        question: what was asked; helps to resolve references.
        verifier: the instrument, or its name.

    Raises:
        ClaimwiseError: there are fewer than two answers that say something.
    """
    if isinstance(answers, str):
        raise TypeError("answers must be several answers, not one text")
    named = (
        answers
        if isinstance(answers, Mapping)
        else {f"answer-{number}": text for number, text in enumerate(answers, start=1)}
    )
    given = [GivenAnswer(name=name, text=text) for name, text in named.items()]
    instrument = load_verifier(verifier) if isinstance(verifier, str) else verifier
    return compare_given(given, instrument, question=question)


def compare_given(
    given: Sequence[GivenAnswer],
    verifier: Verifier,
    *,
    question: str | None = None,
    threads: int = 1,
) -> ConsistencyResult:
    """Compare answers; with a judge, several comparisons may be under way at once.

    An empty answer is left out, with a warning. Claims that something was done are compared by
    their words, like all others: no log is asked for.

    Raises:
        ClaimwiseError: there are fewer than two answers that say something.
    """
    spoken = [answer for answer in given if answer.text.strip()]
    if len(spoken) < 2:
        raise ClaimwiseError(
            f"comparing takes at least two answers with text, and this is {len(spoken):,}"
        )
    sides = [_Side(answer, question) for answer in spoken]
    told = _judge_pairs(list(_pair(sides)), verifier, threads)
    # As many for each answer as there are others, in the order of `_pair`.
    verdicts = iter([found for found, _ in told])
    compared = [
        side.gather([(o.answer, next(verdicts)) for o in sides if o is not side]) for side in sides
    ]
    warnings = [*_doubt_answers(given, spoken), *(text for _, some in told for text in some)]
    return ConsistencyResult(
        question=question,
        answers=tuple(compared),
        verifier=verifier.labeler,
        warnings=tuple(dict.fromkeys(warnings)),
    )


def plan_comparisons(
    given: Sequence[GivenAnswer], judge: GroundedJudge, *, question: str | None = None
) -> list[LlmCall]:
    """Return the calls that comparing these answers would make: one for every ordered pair."""
    sides = [_Side(answer, question) for answer in given if answer.text.strip()]
    return [
        call
        for claims, request in _pair(sides)
        if claims
        for call in judge.plan_calls(claims, request)
    ]


class _Side:
    """An answer as the one whose claims are compared, and as a source for the others."""

    def __init__(self, answer: GivenAnswer, question: str | None) -> None:
        claims = answer.claims
        if claims is None:
            claims = tuple(split_answer(answer.text, question=question))
        ids = answer.claim_ids or (None,) * len(claims)
        kept = [
            (claim, claim_id)
            for claim, claim_id in zip(claims, ids, strict=True)
            if claim.claim_type != "non_factual"
        ]
        self.answer = answer
        self.question = question
        # Compared by their words: a log of actions, or what “[1]” meant, is of no use here.
        self.claims = [replace(claim, claim_type="factual", marks=()) for claim, _ in kept]
        self._shown = kept
        self.source = Source(source_id=answer.name, corpus_ver=UNSTORED, source_text=answer.text)

    def gather(self, told: Sequence[tuple[GivenAnswer, Sequence[ClaimVerdict]]]) -> ComparedAnswer:
        """Return the answer with what every other one says of its claims."""
        return ComparedAnswer(
            name=self.answer.name,
            text=self.answer.text,
            claims=tuple(
                ComparedClaim(
                    claim=claim,
                    claim_id=claim_id,
                    others=tuple(_compare(other.name, found[n]) for other, found in told),
                )
                for n, (claim, claim_id) in enumerate(self._shown)
            ),
        )


class _Pair(NamedTuple):
    """Claims of one answer, and another answer as the only source."""

    claims: list[AnswerClaim]
    request: CheckRequest


def _pair(sides: Sequence[_Side]) -> Iterator[_Pair]:
    for side in sides:
        for other in sides:
            if other is not side:
                yield _Pair(
                    side.claims,
                    CheckRequest(
                        answer=side.answer.text, sources=(other.source,), question=side.question
                    ),
                )


def _judge_pairs(
    pairs: Sequence[_Pair], verifier: Verifier, threads: int
) -> list[tuple[list[ClaimVerdict], list[str]]]:
    def judge(pair: _Pair) -> tuple[list[ClaimVerdict], list[str]]:
        return judge_claims(pair.claims, pair.request, verifier)

    if threads == 1:
        return list(map(judge, pairs))
    pool = ThreadPoolExecutor(threads, thread_name_prefix="compare")
    try:
        return list(pool.map(judge, pairs))
    finally:
        pool.shutdown(cancel_futures=True)


def _compare(other: str, judged: ClaimVerdict) -> OtherAnswer:
    return OtherAnswer(
        answer=other,
        verdict=judged.verdict,
        span=judged.span,
        reason=judged.reason,
        unscored=judged.unscored,
    )


def _doubt_answers(given: Sequence[GivenAnswer], spoken: Sequence[GivenAnswer]) -> list[str]:
    found = [f"answer {answer.name} is empty: left out" for answer in given if answer not in spoken]
    same = sum(count - 1 for count in Counter(answer.text.strip() for answer in spoken).values())
    if same:
        found.append(
            f"{same} of {len(spoken)} answers repeat another word for word: they agree with it "
            "whatever is true, so ask at a higher temperature"
        )
    return found


# A stored run


def compare_run(
    store: Store,
    run_id: str,
    verifier: Verifier,
    *,
    threads: int = 1,
    watch: Watch | None = None,
) -> RunConsistency:
    """Compare the samples of every item of a run that was answered at least twice.

    Stored claims are compared as they are; answers without any are split, and nothing is stored.
    Answers that the system did not give are not counted.

    Raises:
        StoreError: there is no such run, or no item has two answers.
    """
    given = group_answers(store, run_id)
    several = {item_id: answers for item_id, answers in given.items() if len(answers) > 1}
    if not several:
        raise StoreError(
            f"{store.place}: run {run_id!r} has one answer per item; import several samples "
            "of an item to compare them"
        )
    questions: dict[str, str] = dict(store.query("select item_id, query from eval_items"))
    items: dict[str, ConsistencyResult] = {}
    for item_id, answers in several.items():
        items[item_id] = compare_given(
            answers, verifier, question=questions[item_id], threads=threads
        )
        if watch is not None:
            watch(len(items), len(several))
    return RunConsistency(
        run_id=run_id,
        verifier=verifier.labeler,
        items=items,
        left_out=len(given) - len(several),
    )


def group_answers(store: Store, run_id: str) -> dict[str, list[GivenAnswer]]:
    """Return the answers of a run by item, with their claims where they are stored.

    Raises:
        StoreError: there is no such run.
    """
    # Nobody is to judge: the labeler only says which claims have been judged, which is not used.
    judging = JudgingScope(run=find_run(store, run_id), labeler="")
    names = list(dict.fromkeys(key.item_id for key, _ in list_answers(store, judging)))
    found: dict[str, list[GivenAnswer]] = {name: [] for name in names}
    for begin in range(0, len(names), _NEIGHBOURS):
        some = names[begin : begin + _NEIGHBOURS]
        for answer in read_answers(store, judging, some[0], some[-1]):
            if answer.text.strip():
                found[answer.key.item_id].append(_take(answer))
    return found


def _take(answer: StoredAnswer) -> GivenAnswer:
    return GivenAnswer(
        name=f"{answer.key.item_id}#{answer.key.sample}",
        text=answer.text,
        claims=tuple(map(_to_answer_claim, answer.claims)) or None,
        claim_ids=tuple(claim.claim_id or "" for claim in answer.claims),
    )


def _to_answer_claim(claim: Claim) -> AnswerClaim:
    return AnswerClaim(
        text=claim.claim_text,
        start=claim.answer_start or 0,
        end=claim.answer_end or 0,
        wording=claim.claim_text,
        claim_type=claim.claim_type,
    )


# How well it does


def consistency_accuracy(
    store: Store, found: RunConsistency, how: Resampling
) -> tuple[ConsistencyAccuracy, ...]:
    """Measure agreement as a predictor of what people say of a run's claims.

    AUC: the chance that a claim which people approve of has more agreement than one they don't.
    Balanced accuracy: at an agreement of ``THRESHOLD``. Whole items are resampled, since samples
    of one item are alike. Beside it stands agreement by counting words on the same claims.

    Returns:
        One measurement for each kind of label that people gave; none: accuracy unknown.
    """
    labels = {kind: _read_labels(store, found, kind) for kind in _KINDS}
    if not any(labels.values()):
        return ()
    baseline = _count_words(found)
    measured = []
    for kind, known in labels.items():
        if known:
            own, other = (measure_set(_rate(result, known), how) for result in (found, baseline))
            lead = compare_sets(own, other, how).difference
            measured.append(
                ConsistencyAccuracy(
                    labels=kind,
                    threshold=THRESHOLD,
                    accuracy=replace(own.accuracy, difference=lead),
                    baseline=other.accuracy,
                )
            )
    return tuple(measured)


Key = tuple[str, str]
"""An item and one of its claims."""


def _read_labels(store: Store, found: RunConsistency, kind: Judgement) -> dict[Key, bool]:
    """Return what people say of the compared claims: whether they approve."""
    said = read_approved(store, found.run_id, kind)
    return {key: said[key] for key in _list_agreement(found) if key in said}


def _list_agreement(found: RunConsistency) -> dict[Key, float]:
    """Return the agreement of all stored claims; NaN where nothing could be compared."""
    return {
        (item_id, claim.claim_id): math.nan if claim.agreement is None else claim.agreement
        for item_id, result in found.items.items()
        for claim in result.claims
        if claim.claim_id is not None
    }


def _rate(found: RunConsistency, known: Mapping[Key, bool]) -> Rating:
    scores = _list_agreement(found)
    return rate_claims(
        [scores[key] for key in known],
        list(known.values()),
        [item_id for item_id, _ in known],
        THRESHOLD,
    )


def _count_words(found: RunConsistency) -> RunConsistency:
    """Compare the same claims by counting words."""
    counter = OverlapVerifier()
    items = {
        item_id: compare_given(
            [
                GivenAnswer(
                    name=answer.name,
                    text=answer.text,
                    claims=tuple(claim.claim for claim in answer.claims),
                    claim_ids=tuple(claim.claim_id or "" for claim in answer.claims),
                )
                for answer in result.answers
            ],
            counter,
            question=result.question,
        )
        for item_id, result in found.items.items()
    }
    return replace(found, items=items, verifier=counter.labeler)
