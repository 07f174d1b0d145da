"""The pages of calibrations: how far each judge is trusted, why, and until when."""

from __future__ import annotations

from itertools import groupby
from typing import Any, Final, NamedTuple
from urllib.parse import quote

from claimwise.app.charts import ConfidenceBin, Point, draw_forest, draw_reliability
from claimwise.app.links import link_claims, link_group
from claimwise.app.requests import Call, PageRoute, Refusal, Response
from claimwise.calibration.calibrate import calibrate_verifier
from claimwise.calibration.correction_text import show_coefficient, show_share
from claimwise.calibration.queries import list_calibrations, list_measurable, read_calibration
from claimwise.calibration.report import (
    READING,
    describe_baseline,
    describe_calibration_basis,
    describe_map,
    describe_people,
    describe_rule,
    describe_threshold,
    tabulate_bins,
    tabulate_figures,
    tabulate_matrix,
    tabulate_verdicts,
)
from claimwise.calibration.values import Calibration, CalibrationStatus
from claimwise.errors import ClaimwiseError, StoreBusyError, StoreReplacedError
from claimwise.report.changes import name_slice
from claimwise.report.format import clean, show_count
from claimwise.types.rows import Judgement

_JUDGEMENTS: Final[tuple[Judgement, ...]] = ("grounded", "closed_book")
_SAID: Final[dict[Judgement, str]] = {
    "grounded": "against sources", "closed_book": "without sources"
}  # fmt: skip


class _Row(NamedTuple):
    """One calibration in a list."""

    link: str
    slice: str
    standing: CalibrationStatus
    until: str
    balanced: str
    kappa: str
    people: str
    claims: str
    claims_link: str
    reason: str


class _Group(NamedTuple):
    """The calibrations of one judge: the overall one first, then its groups, worst first."""

    labeler: str
    judgement: str
    made_at: str
    rows: list[_Row]


def show_calibrations(call: Call) -> Response:
    """Show how far every judge is trusted, and the form that calibrates one."""
    return _show(call)


def make_calibration(call: Call) -> Response:
    """Calibrate a judge; what is wrong is said above the form."""
    judgement = call.form.get("judgement", "grounded")
    if judgement not in _JUDGEMENTS:
        raise Refusal(400, "Unknown kind of verdicts.")
    name = call.form.get("verifier", "")
    kind: Judgement = "closed_book" if judgement == "closed_book" else "grounded"
    if name not in list_measurable(call.store, kind):
        return _show(call, problem=f"No claim has labels of people and of {clean(name) or 'it'}.")
    try:
        found = calibrate_verifier(
            call.store,
            name,
            now=call.now,
            judgement=kind,
            cluster=call.project.settings.cluster,
        )
    except (StoreBusyError, StoreReplacedError):
        raise
    except ClaimwiseError as error:
        return _show(call, problem=str(error))
    call.audit("calibrated", subject=name, detail=found.overall.status)
    return call.redirect(f"/calibrations/{found.overall.calibration_id}")


def show_calibration(call: Call) -> Response:
    """Show one calibration: figures, tables, and confidence against accuracy."""
    found = read_calibration(call.store, call.path["calibration_id"])
    if found is None:
        raise Refusal(404, "There is no such calibration.")
    standing = found.stand(call.now)
    current = {one.calibration_id for one in list_calibrations(call.store)}
    return call.render(
        "calibration.html",
        one=found,
        labeler=clean(found.labeler),
        where=name_slice(found.slice),
        said=_SAID[found.judgement],
        standing=standing,
        colour=_colour(standing),
        until=found.expires_at.date().isoformat(),
        superseded=found.calibration_id not in current,
        basis=describe_calibration_basis(found),
        baseline=describe_baseline(found),
        lines=[describe_map(found.fit), *map(describe_threshold, found.thresholds)],
        reading=READING,
        rule=describe_rule(found),
        **_draw(found),
    )


def _show(call: Call, problem: str | None = None) -> Response:
    known = list_calibrations(call.store)
    groups = [
        _group(call, list(rows))
        for _, rows in groupby(known, key=lambda one: (one.labeler, one.judgement))
    ]
    offers = [
        (judgement, _SAID[judgement], name)
        for judgement in _JUDGEMENTS
        for name in list_measurable(call.store, judgement)
    ]
    return call.render(
        "calibrations.html",
        status=400 if problem else 200,
        groups=groups,
        offers=offers,
        problem=problem,
        colour=_colour,
    )


def _group(call: Call, rows: list[Calibration]) -> _Group:
    rows.sort(key=_badness)
    first = rows[0]
    return _Group(
        labeler=clean(first.labeler),
        judgement=_SAID[first.judgement],
        made_at=first.made_at.date().isoformat(),
        rows=[_row(call, one) for one in rows],
    )


def _badness(one: Calibration) -> tuple[bool, bool, float]:
    value = one.balanced_accuracy.value
    return bool(one.slice), value is None, value or 0.0


def _row(call: Call, one: Calibration) -> _Row:
    return _Row(
        link=f"/calibrations/{quote(one.calibration_id, safe='')}",
        slice=name_slice(one.slice),
        standing=one.stand(call.now),
        until=one.expires_at.date().isoformat(),
        balanced=show_share(one.balanced_accuracy),
        kappa=show_coefficient(one.kappa),
        people=show_coefficient(one.people.kappa),
        claims=show_count(one.claims),
        claims_link=_link(one),
        reason=clean(one.reason),
    )


def _colour(standing: CalibrationStatus) -> str:
    return {"trusted": "good", "not trusted": "bad"}.get(standing, "warn")


def _draw(one: Calibration) -> dict[str, Any]:
    """Return the charts of a calibration, and the tables that they are pictures of."""
    bins = [
        ConfidenceBin(
            bin_.mean_score, bin_.observed.value, bin_.observed.low, bin_.observed.high,
            bin_.claims, _link(one, score=f"{bin_.low:.1f}-{bin_.high:.1f}"),
        )
        for bin_ in one.bins
    ]  # fmt: skip
    people = one.people
    kappas = [
        _to_point("people among themselves", people.kappa),
        _to_point("the judge with each of them", people.instrument_kappa),
    ]
    return {
        "reliability": draw_reliability(bins, title="Confidence vs. accuracy") if bins else None,
        "bins": tabulate_bins(one),
        "bin_links": [[None, bin_.link] for bin_ in bins],
        "kappas": draw_forest(kappas, title="Kappa on the same claims", ends=("0", "1"))
        if people.claims
        else None,
        "people": describe_people(one),
        "figures": tabulate_figures(one),
        "verdicts": tabulate_verdicts(one),
        "verdict_links": [
            [None, _link(one, said=row.verdict), _link(one, verdict=row.verdict)]
            for row in one.verdicts
        ],
        "matrix": tabulate_matrix(one),
        "matrix_links": [
            [None, *(_link(one, said=said, verdict=told) if count else None
                     for told, count in given.items())]
            for said, given in one.matrix.items()
        ],
    }  # fmt: skip


def _link(one: Calibration, **chosen: str) -> str:
    """Return a link to the claims of a calibration, which people and the judge labelled."""
    basis = "closed_book" if one.judgement == "closed_book" else None
    run_id = one.runs[0] if len(one.runs) == 1 else ""
    fields = {"by": one.labeler, "decided": "people", "basis": basis, **chosen}
    return link_group(run_id, one.slice, **fields) or link_claims(run=run_id, **fields)


def _to_point(name: str, figure: Any) -> Point:
    """Return a kappa as a mark of a chart: a figure, and no share of anything."""
    return Point(name, figure.value, figure.low, figure.high, said=show_coefficient(figure))


ROUTES = (
    PageRoute("GET", "/calibrations", show_calibrations, "adjudicator"),
    PageRoute("POST", "/calibrations", make_calibration, "adjudicator"),
    PageRoute("GET", "/calibrations/{calibration_id}", show_calibration, "adjudicator"),
)
