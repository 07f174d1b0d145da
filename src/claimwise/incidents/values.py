"""What passes between a trace, the item it becomes, and the list of incidents."""

from __future__ import annotations

from typing import Literal

import msgspec

from claimwise.types.rows import Incident, IncidentClaim, Item, Stakes

IncidentState = Literal["needs spans", "ready"]


class ItemChoice(msgspec.Struct, frozen=True, kw_only=True):
    """What a person says of the item that an incident becomes; None leaves it to the rest."""

    item_id: str
    answerable: bool | None = None
    query_type: str | None = None
    stakes: Stakes | None = None
    gold_answer: str | None = None
    domain: str | None = None
    corpus_ver: str | None = None
    # Words of the claims that were wrong; without any, the verdicts say it.
    wrong: tuple[str, ...] = ()
    # Go on although items of nearly the same words are there.
    force: bool = False


class Promotion(msgspec.Struct, frozen=True, kw_only=True):
    """What promoting did."""

    incident: Incident
    item: Item
    new_item: bool
    # The same answer had been promoted before: nothing was looked at or written.
    repeated: bool = False
    claims: tuple[IncidentClaim, ...] = ()
    state: IncidentState | None = None
    added_documents: tuple[str, ...] = ()
    queued: int = 0
    warnings: tuple[str, ...] = ()


class Catch(msgspec.Struct, frozen=True, kw_only=True):
    """A gate that counts the incident's wrong claims, and the slice in which it does."""

    gate: str
    slice: dict[str, str | None]


class IncidentStatus(msgspec.Struct, frozen=True, kw_only=True):
    """An incident, and what stands between it and happening again."""

    incident: Incident
    query: str
    state: IncidentState
    wrong: tuple[str, ...]
    unscored: int
    # The latest run that answered the item; without one no gate has seen it yet.
    asked_in: str | None
    caught_by: tuple[Catch, ...]
