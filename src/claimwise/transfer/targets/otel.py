"""OpenTelemetry: events ``gen_ai.evaluation.result`` as OTLP JSON, one request per line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from claimwise.transfer.outgoing import Meta, OutgoingAnswer, OutgoingRun, drop_none
from claimwise.transfer.target import FAITHFULNESS, VERDICT, Record, Target

_EVENT = "gen_ai.evaluation.result"
_HEX_ID = re.compile(r"[0-9a-f]{32}")


def make_requests(run: OutgoingRun, answer: OutgoingAnswer) -> Iterator[Record]:
    """Yield one ExportLogsServiceRequest with the events of an answer and its claims.

    An event without a verdict has ``error.type`` and no score. The trace's id is the record's own
    where it has OpenTelemetry's form; any other is an attribute.
    """
    moments = [claim.judged_at for claim in answer.claims if claim.judged_at is not None]
    common = _place(answer)
    events = [
        _make_event(
            common,
            max(moments, default=run.run.started_at),
            {
                "gen_ai.evaluation.name": FAITHFULNESS,
                "gen_ai.evaluation.score.value": answer.rate,
                "gen_ai.evaluation.score.label": answer.label,
                "gen_ai.evaluation.explanation": answer.explanation,
                "error.type": answer.why_unscored,
            },
            run.describe_answer(answer),
        )
    ]
    events += [
        _make_event(
            common,
            claim.judged_at or run.run.started_at,
            {
                "gen_ai.evaluation.name": VERDICT,
                "gen_ai.evaluation.score.value": claim.score,
                "gen_ai.evaluation.score.label": claim.verdict,
                "gen_ai.evaluation.explanation": claim.explanation,
                "error.type": claim.why_unscored,
            },
            run.describe_claim(claim),
        )
        for claim in answer.claims
    ]
    resource = {"service.name": run.run.system, "claimwise.run_id": run.run.run_id}
    yield {
        "resourceLogs": [
            {
                "resource": {"attributes": _to_attributes(resource)},
                "scopeLogs": [{"scope": {"name": "claimwise"}, "logRecords": events}],
            }
        ]
    }


def _place(answer: OutgoingAnswer) -> tuple[str | None, str | None]:
    """Return the trace's id in OpenTelemetry's form, or else as it is."""
    bare = (answer.trace_id or "").replace("-", "").lower()
    return (bare, None) if _HEX_ID.fullmatch(bare) else (None, answer.trace_id)


def _make_event(
    place: tuple[str | None, str | None], moment: datetime, said: Meta, about: Meta
) -> Record:
    trace_id, other_id = place
    known = {f"claimwise.{name}": value for name, value in about.items()}
    attributes = drop_none({**said, **known, "claimwise.trace_id": other_id})
    stamp = str(int(moment.replace(tzinfo=UTC).timestamp() * 1_000_000) * 1000)
    return drop_none(
        {
            "timeUnixNano": stamp,
            "observedTimeUnixNano": stamp,
            "eventName": _EVENT,
            "traceId": trace_id,
            "attributes": _to_attributes(attributes),
        }
    )


def _to_attributes(fields: Meta) -> list[Record]:
    return [{"key": name, "value": _to_value(value)} for name, value in fields.items()]


def _to_value(value: Any) -> Record:
    match value:
        case bool():
            return {"boolValue": value}
        case int():
            return {"intValue": str(value)}
        case float():
            return {"doubleValue": value}
        case list():
            return {"arrayValue": {"values": [_to_value(one) for one in value]}}
        case dict():
            return {"kvlistValue": {"values": _to_attributes(value)}}
        case _:
            return {"stringValue": str(value)}


TARGET = Target(forms=("jsonl",), make_records=make_requests)
