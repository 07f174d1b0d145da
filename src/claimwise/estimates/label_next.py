"""Opens a round over a window's runs, of the claims whose labels narrow its estimate most."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from claimwise.calibration.maps import LabelledScores
from claimwise.errors import ClaimwiseError
from claimwise.estimates.queries import WindowData
from claimwise.estimates.selection import draw_claims, find_chances, sharpen_scores
from claimwise.labelling.draw import check_title, make_round_id
from claimwise.labelling.rounds import NewTask, Stratum, check_texts_kept, create_round
from claimwise.labelling.values import Round
from claimwise.store import Store
from claimwise.store.files import SqlFolder

_SQL = SqlFolder("claimwise.estimates")
_SUPPORTED: Final = "supported"
_KNOWN_DAYS: Final = 28  # before the window's end: labels that tell how far scores can be believed


class _Chosen(NamedTuple):
    """Claims that were drawn: their rows in the window's table, with their chances."""

    rows: NDArray[np.intp]
    chances: NDArray[np.float64]
    population: NDArray[np.intp]  # the rows that could be drawn


def draw_window_round(
    store: Store,
    data: WindowData,
    size: int,
    *,
    title: str | None,
    seed: int,
    created_by: str,
    guide_version: str,
    now: datetime,
) -> Round:
    """Draw a window's claims into a new round, one per item at most, and store it.

    Claims that people have labelled are left out. Tasks come in random order, so that a round
    that is labelled in part is a random part of it. The round is kept with the latest run of the
    window, and with how many claims of every run could be drawn.

    Raises:
        ClaimwiseError: the window has no scored claim without a label, or texts were deleted.
    """
    check_title(title)
    check_texts_kept(store, [run.run_id for run in data.runs])
    chosen = _choose(store, data, size, seed)
    latest = data.runs[-1].run_id
    new = Round(
        round_id=make_round_id(latest, str(seed), created_by, title or "", now.isoformat()),
        run_id=latest,
        judgement="grounded",
        title=title or f"{data.system or 'traffic'}, {data.period.name}",
        guide_version=guide_version,
        strata_by=data.judge.labeler if data.judge else None,
        overlap=0.0,
        overlap_labels=2,
        seed=seed,
        created_by=created_by,
        created_at=now,
    )
    could = Counter(_locate(data, chosen.population)[0])
    create_round(
        store,
        new,
        _count_strata(data, chosen),
        _list_tasks(store, data, chosen, seed),
        now,
        runs=could,
    )
    return new


def _list_tasks(store: Store, data: WindowData, chosen: _Chosen, seed: int) -> list[NewTask]:
    """Return the drawn claims as tasks, in random order."""
    run_ids, places = _locate(data, chosen.rows)
    names = _read_names(store, data, run_ids, places)
    strata = [data.table.stratum_names[code] for code in data.table.strata[chosen.rows]]
    order = np.random.Generator(np.random.PCG64(seed)).permutation(len(chosen.rows))
    return [
        NewTask(
            position=position,
            item_id=names[at][0],
            claim_id=names[at][1],
            stratum=strata[at],
            inclusion_probability=float(chosen.chances[at]),
            wanted=1,
            run_id=run_ids[at],
        )
        for position, at in enumerate(order.tolist())
    ]


def _choose(store: Store, data: WindowData, size: int, seed: int) -> _Chosen:
    table = data.table
    free = np.ones(len(table.scores), dtype=bool)
    free[table.rows] = False
    population = np.flatnonzero(free)
    if not len(population):
        raise ClaimwiseError(
            f"{data.period.name}: no scored claim without a label; judge its claims "
            "(`claimwise traffic judge`), or choose another --window"
        )
    assert table.items is not None
    _, items = np.unique(table.items[population], return_inverse=True)
    scores = sharpen_scores(table.scores[population], _read_known(store, data))
    chances = find_chances(scores, items, size)
    drawn = draw_claims(chances, items, np.random.Generator(np.random.PCG64(seed)))
    return _Chosen(population[drawn], chances[drawn], population)


def _read_known(store: Store, data: WindowData) -> LabelledScores | None:
    """Return the latest labels of claims that the same judge scored."""
    if data.judge is None:
        return None
    until = data.period.until
    params = {
        "labeler": data.judge.labeler, "start": until - timedelta(days=_KNOWN_DAYS), "until": until,
        "system": data.system or "",
    }  # fmt: skip
    rows = store.query(_SQL["known_labels"], params)
    if not rows:
        return None
    items, said, confidences, told, chances = zip(*rows, strict=True)
    sure = np.array(confidences, dtype=np.float64)
    return LabelledScores(
        scores=np.where(np.array(said) == _SUPPORTED, sure, 1 - sure),
        supported=np.array(told) == _SUPPORTED,
        weights=np.array([1 / (chance or 1.0) for chance in chances]),
        items=np.unique(items, return_inverse=True)[1],
    )


def _locate(data: WindowData, rows: NDArray[np.intp]) -> tuple[list[str], list[int]]:
    """Return the runs of claims, and their places within those."""
    starts = np.concatenate(([0], np.cumsum(list(data.run_claims.values()))))
    overall = data.places[rows]
    at = np.searchsorted(starts, overall, side="right") - 1
    names = list(data.run_claims)
    return [names[one] for one in at.tolist()], (overall - starts[at]).tolist()


def _read_names(
    store: Store, data: WindowData, run_ids: Sequence[str], places: Sequence[int]
) -> list[tuple[str, str]]:
    """Return item and claim of every drawn claim."""
    params = {"start": data.period.start, "until": data.period.until}
    known = {
        run_id: store.query(_SQL["claim_ids"], {"run_id": run_id, **params})
        for run_id in dict.fromkeys(run_ids)
    }
    return [
        (str(known[run_id][place][0]), str(known[run_id][place][1]))
        for run_id, place in zip(run_ids, places, strict=True)
    ]


def _count_strata(data: WindowData, chosen: _Chosen) -> list[Stratum]:
    names = data.table.stratum_names
    could, drawn = (
        np.bincount(data.table.strata[rows], minlength=len(names))
        for rows in (chosen.population, chosen.rows)
    )
    return [
        Stratum(name, int(could[at]), int(drawn[at])) for at, name in enumerate(names) if could[at]
    ]
