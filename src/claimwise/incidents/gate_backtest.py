"""Says which gates would catch an incident, by letting their metrics grade it.

Every incident is written as a run of its own into a scratch store: its item, its answer, its
claims with their verdicts, its passages. A gate's metric then counts that run. The gate catches
the incident when the item is in its population (its ``where``) and the metric marks the answer
down. That is what “would catch” means: the same answer, given again, lowers the number that the
gate is decided by. It does not mean that this item alone turns the gate.
"""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from claimwise.config import Project
from claimwise.errors import ConfigError, MetricError
from claimwise.gates import GateRule, resolve_gate
from claimwise.gates.settings import read_gates
from claimwise.incidents.queries import IncidentRows, list_incident_progress, read_incidents
from claimwise.incidents.values import Catch, IncidentStatus
from claimwise.metrics import load_metrics
from claimwise.metrics.counting import ItemCounts, list_attributes, list_items
from claimwise.store import Store, open_store
from claimwise.text import make_claim_id
from claimwise.types.rows import (
    Answer,
    Claim,
    Context,
    Incident,
    IncidentClaim,
    IncidentContext,
    Item,
    ItemAttribute,
    Label,
    Placed,
    Row,
    Run,
    RunAction,
    Source,
)

P = TypeVar("P", IncidentClaim, IncidentContext)

_SPARE = "-"
_PERSON = "person"
_LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)


def list_incidents(store: Store, project: Project) -> tuple[list[IncidentStatus], list[str]]:
    """Return all incidents, the latest first, and what a reader should know.

    Gates that can't be read catch nothing, and are one of the things to know.
    """
    with store.snapshot():
        rows = read_incidents(store)
        standings = list_incident_progress(store)
        attributes = list_attributes(store)
    try:
        rules, wrong = _resolve_gates(project), []
    except (ConfigError, MetricError) as error:
        rules, wrong = [], [str(error)]
    caught, warnings = find_catches(rows, attributes, rules)
    incidents = {incident.incident_id: incident for incident in rows.incidents}
    claims = _group([claim for claim in rows.claims if claim.claim_type != "non_factual"])
    found = [
        IncidentStatus(
            incident=incidents[standing.incident_id],
            query=standing.query,
            state=standing.state,
            wrong=tuple(c.claim_text for c in claims[standing.incident_id] if c.wrong),
            unscored=sum(c.wrong is None for c in claims[standing.incident_id]),
            asked_in=standing.asked_in,
            caught_by=tuple(caught[standing.incident_id]),
        )
        for standing in standings
    ]
    return found, [*wrong, *warnings]


def _resolve_gates(project: Project) -> list[GateRule]:
    metrics = load_metrics(project.metrics_folder, project.citations)
    return [resolve_gate(gate, metrics, project.settings.labels) for gate in read_gates(project)]


def find_catches(
    rows: IncidentRows, attributes: Sequence[str], rules: Sequence[GateRule]
) -> tuple[dict[str, list[Catch]], list[str]]:
    """Return the gates that would catch each incident, and gates of which it can't be told.

    Args:
        rows: the incidents.
        attributes: the names of the project's own slice columns.
        rules: the gates.
    """
    caught: dict[str, list[Catch]] = defaultdict(list)
    warnings: list[str] = []
    if not rules or not rows.incidents:
        return caught, warnings
    with (
        tempfile.TemporaryDirectory(prefix="claimwise-") as folder,
        open_store(Path(folder) / "incidents.db", create=True) as scratch,
    ):
        placed = [Placed(row, 0, 1) for row in _replay(rows, attributes)]
        scratch.load(placed, ["incidents"], lenient=True)  # incidents keep verdicts, not spans
        for rule in rules:
            try:
                for incident in rows.incidents:
                    caught[incident.incident_id] += _grade(scratch, rule, incident)
            except MetricError as error:
                warnings.append(f"gate {rule.gate.name}: can't be told: {error}")
    return caught, warnings


def _grade(scratch: Store, rule: GateRule, incident: Incident) -> Iterator[Catch]:
    columns = rule.columns
    for row in list_items(scratch, rule.metric, incident.incident_id, columns, "default"):
        values = dict(zip(columns, row.key, strict=True))
        if rule.metric.series and values[rule.metric.series] != rule.member:
            continue
        if any(values[name] != value for name, value in rule.gate.where.items()):
            continue
        if _is_marked_down(row, rule):
            yield Catch(gate=rule.gate.name, slice={name: values[name] for name in rule.by})


def _is_marked_down(row: ItemCounts, rule: GateRule) -> bool:
    if rule.better == "higher":
        return row.numerator < row.denominator
    return row.numerator > 0


def _replay(rows: IncidentRows, attributes: Sequence[str]) -> Iterator[Row]:
    """Yield every incident as a run of its own."""
    yield from rows.sources
    yield from rows.items
    yield from rows.attributes
    yield from rows.gold_spans
    # A column that no incident's item has is known all the same, and empty for them.
    yield Item(
        item_id=_SPARE, query=_SPARE, query_type=_SPARE, answerable=False, stakes="low",
        source_corpus_ver=_SPARE,
    )  # fmt: skip
    for name in attributes:
        yield ItemAttribute(item_id=_SPARE, name=name, value=_SPARE)
    items = {item.item_id: item for item in rows.items}
    known = {(source.source_id, source.corpus_ver) for source in rows.sources}
    claims, contexts = _group(rows.claims), _group(rows.contexts)
    for incident in rows.incidents:
        corpus = items[incident.item_id].source_corpus_ver
        yield from _replay_answer(incident, claims[incident.incident_id], corpus)
        for context in contexts[incident.incident_id]:
            if context.context_text is None:
                continue
            if (context.source_id, corpus) not in known:
                # The scratch store's own rule: a passage has a document.
                known.add((context.source_id, corpus))
                yield Source(source_id=context.source_id, corpus_ver=corpus, source_text=_SPARE)
            yield Context(
                run_id=incident.incident_id,
                item_id=incident.item_id,
                position=context.position,
                source_id=context.source_id,
                context_text=context.context_text,
            )


def _group(rows: Sequence[P]) -> dict[str, list[P]]:
    """Return the parts of incidents by incident."""
    found: dict[str, list[P]] = defaultdict(list)
    for row in rows:
        found[row.incident_id].append(row)
    return found


def _replay_answer(
    incident: Incident, claims: Sequence[IncidentClaim], corpus: str
) -> Iterator[Row]:
    key: dict[str, Any] = {"run_id": incident.incident_id, "item_id": incident.item_id}
    yield Run(
        run_id=incident.incident_id, system="incident", model=incident.model, corpus_ver=corpus,
        started_at=incident.happened_at or incident.promoted_at,
    )  # fmt: skip
    yield Answer(**key, answer_text=incident.answer_text)
    spoken = any(claim.claim_type != "non_factual" for claim in claims)
    yield RunAction(**key, action="answer" if spoken else "abstain")
    for number, claim in enumerate(claims):
        claim_id = make_claim_id(incident.item_id, claim.claim_text, occurrence=number)
        yield Claim(
            **key, claim_id=claim_id, position=number, claim_text=claim.claim_text,
            claim_type=claim.claim_type,
        )  # fmt: skip
        verdict = claim.verdict or ("unlinked" if claim.wrong else None)
        if verdict is not None and claim.claim_type != "non_factual":
            # Who says “wrong” without saying how is taken at the guide's last resort: unlinked.
            yield Label(
                **key, claim_id=claim_id, verdict=verdict, labeler=_PERSON, labeled_at=_LONG_AGO
            )
