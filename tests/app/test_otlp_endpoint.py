"""Traces over HTTP: real exporters, hostile senders, and a server that is killed."""

from __future__ import annotations

import gzip
import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExportResult

from claimwise.accounts.api_keys import create_key, list_keys, revoke_key
from claimwise.config import Config, RedactSection, TrafficSection
from claimwise.store import open_store
from claimwise.traffic.funnel import read_funnel
from claimwise.traffic.otlp import BODY_BYTES, UNPACKED_BYTES
from support.app_process import AppProcess
from support.app_server import RunningApp, run_app, utc_now
from support.waiting import wait_until

PROTOBUF = "application/x-protobuf"
QUICK = TrafficSection(
    quiet_seconds=0.05, redact=RedactSection(drop_attributes=("enduser.*",)), inbox_spans=50
)


def make_key(place: str, *scopes: str) -> str:
    with open_store(place) as store:
        name = f"key-{len(list_keys(store))}"
        return create_key(store, name, scopes, created_by="ann", now=utc_now())


@pytest.fixture
def traced(place: str, tmp_path: Path) -> Iterator[RunningApp]:
    with run_app(place, tmp_path, config=Config(traffic=QUICK)) as app:
        yield app


class Sender:
    """Sends requests with a key."""

    def __init__(self, app: RunningApp, key: str) -> None:
        self.web = app.visit().web
        self.key = key

    def post(self, body: bytes, kind: str = "application/json", **headers: str) -> httpx2.Response:
        sent = {"authorization": f"Bearer {self.key}", "content-type": kind, **headers}
        return self.web.post("/v1/traces", content=body, headers=sent)

    def send(self, *spans: Any, **headers: str) -> httpx2.Response:
        document = {"resourceSpans": [{"scopeSpans": [{"spans": list(spans)}]}]}
        return self.post(json.dumps(document).encode(), **headers)


def make_span(
    trace: int, texts: dict[str, str] | None = None, number: int = 1, parent: int | None = None
) -> dict[str, Any]:
    found = {
        "traceId": f"{trace:032x}",
        "spanId": f"{number:016x}",
        "name": "answer",
        "startTimeUnixNano": "1763200000000000000",
        "attributes": [{"key": k, "value": {"stringValue": v}} for k, v in (texts or {}).items()],
    }
    return found if parent is None else {**found, "parentSpanId": f"{parent:016x}"}


TALK = {"input.value": "How tall is it?", "output.value": "It is 139 m tall."}


def count(app: RunningApp, sql: str) -> Any:
    with app.open() as store:
        return store.query(sql)[0][0]


@pytest.mark.each_engine
def test_spans_of_the_sdk_become_an_answer_though_they_come_apart(traced: RunningApp) -> None:
    key = make_key(traced.place, "traces")
    exporter = OTLPSpanExporter(
        f"{traced.url}/v1/traces",
        headers={"authorization": f"Bearer {key}"},
        compression=Compression.Gzip,
    )
    resource = Resource.create({"service.name": "help-desk", "service.version": "7"})
    provider = TracerProvider(resource=resource)
    provider.add_span_processor(SimpleSpanProcessor(exporter))  # one request per span
    tracer = provider.get_tracer("test")
    with tracer.start_as_current_span("ask") as root:
        root.set_attributes({**TALK, "session.id": "talk-7", "enduser.id": "bob",
                             "claimwise.prompt_ver": "p9",
                             "user.contact": "bob@example.com"})  # fmt: skip
        with tracer.start_as_current_span("search") as search:
            search.set_attributes({
                "openinference.span.kind": "RETRIEVER",
                "retrieval.documents.0.document.id": "guide",
                "retrieval.documents.0.document.content": "It is 139 m tall. Ask bob@example.com.",
            })  # fmt: skip
        with tracer.start_as_current_span("refund") as tool:
            tool.set_attributes({"gen_ai.operation.name": "execute_tool",
                                 "gen_ai.tool.name": "refund",
                                 "gen_ai.tool.call.arguments": '{"order": 7}'})  # fmt: skip
    trace_id = f"{root.get_span_context().trace_id:032x}"
    provider.shutdown()
    wait_until(lambda: count(traced, "select count(*) from traffic_answers"), "it is stored")
    with traced.open() as store:
        [row] = store.query(
            "select t.trace_id, t.system, t.conversation, a.answer_text, i.query, r.prompt_ver, "
            "c.context_text, g.entry_text from traffic_answers as t "
            "join answers as a on a.run_id = t.run_id and a.item_id = t.item_id "
            "join eval_items as i on i.item_id = t.item_id join runs as r on r.run_id = t.run_id "
            "join contexts as c on c.run_id = t.run_id and c.item_id = t.item_id "
            "join action_log as g on g.run_id = t.run_id and g.item_id = t.item_id"
        )
        assert row[:6] == (trace_id, "help-desk", "talk-7", *reversed(TALK.values()), "p9")
        assert row[6].startswith("It is 139 m tall. Ask [e-mail ")
        assert row[7] == 'refund({"order": 7})'
        assert store.query("select count(*) from traffic_inbox") == [(0,)]


def test_nothing_unredacted_and_nothing_half_reaches_the_disk(
    traced: RunningApp, tmp_path: Path
) -> None:
    sender = Sender(traced, make_key(traced.place, "traces"))
    deep: Any = {"stringValue": "x"}
    for _ in range(80):
        deep = {"arrayValue": {"values": [deep]}}
    nested = {**make_span(2), "attributes": [{"key": "a", "value": deep}]}
    answer = sender.send(
        make_span(1, {**TALK, "user.contact": "bob@example.com", "enduser.id": "secret-id"}),
        nested,
        make_span(3, {"input.value": "x" * 1_100_000}),
        make_span(4, {"input.value": "a\0b"}),
        {**make_span(5), "traceId": "0" * 32},
        {**make_span(5), "attributes": {"a": 1}},
        "no span",
    )
    assert answer.status_code == 200
    told = answer.json()["partialSuccess"]
    assert told["rejectedSpans"] == "6"
    assert "3 × not readable as a trace" in told["errorMessage"]
    wait_until(lambda: count(traced, "select count(*) from traffic_answers"), "it is stored")
    wait_until(lambda: not count(traced, "select count(*) from traffic_inbox"), "all is read")
    with traced.open() as store:
        rejected = read_funnel(store)[0].rejected
    assert rejected == {"malformed": 3, "nested_too_deeply": 1, "too_large": 1, "nul_character": 1}
    written = b"".join(path.read_bytes() for path in tmp_path.glob("store.db*"))
    assert b"139 m tall" in written
    assert b"bob@example.com" not in written
    assert b"secret-id" not in written


def test_bad_requests_are_refused_by_name_and_counted(traced: RunningApp) -> None:
    sender = Sender(traced, make_key(traced.place, "traces"))
    bomb = gzip.compress(b" " * (UNPACKED_BYTES + 1))
    cases = [
        (sender.post(b"{", ), 400), (sender.post(b"[" * 100_000), 400), (sender.post(b"[]"), 400),
        (sender.post(b"\xff\xfe", PROTOBUF), 400), (sender.post(b"{}", "text/plain"), 415),
        (sender.post(b"{}", **{"content-encoding": "br"}), 415),
        (sender.post(b"{}", **{"content-encoding": "gzip"}), 400),
        (sender.post(bomb, **{"content-encoding": "gzip"}), 413),
        (sender.post(b"x" * (BODY_BYTES + 1)), 413),
    ]  # fmt: skip
    assert [answer.status_code for answer, _ in cases] == [status for _, status in cases]
    assert cases[0][0].json()["message"].startswith("The body is no JSON")
    assert cases[3][0].content.startswith(b"\x08\x03\x12")  # a google.rpc.Status
    empty = sender.post(b"", PROTOBUF)
    assert (empty.status_code, ExportTraceServiceResponse.FromString(empty.content)) == (
        200, ExportTraceServiceResponse(),
    )  # fmt: skip
    wait_until(lambda: count(traced, "select count(*) from traffic_counts"), "they are counted")


def test_keys_decide_and_are_kept_as_hashes(traced: RunningApp) -> None:
    key, other = make_key(traced.place, "traces"), make_key(traced.place, "check")
    assert traced.visit().web.post("/v1/traces", content=b"{}").status_code == 401
    assert Sender(traced, "cw_guess").send(make_span(1)).status_code == 401
    assert Sender(traced, other).send(make_span(1)).status_code == 403
    assert Sender(traced, key).send(make_span(1)).status_code == 200
    with traced.open() as store:
        assert key not in str(store.query("select * from api_keys"))
        assert revoke_key(store, "key-0", utc_now()) == 1
    assert Sender(traced, key).send(make_span(1)).status_code == 401


def test_senders_wait_when_the_inbox_is_full_and_late_spans_are_told(
    place: str, tmp_path: Path
) -> None:
    config = Config(traffic=TrafficSection(inbox_spans=3, quiet_seconds=0.05, longest_seconds=3600))
    with run_app(place, tmp_path, config=config) as app:
        sender = Sender(app, make_key(place, "traces"))
        # Without their root, they wait.
        assert (
            sender.send(*(make_span(1, number=n, parent=9) for n in range(1, 4))).status_code == 200
        )
        turned_away = sender.send(make_span(2, TALK))
        assert (turned_away.status_code, turned_away.headers["retry-after"]) == (429, "2")
        with open_store(place) as store, store.write():
            store.execute("delete from traffic_inbox")
        wait_until(lambda: sender.send(make_span(2, TALK)).status_code == 200, "there is room")
        wait_until(lambda: count(app, "select count(*) from traffic_answers"), "it is stored")
        # The same span again, and one that comes after the trace was complete.
        assert sender.send(make_span(2, TALK)).status_code == 200
        late = "select count(*) from traffic_counts where reason = 'spans_after_the_end'"
        wait_until(lambda: count(app, late), "late spans are counted")
        assert count(app, "select count(*) from traffic_answers") == 1


def test_what_was_acknowledged_survives_kill_9(place: str, tmp_path: Path) -> None:
    """A server that is killed right after its acknowledgement; the next one makes the answers."""
    key = make_key(place, "traces")
    (tmp_path / "claimwise.toml").write_text("[traffic]\nquiet_seconds = 600\n", encoding="utf-8")
    with AppProcess(tmp_path, place) as server:
        exporter = OTLPSpanExporter(
            f"{server.address}/v1/traces", headers={"authorization": f"Bearer {key}"}
        )
        provider = TracerProvider()
        tracer = provider.get_tracer("test")
        spans: list[Any] = []
        for _ in range(20):
            with tracer.start_as_current_span("ask", attributes=TALK) as span:
                spans.append(span)
        assert exporter.export(spans) is SpanExportResult.SUCCESS
        exporter.shutdown()  # type: ignore[no-untyped-call]
        os.kill(server.pid, signal.SIGKILL)
    with open_store(place) as store:
        assert store.query("select sum(spans) from traffic_inbox") == [(20,)]
    config = Config(traffic=TrafficSection(quiet_seconds=0.05))
    with run_app(place, tmp_path, config=config) as app:
        wait_until(lambda: not count(app, "select count(*) from traffic_inbox"), "all is read")
        assert count(app, "select count(*) from traffic_answers") == 20
