"""Says through which calibration a judge's probabilities go, and what it makes of them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

from claimwise.calibration.values import RunProbabilities
from claimwise.report.format import clean, clean_value, pluralize, show_count, show_precisely
from claimwise.types.verdicts import MapBasis


def describe_map_basis(basis: MapBasis) -> str:
    """Say in one clause what probabilities are calibrated on, or why they are not."""
    if basis.made_at is None:
        return f"not calibrated here: {clean(basis.why)} (claimwise calibrate)"
    how = "as given, as no map does better" if basis.kind == "identity" else "calibrated"
    return (
        f"{how} on {pluralize(basis.claims, 'labelled claim')} of "
        f"{', '.join(map(clean, basis.runs))} ({basis.made_at.date().isoformat()}; calibration "
        f"error on held-out items {show_precisely(basis.ece_before)} as given, "
        f"{show_precisely(basis.ece_after)} calibrated)"
    )


def describe_probabilities(rows: Sequence[RunProbabilities]) -> list[str]:
    """Say it for a run's verdicts; domains that share a calibration, or a reason, share a line.

    Verdicts without a confidence have no probability: a judge that gives none has no line.
    """
    groups: dict[tuple[str, str], list[RunProbabilities]] = defaultdict(list)
    for row in rows:
        if row.verdicts:
            groups[clean(row.basis.labeler), describe_map_basis(row.basis)].append(row)
    whole = Counter(labeler for labeler, _ in groups)
    lines = []
    for (labeler, basis), held in groups.items():
        domains = ", ".join(clean_value(row.basis.domain) for row in held)
        where = f" in {domains}" if whole[labeler] > 1 else ""
        lines.append(
            f"{labeler}: probabilities of support{where} are {basis}{_describe_means(held)}"
        )
    return lines


def _describe_means(rows: Sequence[RunProbabilities]) -> str:
    verdicts = sum(row.verdicts for row in rows)
    lost = sum(row.without_confidence for row in rows)
    score = show_precisely(_average(rows, "score"))
    told = f"; mean score of {pluralize(verdicts, 'verdict')} {score}"
    mapped = _average(rows, "calibrated")
    told += "" if mapped is None else f", calibrated {show_precisely(mapped)}"
    return told + (f"; {show_count(lost)} more have none" if lost else "")


def _average(rows: Sequence[RunProbabilities], name: str) -> float | None:
    known = [(getattr(row, name), row.verdicts) for row in rows if getattr(row, name) is not None]
    total = sum(count for _, count in known)
    return sum(value * count for value, count in known) / total if total else None
