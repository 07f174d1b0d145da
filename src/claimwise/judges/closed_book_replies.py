"""What a closed-book judge's model replies, claim by claim, held against the answer's pieces.

Whatever the reply does to ids, labels and claims, nothing is guessed: what can't be used is
unscored, with a code and the reason in words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec

from claimwise.judges.attribution import Wordings, measure_said_share
from claimwise.judges.kept_facts import CHANGED_FACT, KeptFacts, is_same_text
from claimwise.text.word_limits import cut_words
from claimwise.types.closed_book import FACT_LABELS, AnswerPiece, ClaimFlag, FactClaim
from claimwise.types.rows import FactLabel

BASIS_WORDS = 20
# The least share of a statement's content words that its claims, or the parts of it, must say:
# what falls below was left out.
_TOLD_WORDS = 0.5
_PART_WORDS = 0.8
# Why a claim has no label, in words, for codes that say nothing else.
_WHY = {
    "missing_id": "the judge's reply leaves it out",
    "duplicate_id": "the judge's reply has its sentence twice",
    "skipped_piece": "the judge labelled nothing of it",
    "too_many_claims": "the judge made more claims of it than it has words",
    "empty_claim": "the judge's claim has no text",
    "foreign_claim": "the answer's sentence does not say this",
}


class ReplyClaim(msgspec.Struct):
    """A claim as the model gives it: nothing in it is trusted yet."""

    text: str
    label: str
    decision_basis: str = ""


class ReplyPiece(msgspec.Struct):
    """The claims that the model found under an id."""

    id: str
    claims: list[ReplyClaim]


class ClosedBookReply(msgspec.Struct):
    """What the prompts ask for: claims under the ids of pieces, or all claims in one list.

    Other fields, as a rate of the model's own, are not read.
    """

    pieces: list[ReplyPiece] | None = None
    claims: list[ReplyClaim] | None = None
    summary_basis: str = ""

    def __post_init__(self) -> None:
        if (self.pieces is None) == (self.claims is None):
            raise ValueError("expected either “pieces” or “claims”")


class PieceReplyReader:
    """Reads a reply claim by claim, and holds every claim against the piece that it stands for."""

    def __init__(self, pieces: Sequence[AnswerPiece], question: str = "") -> None:
        texts = [piece.text for piece in pieces]
        self._pieces = pieces
        self._words = Wordings(texts, question)
        self._facts = KeptFacts("\n".join([*texts, question]))

    def gather(self, reply: ClosedBookReply) -> list[ReplyPiece]:
        """Return what a reply has for every piece.

        Claims in one list go to the piece that says them: the one whose facts they keep, and of
        several the one with most of their words. A piece to which none goes has no claim.
        """
        if reply.pieces is not None:
            return reply.pieces
        listed = {piece.id: ReplyPiece(piece.id, []) for piece in self._pieces}
        for claim in reply.claims or ():
            listed[self._find_piece(claim.text).id].claims.append(claim)
        return list(listed.values())

    def _find_piece(self, text: str) -> AnswerPiece:
        def rank(piece: AnswerPiece) -> tuple[bool, bool, float]:
            owns = self._words.own(text, piece.text)
            return owns, owns and self._find_change(text, piece, ()) is None, _share(text, piece)

        return max(self._pieces, key=rank)

    def read(
        self, piece: AnswerPiece, found: Counter[str], given: dict[str, list[ReplyClaim]]
    ) -> list[FactClaim]:
        """Return the claims of a piece, or its own ones as unscored if its id is not there once."""
        if found[piece.id] == 0:
            return give_up(piece, "missing_id")
        if found[piece.id] > 1:
            return give_up(piece, "duplicate_id") or [_fail(piece, piece.text, "duplicate_id")]
        claims = given[piece.id]
        if not self._words.allow(piece.text, len(claims)):
            code = "too_many_claims"
            return give_up(piece, code) or [_fail(piece, piece.text, code)]
        said = [claim.text for claim in claims]
        return merge_repeated(self._read_claim(claim, piece, said) for claim in claims)

    def _read_claim(self, claim: ReplyClaim, piece: AnswerPiece, said: Sequence[str]) -> FactClaim:
        text = " ".join(claim.text.split())
        if not text:
            return _fail(piece, piece.text, "empty_claim")
        if claim.label not in FACT_LABELS:
            return _fail(piece, text, "bad_label", f"found {claim.label[:40]!r}")
        if not self._words.own(text, piece.text):
            return _fail(piece, text, "foreign_claim")
        change = self._find_change(text, piece, said)
        if change is not None:
            return _fail(piece, text, CHANGED_FACT, change)
        basis, shortened = cut_words(claim.decision_basis, BASIS_WORDS)
        flags: tuple[ClaimFlag, ...] = ("shortened",) if shortened else ()
        label: FactLabel = claim.label
        return FactClaim(
            text=text,
            label=label,
            decision_basis=basis,
            piece=piece.id,
            start=piece.start,
            end=piece.end,
            flags=flags,
        )

    def _find_change(self, text: str, piece: AnswerPiece, said: Sequence[str]) -> str | None:
        if is_same_text(text, piece.text):
            return None
        own = [claim.wording for claim in piece.factual]
        return self._facts.find_change(text, piece.text, own, said)

    def find_skipped(
        self, piece: AnswerPiece, given: Sequence[ReplyClaim], read: Sequence[FactClaim]
    ) -> list[FactClaim]:
        """Return the piece's own claims that the model passed over.

        Its claims hardly mention them, or lack a number, date or name of them. A claim that was
        rejected stands for what it is about, which is not counted a second time.
        """
        texts = [claim.text for claim in given]
        if any(is_same_text(text, piece.text) for text in texts):
            return []
        rejected = [claim.text for claim in read if claim.unscored]
        skipped = []
        for claim, lost in zip(piece.factual, give_up(piece, "skipped_piece"), strict=True):
            if measure_said_share(claim.text, texts) < _TOLD_WORDS:
                skipped.append(lost)
            elif not rejected or measure_said_share(claim.text, rejected) < _TOLD_WORDS:
                why = self._facts.find_lost(claim.wording, texts)
                skipped += [] if why is None else [msgspec.structs.replace(lost, detail=why)]
        return skipped

    def is_covered(self, text: str, parts: Sequence[FactClaim]) -> bool:
        """Tell whether parts say together what the whole says."""
        said = [part.text for part in parts]
        told = measure_said_share(text, said) >= _PART_WORDS
        return told and self._facts.find_lost(text, said) is None


def _share(text: str, piece: AnswerPiece) -> float:
    return measure_said_share(text, [piece.text, *(claim.wording for claim in piece.factual)])


def give_up(piece: AnswerPiece, code: str, detail: str = "") -> list[FactClaim]:
    """Return a piece's own claims as unscored: the model's are unknown or unusable."""
    return [
        FactClaim(
            text=claim.wording,
            piece=piece.id,
            start=claim.start,
            end=claim.end,
            unscored=code,
            detail=detail or _WHY.get(code, ""),
        )
        for claim in piece.factual
    ]


def _fail(piece: AnswerPiece, text: str, code: str, detail: str = "") -> FactClaim:
    return FactClaim(
        text=text,
        piece=piece.id,
        start=piece.start,
        end=piece.end,
        unscored=code,
        detail=detail or _WHY.get(code, ""),
    )


def merge_repeated(claims: Iterable[FactClaim]) -> list[FactClaim]:
    """Keep a claim that a piece is given twice once; with two labels it has none."""
    merged: dict[tuple[str, str], FactClaim] = {}
    for claim in claims:
        key = claim.piece, claim.text.casefold().rstrip(".")
        first = merged.setdefault(key, claim)
        if first.label != claim.label:
            merged[key] = msgspec.structs.replace(
                first, label=None, decision_basis="", flags=(), unscored="conflicting_labels"
            )
    return list(merged.values())
