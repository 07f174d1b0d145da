"""Gathers labelled claims with what they are judged by: from a folder of sets, or a store."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence, Set
from hashlib import sha256
from pathlib import Path

from claimwise.bench.measure import draw_groups, group_by_document, read_labelled_sets
from claimwise.calibration.calibrate import weigh_labelled
from claimwise.calibration.queries import PEOPLE, LabelledClaims, read_judged, read_samples
from claimwise.calibration.values import JudgedClaim
from claimwise.checking.queries import JudgingScope, list_answers
from claimwise.checking.tasks import AnswerJob, JudgeTask, TaskReader
from claimwise.errors import MetricError
from claimwise.judge_comparison.values import Case, LabelledCases
from claimwise.metrics import refuse_unknown_run
from claimwise.metrics.clusters import map_clusters
from claimwise.metrics.counting import DOCUMENT
from claimwise.report.format import pluralize
from claimwise.store import Store
from claimwise.store.lookup import find_run
from claimwise.types.accuracy import BenchClaim
from claimwise.types.rows import Source
from claimwise.types.verdicts import AnswerClaim, CheckRequest

_SUPPORTED, _OTHER = "supported", "unlinked"


def read_folder_cases(
    folder: Path, sets: Sequence[str] = (), limit: int | None = None, cluster: str | None = None
) -> LabelledCases:
    """Return the claims of a folder of labelled sets: those about one document are one case.

    Every set weighs the same. Claims of one group belong together; with the cluster ``document``,
    those about one document.

    Raises:
        InputError: the folder can't be used, or a row is broken.
        MetricError: the cluster is another.
    """
    if cluster not in (None, "item", DOCUMENT):
        raise MetricError(f"Unknown cluster {cluster!r} for labelled sets. Use document or item.")
    labelled, skipped = read_labelled_sets(folder, sets, limit)
    total = sum(map(len, labelled.values()))
    cases: list[Case] = []
    claims: list[JudgedClaim] = []
    names: list[str] = []
    for name, rows in labelled.items():
        first, weight = len(claims), total / len(labelled) / len(rows)
        names += [name] * len(rows)
        claims += [
            _to_claim(name, number, row, weight, whole=cluster == DOCUMENT)
            for number, row in enumerate(rows)
        ]
        for task in group_by_document(name, rows):
            job = _make_job(task.document, task.claims)
            cases.append(Case(job, tuple(first + row for row in task.rows)))
    return LabelledCases(
        cases=cases,
        claims=claims,
        sets=names,
        clusters={},
        binary=True,
        source=f"{folder} ({pluralize(len(labelled), 'set')})",
        notes=tuple(f"{file}: {reason}" for file, reason in skipped.items()),
    )


def _to_claim(
    name: str, number: int, row: BenchClaim, weight: float, *, whole: bool
) -> JudgedClaim:
    group = sha256(row.document.encode()).hexdigest() if whole else row.group
    told = _SUPPORTED if row.supported else _OTHER
    return JudgedClaim(
        run_id=name, item_id=f"{name}/{group}", claim_id=str(number), said=told, told=told,
        weight=weight,
    )  # fmt: skip


def _make_job(document: str, claims: Sequence[str]) -> AnswerJob:
    """Return claims about a document as `bench-verifier` asks about them: replies are shared."""
    source = Source(source_id="document", corpus_ver="-", source_text=document)
    known = [AnswerClaim(text=c, start=0, end=len(c), wording=c) for c in claims]
    request = CheckRequest(answer="", sources=(source,))
    return AnswerJob(request=request, claims=tuple(known), numbered=(), unscored=None)


def read_store_cases(
    store: Store,
    runs: Sequence[str] = (),
    limit: int | None = None,
    cluster: str | None = None,
) -> LabelledCases:
    """Return the claims that people labelled in a store's runs: those of one answer are one case.

    A judge is asked about all claims of such an answer, as `verify` asks, so that replies are
    shared; those without a label count for nothing. Weights are those of the rounds.

    Raises:
        MetricError: people labelled nothing there, or run or cluster are unknown.
    """
    with store.snapshot():
        labelled = _read_labels(store, runs)
        clusters = map_clusters(store, sorted({c.run_id for c in labelled.judged}), cluster)
        groups = [clusters.get(claim.item_id, claim.item_id) for claim in labelled.judged]
        taken = draw_groups("labels", groups, limit)
        chosen = [c for c, group in zip(labelled.judged, groups, strict=True) if group in taken]
        cases, claims = _read_cases(store, chosen)
    unasked = len(chosen) - len(claims)
    notes = (
        _count_labels(len(labelled.waiting), "of rounds in which whole strata have no label yet"),
        _count_labels(unasked, "of pieces that claim nothing, so no judge is asked about them"),
    )
    return LabelledCases(
        cases=cases,
        claims=claims,
        sets=[""] * len(claims),
        clusters=clusters,
        binary=False,
        source=f"people's labels in {', '.join(sorted({c.run_id for c in claims}))}",
        notes=tuple(filter(None, notes)),
    )


def _read_labels(store: Store, runs: Sequence[str]) -> LabelledClaims:
    """Return what people say of claims, with the weights of the rounds."""
    for run_id in runs:
        refuse_unknown_run(store, run_id)
    found = read_judged(store, PEOPLE, "grounded", runs)
    labelled = weigh_labelled(found, read_samples(store, "grounded"))
    if not labelled.judged:
        where = f" in {', '.join(runs)}" if runs else ""
        raise MetricError(
            f"{store.place}: no claim has a label of people{where}; label some with `claimwise "
            "annotate`, or name a folder of labelled sets with --on FOLDER"
        )
    return labelled


def _count_labels(count: int, which: str) -> str:
    return f"{pluralize(count, 'label')} {which}: not counted." if count else ""


def _read_cases(
    store: Store, labelled: Sequence[JudgedClaim]
) -> tuple[list[Case], list[JudgedClaim]]:
    """Return the answers that claims belong to, and those claims, by the rows of the cases."""
    known = {(c.run_id, c.item_id, c.claim_id): c for c in labelled}
    items: dict[str, set[str]] = defaultdict(set)
    for claim in labelled:
        items[claim.run_id].add(claim.item_id)
    cases: list[Case] = []
    claims: list[JudgedClaim] = []
    for run_id, wanted in items.items():
        for task in _read_tasks(store, run_id, wanted):
            rows: list[int | None] = []
            for claim_id in task.claim_ids or ():
                found = known.get((run_id, task.key.item_id, claim_id))
                rows.append(None if found is None else len(claims))
                claims += [] if found is None else [found]
            if any(row is not None for row in rows):
                cases.append(Case(task.job, tuple(rows)))
    return cases, claims


def _read_tasks(store: Store, run_id: str, items: Set[str]) -> Iterator[JudgeTask]:
    """Yield the answers to some items with all their claims, as none has a label of nobody."""
    judging = JudgingScope(run=find_run(store, run_id), labeler=PEOPLE)
    reader = TaskReader(store, judging)
    for key, state in list_answers(store, judging):
        if key.item_id in items and state == "open":
            yield from reader.read([key])
