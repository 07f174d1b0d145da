"""Links from a rate to what it counts: to claims where a list can choose them, else to items."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from claimwise.app.links import UNSUPPORTED_WORD, link_claims, link_group, link_items
from claimwise.calibration.headline import METRIC_OF, Headline
from claimwise.claims.values import UNSCORED
from claimwise.report import format as form
from claimwise.run_report.values import Report
from claimwise.types.results import Estimate

# The claims that a rate counts as wrong, as a link chooses them; other rates are not of claims.
_WRONG: Final[dict[str, dict[str, str]]] = {
    METRIC_OF["grounded"]: {"verdict": UNSUPPORTED_WORD},
    METRIC_OF["closed_book"]: {"verdict": UNSUPPORTED_WORD, "basis": "closed_book"},
}


def link_rate(
    run_id: str,
    metric: str,
    part: str | None = None,
    group: Mapping[str, str | None] | None = None,
) -> str:
    """Return where a run's rate leads: to the claims that it counts as wrong, or to its items."""
    wrong = _WRONG.get(metric)
    found = None
    if wrong:
        found = link_group(run_id, group, **wrong) if group else link_claims(run=run_id, **wrong)
    return found or link_items(run_id, metric, part, group)


def link_headline(run_id: str, headline: Headline) -> str:
    """Return where the one rate of a run leads: to the claims that it counts as wrong.

    A corrected rate rests on people's labels as far as there are any: lists do so by themselves.
    """
    if headline.judgement == "closed_book":
        return link_rate(run_id, METRIC_OF["closed_book"])
    corrected = headline.basis == "corrected"
    chosen = {} if corrected else choose_verdict(headline, UNSUPPORTED_WORD)
    return link_claims(run=run_id, **(chosen or {"verdict": UNSUPPORTED_WORD}))


def link_row(report: Report, row: Estimate, series: str | None) -> str:
    """Return where a rate of a report leads, overall or of a group."""
    run_id = report.run.get("run_id") or ""
    member = form.member_of(row, series)
    group = {name: value for name, value in row.slice.items() if name != series}
    if row.metric == METRIC_OF["grounded"] and not group:
        return link_headline(run_id, report.headline)
    verdicts = {METRIC_OF["grounded"]: UNSUPPORTED_WORD, "verdict_shares": member}
    if row.metric not in verdicts:
        return link_rate(run_id, row.metric, member, group)
    chosen = choose_verdict(report.headline, verdicts[row.metric])
    found = link_group(run_id, group, **chosen) if group else link_claims(run=run_id, **chosen)
    return found or link_items(run_id, row.metric, member, group)


def link_row_items(report: Report, row: Estimate, series: str | None) -> str:
    """Return where the items are that a rate of a report adds up."""
    group = {name: value for name, value in row.slice.items() if name != series}
    run_id = report.run.get("run_id") or ""
    return link_items(run_id, row.metric, form.member_of(row, series), group)


def link_unscored(report: Report, row: Estimate, series: str | None) -> str:
    """Return where the claims, or else the items, are that a rate of a report could not count."""
    run_id = report.run.get("run_id") or ""
    member = form.member_of(row, series)
    group = {name: value for name, value in row.slice.items() if name != series}
    chosen: dict[str, str | None] = {}
    if row.metric == METRIC_OF["closed_book"]:
        chosen = {"verdict": UNSCORED, "basis": "closed_book"}
    elif row.metric in (METRIC_OF["grounded"], "verdict_shares"):
        chosen = choose_verdict(report.headline, UNSCORED)
    found = None
    if chosen:
        found = link_group(run_id, group, **chosen) if group else link_claims(run=run_id, **chosen)
    return found or f"{link_items(run_id, row.metric, member, group)}&show=unscored"


def choose_verdict(headline: Headline, verdict: str | None) -> dict[str, str | None]:
    """Return how a link chooses claims with a verdict, by the labels that a run's rates count.

    Where people's labels correct the one rate, the others count a judge's verdicts alone. Where
    people labelled nearly all claims, what a judge says of the rest does not count.
    """
    _, _, judge = headline.labels.partition("labeler:")
    if headline.basis == "corrected" and judge:
        return {"by": judge, "said": verdict}
    if headline.basis == "people" and headline.unscored:
        if verdict == UNSCORED:
            return {"decided": "no_people"}
        return {"verdict": verdict, "decided": "people"}
    return {"verdict": verdict}
