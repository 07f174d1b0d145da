"""The page that shows how far people agree, and leads from a disagreement to the rule behind it."""

from __future__ import annotations

from collections import Counter
from math import ceil
from typing import Any, Final, NamedTuple
from urllib.parse import quote

from msgspec.structs import replace

from claimwise.agreement.people import USABLE, advise_on, measure_people
from claimwise.agreement.report import (
    MATRIX_TITLE,
    READING,
    describe_advice,
    describe_pair_basis,
    list_tables,
    name_pair,
)
from claimwise.agreement.rules import make_rule_finder
from claimwise.agreement.values import Agreement, DisputedClaim, VerdictPair
from claimwise.app.charts import Point, draw_forest
from claimwise.app.figures import Wanted, read_figures
from claimwise.app.links import link_claim
from claimwise.app.requests import Call, PageRoute, Refusal, Response
from claimwise.errors import MetricError
from claimwise.labelling.guide import find_guide, show_rules
from claimwise.metrics import refuse_unknown_run
from claimwise.report.format import name_in_words, show_count
from claimwise.store import Store
from claimwise.store.runs import list_run_ids
from claimwise.types.rows import Judgement
from claimwise.types.verdicts import CHOICES

_MOST_CLAIMS: Final = 20  # of each pair of verdicts


class _Dispute(NamedTuple):
    """A claim that people differ on, as the page shows it: who said what stays hidden."""

    item_id: str
    claim_text: str
    link: str
    said: list[str]
    decided: str | None
    adjudicate: str | None  # where to decide it


class _Pair(NamedTuple):
    """Two verdicts that were given to the same claims."""

    name: str
    anchor: str
    claim_count: int
    rules: list[dict[str, str]]
    guide_version: str | None
    claims: list[_Dispute]
    more: int


class _Cell(NamedTuple):
    """A cell of the table of verdict pairs; ``heat`` runs from 0 to 5."""

    text: str
    heat: int
    agrees: bool
    link: str | None  # to the claims on which people differ this way


def choose_agreement(call: Call) -> Response:
    """Lead to the run that was chosen, or to the latest one; say so where there is none."""
    known = list_run_ids(call.store)
    asked = call.query.get("run", "")
    if not known:
        return call.render("agreement.html", run_id=None)
    return call.redirect(f"/agreement/{quote(asked if asked in known else known[0], safe='')}")


def show_agreement(call: Call) -> Response:
    """Show how far people agree on a run's claims, of one kind of labels or one round."""
    run_id, round_id = call.path["run_id"], call.query.get("round")
    try:
        refuse_unknown_run(call.store, run_id)
    except MetricError as error:
        raise Refusal(404, str(error)) from error
    wanted = _want_page(call, run_id, round_id)
    shown = read_figures(call, [wanted])
    kept = shown.kept.get(wanted.key)
    if kept is None:
        return call.render("agreement.html", run_id=run_id, agreement=None, shown=shown)
    if kept.problem is not None:
        raise Refusal(404 if round_id else 503, kept.problem)
    agreement: Agreement = kept.value
    pairs = [_show_pair(call, pair) for pair in agreement.disagreements]
    if not call.allows("admin"):
        agreement = hide_names(agreement)
    figures = _show_figures(agreement)
    return call.render(
        "agreement.html", run_id=run_id, pairs=pairs, made_at=kept.made_at, shown=shown, **figures
    )


def _want_page(call: Call, run_id: str, round_id: str | None) -> Wanted:
    """Return how to measure what the page shows, names included."""
    judgement: Judgement = (
        "closed_book" if call.query.get("judgement") == "closed_book" else "grounded"
    )
    project = call.project

    def measure(store: Store) -> Agreement:
        with store.snapshot():
            return measure_people(
                store,
                run_id,
                judgement=judgement,
                round_id=round_id,
                by=project.config.metrics.by,
                find_rules=make_rule_finder(store, project.folder),
                cluster=project.settings.cluster,
            )

    return Wanted(("agreement page", run_id, judgement, round_id), run_id, measure)


def hide_names(agreement: Agreement) -> Agreement:
    """Put numbers in the place of people, for those who decide between them."""
    names = {name: f"person {number}" for number, name in enumerate(agreement.labelers, start=1)}
    return replace(
        agreement,
        labelers={names[name]: count for name, count in agreement.labelers.items()},
        pairs=tuple(
            replace(pair, one=names[pair.one], other=names[pair.other]) for pair in agreement.pairs
        ),
        disagreements=tuple(
            replace(pair, claims=tuple(_hide_claim(claim, names) for claim in pair.claims))
            for pair in agreement.disagreements
        ),
    )


def _hide_claim(claim: DisputedClaim, names: dict[str, str]) -> DisputedClaim:
    return replace(claim, labels=tuple((names[name], said) for name, said in claim.labels))


def _show_figures(agreement: Agreement) -> dict[str, Any]:
    figures, *sheets = list_tables(agreement)
    overall = agreement.overall
    named = zip(
        figures.rows,
        (overall.raw, overall.fleiss, overall.alpha, agreement.cohen, overall.ac1),
        strict=True,
    )
    points = [
        Point(name, figure.value, figure.low, figure.high, said=f"{value} ({band})")
        for (name, value, band), figure in named
    ]
    return {
        "agreement": agreement,
        "basis": list(describe_pair_basis(agreement)),
        "advice": advise_on(overall),
        "lines": list(describe_advice(agreement)),
        "figures": figures,
        "forest": draw_forest(
            points, title="Agreement with ranges", reference=USABLE, ends=("0", "1")
        )
        if overall.claims
        else None,
        "sheets": [sheet for sheet in sheets if sheet.title != MATRIX_TITLE],
        "verdicts": [name_in_words(verdict) for verdict in CHOICES[agreement.judgement]],
        "matrix": _show_matrix(agreement),
        "reading": READING,
    }


def _show_matrix(agreement: Agreement) -> list[list[_Cell]]:
    """Return the pairs of labels by verdict; the shade grows with the share of all that differ."""
    matrix = agreement.matrix
    size = range(len(matrix))
    most = max((matrix[a][b] for a in size for b in size if a < b), default=0)

    def make(one: int, other: int) -> _Cell:
        low, high = sorted((one, other))
        count = matrix[low][high]
        differs = one != other and count > 0
        heat = ceil(5 * count / most) if differs else 0
        return _Cell(
            show_count(count), heat, one == other, f"#pair-{low}-{high}" if differs else None
        )

    return [[make(one, other) for other in size] for one in size]


def _show_pair(call: Call, pair: VerdictPair) -> _Pair:
    versions = [claim.guide_version for claim in pair.claims if claim.guide_version]
    version = max(set(versions), key=versions.count) if versions else None
    guide = find_guide(call.store, version, call.project.folder) if version else None
    choices = next(named for named in CHOICES.values() if pair.one in named)
    low, high = sorted((choices.index(pair.one), choices.index(pair.other)))
    return _Pair(
        name=name_pair(pair),
        anchor=f"pair-{low}-{high}",
        claim_count=len(pair.claims),
        rules=show_rules(guide, pair.one, pair.other),
        guide_version=version,
        claims=[_show_claim(claim) for claim in pair.claims[:_MOST_CLAIMS]],
        more=max(0, len(pair.claims) - _MOST_CLAIMS),
    )


def _show_claim(claim: DisputedClaim) -> _Dispute:
    given = Counter(verdict for _, verdict in claim.labels)
    return _Dispute(
        item_id=claim.item_id,
        claim_text=claim.claim_text,
        link=link_claim(claim.run_id, claim.item_id, None, claim.claim_id),
        said=[f"{name_in_words(verdict)} ×{count}" for verdict, count in given.most_common()],
        decided=name_in_words(claim.decided) if claim.decided else None,
        adjudicate=f"/adjudicate/{quote(claim.round_id, safe='')}" if claim.round_id else None,
    )


ROUTES = (
    PageRoute("GET", "/agreement", choose_agreement, "adjudicator"),
    PageRoute("GET", "/agreement/{run_id:path}", show_agreement, "adjudicator"),
)
