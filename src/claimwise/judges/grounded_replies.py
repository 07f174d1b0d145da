"""What a grounded judge's model replies, and the account of every id in it.

A reply is used entry by entry. An id that was asked for and comes exactly once has an entry; one
that is missing, comes twice or has an entry of another form has a code that says so. An id that
nobody asked for is dropped and counted. Nothing is matched by position or by guess.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal, NamedTuple, TypeVar

import msgspec

ModelVerdict = Literal["supported", "overreach", "contradicted", "unlinked"]

MISSING_ID = "missing_id"
DUPLICATE_ID = "duplicate_id"
BAD_ENTRY = "bad_entry"
BAD_VERDICT = "bad_verdict"

T = TypeVar("T", bound="ClaimReply | PieceReply | SplitPiece")


class ClaimReply(msgspec.Struct, frozen=True, kw_only=True):
    """A judged claim. Of its fields only the verdict must be there: the rest is checked by us."""

    verdict: ModelVerdict
    id: str = ""
    text: str = ""
    quote: str | None = None
    source: str | None = None
    exceeds: str | None = None
    basis: str | None = None


class PieceReply(msgspec.Struct, frozen=True, kw_only=True):
    """A piece of the answer with the claims that it makes, judged."""

    id: str
    claims: list[Any]


class SplitPiece(msgspec.Struct, frozen=True, kw_only=True):
    """A piece of the answer with the claims that it makes."""

    id: str
    claims: list[str]


class ClaimsReply(msgspec.Struct, frozen=True, kw_only=True):
    """The reply to known claims; entries are read one by one, so that one can't spoil the rest."""

    claims: list[Any]

    @property
    def entries(self) -> list[Any]:
        """The entries, whatever they are called."""
        return self.claims


class PiecesReply(msgspec.Struct, frozen=True, kw_only=True):
    """The reply to pieces; likewise."""

    pieces: list[Any]

    @property
    def entries(self) -> list[Any]:
        """The entries, whatever they are called."""
        return self.pieces


class ReplyTally(NamedTuple):
    """What became of every id that was asked for: an entry, or a code; and how many were not."""

    found: list[Any]
    invented: int


def account_for(ids: Sequence[str], entries: Iterable[Any], kind: type[T]) -> ReplyTally:
    """Return for every id its entry as ``kind``, or the code that says why there is none."""
    by_id: dict[str, list[Any]] = {wanted: [] for wanted in ids}
    invented = 0
    for entry in entries:
        name = entry.get("id") if isinstance(entry, dict) else None
        if isinstance(name, str) and name in by_id:
            by_id[name].append(entry)
        else:
            invented += 1
    return ReplyTally([_take_one(found, kind) for found in by_id.values()], invented)


def _take_one(found: Sequence[Any], kind: type[T]) -> T | str:
    if not found:
        return MISSING_ID
    if len(found) > 1:
        return DUPLICATE_ID
    return read_entry(found[0], kind)


def read_entry(entry: Any, kind: type[T]) -> T | str:
    """Return an entry as ``kind``, or a code."""
    try:
        return msgspec.convert(entry, kind)
    except msgspec.ValidationError:
        known = isinstance(entry, dict) and kind is ClaimReply
        return BAD_VERDICT if known and _has_other_verdict(entry) else BAD_ENTRY


def _has_other_verdict(entry: dict[str, Any]) -> bool:
    try:
        msgspec.convert(entry.get("verdict"), ModelVerdict)
    except msgspec.ValidationError:
        return True
    return False


def group_repeated(texts: Sequence[str]) -> list[list[int]]:
    """Return the places of texts, equal ones together: a claim made twice counts once."""
    places: dict[str, list[int]] = {}
    for place, text in enumerate(texts):
        folded = " ".join(text.casefold().split()).rstrip(".")
        places.setdefault(folded, []).append(place)
    return list(places.values())
