"""What an instrument's probabilities are worth by the newest calibration of the store.

The probability of a verdict is kept as the instrument gave it; the map of a calibration is applied
when it is read, and changes no verdict. A map speaks for the labeler, prompt, model and domain that
it was fitted on, until it expires, and for nothing else.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np

from claimwise.calibration.maps import apply_map
from claimwise.calibration.measure import SUPPORTED
from claimwise.calibration.queries import GivenScore, ScoredLabel, read_given, read_scores
from claimwise.calibration.status import CalibrationStatuses
from claimwise.calibration.values import Calibration, Probability, RunProbabilities
from claimwise.store import Store
from claimwise.types.verdicts import MapBasis


def score_verdict(verdict: str, confidence: float) -> float:
    """Return the score of a verdict as calibrations define it (calibration/measure.py).

    It is not yet a probability of support: an instrument that is 0.3 sure of “overreach” may be
    sure of “contradicted” otherwise.
    """
    return confidence if verdict == SUPPORTED["grounded"] else 1 - confidence


def find_probability_basis(
    standings: CalibrationStatuses, labeler: str, domain: str | None, prompt_ver: str | None = None
) -> tuple[MapBasis, Calibration | None]:
    """Return whose map an instrument's probabilities go through, in words and itself; or why none.

    Args:
        standings: the calibrations of the store.
        labeler: the instrument.
        domain: the subject area of the item.
        prompt_ver: what it judges with now, where that may not be what the store knows.
    """
    found, why = standings.find_map(labeler, domain)
    if found is not None and prompt_ver not in (None, found.prompt_ver):
        found, why = None, "it was calibrated with another prompt or other settings"
    if found is None or found.fit is None:
        return MapBasis(labeler=labeler, domain=domain, why=why), None
    return MapBasis(
        labeler=labeler,
        domain=domain,
        calibration_id=found.calibration_id,
        slice=found.slice,
        claims=found.fit.claims,
        runs=found.runs,
        made_at=found.made_at,
        kind=found.fit.map.kind,
        ece_before=found.fit.ece_before,
        ece_after=found.fit.ece_after,
    ), found


def map_verdicts(
    found: Calibration | None, given: Sequence[tuple[str, float]]
) -> list[float | None]:
    """Return the probability of support that a calibration gives verdicts with their confidences.

    None of each where there is no map.
    """
    if found is None or found.fit is None:
        return [None] * len(given)
    scores = np.array([score_verdict(*one) for one in given], dtype=np.float64)
    rejected = np.array([verdict != SUPPORTED["grounded"] for verdict, _ in given], dtype=bool)
    return [float(one) for one in apply_map(found.fit.map, scores, rejected)]


def measure_probabilities(
    store: Store,
    run_id: str,
    labeler: str,
    standings: CalibrationStatuses,
    prompt_ver: str | None = None,
) -> tuple[RunProbabilities, ...]:
    """Measure how sure an instrument is of a run's claims, domain by domain, raw and calibrated.

    Claims with a confidence alike to three places are mapped together. Claims without one are
    counted and in no mean.
    """
    domains: dict[str | None, list[GivenScore]] = defaultdict(list)
    for given in read_scores(store, run_id, labeler):
        domains[given.domain].append(given)
    found = []
    for domain, rows in domains.items():
        basis, calibration = find_probability_basis(standings, labeler, domain, prompt_ver)
        sure = [(one.verdict, c) for one in rows if (c := one.confidence) is not None]
        counts = [one.verdicts for one in rows if one.confidence is not None]
        mapped = [one for one in map_verdicts(calibration, sure) if one is not None]
        found.append(
            RunProbabilities(
                basis=basis,
                verdicts=sum(counts),
                without_confidence=sum(one.verdicts for one in rows) - sum(counts),
                score=_average([score_verdict(*one) for one in sure], counts),
                calibrated=_average(mapped, counts),
            )
        )
    return tuple(found)


def list_probabilities(store: Store, standings: CalibrationStatuses) -> Iterator[Probability]:
    """Yield the probability of every label that an instrument with a map gave, raw and calibrated.

    The rows of a run are read at once; where a domain has no map there is no calibrated value.
    """
    runs = [row[0] for row in store.query("select run_id from runs order by run_id")]
    for labeler in standings.list_mapped():
        for run_id in runs:
            domains: dict[str | None, list[ScoredLabel]] = defaultdict(list)
            for row in read_given(store, run_id, labeler):
                domains[row.domain].append(row)
            for domain, rows in domains.items():
                used = find_probability_basis(standings, labeler, domain)[1]
                mapped = map_verdicts(used, [(row.verdict, row.confidence) for row in rows])
                for row, value in zip(rows, mapped, strict=True):
                    yield Probability(
                        run_id=run_id,
                        item_id=row.item_id,
                        claim_id=row.claim_id,
                        labeler=labeler,
                        labeled_at=row.labeled_at,
                        verdict=row.verdict,
                        confidence=row.confidence,
                        score=score_verdict(row.verdict, row.confidence),
                        calibrated=value,
                        calibration_id=used.calibration_id if used else None,
                    )


def _average(values: Sequence[float], counts: Sequence[int]) -> float | None:
    return float(np.average(values, weights=counts)) if values else None
