"""Whose labels the rates of a run count, so that no rate mixes people's labels and a judge's.

Where people labelled some claims of a run and a judge the others, the labels that decide are no
rate of anything. Every table of such a run counts what its headline rests on instead: people's
labels, or a judge's verdicts alone. Claims without one of those are unscored. Two runs are compared
on the same labels, wherever there are any.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from claimwise.calibration.headline import Headline, choose_headline, find_headlines
from claimwise.metrics import Metric, estimate_metric
from claimwise.metrics.counting import Narrowing, combine_policies
from claimwise.metrics.run_judges import Judged, count_label_givers, find_label_views
from claimwise.store import Store
from claimwise.types.results import MetricTable, Settings
from claimwise.types.rows import Judgement

# view with the deciding labels -> the table behind it, and the headline whose labels it shares
_VIEWS: Final[dict[str, tuple[str, Judgement | None]]] = {
    "deciding_labels": ("labels", "grounded"),
    "deciding_closed_book_labels": ("closed_book_labels", "closed_book"),
    "deciding_answer_labels": ("answer_labels", None),
}
# They say which claims have no label, and so follow the labels that are counted.
_UNSCORED: Final = ("unscored_share", "unscored_reasons")
_MOST_MISSING: Final = 0.02  # of a run's claims: a judge that left out more did not judge the run


class RunBasis(NamedTuple):
    """A run's headlines, and whose labels its rates count."""

    run_id: str
    headlines: Mapping[Judgement, Headline]
    asked: str  # the policy that was asked for; the others narrow "default" alone
    policies: Mapping[str, str]  # by table of labels; missing: whatever decides
    givers: Mapping[str, Judged]  # who gave the labels that count, by view

    @property
    def headline(self) -> Headline:
        """The one rate of the run."""
        return choose_headline(self.headlines)

    @property
    def labels(self) -> str | Narrowing:
        """The labels that count."""
        return combine_policies(self.policies) if self.asked == "default" else self.asked

    def labels_for(self, metric: Metric) -> str | Narrowing:
        """Return the labels that a metric counts.

        A metric that compares people's labels with a judge's needs both: only those that rest on
        the deciding ones are narrowed.
        """
        decided = any(view.startswith("deciding_") for view in metric.labels)
        counts = decided or metric.name in _UNSCORED or self.asked != "default"
        return self.labels if counts else "default"

    def list_givers(self, metric: Metric) -> Judged:
        """Return who gave the labels that a metric counts, most labels first."""
        found: Judged = {}
        for view in find_label_views(metric):
            for giver, count in self.givers[view].items():
                found[giver] = found.get(giver, 0) + count
        return dict(sorted(found.items(), key=lambda pair: -pair[1]))


def find_basis(
    store: Store,
    metrics: dict[str, Metric],
    run_id: str,
    settings: Settings | None = None,
) -> RunBasis:
    """Return whose labels the rates of a run count: those of its headline.

    Only labels that mix people's and judges' are narrowed. Of answers' labels, which no headline is
    about, people's count where they gave at least half. Settings that name labels leave no choice.

    Raises:
        MetricError: run or settings are unknown.
    """
    settings = settings or Settings()
    headlines = find_headlines(store, metrics, run_id, settings)
    givers = {view: count_label_givers(store, [view], run_id, settings.labels) for view in _VIEWS}
    policies = {}
    for view, (table, judgement) in _VIEWS.items():
        if settings.labels == "default" and _is_mixed(givers[view]):
            chosen = headlines[judgement].labels if judgement else _choose_side(givers[view])
            policies[table] = chosen
            givers[view] = count_label_givers(store, [view], run_id, chosen)
    return RunBasis(run_id, headlines, settings.labels, policies, givers)


def _is_mixed(given: Judged) -> bool:
    return len({giver.labeler is None for giver in given}) > 1


def _choose_side(given: Judged) -> str:
    people = sum(count for giver, count in given.items() if giver.labeler is None)
    return "human" if 2 * people >= sum(given.values()) else "verifier"


def estimate_on_basis(
    store: Store,
    metric: Metric,
    basis: RunBasis,
    by: Sequence[str] = (),
    settings: Settings | None = None,
    *,
    margins: bool = False,
) -> MetricTable:
    """Estimate a metric of a run as `estimate_metric`, and say who gave the labels it counts."""
    table = estimate_metric(
        store, metric, basis.run_id, by, settings, margins=margins, labels=basis.labels_for(metric)
    )
    given = basis.list_givers(metric)
    return replace(
        table,
        counts_labels=bool(find_label_views(metric)),
        people={str(one): count for one, count in given.items() if one.labeler is None},
        judges={one.labeler: count for one, count in given.items() if one.labeler is not None},
    )


def align_bases(store: Store, base: RunBasis, new: RunBasis) -> tuple[RunBasis, RunBasis]:
    """Return two runs' bases, on one judge's verdicts where the runs rest on different ones.

    Where people labelled the one run and a judge the other, say, a judge that judged both of them
    makes them comparable. Without one, each keeps its own.
    """
    sides = [dict(base.policies), dict(new.policies)]
    givers = [dict(base.givers), dict(new.givers)]
    for view, (table, judgement) in _VIEWS.items():
        judge = find_common_judge(store, base, new, judgement) if judgement else None
        if judge is None:
            continue
        for side, one in enumerate((base, new)):
            sides[side][table] = f"labeler:{judge}"
            givers[side][view] = count_label_givers(store, [view], one.run_id, sides[side][table])
    return (
        base._replace(policies=sides[0], givers=givers[0]),
        new._replace(policies=sides[1], givers=givers[1]),
    )


def find_common_judge(
    store: Store, base: RunBasis, new: RunBasis, judgement: Judgement
) -> str | None:
    """Return a judge of both runs, where their headlines rest on different kinds of labels."""
    pair = base.headlines[judgement], new.headlines[judgement]
    if pair[0].basis == pair[1].basis or None in (pair[0].basis, pair[1].basis):
        return None
    view = next(view for view, (_, one) in _VIEWS.items() if one == judgement)
    told = [
        {
            judge
            for judge, count in _count_judged(store, view, one.run_id).items()
            if count >= (1 - _MOST_MISSING) * headline.asked
        }
        for one, headline in zip((base, new), pair, strict=True)
    ]
    names = sorted(told[0] & told[1])
    wanted = [one.judge for one in pair if one.judge in names]
    return next(iter(wanted or names), None)


def _count_judged(store: Store, view: str, run_id: str) -> dict[str, int]:
    """Return how many claims each judge gave a verdict on, whether or not it decides."""
    standing = view.replace("deciding_", "standing_")
    rows = store.query(
        f"select labeler, count(distinct item_id || ' ' || claim_id) from {standing} "
        "where run_id = :run_id and label_kind = 'verifier' group by labeler order by labeler",
        {"run_id": run_id},
    )
    return {labeler: int(count) for labeler, count in rows}
