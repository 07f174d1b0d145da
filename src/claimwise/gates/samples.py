"""People's labels of rounds, as the samples of a run that they are, for any metric.

A metric's file counts items, and a round draws claims, so the metric is counted by one claim of
every item at a time: with the labels of people on their first claim alone, then on their second.
Where what it counts adds up to what all of the labels together give, it is a sum over claims, and
each claim's part counts for as many claims as it was drawn from. Other metrics (shares of answers
that are right throughout, say) have no such parts, and no sample: some of an answer's labels say
nothing of the answer.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from claimwise.calibration.queries import (
    RoundSample,
    list_rounds_of,
    read_sample,
    read_verdict_pairs,
)
from claimwise.calibration.weights import is_whole, weigh_samples
from claimwise.gates.readings import SampledReading
from claimwise.gates.tables import Counted, RuleCountReader
from claimwise.metrics.counting import STANDING, Narrowing, SliceKey
from claimwise.metrics.histogram import Histogram
from claimwise.metrics.weights import ItemCounting
from claimwise.store import Store
from claimwise.types.rows import Judgement

_PEOPLE: Final = "label_kind in ('adjudicated', 'human')"
_MOST_PLACES: Final = 60  # labelled claims of one item; each is a query


@dataclass(frozen=True, kw_only=True, slots=True)
class ClaimParts:
    """What each claim that people labelled adds to a metric; ``claims`` names them by item."""

    claims: Mapping[str, Sequence[str]]
    tables: Sequence[Counted]  # one for every place in those lists


def read_parts(
    reader: RuleCountReader, run_id: str, judgement: Judgement, people: Counted
) -> ClaimParts | None:
    """Return the parts of people's labels; None where the metric is no sum over claims.

    ``people`` is the metric by all of their labels.
    """
    claims = _place_claims(reader, run_id, judgement)
    places = max(map(len, claims.values()), default=0)
    if places > _MOST_PLACES:
        return None
    tables = [reader.tabulate(run_id, _narrow(place)) for place in range(places)]
    return ClaimParts(claims=claims, tables=tables) if _adds_up(tables, people) else None


def read_sampled(
    store: Store,
    run_id: str,
    judgement: Judgement,
    parts: ClaimParts,
    counting: ItemCounting,
    items: frozenset[str] | None = None,
) -> dict[SliceKey, SampledReading]:
    """Return what a run's rounds say of every slice; nothing without a round that counts.

    Args:
        store: where the run is.
        run_id: the run.
        judgement: which kind of verdicts the metric counts.
        parts: what each labelled claim adds to the metric.
        counting: what items belong to, and what they count for.
        items: only these; None for all.
    """
    rounds = list_rounds_of(store, run_id, judgement)
    samples = [read_sample(store, drawn, judgement) for drawn in rounds]
    samples = [one for one in samples if one.labelled and is_whole(one)]
    if not samples:
        return {}
    stands = weigh_samples(samples)
    unseen = max(map(_find_unseen, samples))
    found: dict[SliceKey, list[tuple[str, float, float, float]]] = defaultdict(list)
    for place, table in enumerate(parts.tables):
        for key, rows in table.items():
            for item, row in rows.items():
                if row.units and (items is None or item in items):
                    weight = stands.get((run_id, item, parts.claims[item][place]), 0.0)
                    weight *= counting.find_factor(item)
                    above = counting.clusters.get(item, item)
                    found[key].append((above, row.hits, row.units, weight))
    return {key: _weigh(held, unseen) for key, held in found.items()}


def _place_claims(
    reader: RuleCountReader, run_id: str, judgement: Judgement
) -> dict[str, list[str]]:
    """Return the claims that people labelled, by item, in the database's order."""
    found: dict[str, list[str]] = defaultdict(list)
    for item_id, claim_id in read_verdict_pairs(reader.store, run_id, "", judgement):
        found[item_id].append(claim_id)
    return dict(found)


def _narrow(place: int) -> Narrowing:
    """Return people's labels of one claim of every item: that with so many before it."""
    conditions = {"answer_labels": _PEOPLE}
    for table in ("labels", "closed_book_labels"):
        # All runs' labels lie in one table: those of others need no look at what came before them.
        conditions[table] = (
            f"{table}.run_id = :run_id and {_PEOPLE} and (select count(distinct o.claim_id) "
            f"from {STANDING[table]} as o where o.run_id = {table}.run_id "
            f"and o.item_id = {table}.item_id and o.claim_id < {table}.claim_id "
            f"and o.label_kind <> 'verifier') = {place:d}"
        )
    return Narrowing(conditions, {})


def _adds_up(tables: Sequence[Counted], people: Counted) -> bool:
    """Tell whether claims by themselves give what they give together."""
    sums: dict[tuple[SliceKey, str, str], float] = defaultdict(float)
    for sign, table in ((-1, people), *((1, table) for table in tables)):
        for key, rows in table.items():
            for item, row in rows.items():
                sums[key, item, "hits"] += sign * row.hits
                sums[key, item, "units"] += sign * row.units
    return all(abs(left) < 1e-9 for left in sums.values())


def _find_unseen(sample: RoundSample) -> float:
    """Return the share of a round's claims whose strata nobody has labelled a claim of."""
    labelled = set(sample.labelled.values())
    unseen = sum(claims for name, claims in sample.strata.items() if name not in labelled)
    return unseen / (sum(sample.strata.values()) + len(sample.left_out))


def _weigh(parts: list[tuple[str, float, float, float]], unseen: float) -> SampledReading:
    """Add up weighted parts by cluster; trials are what the weights are worth (Kish)."""
    names, places = np.unique([part[0] for part in parts], return_inverse=True)
    hits, units, weights = np.array([part[1:] for part in parts], dtype=np.float64).T
    sums = np.zeros((2, len(names)))
    for row, column in zip(sums, (hits, units), strict=True):
        np.add.at(row, places, weights * column)
    counted = Histogram.from_clusters(np.minimum(*sums), sums[1])
    squares = float(weights**2 @ units)
    if squares:
        counted = replace(counted, trials=float(weights @ units) ** 2 / squares)
    return SampledReading(counted=counted, hidden=unseen)
