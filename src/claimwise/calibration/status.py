"""Which calibrations hold today, and for which items."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime

from claimwise.calibration.queries import list_calibrations, name_calibrated_slice
from claimwise.calibration.values import Calibration, CalibrationStatus
from claimwise.store import Store
from claimwise.types.rows import Judgement

NEVER = "it was never calibrated in this store"
_DOMAIN = "domain"


class CalibrationStatuses:
    """The calibrations of all instruments as they stand at one moment."""

    def __init__(self, calibrations: Iterable[Calibration], now: datetime) -> None:
        self._now = now
        self._of: dict[tuple[str, Judgement], list[Calibration]] = defaultdict(list)
        for one in calibrations:
            self._of[one.labeler, one.judgement].append(one)

    def list_of(self, labelers: set[str]) -> list[Calibration]:
        """Return the calibrations of some instruments."""
        return [one for (name, _), known in self._of.items() if name in labelers for one in known]

    def find(
        self, labeler: str, judgement: Judgement, values: Mapping[str, str | None]
    ) -> tuple[CalibrationStatus, Calibration] | None:
        """Return how an instrument stands for an item, and the calibration that says so.

        The calibration of the item's domain counts; without one that of all claims, if it rests
        on items of that domain: error rates don't travel. Any other slice that the item lies in
        may take trust away, and none gives it. None when nothing was measured for the item.
        """
        known = self._of.get((labeler, judgement), [])
        decisive = _choose(known, values.get(_DOMAIN))
        if decisive is None:
            return None
        standing = decisive.stand(self._now)
        if standing == "trusted":
            for one in known:
                if one.stand(self._now) == "not trusted" and _holds(one, values):
                    return "not trusted", one
        return standing, decisive

    def find_map(self, labeler: str, domain: str | None) -> tuple[Calibration | None, str]:
        """Return the calibration whose map holds for grounded verdicts on an item; or why none.

        It is the one that says how the instrument stands: a map of other domains is never taken,
        nor is one that has expired, or of a version that fitted one curve to all verdicts (a
        doubtful “contradicted” then seems supported). Whether it is trusted plays no part.
        """
        known = self._of.get((labeler, "grounded"), [])
        if not known:
            return None, NEVER
        found = _choose(known, domain)
        if found is None:
            of = "without a domain" if domain is None else f"of domain {domain}"
            return None, f"its calibration rests on no item {of}"
        if found.stand(self._now) == "expired":
            return None, f"its calibration expired on {found.expires_at.date().isoformat()}"
        if found.fit is None:
            return None, "too few labelled claims for a map, or of one kind only"
        if found.fit.map.drop is None:
            return None, "its map is of an earlier version of claimwise"
        return found, ""

    def list_mapped(self) -> list[str]:
        """Return the instruments that have a map for some domain today."""
        return sorted(
            labeler
            for (labeler, judgement), known in self._of.items()
            if judgement == "grounded"
            and any(
                one.fit and one.fit.map.drop is not None and one.stand(self._now) != "expired"
                for one in known
            )
        )

    def knows(self, labeler: str) -> bool:
        """Tell whether grounded verdicts of an instrument were ever calibrated."""
        return (labeler, "grounded") in self._of

    def describe(self, labeler: str) -> str | None:
        """Say in words how an instrument stands; None when it was never calibrated."""
        told = [
            _describe(known, self._now) + (" (closed-book)" if judgement == "closed_book" else "")
            for (name, judgement), known in self._of.items()
            if name == labeler
        ]
        return "; ".join(told) or None

    def list_expired(self) -> list[str]:
        """Return the instruments whose calibration has expired."""
        expired = {
            labeler
            for (labeler, _), known in self._of.items()
            if any(one.stand(self._now) == "expired" for one in known)
        }
        return sorted(expired)


def read_calibration_statuses(store: Store, now: datetime | None = None) -> CalibrationStatuses:
    """Return how all instruments of a store stand, now or at a time (UTC, without zone)."""
    return CalibrationStatuses(
        list_calibrations(store), now or datetime.now(UTC).replace(tzinfo=None)
    )


def _choose(known: Sequence[Calibration], domain: str | None) -> Calibration | None:
    """Return the calibration of a domain; without one that of all claims, if it saw the domain."""
    own = (one for one in known if one.slice == {_DOMAIN: domain})
    whole = (one for one in known if not one.slice and domain in one.domains)
    return next(own, None) or next(whole, None)


def _holds(one: Calibration, values: Mapping[str, str | None]) -> bool:
    return bool(one.slice) and all(
        name in values and values[name] == value for name, value in one.slice.items()
    )


def _describe(known: Sequence[Calibration], now: datetime) -> str:
    """Say how one instrument stands: by domain where there are several, else as a whole."""
    domains = [one for one in known if list(one.slice) == [_DOMAIN]]
    chosen = domains or [one for one in known if not one.slice]
    if not chosen:
        return "unknown"
    until = chosen[0].expires_at.date().isoformat()
    if now >= chosen[0].expires_at:
        return f"expired on {until}"
    groups: dict[str, list[str]] = defaultdict(list)
    for one in chosen:
        groups[one.status].append(name_calibrated_slice(one.slice))
    parts = []
    for status in ("trusted", "not trusted", "unknown"):
        if status in groups:
            where = f" in {', '.join(sorted(groups[status]))}" if domains else ""
            parts.append(f"{status}{where}")
    return f"{'; '.join(parts)} until {until}"
