"""Says what a judge is and how far it agrees with people, from all labels of a store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from claimwise.metrics.catalogue import find_metric, load_metrics
from claimwise.metrics.counting import SliceCounts
from claimwise.metrics.estimate import estimate_counts
from claimwise.report.format import pluralize, show_rate
from claimwise.store import Store
from claimwise.store.files import SqlFolder
from claimwise.types.results import Estimate, JudgeNote, Settings
from claimwise.types.rows import Judgement, Labeler

_SQL = SqlFolder("claimwise.metrics", "queries")
_JUDGEMENTS: tuple[Judgement, ...] = ("grounded", "closed_book")


def measure_agreement(store: Store, labeler: str) -> str | None:
    """Say how far a judge agrees with people, as `find_agreements`; None when nobody knows."""
    found = find_agreements(store).get(labeler)
    if found is None or found.micro is None:
        return None
    share = show_rate(found.micro, found.low, found.high)
    where = f" in {found.run_id}" if found.run_id else ""
    return f"agrees with people on {share} of {pluralize(found.claims, 'claim')}{where}"


def find_agreements(store: Store, confidence: float = 0.95) -> dict[str, Estimate]:
    """Return how far each judge agrees with people, over all runs that both labelled.

    A judge's name holds its version, so what it did in another run is its own doing. What it said
    of one item in several runs counts together: items are the clusters. A judge that shares no
    claim with people is missing: its agreement is unknown. ``run_id`` is empty where several runs
    are in it.
    """
    metric = find_metric(load_metrics(), "verifier_agreement")
    sums: dict[str, dict[str, tuple[int, int]]] = {}
    runs: dict[str, set[str]] = {}
    for judgement in _JUDGEMENTS:
        for labeler, run_id, item_id, agreed, compared in store.query(
            _SQL.for_judgement("agreement", judgement)
        ):
            items = sums.setdefault(labeler, {})
            hits, units = items.get(item_id, (0, 0))
            items[item_id] = hits + int(agreed), units + int(compared)
            runs.setdefault(labeler, set()).add(run_id)
    return {
        labeler: estimate_counts(
            metric,
            runs[labeler].pop() if len(runs[labeler]) == 1 else "",
            _count(list(items.values())),
            Settings(confidence=confidence),
            labeler,
        )
        for labeler, items in sums.items()
    }


def _count(pairs: Sequence[tuple[int, int]]) -> SliceCounts:
    units = sum(pair[1] for pair in pairs)
    return SliceCounts(pairs=[(*pair, 1) for pair in pairs], asked=units, scored=units)


def list_judges(
    store: Store,
    claims: Mapping[str, int],
    confidence: float = 0.95,
    agreements: Mapping[str, Estimate] | None = None,
) -> tuple[JudgeNote, ...]:
    """Return what some judges are, with their agreement, in the order given.

    Args:
        store: where they are registered.
        claims: the judges' names, and how many claims (or answers) of a figure each decided.
        confidence: of the interval of their agreement.
        agreements: what `find_agreements` found, where it was asked before: it reads every label.
    """
    if not claims:
        return ()
    if agreements is None:
        agreements = find_agreements(store, confidence)
    rows = store.query("select labeler, model, prompt_ver from labelers order by labeler")
    known = {
        name: Labeler(labeler=name, labeler_kind="verifier", model=model, prompt_ver=prompt)
        for name, model, prompt in rows
    }
    return tuple(
        make_judge_note(known[labeler], count, agreements) for labeler, count in claims.items()
    )


def make_judge_note(
    judge: Labeler, claims: int, agreements: Mapping[str, Estimate] | None = None
) -> JudgeNote:
    """Return what stands beside a judge's figures; without agreements nobody has checked it."""
    return JudgeNote(
        labeler=judge.labeler,
        model=judge.model,
        prompt_ver=judge.prompt_ver,
        claims=claims,
        agreement=(agreements or {}).get(judge.labeler),
    )
