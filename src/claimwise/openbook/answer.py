"""Checks the facts of an answer that came without sources: each claim against a corpus.

For every claim the best passages are looked up, and a verifier or a judge compares it with those
alone. Verdicts are those of `check`, with spans in the corpus's documents; where nothing comes
close the outcome is “no passage”, which says something about the corpus and not about the claim.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from claimwise.checking.check import judge_claims
from claimwise.decompose import split_answer
from claimwise.judges.corpus import Corpus, Excerpts
from claimwise.judges.judge import Splitter, Verifier, load_verifier
from claimwise.readers.documents import read_sources
from claimwise.store import Store
from claimwise.store.corpora import choose_corpus, read_corpus_version
from claimwise.types.corpus import CorpusPassage, CorpusVerdict, OpenBookResult, Retrieval
from claimwise.types.llm import LlmCall
from claimwise.types.rows import ActionEntry
from claimwise.types.verdicts import AnswerClaim, CheckRequest, ClaimVerdict
from claimwise.user_settings import find_cache_folder

if TYPE_CHECKING:
    from claimwise.judges.grounded import GroundedJudge

SILENT = "no passage of the corpus comes close to it"
_USUAL = Retrieval()


def openbook(
    answer: str,
    corpus: Corpus | str | Path,
    *,
    question: str | None = None,
    verifier: str | Verifier = "auto",
    retrieval: Retrieval = _USUAL,
) -> OpenBookResult:
    """Check an answer's claims against a corpus, offline unless the verifier is a judge.

    >>> result = openbook("The tower is 200 m tall.", "documents/")
    >>> result.factual_precision, result.bounds, result.claims[0].outcome

    Args:
        answer: the answer.
        corpus: an open corpus, or the path of a folder or file of documents.
        question: what was asked; helps to resolve references.
        verifier: the instrument, or its name; a `GroundedJudge` reads the passages of all
            claims in one call.
        retrieval: how many passages a claim gets, and how close they must be.

    Raises:
        InputError: the corpus can't be read.
        VerifierError: there is no verifier of that name.
    """
    opened, warnings = (corpus, []) if isinstance(corpus, Corpus) else read_corpus([Path(corpus)])
    instrument = load_verifier(verifier) if isinstance(verifier, str) else verifier
    result = check_by_corpus(answer, opened, instrument, question=question, how=retrieval)
    return replace(result, warnings=(*warnings, *result.warnings))


def read_corpus(places: Sequence[Path]) -> tuple[Corpus, list[str]]:
    """Read and index files and folders; return the corpus and what was left unread.

    The index is kept in the user's cache folder, and found there as long as no document changes.

    Raises:
        InputError: something can't be read, or two documents have one id.
    """
    documents, warnings = read_sources(places)
    name = ", ".join(map(str, places))
    return Corpus(documents, name=name, folder=_find_index_folder()), warnings


def read_stored_corpus(store: Store, version: str | None = None) -> Corpus:
    """Index one corpus version of a store: the newest unless another is named.

    Raises:
        StoreError: there is no such version, or there are no documents.
    """
    chosen = choose_corpus(store, version)
    documents = read_corpus_version(store, chosen)
    return Corpus(documents, name=store.place, version=chosen, folder=_find_index_folder())


def _find_index_folder() -> Path | None:
    cache = find_cache_folder()
    return None if cache is None else cache / "corpora"


def check_by_corpus(
    answer: str,
    corpus: Corpus,
    verifier: Verifier,
    *,
    question: str | None = None,
    how: Retrieval = _USUAL,
) -> OpenBookResult:
    """Split an answer and judge its claims by the corpus."""
    claims = split_answer(answer, question=question)
    verdicts, warnings = judge_by_corpus(
        claims, corpus, verifier, answer=answer, question=question, how=how
    )
    if not any(claim.claim_type != "non_factual" for claim in claims):
        warnings.insert(0, "the answer makes no checkable claim")
    return OpenBookResult(
        answer=answer,
        claims=tuple(verdicts),
        corpus=corpus.info,
        retrieval=how,
        verifier=verifier.labeler,
        agreement=getattr(verifier, "agreement", None),
        warnings=tuple(dict.fromkeys(warnings)),
    )


class _Search(NamedTuple):
    """A claim, and the passages that were found for it."""

    claim: AnswerClaim
    passages: list[CorpusPassage]

    @property
    def silent(self) -> bool:
        """Whether the corpus has nothing to judge the claim by; actions need a log instead."""
        return not self.passages and self.claim.claim_type not in ("non_factual", "action")


def judge_by_corpus(
    claims: Sequence[AnswerClaim],
    corpus: Corpus,
    verifier: Verifier,
    *,
    answer: str = "",
    question: str | None = None,
    actions: tuple[ActionEntry, ...] | None = None,
    as_of: date | None = None,
    how: Retrieval = _USUAL,
) -> tuple[list[CorpusVerdict], list[str]]:
    """Return a verdict by the corpus for every claim, in order, and warnings.

    An offline verifier sees each claim with its own passages alone. A judge, who is paid by the
    call, gets all claims of the answer and the passages of all of them at once. Claims without a
    passage are not shown to either. ``actions`` is what action claims are held against, ``as_of``
    the day on which documents must hold.
    """
    bare = CheckRequest(answer=answer, sources=(), question=question, actions=actions, as_of=as_of)
    searches = [_search(claim, corpus, how) for claim in claims]
    asked = [number for number, search in enumerate(searches) if not search.silent]
    together = isinstance(verifier, Splitter)
    batches = [asked] if together else [[number] for number in asked]
    found: dict[int, ClaimVerdict] = {}
    warnings: list[str] = []
    for batch in filter(None, batches):
        verdicts, told = _judge([searches[n] for n in batch], corpus, verifier, bare, how)
        found.update(zip(batch, verdicts, strict=True))
        warnings += told
    made = [_conclude(search, found.get(number)) for number, search in enumerate(searches)]
    return made, _count_warnings(warnings)


def plan_by_corpus(
    claims: Sequence[AnswerClaim],
    corpus: Corpus,
    judge: GroundedJudge,
    *,
    answer: str = "",
    question: str | None = None,
    how: Retrieval = _USUAL,
) -> list[LlmCall]:
    """Return the calls that a judge would make for these claims."""
    searches = [search for c in claims if not (search := _search(c, corpus, how)).silent]
    bare = CheckRequest(answer=answer, sources=(), question=question)
    request, _ = _make_request(searches, corpus, bare)
    return judge.plan_calls([_bare(s.claim) for s in searches], request) if searches else []


def _search(claim: AnswerClaim, corpus: Corpus, how: Retrieval) -> _Search:
    factual = claim.claim_type not in ("non_factual", "action")
    return _Search(claim, corpus.find_passages(claim.wording, how) if factual else [])


def _make_request(
    searches: Sequence[_Search], corpus: Corpus, bare: CheckRequest
) -> tuple[CheckRequest, Excerpts]:
    excerpts = Excerpts(corpus, [p for search in searches for p in search.passages])
    return replace(bare, sources=excerpts.sources), excerpts


def _judge(
    searches: Sequence[_Search],
    corpus: Corpus,
    verifier: Verifier,
    bare: CheckRequest,
    how: Retrieval,
) -> tuple[list[ClaimVerdict], list[str]]:
    request, excerpts = _make_request(searches, corpus, bare)
    verdicts, told = judge_claims([_bare(search.claim) for search in searches], request, verifier)
    moved = [
        replace(_doubt(excerpts.move_back(judged), how.sure), claim=search.claim)
        for search, judged in zip(searches, verdicts, strict=True)
    ]
    return moved, told


def _doubt(judged: ClaimVerdict, sure: float) -> ClaimVerdict:
    """Return support that is not sure enough as “unlinked”: it says so, and decides nothing."""
    if judged.verdict != "supported" or judged.scores is None or judged.scores.supports >= sure:
        return judged
    return replace(
        judged,
        verdict="unlinked",
        confidence=None,
        span=None,
        conflicts=(),
        reason=f"a passage may support it, but the probability is {judged.scores.supports:.0%}",
    )


def _bare(claim: AnswerClaim) -> AnswerClaim:
    """Return a claim without citation markers: “[1]” is no passage that we found."""
    return replace(claim, marks=())


def _conclude(search: _Search, judged: ClaimVerdict | None) -> CorpusVerdict:
    if judged is None:
        silent = ClaimVerdict(claim=search.claim, verdict="unlinked", reason=SILENT)
        return CorpusVerdict(judged=silent, no_passage=True)
    return CorpusVerdict(judged=judged, passages=tuple(search.passages))


def _count_warnings(warnings: Sequence[str]) -> list[str]:
    """Return every warning once, with how often it came: claims were judged one by one."""
    return [
        text if (count := warnings.count(text)) == 1 else f"{text} ({count} times)"
        for text in dict.fromkeys(warnings)
    ]
