"""What every verifier offers, and how one is found by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from claimwise.errors import VerifierError, make_printable
from claimwise.types.checking import AnswerClaim, CheckRequest, ClaimVerdict, Scores

# name -> what it is, for people
VERIFIERS = {
    "embedded": "the full tier: linked evidence and the encoder (extra: encoder)",
    "lexical": "words, numbers, dates, names and negation; the base install alone",
    "overlap": "the baseline: the share of the claim's words that the sources hold",
}


class Verifier(Protocol):
    """An instrument that judges claims against sources.

    ``name`` is what users type, ``labeler`` what its labels carry ("verifier:lexical-3"),
    ``threshold`` the probability of support from which it says "supported".
    """

    name: str
    labeler: str
    threshold: float

    def score_claims(self, claims: Sequence[str], document: str) -> list[Scores | None]:
        """Return calibrated probabilities for claims about one document; None is unscored.

        A claim may have several sentences: it is supported when all of them are.
        """
        ...

    def judge_answer(
        self, claims: Sequence[AnswerClaim], request: CheckRequest
    ) -> tuple[list[ClaimVerdict], list[str]]:
        """Return a verdict for every claim, in order, and warnings for the reader."""
        ...


@runtime_checkable
class Splitter(Protocol):
    """A verifier that may split answers itself, when nobody else has."""

    splits: bool

    def judge_pieces(
        self, pieces: Sequence[AnswerClaim], request: CheckRequest
    ) -> tuple[list[ClaimVerdict], list[str]]:
        """Return a verdict for every claim that it finds in the pieces, in their order."""
        ...


def load_verifier(name: str = "auto") -> Verifier:
    """Return a verifier by name: see ``VERIFIERS``; "auto" is the best at hand.

    Raises:
        MissingExtraError: "embedded" was asked for and its packages are not installed.
        VerifierError: there is no verifier of that name.
    """
    if name == "auto":
        from claimwise.verify.encoder import has_encoder

        name = "embedded" if has_encoder() else "lexical"
    if name in ("embedded", "lexical"):
        from claimwise.verify.embedded import load_embedded

        return load_embedded(name)
    if name == "overlap":
        from claimwise.verify.overlap import OverlapVerifier

        return OverlapVerifier()
    hint = "; a language model is named with --judge" if ":" in name else ""
    raise VerifierError(
        f"verifier {make_printable(name)!r}: unknown, expected one of auto, "
        f"{', '.join(VERIFIERS)}{hint}"
    )
