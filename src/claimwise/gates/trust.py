"""Whose labels may make a gate pass, by calibrations that hold today."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from claimwise.calibration.queries import name_calibrated_slice, read_slices
from claimwise.calibration.status import read_calibration_statuses
from claimwise.calibration.values import Calibration, CalibrationStatus
from claimwise.store import Store
from claimwise.types.rows import Judgement


class Doubt(NamedTuple):
    """Why a judge's labels do not count as they are; where, and by what, if that is known."""

    why: str
    place: str = ""
    detail: str = ""


class Trust:
    """The calibrations of instruments, looked up item by item."""

    def __init__(self, store: Store, labelers: Iterable[str], views: Sequence[str]) -> None:
        self._judgements = find_judgements(views)
        self._standings = read_calibration_statuses(store)
        found = self._standings.list_of(set(labelers))
        columns = {"domain", *(name for one in found for name in one.slice)}
        self._values: Mapping[str, Mapping[str, str | None]] = (
            read_slices(store, sorted(columns)) if found else {}
        )
        self.labelers = tuple(
            sorted({one.labeler for one in found if one.judgement in self._judgements})
        )

    def find(self, labeler: str, item_id: str) -> tuple[CalibrationStatus, Calibration] | None:
        """Return how an instrument stands for an item; None when nobody has measured it there."""
        if labeler not in self.labelers:
            return None
        values = self._values.get(item_id, {})
        found = [self._standings.find(labeler, one, values) for one in self._judgements]
        known = [one for one in found if one is not None]
        # A metric that rests on both kinds of verdicts needs trust in both.
        return next((one for one in known if one[0] != "trusted"), known[0] if known else None)

    def describe(self, labeler: str) -> str:
        """Say how an instrument stands, for a gate's notes."""
        return f"{labeler}, by its calibration: {self._standings.describe(labeler)}."


def describe_calibration_status(
    labeler: str, standing: CalibrationStatus, found: Calibration
) -> Doubt:
    """Say why a calibration gives no trust, and where."""
    where = name_calibrated_slice(found.slice) if found.slice else ""
    if standing == "expired":
        ended = found.expires_at.date().isoformat()
        return Doubt(f"{labeler}: its calibration expired on {ended}", where)
    status = "not trusted" if standing == "not trusted" else "not known to be trusted"
    return Doubt(f"{labeler} is {status}", where, found.reason)


def describe_doubts(doubts: Sequence[Doubt]) -> str:
    """Say why labels do not count; a reason that holds in several places is told once."""
    told = []
    for why in dict.fromkeys(doubt.why for doubt in doubts):
        same = [doubt for doubt in doubts if doubt.why == why]
        places = ", ".join(doubt.place for doubt in same if doubt.place)
        details = [doubt.detail for doubt in same if doubt.detail]
        text = f"{why} in {places}" if places else why
        if len(details) == 1:
            text += f": {details[0]}"
        elif details:
            text += " (claimwise calibrate says why)"
        told.append(text)
    return "; ".join(told)


def find_judgements(views: Sequence[str]) -> tuple[Judgement, ...]:
    """Return which kinds of verdicts views of labels hold; answer labels are of neither."""
    found: list[Judgement] = []
    if any(view in ("deciding_labels", "candidate_labels") for view in views):
        found.append("grounded")
    if any("closed_book" in view for view in views):
        found.append("closed_book")
    return tuple(found)
