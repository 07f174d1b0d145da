"""How a run's headline moved since an earlier run, with both rates on the same basis."""

from __future__ import annotations

from math import hypot
from typing import Final

from msgspec import Struct

from claimwise.calibration.basis import RunBasis, find_common_judge
from claimwise.calibration.headline import METRIC_OF, Basis, Headline
from claimwise.metrics import Metric, find_metric
from claimwise.metrics.clusters import map_clusters
from claimwise.metrics.paired import compare_items
from claimwise.metrics.pairing import pair_items
from claimwise.metrics.weights import read_weights
from claimwise.store import Store
from claimwise.store.runs import count_asked
from claimwise.types.results import Settings

_OTHER: Final = "whose rate rests on other labels"
_Moved = tuple[float, float, float]  # change, low, high


class HeadlineChange(Struct, frozen=True, kw_only=True):
    """How the headline moved since an earlier run; without figures ``why`` says what is missing."""

    since: str
    change: float | None = None
    low: float | None = None
    high: float | None = None
    why: str | None = None
    basis: Basis | None = None  # what both rates rest on
    judge: str | None = None  # the judge whose verdicts both rates rest on
    switched: bool = False  # the headlines rest on different labels: the judge's stand in for both


def find_headline_change(
    store: Store,
    metrics: dict[str, Metric],
    base: RunBasis,
    new: RunBasis,
    settings: Settings,
) -> HeadlineChange | None:
    """Return how the headline moved from one run to another; None when the new one has no rate.

    Both sides count the same labels. Where one of the headlines rests on people and the other on a
    judge, it is the verdicts of a judge that judged both runs; without one they can't be compared.
    Rates of people or of one judge are compared over the items that both runs were asked, paired by
    item; corrected rates, and runs that share no item, as separate samples. A corrected rate is
    people's rate, estimated: it is compared with another one, or with people's own.
    """
    one, two = base.headline, new.headline
    if two.rate is None:
        return None
    if _are_of_people(one, two):
        return _compare_people(base.run_id, one, two)
    common = find_common_judge(store, base, new, two.judgement)
    why = None if common and one.judgement == two.judgement else _find_difference(two, one)
    if why is not None:
        return HeadlineChange(since=base.run_id, why=why)
    basis, labels, judge = two.basis, two.labels, two.judge
    if common is not None:
        basis, labels, judge = "judge_only", f"labeler:{common}", common
    metric = find_metric(metrics, METRIC_OF[two.judgement])
    run_ids = (base.run_id, new.run_id)
    found: _Moved | str | None = _compare_shared(store, metric, run_ids, labels, settings)
    if found is None:
        found = _OTHER if common else _subtract(two, one)
    if isinstance(found, str):
        return HeadlineChange(since=base.run_id, why=found)
    change, low, high = found
    return HeadlineChange(
        since=base.run_id,
        change=change,
        low=low,
        high=high,
        basis=basis,
        judge=judge,
        switched=common is not None,
    )


def _are_of_people(one: Headline, two: Headline) -> bool:
    """Tell whether two rates are both what people say, where a judge's verdicts extend a sample."""
    known = {"people", "corrected"}
    extended = "corrected" in (one.basis, two.basis)
    return extended and one.judgement == two.judgement and {one.basis, two.basis} <= known


def _compare_people(since: str, one: Headline, two: Headline) -> HeadlineChange:
    """Return the change between two rates of people, of which at least one is corrected.

    Their whole ranges count: what a sample of labels leaves open is left open in the change.
    """
    found = _subtract(two, one, whole=True)
    if isinstance(found, str):
        return HeadlineChange(since=since, why=found)
    change, low, high = found
    judge = two.judge if one.judge == two.judge else None
    return HeadlineChange(
        since=since, change=change, low=low, high=high, basis="corrected", judge=judge
    )


def _find_difference(new: Headline, base: Headline) -> str | None:
    """Say why two headlines can't be compared; None where they can."""
    if base.basis is None:
        return "which has no labels"
    if (base.judgement, base.basis) != (new.judgement, new.basis):
        return _OTHER
    if base.judge != new.judge:
        return f"judged by {base.judge or 'several judges'}"
    return None


def _compare_shared(
    store: Store, metric: Metric, run_ids: tuple[str, str], labels: str, settings: Settings
) -> _Moved | None:
    """Compare two runs over the items that both were asked; None where those are not enough."""
    shared = count_asked(store, run_ids[0]).keys() & count_asked(store, run_ids[1])
    paired = pair_items(store, metric, run_ids, (), (labels, labels), shared).get(())
    if paired is None:
        return None
    clusters = map_clusters(store, run_ids[1], settings.cluster)
    weights = read_weights(store, run_ids, settings.weights)
    found = compare_items(*paired.columns(clusters, weights))
    if found is None or found.items < 2:
        return None
    return found.change, *found.interval(settings.confidence)


def _subtract(new: Headline, base: Headline, *, whole: bool = False) -> _Moved | str:
    """Return the change between two separate samples, or why there is none.

    Method: Newcombe's hybrid of the two intervals (method 10 in Statistics in Medicine 17, 1998,
    873-890), from what sampling explains: one judge errs alike in both runs. Or, where the ranges
    say how far a rate of people could lie from its estimate, from the ``whole`` of them.
    """
    if new.rate is None or base.rate is None:
        return "as one of the two has no rate"
    ends, base_ends = (_find_ends(one, whole=whole) for one in (new, base))
    if ends is None or base_ends is None:
        return "as one of the two has no range"
    change = new.rate - base.rate
    return (
        change,
        max(-1.0, change - hypot(new.rate - ends[0], base_ends[1] - base.rate)),
        min(1.0, change + hypot(ends[1] - new.rate, base.rate - base_ends[0])),
    )


def _find_ends(one: Headline, *, whole: bool) -> tuple[float, float] | None:
    low = one.low if whole or one.sampling_low is None else one.sampling_low
    high = one.high if whole or one.sampling_high is None else one.sampling_high
    return None if low is None or high is None else (low, high)
