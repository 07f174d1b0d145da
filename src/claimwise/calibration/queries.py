"""Reads what an instrument is calibrated on, and keeps what came of it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import Any, NamedTuple

import msgspec

from claimwise.calibration.values import OVERALL, Calibration, JudgedClaim
from claimwise.errors import MetricError, StoreError, describe_unknown
from claimwise.store.files import SqlFolder
from claimwise.store.store import Store
from claimwise.types.rows import Item, Judgement

_SQL = SqlFolder("claimwise.calibration")

_MOST_LISTED = 20
_BOOLEANS = ("answerable",)
Key = tuple[str, str, str]  # run, item, claim
PEOPLE = ""  # no labeler has this name


class RegisteredJudge(NamedTuple):
    """A verifier or judge as it is registered."""

    labeler: str
    prompt_ver: str | None
    model: str | None


class LabelledClaims(NamedTuple):
    """What people labelled, as far as an instrument judged it."""

    judged: list[JudgedClaim]
    unscored: dict[Key, str]  # it was asked and could not judge; the item of each
    unjudged: dict[Key, str]  # it was never asked
    labelled_at: dict[Key, datetime]
    waiting: Mapping[Key, str] = MappingProxyType({})  # of a round that is not far enough to count


class DrawnRound(NamedTuple):
    """A round as an estimate needs it."""

    round_id: str
    run_id: str
    labeler: str | None
    created_at: datetime
    strata: dict[str, int]  # claims of the run by stratum
    chosen: dict[str, int]  # how many of them were drawn


class RoundSample(NamedTuple):
    """A round as a sample of its run: what was drawn from, and what people have labelled in it."""

    run_id: str
    strata: dict[str, int]  # claims that could be drawn, by stratum
    labelled: dict[tuple[str, str], str]  # item and claim -> stratum
    left_out: tuple[tuple[str, str], ...]  # labelled before, and therefore in no stratum


class GivenScore(NamedTuple):
    """Verdicts of an instrument in one domain with about the same confidence."""

    domain: str | None
    verdict: str
    confidence: float | None
    verdicts: int


class ScoredLabel(NamedTuple):
    """A label of an instrument that says how sure it is."""

    item_id: str
    claim_id: str
    labeled_at: datetime
    verdict: str
    confidence: float
    domain: str | None


def find_registered_judge(store: Store, name: str) -> RegisteredJudge:
    """Return the instrument that a name, or an unambiguous part of one, means.

    Raises:
        MetricError: there is none, or there are several; lists them.
    """
    rows = store.query(
        "select labeler, prompt_ver, model from labelers where labeler_kind = 'verifier' "
        "order by labeler"
    )
    known = [RegisteredJudge(*row) for row in rows]
    exact = [one for one in known if one.labeler == name]
    found = exact or [one for one in known if name and name in one.labeler]
    if len(found) == 1:
        return found[0]
    if found:
        listed = ", ".join(one.labeler for one in found[:_MOST_LISTED])
        raise MetricError(f"{len(found)} judges match {name!r}: {listed}. Name one of them.")
    advice = "" if known else "Run `claimwise verify` first."
    raise MetricError(
        describe_unknown("judge", name, (one.labeler for one in known), advice=advice)
    )


def list_measurable(store: Store, judgement: Judgement) -> list[str]:
    """Return the instruments that judged a claim which people labelled too."""
    return [row[0] for row in store.query(_SQL.for_judgement("measurable", judgement))]


def list_baselines(store: Store) -> list[str]:
    """Return the word-overlap verifiers that the store knows, the latest version first."""
    rows = store.query("select labeler from labelers where labeler like 'verifier:overlap%'")
    return sorted((row[0] for row in rows), reverse=True)


def read_judged(
    store: Store, labeler: str, judgement: Judgement, runs: Sequence[str] = ()
) -> LabelledClaims:
    """Return every claim that people labelled, with what an instrument said of it.

    Of people's labels the deciding one counts; of the instrument's the latest. Labels that were
    taken back count for nothing. ``runs`` narrows; none is all runs. `PEOPLE` in place of a judge
    says of every claim what people say.
    """
    chosen = frozenset(runs)
    params = {"labeler": labeler, "judgement": judgement}
    ratings = _read_ratings(store, judgement)
    found = LabelledClaims([], {}, {}, {})
    for row in store.query(_SQL.for_judgement("pairs", judgement), params):
        run_id, item_id, claim_id, told, kind, at, probability, said, confidence, failed = row
        if chosen and run_id not in chosen:
            continue
        key = (run_id, item_id, claim_id)
        found.labelled_at[key] = msgspec.convert(at, datetime, strict=False)
        if said is None and labeler != PEOPLE:
            (found.unscored if failed else found.unjudged)[key] = item_id
            continue
        said_by = ratings.get(key, ())
        found.judged.append(
            JudgedClaim(
                run_id=run_id,
                item_id=item_id,
                claim_id=claim_id,
                said=told if said is None else said,
                told=told,
                confidence=confidence,
                inclusion_probability=probability,
                ratings=said_by,
                contested=kind == "human" and len(set(said_by)) > 1,
            )
        )
    return found


def _read_ratings(store: Store, judgement: Judgement) -> dict[Key, tuple[str, ...]]:
    """Return what people said of claims that several of them labelled by one version of the guide.

    Where several versions did, the one with most labels: people are not compared across versions.
    """
    given: dict[Key, dict[str | None, list[str]]] = defaultdict(lambda: defaultdict(list))
    for run_id, item_id, claim_id, guide, verdict in store.query(
        _SQL.for_judgement("ratings", judgement)
    ):
        given[run_id, item_id, claim_id][guide].append(verdict)
    most = {key: max(by_guide.values(), key=len) for key, by_guide in given.items()}
    return {key: tuple(said) for key, said in most.items() if len(said) > 1}


def read_slices(store: Store, by: Sequence[str]) -> dict[str, dict[str, str | None]]:
    """Return the values of slice columns by item; columns of items and attributes will do.

    Raises:
        MetricError: there is no such column.
    """
    attributes = {row[0] for row in store.query("select distinct name from item_attributes")}
    own = [name for name in by if name in Item.__struct_fields__]
    unknown = [name for name in by if name not in own and name not in attributes]
    if unknown:
        known = sorted({*Item.__struct_fields__, *attributes})
        raise MetricError(describe_unknown("column", unknown[0], known))
    columns = ", ".join(["item_id", *(_as_text(name) for name in own)])
    found: dict[str, dict[str, str | None]] = {}
    for item_id, *values in store.query(f"select {columns} from eval_items"):
        found[item_id] = {**dict.fromkeys(by), **dict(zip(own, values, strict=True))}
    for name in by:
        if name not in own:
            sql = "select item_id, value from item_attributes where name = :name"
            for item_id, value in store.query(sql, {"name": name}):
                found[item_id][name] = value
    return found


def _as_text(name: str) -> str:
    if name in _BOOLEANS:
        return f"case when {name} then 'true' when not {name} then 'false' end"
    return f"cast({name} as text)"


def read_all_domains(store: Store) -> dict[str, str | None]:
    """Return the subject area of every item."""
    return dict(store.query("select item_id, domain from eval_items"))


def list_rounds_of(store: Store, run_id: str, judgement: Judgement) -> list[DrawnRound]:
    """Return the rounds that were drawn from a run alone, the latest first, with their strata.

    Rounds over a window of traffic are samples of several runs. Exported files hold none.
    """
    if store.schema_version is None:
        return []
    rows = store.query(
        "select r.round_id, r.strata_by, r.created_at, s.stratum, s.claims, s.chosen "
        "from annotation_rounds as r join annotation_strata as s on s.round_id = r.round_id "
        "where r.run_id = :run_id and r.judgement = :judgement and not exists "
        "(select 1 from annotation_round_runs as w where w.round_id = r.round_id) "
        "order by r.created_at desc, r.round_id, s.stratum",
        {"run_id": run_id, "judgement": judgement},
    )
    found: dict[str, DrawnRound] = {}
    for round_id, labeler, created_at, stratum, claims, chosen in rows:
        at = msgspec.convert(created_at, datetime, strict=False)
        drawn = found.setdefault(round_id, DrawnRound(round_id, run_id, labeler, at, {}, {}))
        drawn.strata[stratum], drawn.chosen[stratum] = claims, chosen
    return list(found.values())


def read_samples(store: Store, judgement: Judgement) -> list[RoundSample]:
    """Return all rounds in which people have labelled a claim, as samples of their runs.

    Exported files hold no rounds.
    """
    if store.schema_version is None:
        return []
    runs = store.query(
        "select distinct run_id from annotation_rounds where judgement = :judgement "
        "order by run_id",
        {"judgement": judgement},
    )
    rounds = [drawn for row in runs for drawn in list_rounds_of(store, row[0], judgement)]
    samples = [read_sample(store, drawn, judgement) for drawn in rounds]
    return [sample for sample in samples if sample.labelled]


def read_sample(store: Store, drawn: DrawnRound, judgement: Judgement) -> RoundSample:
    """Return a round as a sample: the claims that people labelled in it, and those left out."""
    rows = store.query(_SQL.for_judgement("drawn", judgement), {"round_id": drawn.round_id})
    labelled = {(item_id, claim_id): stratum for item_id, claim_id, stratum in rows}
    return RoundSample(
        drawn.run_id, drawn.strata, labelled, _list_left_out(store, drawn, judgement)
    )


def _list_left_out(
    store: Store, drawn: DrawnRound, judgement: Judgement
) -> tuple[tuple[str, str], ...]:
    """Return the claims that a round left out because they had a label.

    There are as many as its strata don't hold: none where it drew labelled claims too. Labels that
    were imported later, with an earlier date, may seem to be more: the earliest count.
    """
    params = {"run_id": drawn.run_id, "round_id": drawn.round_id, "created_at": drawn.created_at}
    found = tuple(
        (row[0], row[1]) for row in store.query(_SQL.for_judgement("left_out", judgement), params)
    )
    asked = store.query(
        "select count(*) from claims where run_id = :run_id and claim_type <> 'non_factual'", params
    )[0][0]
    return found[: max(0, asked - sum(drawn.strata.values()))]


def read_verdict_pairs(
    store: Store, run_id: str, labeler: str, judgement: Judgement
) -> dict[tuple[str, str], tuple[str, str | None]]:
    """Return what people decided of a run's claims, and what an instrument says; by item, claim."""
    rows = store.query(
        _SQL.for_judgement("told", judgement), {"run_id": run_id, "labeler": labeler}
    )
    return {(item_id, claim_id): (told, said) for item_id, claim_id, told, said in rows}


def count_verdicts_by_item(
    store: Store, run_id: str, labeler: str, judgement: Judgement
) -> dict[str, dict[str | None, int]]:
    """Return an instrument's verdicts on a run's claims; None counts claims without one."""
    found: dict[str, dict[str | None, int]] = defaultdict(dict)
    params = {"run_id": run_id, "labeler": labeler}
    for item_id, verdict, count in store.query(
        _SQL.for_judgement("run_verdicts", judgement), params
    ):
        found[item_id][verdict] = count
    return dict(found)


def read_scores(store: Store, run_id: str, labeler: str) -> list[GivenScore]:
    """Return how sure an instrument is of its grounded verdicts on a run, counted."""
    rows = store.query(_SQL.for_judgement("scores"), {"run_id": run_id, "labeler": labeler})
    return [GivenScore(*row) for row in rows]


def read_given(store: Store, run_id: str, labeler: str) -> list[ScoredLabel]:
    """Return an instrument's grounded labels on a run, as far as they have a confidence."""
    rows = store.query(_SQL.for_judgement("given"), {"run_id": run_id, "labeler": labeler})
    return [
        ScoredLabel(item, claim, msgspec.convert(at, datetime, strict=False), said, sure, domain)
        for item, claim, at, said, sure, domain in rows
        if sure is not None
    ]


def add_calibrations(store: Store, calibrations: Sequence[Calibration]) -> None:
    """Keep calibrations, all or none; older ones of the instrument no longer stand."""
    sql = _SQL.for_judgement("add")
    store.execute_all((sql, _to_params(one)) for one in calibrations)


def list_calibrations(store: Store) -> list[Calibration]:
    """Return the calibrations that stand, expired ones too: the day is the reader's to compare.

    Of each instrument those that were made last; none when its prompt or model has changed
    since. Exported files hold none.
    """
    if store.schema_version is None:
        return []
    return [_decode(row[0]) for row in store.query(_SQL.for_judgement("latest"))]


def read_calibration(store: Store, calibration_id: str) -> Calibration | None:
    """Return a calibration by its id, superseded ones too."""
    sql = "select detail from calibrations where calibration_id = :calibration_id"
    found = store.query(sql, {"calibration_id": calibration_id})
    return _decode(found[0][0]) if found else None


def name_calibrated_slice(values: Mapping[str, str | None]) -> str:
    """Write a slice: ``domain=law``; all claims are ``overall``."""
    parts = [f"{name}={'(no value)' if value is None else value}" for name, value in values.items()]
    return ", ".join(parts) or OVERALL


def _to_params(one: Calibration) -> dict[str, Any]:
    return {
        "calibration_id": one.calibration_id,
        "labeler": one.labeler,
        "judgement": one.judgement,
        "prompt_ver": one.prompt_ver,
        "model": one.model,
        "slice": name_calibrated_slice(one.slice),
        "status": one.status,
        "claims": one.claims,
        "items": one.items,
        "agreement": one.agreement.value,
        "agreement_low": one.agreement.low,
        "kappa": one.kappa.value,
        "kappa_low": one.kappa.low,
        "human_kappa": one.people.kappa.value,
        "detail": msgspec.json.encode(one).decode(),
        "made_at": one.made_at,
        "expires_at": one.expires_at,
    }


def _decode(detail: str) -> Calibration:
    """Return a calibration as it was kept.

    Raises:
        StoreError: another version of claimwise wrote it, with other fields. It is not left out:
            an instrument must not become trusted because its distrust can't be read.
    """
    try:
        return msgspec.json.decode(detail, type=Calibration)
    except msgspec.DecodeError as error:
        raise StoreError(
            f"a calibration was made by another version of claimwise ({error}); make it again "
            "with `claimwise calibrate`"
        ) from error
