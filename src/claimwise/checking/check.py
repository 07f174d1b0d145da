"""Checks one answer: split it into claims, judge each against the sources, say what to know."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, cast

from msgspec.structs import replace

from claimwise.checking.marks import bind_marks
from claimwise.decompose import split_answer
from claimwise.decompose.joins import joins_facts
from claimwise.decompose.kinds import is_opinion
from claimwise.judges.judge import (
    JudgeName,
    Splitter,
    Verifier,
    load_verifier,
    make_model_judge,
    read_judge_name,
)
from claimwise.readers.documents import UNSTORED, read_sources
from claimwise.types.closed_book import WHY_SET_ASIDE, ClaimFlag
from claimwise.types.rows import ActionEntry, Source
from claimwise.types.verdicts import AnswerClaim, CheckRequest, CheckResult, ClaimVerdict

if TYPE_CHECKING:
    from claimwise.calibration.status import CalibrationStatuses

Sources: TypeAlias = str | Path | Mapping[str, str] | Sequence[str | Path | Source]
Actions: TypeAlias = Sequence[str | ActionEntry]

NO_EVIDENCE = "there is no source text to check against"
# Codes of claims that a verifier left without a verdict.
MISCOUNTED = "verdict_count"
NO_VERDICT = "no_verdict"
_LONGEST_NAME = 200


def check(
    answer: str,
    sources: Sources,
    *,
    question: str | None = None,
    actions: Actions | None = None,
    verifier: str | Verifier = "auto",
    judge: str | None = None,
) -> CheckResult:
    """Check an answer against its sources, claim by claim.

    >>> result = claimwise.check("It is 200 m tall.", "The tower is 139 m tall.")
    >>> result.rate, result.claims[0].verdict, result.claims[0].span
    >>> claimwise.check("It is 200 m tall.", "The tower is 139 m tall.", judge="openai:gpt-4o")

    Args:
        answer: the answer.
        sources: a text, several, texts by id, rows of the store, or paths of files to read.
        question: what was asked; helps to resolve references and to know restatements.
        actions: the log of what the system did; None when nobody kept one.
        verifier: the instrument, or its name: "embedded", "lexical", "auto" for the best at hand.
            A `GroundedJudge` of your own has modes, batches and a cache.
        judge: a language model, as ``provider:model``, in place of the verifier; or a judge that
            runs a model of yours, as ``nli:folder`` or ``lynx:provider:model``.

    Returns:
        The claims with their verdicts. ``rate`` is None when nothing could be judged.

    Raises:
        LlmError: the judge's provider is unknown, or its key is missing.
    """
    if not isinstance(answer, str):
        raise TypeError(f"answer must be text, not {type(answer).__name__}")
    documents, warnings = _gather_sources(sources)
    request = CheckRequest(
        answer=answer,
        sources=documents,
        question=question,
        actions=None if actions is None else _gather_actions(actions),
    )
    named = JudgeName() if judge is None else read_judge_name(judge)
    if named.model is not None:
        result = _check_with_model(request, named, named.model)
    else:
        verifier = named.offline or verifier
        instrument = load_verifier(verifier) if isinstance(verifier, str) else verifier
        result = check_answer(request, instrument)
    return replace(result, warnings=(*warnings, *result.warnings))


def _check_with_model(request: CheckRequest, name: JudgeName, model: str) -> CheckResult:
    # Loaded when needed: the offline verifiers should not wait for it.
    from claimwise.llm.client import open_client

    with open_client(model) as client:
        return check_answer(request, make_model_judge(name, client))


def check_answer(request: CheckRequest, verifier: Verifier) -> CheckResult:
    """Split an answer, judge its claims, and gather what a reader must know.

    An answer without claims gets no rate; without any source text every factual claim is unlinked.
    """
    claims = split_request(request)
    verdicts, warnings = judge_pieces(claims, request, verifier)
    return CheckResult(
        answer=request.answer,
        claims=tuple(verdicts),
        verifier=verifier.labeler,
        agreement=_describe_agreement(verifier, verdicts),
        warnings=tuple(dict.fromkeys([*_doubt_input(request), *_doubt_claims(claims), *warnings])),
    )


def _describe_agreement(verifier: Verifier, verdicts: Sequence[ClaimVerdict]) -> str | None:
    """Return how far whatever judged agrees with people: a tier that stood in has its own."""
    describe = getattr(verifier, "describe_agreement", None)
    return describe(verdicts) if describe else getattr(verifier, "agreement", None)


def calibrate_result(
    result: CheckResult,
    standings: CalibrationStatuses,
    domain: str | None,
    prompt_ver: str | None = None,
) -> CheckResult:
    """Add what the instrument's calibration makes of its probabilities; verdicts stay.

    An instrument that was never calibrated, or gives no confidence, leaves the result as it is.
    """
    # Loaded when needed: a check without a store should not wait for it.
    from claimwise.calibration.probabilities import find_probability_basis, map_verdicts

    sure = any(one.confidence is not None for one in result.claims)
    if not sure or not standings.knows(result.verifier):
        return result
    basis, found = find_probability_basis(standings, result.verifier, domain, prompt_ver)
    claims = [
        replace(one, calibrated=map_verdicts(found, [(one.verdict, one.confidence)])[0])
        if one.verdict is not None and one.confidence is not None
        else one
        for one in result.claims
    ]
    return replace(result, claims=tuple(claims), calibration=basis)


def split_request(request: CheckRequest) -> list[AnswerClaim]:
    """Return the answer's claims; their markers “[1]”, “[2]”… stand for the sources in order."""
    numbered = [source.source_id for source in request.sources]
    claims = split_answer(request.answer, question=request.question)
    return [bind_marks(claim, numbered) for claim in claims]


def check_repeatedly(
    request: CheckRequest, verifier: Verifier, rounds: Sequence[Verifier]
) -> CheckResult:
    """Check an answer, then judge the same claims again in further rounds.

    Verdicts are those of the first; where a round says otherwise, the reason tells. A claim
    counts as flipped when two rounds that scored it disagree.
    """
    result = check_answer(request, verifier)
    claims = [judged.claim for judged in result.claims]
    again = [judge_claims(claims, request, other)[0] for other in rounds]
    told = [
        [found.verdict for found in of_claim if found.verdict is not None]
        for of_claim in zip(result.claims, *again, strict=True)
    ]
    compared = sum(len(verdicts) > 1 for verdicts in told)
    flipped = sum(len(set(verdicts)) > 1 for verdicts in told)
    summary = (
        f"the verdict changed in {flipped or 'none'} of {compared} claims that {len(rounds) + 1} "
        "rounds scored at least twice"
    )
    return replace(
        result,
        claims=tuple(map(_note_flips, result.claims, told)),
        warnings=(*result.warnings, summary),
    )


def _note_flips(judged: ClaimVerdict, told: Sequence[str]) -> ClaimVerdict:
    others = ", ".join(sorted({verdict for verdict in told if verdict != judged.verdict}))
    if not others or judged.verdict is None:
        return judged
    return replace(judged, reason=f"{judged.reason}; asked again, the judge said {others}")


def judge_claims(
    claims: Sequence[AnswerClaim],
    request: CheckRequest,
    verifier: Verifier,
    *,
    unscored: str | None = None,
) -> tuple[list[ClaimVerdict], list[str]]:
    """Return a verdict for every claim, in order, and the verifier's warnings.

    The verifier is asked only about claims that there is something to judge by: without source
    text a claim rests on nothing and is unlinked (or unscored, when a code says why the text is
    missing), and what makes no claim has no verdict. Action claims rest on the log. Whatever
    the verifier returns, every claim comes out once, with a verdict or with a code.
    """
    if any(source.source_text.strip() for source in request.sources):
        asked = [n for n, claim in enumerate(claims) if claim.claim_type != "non_factual"]
    else:
        asked = [n for n, claim in enumerate(claims) if claim.claim_type == "action"]
    answered, warnings = _ask([claims[n] for n in asked], request, verifier)
    found = dict(zip(asked, answered, strict=True))
    rest = (found.get(n) or _judge_by_nothing(claim, unscored) for n, claim in enumerate(claims))
    return list(rest), warnings


def judge_pieces(
    pieces: Sequence[AnswerClaim],
    request: CheckRequest,
    verifier: Verifier,
    *,
    unscored: str | None = None,
) -> tuple[list[ClaimVerdict], list[str]]:
    """Judge the claims of an answer that nobody has split but us.

    A judge that splits answers itself takes ours as pieces, and returns claims of its own; for
    any other verifier the pieces are the claims.
    """
    filled = any(source.source_text.strip() for source in request.sources)
    # Whether it splits is asked first: to look at a protocol takes longer than to split a sentence.
    splits = getattr(verifier, "splits", False) and isinstance(verifier, Splitter)
    if not filled or not splits:
        return judge_claims(pieces, request, verifier, unscored=unscored)
    verdicts, warnings = cast(Splitter, verifier).judge_pieces(pieces, request)
    # What our splitter left whole without a doubt need not be looked at again.
    single = {piece.wording for piece in pieces if not piece.compound}
    completed = (v if _makes_no_claim(v) else _complete(v, v.claim) for v in verdicts)
    return [v if v.claim.wording in single else _set_aside(v) for v in completed], warnings


def _set_aside(judged: ClaimVerdict) -> ClaimVerdict:
    """Take a verdict on a claim of the model's own that holds two facts, or none, out of the rate.

    It stays visible, unscored with the reason.
    """
    claim = judged.claim
    if judged.verdict is None or claim.claim_type != "factual":
        return judged
    joins = joins_facts(claim.wording)
    if not joins and not is_opinion(claim.wording):
        return judged
    flag: ClaimFlag = "compound" if joins else "opinion"
    reason = f"the judge says {judged.verdict}, but {WHY_SET_ASIDE[flag]}"
    return ClaimVerdict(claim=claim, unscored=flag, reason=reason, instrument=judged.instrument)


def _makes_no_claim(verdict: ClaimVerdict) -> bool:
    return verdict.claim.claim_type == "non_factual"


def _ask(
    claims: list[AnswerClaim], request: CheckRequest, verifier: Verifier
) -> tuple[list[ClaimVerdict], list[str]]:
    if not claims:
        return [], []
    verdicts, warnings = verifier.judge_answer(claims, request)
    if len(verdicts) != len(claims):
        # Which verdict belongs to which claim is a guess, and a guess is no verdict.
        return [ClaimVerdict(claim=claim, unscored=MISCOUNTED) for claim in claims], warnings
    return [_complete(v, claim) for v, claim in zip(verdicts, claims, strict=True)], warnings


def _complete(verdict: ClaimVerdict, claim: AnswerClaim) -> ClaimVerdict:
    """See to it that a claim has a verdict or a code, never both and never neither."""
    if verdict.verdict is not None:
        return replace(verdict, claim=claim, unscored=None)
    return replace(verdict, claim=claim, unscored=verdict.unscored or NO_VERDICT)


def _judge_by_nothing(claim: AnswerClaim, unscored: str | None) -> ClaimVerdict:
    if claim.claim_type == "non_factual":
        return ClaimVerdict(claim=claim)
    if unscored is not None:
        return ClaimVerdict(claim=claim, unscored=unscored, reason=NO_EVIDENCE)
    return ClaimVerdict(claim=claim, verdict="unlinked", confidence=1.0, reason=NO_EVIDENCE)


def _doubt_input(request: CheckRequest) -> list[str]:
    found = []
    if not request.sources:
        found.append("no source was given: no claim about the world can be supported")
    for source in request.sources:
        if not source.source_text.strip():
            found.append(f"source {source.source_id} is empty")
        elif "\x00" in source.source_text:
            found.append(f"source {source.source_id} has NUL characters: is it really text?")
    if "\x00" in request.answer:
        found.append("the answer has NUL characters: is it really text?")
    return found


def _doubt_claims(claims: Sequence[AnswerClaim]) -> list[str]:
    if any(claim.claim_type != "non_factual" for claim in claims):
        return []
    kinds = dict.fromkeys(claim.not_a_claim for claim in claims if claim.not_a_claim)
    if not claims:
        return ["the answer is empty: there is nothing to check"]
    if "refusal" in kinds:
        return ["the answer makes no checkable claim: it is a refusal"]
    named = f" ({', '.join(kinds)})" if kinds else ""
    return [f"the answer makes no checkable claim{named}"]


def _gather_sources(sources: Sources) -> tuple[tuple[Source, ...], list[str]]:
    if isinstance(sources, Mapping):
        return tuple(_make_source(name, text) for name, text in sources.items()), []
    if isinstance(sources, str | Path):
        sources = [sources]
        names = ["source"]
    elif isinstance(sources, Sequence):
        names = [f"source-{n}" for n in range(1, len(sources) + 1)]
    else:
        raise TypeError(
            f"sources must be a text, a list of texts, or a mapping of ids to texts, "
            f"not {type(sources).__name__}"
        )
    documents: list[Source] = []
    warnings: list[str] = []
    for name, source in zip(names, sources, strict=True):
        found, told = _gather_source(name, source)
        documents += found
        warnings += told
    return _drop_repeated(documents, warnings), warnings


def _drop_repeated(documents: Sequence[Source], warnings: list[str]) -> tuple[Source, ...]:
    """Keep a document that was given twice once: a span names its document by the id alone."""
    found: dict[str, Source] = {}
    for document in documents:
        known = found.setdefault(document.source_id, document)
        if known is not document:
            if known.source_text != document.source_text:
                raise ValueError(
                    f"two sources have the id {document.source_id!r}; give each its own"
                )
            warnings.append(f"source {document.source_id} was given twice and read once")
    return tuple(found.values())


def _gather_source(name: str, source: str | Path | Source) -> tuple[list[Source], list[str]]:
    if isinstance(source, Source):
        return [source], []
    if isinstance(source, Path):
        return read_sources([source])
    warnings = []
    if _is_file_name(source):
        warnings.append(f"the source {source!r} is taken as text; Path({source!r}) reads the file")
    return [_make_source(name, source)], warnings


def _make_source(name: str, text: str) -> Source:
    if not isinstance(text, str):
        raise TypeError(f"{name} must be text, not {type(text).__name__}")
    return Source(source_id=str(name), corpus_ver=UNSTORED, source_text=text)


def _is_file_name(text: object) -> bool:
    """Tell whether someone gave a file's name where its text belongs."""
    if not isinstance(text, str) or not 0 < len(text) <= _LONGEST_NAME:
        return False
    return text.isprintable() and Path(text).is_file()


def _gather_actions(actions: Actions) -> tuple[ActionEntry, ...]:
    if isinstance(actions, str):
        raise TypeError("actions must be a list of entries, not one text")
    return tuple(
        entry
        if isinstance(entry, ActionEntry)
        else ActionEntry(
            run_id=UNSTORED, item_id=UNSTORED, entry_id=str(number), entry_text=str(entry)
        )
        for number, entry in enumerate(actions, start=1)
    )
