"""What people said of the same claims of one run or several, and how far they agree.

What counts: labels that stand, given by people on their own (adjudications don't count), each
person's latest of a claim. Labels by different versions of the guide are never compared with each
other: a claim that was labelled by two versions is two units of one item. So is a claim that two
runs make: each run's claims are units of their own, and an item is one cluster across all runs.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, groupby
from types import MappingProxyType
from typing import Final, Literal, NamedTuple

import numpy as np

from claimwise.agreement.coefficients import (
    MISSING,
    Ratings,
    count_pairs,
    measure_ac1,
    measure_alpha,
    measure_category,
    measure_cohen,
    measure_fleiss,
    measure_pairs,
    measure_raw,
    measure_same,
    rate_units,
)
from claimwise.agreement.values import (
    Agreement,
    AgreementFigures,
    DisputedClaim,
    Figure,
    PairFigures,
    SliceFigures,
    VerdictFigures,
    VerdictPair,
)
from claimwise.errors import MetricError, describe_unknown
from claimwise.metrics.clusters import map_clusters
from claimwise.metrics.counting import SliceKey, write_slice
from claimwise.metrics.estimate import refuse_unknown_run
from claimwise.metrics.intervals import simultaneous_confidence
from claimwise.store import Store
from claimwise.store.files import SqlFolder
from claimwise.types.rows import Judgement
from claimwise.types.verdicts import CHOICES

_SQL = SqlFolder("claimwise.agreement")
USABLE: Final = 0.6
STRONG: Final = 0.8
_HIGH_RAW: Final = 0.85
_GUIDE = "guide_version"
_OWN_COLUMNS: Final = ("claim_type", _GUIDE)
NO_GUIDE: Final = "none"

ClaimKey = tuple[str, str, str]  # run, item, claim

Advice = Literal["unknown", "too few shared claims", "fix the guide", "usable", "strong"]
FindRules = Callable[[str, str, str], Sequence[str]]
"""Returns the rules by which a version of the guide decides between two verdicts."""


class _Told(NamedTuple):
    """One person's label, as the database returns it."""

    run_id: str
    item_id: str
    claim_id: str
    claim_text: str
    labeler: str
    verdict: str
    guide_version: str | None
    inclusion_probability: float | None
    key: SliceKey


@dataclass(frozen=True, kw_only=True, slots=True)
class _Unit:
    """A claim with the labels that people gave it by one version of the guide."""

    run_id: str
    item_id: str
    claim_id: str
    claim_text: str
    guide_version: str | None
    key: SliceKey
    labels: dict[str, str]  # labeler to verdict

    @property
    def place(self) -> ClaimKey:
        """The claim."""
        return self.run_id, self.item_id, self.claim_id


def advise_on(figures: AgreementFigures) -> Advice:
    """Say what a kappa is good for, by its interval.

    Below 0.6 people read the guide differently often enough to change what is measured with their
    labels: the guide comes first. From 0.8 on little is left to gain. An interval that holds 0.6
    can't say which of both it is: more shared claims would. A kappa without an interval says
    nothing.
    """
    low, high = figures.fleiss.low, figures.fleiss.high
    if low is None or high is None:
        return "unknown"
    if low < USABLE:
        return "fix the guide" if high < USABLE else "too few shared claims"
    return "usable" if low < STRONG else "strong"


def is_prevalence_trap(figures: AgreementFigures) -> bool:
    """Tell whether kappa may be low although people agree: one verdict is given nearly always.

    Then raw agreement is high and AC1, which does not suffer from it, too.

    Reference: Feinstein & Cicchetti (1990), Journal of Clinical Epidemiology 43, 543-549.
    """
    raw, ac1 = figures.raw.value, figures.ac1.value
    low = advise_on(figures) in ("fix the guide", "too few shared claims")
    return low and raw is not None and ac1 is not None and raw >= _HIGH_RAW and ac1 >= STRONG


def measure_people(
    store: Store,
    run_id: str | Sequence[str],
    *,
    judgement: Judgement = "grounded",
    round_id: str | None = None,
    by: Sequence[str] = (),
    confidence: float = 0.95,
    find_rules: FindRules | None = None,
    cluster: str | None = None,
) -> Agreement:
    """Measure how far people agree on claims of runs, overall, by verdict, pair and slice.

    Slices are each column of ``by`` alone and, of several, their combinations; the version of
    the guide is added when there are several. The lowest kappa comes first.

    Args:
        store: where the labels are.
        run_id: the run, or several whose claims are taken together.
        judgement: whether claims were judged against sources or without.
        round_id: only claims that this round asked for.
        by: columns of items, runs or attributes, ``claim_type`` or ``guide_version``.
        confidence: of the intervals.
        find_rules: the rules of a version of the guide for two verdicts.
        cluster: what items belong to that are not independent (`map_clusters`); it then is the
            unit of the intervals.

    Raises:
        MetricError: the run, the round or a column is unknown.
    """
    runs = (run_id,) if isinstance(run_id, str) else tuple(dict.fromkeys(run_id))
    for one_run in runs:
        refuse_unknown_run(store, one_run)
    by = tuple(dict.fromkeys(by))
    rounds = _read_rounds(store, runs, judgement)
    columns = by if _GUIDE in by else (*by, _GUIDE)
    told = [one for run in runs for one in _read_labels(store, run, judgement, columns)]
    if round_id is not None:
        _check_round(rounds, runs, round_id)
        told = [one for one in told if round_id in rounds[one.run_id, one.item_id, one.claim_id]]
    units = _gather_units(told)
    table = _Table(units, CHOICES[judgement], map_clusters(store, runs, cluster))
    guides = Counter(one.guide_version or NO_GUIDE for one in told)
    sliced = columns if len(guides) > 1 else by
    several = {unit.place for unit in units if len(unit.labels) > 1}
    return Agreement(
        run_id=", ".join(runs),
        runs=runs,
        judgement=judgement,
        round_id=round_id,
        confidence=confidence,
        labelers=dict(sorted(Counter(one.labeler for one in told).items())),
        guides=dict(sorted(guides.items())),
        one_label=len({unit.place for unit in units} - several),
        several_labels=len(several),
        overall=measure_figures(table.rate(), confidence),
        cohen=measure_cohen(table.rate(), confidence),
        verdicts=_measure_verdicts(table, confidence),
        pairs=_measure_pairs(table, confidence),
        matrix=tuple(tuple(row) for row in count_pairs(table.rate()).tolist()),
        by=sliced,
        slices=_measure_slices(table, columns, sliced, confidence),
        disagreements=_group_disputes(
            table, rounds, _read_decided(store, runs, judgement), find_rules
        ),
        warnings=tuple(_find_warnings(told, units)),
        cluster=cluster,
    )


def measure_figures(ratings: Ratings, confidence: float = 0.95) -> AgreementFigures:
    """Measure everything that is said of a set of claims."""
    return AgreementFigures(
        claims=len(ratings.labels),
        items=ratings.item_count,
        raw=measure_raw(ratings, confidence),
        fleiss=measure_fleiss(ratings, confidence),
        alpha=measure_alpha(ratings, confidence),
        ac1=measure_ac1(ratings, confidence),
    )


class _Table:
    """The labels of units: a line for each unit, a column for each person."""

    def __init__(
        self,
        units: Sequence[_Unit],
        verdicts: tuple[str, ...],
        clusters: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.units = units
        self.verdicts = verdicts
        self.people = sorted({labeler for unit in units for labeler in unit.labels})
        self._items = np.array(
            [clusters.get(unit.item_id, unit.item_id) for unit in units], dtype=str
        )
        self._labels = np.full((len(units), len(self.people)), MISSING)
        columns = {name: number for number, name in enumerate(self.people)}
        for row, unit in zip(self._labels, units, strict=True):
            for labeler, verdict in unit.labels.items():
                row[columns[labeler]] = verdicts.index(verdict)

    def rate(self, rows: Sequence[int] | None = None) -> Ratings:
        """Return the labels of some units; else of all."""
        kept = slice(None) if rows is None else rows
        return rate_units(self._labels[kept], self._items[kept], len(self.verdicts))


def _measure_verdicts(table: _Table, confidence: float) -> tuple[VerdictFigures, ...]:
    """Measure each verdict against the others, in their usual order."""
    ratings = table.rate()
    given = ratings.counts.sum(axis=0)
    total = float(given.sum())
    return tuple(
        VerdictFigures(
            verdict=verdict,
            labels=int(given[number]),
            prevalence=float(given[number]) / total if total else None,
            kappa=measure_category(ratings, number, confidence),
            same=measure_same(ratings, number, confidence),
        )
        for number, verdict in enumerate(table.verdicts)
    )


def _measure_pairs(table: _Table, confidence: float) -> tuple[PairFigures, ...]:
    """Measure each two people who share claims, the lowest kappa first."""
    found = [
        PairFigures(
            one=table.people[pair.one],
            other=table.people[pair.other],
            claims=pair.units,
            items=pair.items,
            raw=pair.raw,
            kappa=pair.kappa,
        )
        for pair in measure_pairs(table.rate(), confidence)
    ]
    return tuple(sorted(found, key=lambda pair: _rank(pair.kappa)))


def _measure_slices(
    table: _Table, columns: tuple[str, ...], by: tuple[str, ...], confidence: float
) -> tuple[SliceFigures, ...]:
    """Measure the slices by each column and by all together, the lowest kappa first.

    A slice stands out when its interval, widened so that those of all slices hold together, lies
    below the kappa of the whole.
    """
    groupings = [(name,) for name in by] + ([by] if len(by) > 1 else [])
    slices: dict[tuple[tuple[str, str | None], ...], list[int]] = defaultdict(list)
    for names in groupings:
        places = [columns.index(name) for name in names]
        for row, unit in enumerate(table.units):
            if len(unit.labels) > 1:
                values = (unit.key[place] for place in places)
                slices[tuple(zip(names, values, strict=True))].append(row)
    whole = measure_fleiss(table.rate(), confidence).value
    together = simultaneous_confidence(confidence, max(1, len(slices)))
    found = []
    for chosen, rows in slices.items():
        ratings = table.rate(rows)
        high = measure_fleiss(ratings, together).high
        found.append(
            SliceFigures(
                slice=dict(chosen),
                figures=measure_figures(ratings, confidence),
                stands_out=whole is not None and high is not None and high < whole,
            )
        )
    return tuple(sorted(found, key=lambda one: _rank(one.figures.fleiss)))


def _rank(figure: Figure) -> tuple[bool, float]:
    """Sort key: the lowest first, the unknown last."""
    return figure.value is None, figure.value or 0.0


def _read_labels(
    store: Store, run_id: str, judgement: Judgement, by: Sequence[str]
) -> Iterator[_Told]:
    """Yield each person's latest label of each claim."""
    sql = _SQL[judgement]
    joins: list[str] = []
    slices = [write_slice(store, name, list(_OWN_COLUMNS), joins) for name in by]
    rows = store.query(
        f"select m.cluster_id, m.claim_id, m.claim_text, m.labeler, m.verdict, m.guide_version, "
        f"m.inclusion_probability, {', '.join(slices)} from (\n{sql}\n) as m {' '.join(joins)} "
        "order by m.cluster_id, m.claim_id, m.labeler, m.labeled_at",
        {"run_id": run_id},
    )
    for _, same in groupby(rows, key=lambda row: (row[0], row[1], row[3])):
        *_, latest = same
        yield _Told._make((run_id, *latest[:7], tuple(latest[7:])))


def _read_decided(store: Store, runs: Sequence[str], judgement: Judgement) -> dict[ClaimKey, str]:
    """Return what was adjudicated."""
    view, column = (
        ("deciding_labels", "verdict")
        if judgement == "grounded"
        else ("deciding_closed_book_labels", "label")
    )
    return {
        (run_id, item_id, claim_id): verdict
        for run_id in runs
        for item_id, claim_id, verdict in store.query(
            f"select item_id, claim_id, {column} from {view} "
            "where run_id = :run_id and label_kind = 'adjudicated'",
            {"run_id": run_id},
        )
    }


def _read_rounds(
    store: Store, runs: Sequence[str], judgement: Judgement
) -> defaultdict[ClaimKey, list[str]]:
    """Return the rounds that ask for each claim, the latest last; Parquet files hold none."""
    found: defaultdict[ClaimKey, list[str]] = defaultdict(list)
    if store.schema_version is not None:
        for run_id in runs:
            params = {"run_id": run_id, "judgement": judgement}
            for item_id, claim_id, round_id in store.query(_SQL["asked"], params):
                found[run_id, item_id, claim_id].append(round_id)
    return found


def _check_round(
    rounds: Mapping[ClaimKey, Sequence[str]], runs: Sequence[str], round_id: str
) -> None:
    known = sorted({one for asked in rounds.values() for one in asked})
    if round_id not in known:
        where = f"run {', '.join(map(repr, runs))}"
        raise MetricError(describe_unknown("round", round_id, known, where=where))


def _gather_units(told: Iterable[_Told]) -> list[_Unit]:
    units: dict[tuple[str, str, str, str | None], _Unit] = {}
    for one in told:
        place = (one.run_id, one.item_id, one.claim_id, one.guide_version)
        if place not in units:
            units[place] = _Unit(
                run_id=one.run_id,
                item_id=one.item_id,
                claim_id=one.claim_id,
                claim_text=one.claim_text,
                guide_version=one.guide_version,
                key=one.key,
                labels={},
            )
        units[place].labels[one.labeler] = one.verdict
    return list(units.values())


def _group_disputes(
    table: _Table,
    rounds: Mapping[ClaimKey, Sequence[str]],
    decided: Mapping[ClaimKey, str],
    find_rules: FindRules | None,
) -> tuple[VerdictPair, ...]:
    """Group the claims that people differ on by pairs of verdicts, the most frequent first."""
    pairs: dict[tuple[str, str], list[DisputedClaim]] = defaultdict(list)
    for unit in table.units:
        given = [verdict for verdict in table.verdicts if verdict in unit.labels.values()]
        place = unit.place
        for pair in combinations(given, 2):
            pairs[pair].append(
                DisputedClaim(
                    run_id=unit.run_id,
                    item_id=unit.item_id,
                    claim_id=unit.claim_id,
                    claim_text=unit.claim_text,
                    labels=tuple(sorted(unit.labels.items())),
                    guide_version=unit.guide_version,
                    decided=decided.get(place),
                    round_id=rounds[place][-1] if rounds.get(place) else None,
                )
            )
    ordered = sorted(pairs.items(), key=lambda found: (-len(found[1]), found[0]))
    return tuple(
        VerdictPair(
            one=one,
            other=other,
            claims=tuple(claims),
            rules=_name_rules(find_rules, one, other, claims),
        )
        for (one, other), claims in ordered
    )


def _name_rules(
    find_rules: FindRules | None, one: str, other: str, claims: Sequence[DisputedClaim]
) -> tuple[str, ...]:
    """Return the rules for two verdicts, of the guide by which most of the claims were labelled."""
    guides = Counter(claim.guide_version for claim in claims if claim.guide_version is not None)
    if find_rules is None or not guides:
        return ()
    return tuple(find_rules(guides.most_common(1)[0][0], one, other))


def _find_warnings(told: Sequence[_Told], units: Sequence[_Unit]) -> Iterator[str]:
    guides = sorted({one.guide_version or NO_GUIDE for one in told})
    if len(guides) > 1:
        versions = Counter(unit.place for unit in units)
        mixed = sum(count > 1 for count in versions.values())
        yield (
            f"Labels were given by {len(guides)} versions of the guide ({', '.join(guides)}). Only "
            f"labels by the same version are compared. Claims with labels by several: {mixed:,}."
        )
    chances = {one.inclusion_probability for one in told if one.inclusion_probability is not None}
    if len(chances) > 1:
        yield (
            "Claims were drawn with unequal chances: figures are of the claims that were drawn, "
            "not of the whole run."
        )
