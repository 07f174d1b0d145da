"""Checks the facts of one answer closed-book: cut it, have it judged, doubt what comes back."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from msgspec.structs import replace

from claimwise.decompose.answers import split_sentences
from claimwise.decompose.joins import joins_facts
from claimwise.decompose.kinds import classify, is_opinion
from claimwise.judges.closed_book import ClosedBookJudge, JudgedReply
from claimwise.judges.closed_book_replies import merge_repeated
from claimwise.judges.doubts import find_field, has_specifics, has_value_words
from claimwise.report.format import pluralize
from claimwise.types.closed_book import (
    SET_ASIDE,
    WHY_SET_ASIDE,
    AnswerPiece,
    ClaimFlag,
    FactCheckResult,
    FactClaim,
    Frame,
    Repeats,
    Spent,
    combine_labels,
    measure_precision,
)
from claimwise.types.rows import FactLabel

_SHOWN_IDS = 5
_NO_FRAME = Frame()


class AnswerJudgement(NamedTuple):
    """One judgement of an answer, with the doubts about it."""

    judged: JudgedReply
    claims: list[FactClaim]
    spent: Spent
    split: int  # claims that were sent back and came back in parts


def factcheck(
    answer: str,
    judge: str | ClosedBookJudge,
    *,
    domain_hint: str | None = None,
    question: str | None = None,
) -> FactCheckResult:
    """Label an answer's claims by a model's own knowledge: true, false, unverifiable, non_factual.

    >>> result = claimwise.factcheck("It is 200 m tall.", "openai:gpt-4o", domain_hint="towers")
    >>> result.factual_precision, result.claims[0].label, result.claims[0].decision_basis

    Args:
        answer: the answer.
        judge: ``provider:model``, or a judge that is set up already.
        domain_hint: the field in a few words; judges are too lenient on specialist text without.
        question: what was asked; the judge is told, since it says what “it” means.

    Returns:
        The claims with their labels. ``factual_precision`` is None when none is true or false.
    """
    if not isinstance(answer, str):
        raise TypeError(f"answer: found {type(answer).__name__}, expected text")
    frame = Frame(domain_hint=domain_hint, question=question)
    if isinstance(judge, ClosedBookJudge):
        return factcheck_answer(answer, judge, frame)
    from claimwise.llm.client import open_client

    with open_client(judge) as client:
        return factcheck_answer(answer, ClosedBookJudge(client), frame)


def factcheck_answer(
    answer: str,
    judge: ClosedBookJudge,
    frame: Frame = _NO_FRAME,
    *,
    resplit: bool = True,
    repeats: int = 1,
) -> FactCheckResult:
    """Judge one answer, in one call and a second for compound claims; more for repeats.

    The result is the first judgement; repeats are asked again and only show how steady it is.
    """
    pieces = cut_pieces(answer, frame.question)
    judges = [judge, *(judge.repeat_as(number) for number in range(2, repeats + 1))]
    rounds = [judge_once(pieces, each, frame, resplit=resplit) for each in judges]
    first = rounds[0]
    field = None if frame.domain_hint else find_field(answer)
    return FactCheckResult(
        answer=answer,
        claims=tuple(first.claims),
        summary_basis=first.judged.summary_basis,
        judge=judge.labeler,
        prompt=judge.prompt.label,
        model=judge.model,
        served_by=first.judged.served_by,
        frame=frame,
        skipped=first.judged.skipped,
        invented=first.judged.invented,
        flags=tuple(_flag_answer(first, field)),
        warnings=tuple(_warn(pieces, first, field)),
        spent=sum((each.spent for each in rounds), Spent()),
        repeats=_compare(pieces, rounds) if repeats > 1 else None,
    )


def cut_pieces(answer: str, question: str | None = None) -> list[AnswerPiece]:
    """Return an answer's sentences under the ids s1, s2…, each with the claims in it.

    Every sentence is a piece, opinions, framing and code too: what one of them means may hang on
    another, and the judge may see a fact there that our splitter does not.
    """
    return [
        AnswerPiece(id=f"s{n}", text=answer[start:end], start=start, end=end, claims=tuple(claims))
        for n, (start, end, claims) in enumerate(split_sentences(answer, question), start=1)
    ]


def judge_once(
    pieces: Sequence[AnswerPiece],
    judge: ClosedBookJudge,
    frame: Frame = _NO_FRAME,
    *,
    resplit: bool = True,
) -> AnswerJudgement:
    """Have pieces judged, send compound claims back once, and flag what to doubt."""
    judged = judge.judge_pieces(pieces, frame)
    claims, spent, split = judged.claims, judged.spent, 0
    compound = [claim for claim in claims if _is_compound(claim)] if resplit else []
    if compound:
        parts, more = judge.split_claims(compound, frame)
        spent += more
        split = sum(len(own) > 1 for own in parts)
        waiting = iter(parts)
        # A part may be a claim that the piece was given before.
        claims = merge_repeated(
            part for claim in claims for part in (next(waiting) if _is_compound(claim) else [claim])
        )
    by_id = {piece.id: piece for piece in pieces}
    flagged = [_set_aside(_flag(claim, by_id[claim.piece])) for claim in claims]
    return AnswerJudgement(judged, flagged, spent, split)


def _is_compound(claim: FactClaim) -> bool:
    """Tell whether a labelled claim joins facts: the detector says so, or our splitter cuts it."""
    return claim.label not in (None, "non_factual") and joins_facts(claim.text)


def _is_opinion(piece: AnswerPiece) -> bool:
    return all(claim.not_a_claim in ("opinion", "hedge") for claim in piece.claims)


def _flag(claim: FactClaim, piece: AnswerPiece) -> FactClaim:
    """Flag what to doubt in a claim of a piece."""
    flags: list[ClaimFlag] = list(claim.flags)
    if _is_compound(claim):
        flags.append("compound")
    if claim.label in ("true", "false") and (_is_opinion(piece) or _has_opinion(claim.text)):
        flags.append("opinion")
    if claim.label == "non_factual" and piece.factual and _states_fact(claim.text):
        flags.append("called_non_factual")
    if claim.label == "true" and has_specifics(claim.text):
        flags.append("second_look")
    return replace(claim, flags=tuple(flags))


def _set_aside(claim: FactClaim) -> FactClaim:
    """Take a claim whose label says little out of the rate; what the judge said is kept."""
    flag = next((flag for flag in SET_ASIDE if flag in claim.flags), None)
    if flag is None:
        return claim
    detail = f"the judge says {claim.label}, but {WHY_SET_ASIDE[flag]}"
    return replace(claim, label=None, said=claim.label, unscored=flag, detail=detail)


def _states_fact(text: str) -> bool:
    return classify(text).claim_type != "non_factual" and not has_value_words(text)


def _has_opinion(text: str) -> bool:
    return is_opinion(text) or has_value_words(text)


def _flag_answer(first: AnswerJudgement, field: str | None) -> list[str]:
    found = {
        "no_domain_hint": field is not None,
        "summary_shortened": first.judged.summary_shortened,
        "skipped_piece": bool(first.judged.skipped),
        "invented_id": bool(first.judged.invented),
        "resplit": first.split > 0,
    }
    return [name for name, is_so in found.items() if is_so]


def _warn(pieces: Sequence[AnswerPiece], first: AnswerJudgement, field: str | None) -> list[str]:
    judged, told = first.judged, []
    if not first.claims and not judged.skipped:
        told.append("there is nothing to check: the answer states no fact")
    if field is not None:
        told.append(
            f"this reads like {field} and no domain hint was given: the judge applies "
            "general-knowledge standards"
        )
    if judged.skipped:
        shown = pluralize(len(judged.skipped), "claim")
        ids = _list_ids(list(dict.fromkeys(claim.piece for claim in judged.skipped)))
        told.append(f"the judge labelled nothing of {shown} that we see in {ids}")
    if judged.invented:
        told.append(
            f"the reply had ids that nobody asked for, dropped: {_list_ids(judged.invented)}"
        )
    compound = sum("compound" in claim.flags for claim in first.claims)
    if compound:
        shown = pluralize(compound, "claim")
        told.append(
            f"not counted: {shown} that may hold two facts, where one label can hide a wrong half"
        )
    return told


def _list_ids(ids: Sequence[str]) -> str:
    more = f" and {len(ids) - _SHOWN_IDS} more" if len(ids) > _SHOWN_IDS else ""
    return ", ".join(name[:20] for name in ids[:_SHOWN_IDS]) + more


def group_claims(claims: Sequence[FactClaim]) -> dict[str, list[FactClaim]]:
    """Return the claims of every piece that has some, by its id."""
    found: dict[str, list[FactClaim]] = defaultdict(list)
    for claim in claims:
        found[claim.piece].append(claim)
    return found


def label_piece(
    own: Sequence[FactClaim], *, skipped: bool = False
) -> tuple[FactLabel | None, str | None]:
    """Return the label of a whole piece by its claims, or the code of why it has none.

    A false part makes the piece false whatever became of the others; otherwise one unscored part
    leaves the piece unscored. A piece without a claim, or whose claims hardly mention it
    (``skipped``), is ``skipped_piece``.
    """
    label = combine_labels(claim.label for claim in own if claim.label is not None)
    lost = next((claim.unscored for claim in own if claim.unscored), None)
    if skipped and lost is None:
        lost = "skipped_piece"
    if label == "false" or (label is not None and lost is None):
        return label, None
    return None, lost or "skipped_piece"


def _compare(pieces: Sequence[AnswerPiece], rounds: Sequence[AnswerJudgement]) -> Repeats:
    """Compare repeats piece by piece: the model may split a piece differently each time."""
    compared = flipped = 0
    grouped = [group_claims(each.claims) for each in rounds]
    for piece in pieces:
        labels = [label_piece(claims.get(piece.id, ()))[0] for claims in grouped]
        given = [label for label in labels if label is not None]
        compared += len(given) > 1
        flipped += len(set(given)) > 1
    return Repeats(
        asked=len(rounds),
        factual_precision=tuple(measure_precision(each.claims) for each in rounds),
        compared=compared,
        flipped=flipped,
    )
