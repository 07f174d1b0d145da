"""Whose labels may make a gate pass, by calibrations that hold today."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from claimwise.calibration.queries import name_calibrated_slice, read_slices
from claimwise.calibration.status import read_calibration_statuses
from claimwise.calibration.values import Calibration, CalibrationStatus
from claimwise.store import Store
from claimwise.types.rows import Judgement


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
) -> str:
    """Say why a calibration gives no trust."""
    where = "" if not found.slice else f" in {name_calibrated_slice(found.slice)}"
    made = found.made_at.date().isoformat()
    if standing == "expired":
        ended = found.expires_at.date().isoformat()
        return f"{labeler}: its calibration of {made}{where} expired on {ended}"
    status = "not trusted" if standing == "not trusted" else "not known to be trusted"
    return f"{labeler} is {status}{where} (calibration of {made}): {found.reason}"


def find_judgements(views: Sequence[str]) -> tuple[Judgement, ...]:
    """Return which kinds of verdicts views of labels hold; answer labels are of neither."""
    found: list[Judgement] = []
    if any(view in ("deciding_labels", "candidate_labels") for view in views):
        found.append("grounded")
    if any("closed_book" in view for view in views):
        found.append("closed_book")
    return tuple(found)
