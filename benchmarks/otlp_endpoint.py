"""Spans at a steady pace over HTTP: does the server keep up, stay small, and lose nothing?

A real ``claimwise serve`` on SQLite in a process of its own takes 500 spans a second for 5 minutes
as four exporters send them: protobuf, gzip, batches of 100 spans (20 traces of a root, a retrieval,
a tool and two generations). Spans are redacted, kept, acknowledged, and made into answers
meanwhile. Then the server is killed by -9 in the midst of sending, and started again: every trace
whose last span was acknowledged must come to be exactly one answer. Rival, at the same pace: a bare
endpoint that only inserts each body into SQLite. Asked: every batch is taken at 500 spans a second,
memory in the last third at most 1.1 times that of the middle third (medians), nothing acknowledged
lost or doubled.
"""

from __future__ import annotations

import argparse
import gzip
import json
import tempfile
import threading
import time
from datetime import UTC, datetime
from math import ceil
from pathlib import Path
from statistics import median, quantiles
from typing import Any, NamedTuple

import httpx2
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Span, TracesData

from claimwise.accounts.api_keys import create_key
from claimwise.store import open_store
from support.served_app import Server, serve

SPANS_A_SECOND = 500
TRACES = 20  # of a batch
SPANS = 5  # of a trace
SENDERS = 4
PAUSE = SENDERS * TRACES * SPANS / SPANS_A_SECOND  # between two batches of a sender
GROWTH = 1.1
TEXT = "The tower is 139 m tall and was built in 1889. Ask bob@example.com or +49 30 1234567. " * 4


class Paced(NamedTuple):
    """What sending at a pace showed."""

    sent: int  # spans
    acknowledged: list[str]  # traces
    milliseconds: list[float]
    refused: int  # batches
    seconds: float
    cpu: float
    memory: list[float]

    @property
    def rate(self) -> float:
        """Spans acknowledged per second, over the time for which batches were due."""
        turns = ceil(self.seconds / PAUSE)
        return len(self.acknowledged) * SPANS / (turns * PAUSE)

    @property
    def growth(self) -> float:
        """The memory of the last third over the middle one's, each in the median."""
        third = len(self.memory) // 3
        return median(self.memory[2 * third :]) / median(self.memory[third : 2 * third])


def make_batch(first: int) -> tuple[list[str], bytes]:
    """Return the ids of a batch's traces, and its body."""
    now = time.time_ns()
    ids = [f"{first + n:032x}" for n in range(1, TRACES + 1)]
    spans = [span for trace_id in ids for span in make_trace(trace_id, now)]
    resource = Resource(attributes=write({"service.name": "help-desk", "service.version": "7"}))
    data = TracesData(
        resource_spans=[ResourceSpans(resource=resource, scope_spans=[ScopeSpans(spans=spans)])]
    )
    return ids, gzip.compress(data.SerializeToString(), compresslevel=1)


def make_trace(trace_id: str, now: int) -> list[Span]:
    steps: list[dict[str, str]] = [
        {"openinference.span.kind": "CHAIN", "input.value": "How tall is the tower?",
         "output.value": "It is 139 m tall.", "session.id": trace_id[-4:]},
        {"openinference.span.kind": "RETRIEVER", "retrieval.documents.0.document.id": "guide",
         "retrieval.documents.0.document.content": TEXT},
        {"openinference.span.kind": "TOOL", "tool.name": "lookup", "input.value": '{"id": 7}',
         "output.value": TEXT},
        {"openinference.span.kind": "LLM", "llm.model_name": "m-1", "input.value": TEXT},
        {"openinference.span.kind": "LLM", "llm.model_name": "m-1", "input.value": TEXT},
    ]  # fmt: skip
    return [
        Span(
            trace_id=bytes.fromhex(trace_id),
            span_id=(number + 1).to_bytes(8, "big"),
            parent_span_id=b"" if number == 0 else (1).to_bytes(8, "big"),
            name=f"step {number}",
            start_time_unix_nano=now + number,
            attributes=write(attributes),
        )
        for number, attributes in enumerate(steps)
    ]


def write(attributes: dict[str, str]) -> list[KeyValue]:
    return [
        KeyValue(key=name, value=AnyValue(string_value=text)) for name, text in attributes.items()
    ]


class Sender(threading.Thread):
    """One exporter: sends a batch whenever one is due, until time is up or the server has gone."""

    def __init__(self, port: int, key: str, seconds: float, first: int) -> None:
        super().__init__(daemon=True)
        self._web = httpx2.Client(base_url=f"http://127.0.0.1:{port}", timeout=60, verify=False)
        self._headers = {"authorization": f"Bearer {key}", "content-encoding": "gzip",
                         "content-type": "application/x-protobuf"}  # fmt: skip
        self._seconds, self._first = seconds, first
        self.acknowledged: list[str] = []
        self.milliseconds: list[float] = []
        self.sent = self.refused = 0

    def run(self) -> None:
        """Send."""
        due = begun = time.monotonic()
        with self._web:
            while time.monotonic() - begun < self._seconds:
                ids, body = make_batch(self._first + self.sent)
                asked = time.monotonic()
                try:
                    answer = self._web.post("/v1/traces", content=body, headers=self._headers)
                except httpx2.HTTPError:
                    return
                self.sent += TRACES
                if answer.status_code == 200:
                    self.acknowledged += ids
                    self.milliseconds.append((time.monotonic() - asked) * 1000)
                else:
                    self.refused += 1
                due += PAUSE
                time.sleep(max(0.0, due - time.monotonic()))


def start_senders(server: Server, key: str, seconds: float, first: int) -> list[Sender]:
    senders = [Sender(server.port, key, seconds, first + n * 10**7) for n in range(SENDERS)]
    for sender in senders:
        sender.start()
    return senders


def send(server: Server, key: str, seconds: float, first: int) -> Paced:
    """Send batches at the pace until the time is up."""
    cpu = server.read_cpu()
    senders = start_senders(server, key, seconds, first)
    memory = []
    while any(sender.is_alive() for sender in senders):
        memory.append(server.read_memory())
        time.sleep(0.2)
    return Paced(
        sent=sum(one.sent for one in senders) * SPANS,
        acknowledged=[trace for one in senders for trace in one.acknowledged],
        milliseconds=[taken for one in senders for taken in one.milliseconds],
        refused=sum(one.refused for one in senders),
        seconds=seconds,
        cpu=server.read_cpu() - cpu,
        memory=memory,
    )


def kill_while_sending(server: Server, key: str, seconds: float, first: int) -> list[str]:
    """Kill the server while spans come in; return the traces that it had acknowledged."""
    senders = start_senders(server, key, 3600, first)
    time.sleep(seconds)
    server.kill()
    for sender in senders:
        sender.join()
    return [trace for sender in senders for trace in sender.acknowledged]


def count_lost(place: str, acknowledged: list[str], seconds: float) -> tuple[int, int]:
    """Wait until all spans are answers; return how many traces were lost, and how many doubled."""
    give_up = time.monotonic() + seconds
    with open_store(place) as store:
        while store.query("select count(*) from traffic_inbox")[0][0]:
            if time.monotonic() > give_up:
                raise SystemExit("the inbox was never empty")
            time.sleep(0.5)
        rows = store.query("select trace_id, count(*) from traffic_answers group by trace_id")
        stored: dict[str, int] = {trace: number for trace, number in rows}
    lost = sum(trace not in stored for trace in acknowledged)
    return lost, sum(number > 1 for number in stored.values())


def describe(found: Paced) -> dict[str, Any]:
    cuts = quantiles(found.milliseconds, n=100)
    return {
        "spans_per_second": round(found.rate, 1),
        "refused_batches": found.refused,
        "p50_ms": round(median(found.milliseconds), 1),
        "p99_ms": round(cuts[98], 1),
        "cpu_s_per_1000_spans": round(found.cpu / found.sent * 1000, 2),
        "memory_mb": round(max(found.memory)),
        "memory_growth": round(found.growth, 3),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--seconds", type=float, default=300.0, help="how long to send")
    given = parser.parse_args()
    seconds, after = (4.8, 1.0) if given.quick else (given.seconds, 10.0)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        place = str(folder / "store.db")
        (folder / "claimwise.toml").write_text("[traffic]\nquiet_seconds = 1\n", encoding="utf-8")
        now = datetime.now(UTC).replace(tzinfo=None)
        with open_store(place, create=True) as store:
            key = create_key(store, "bench", ["traces"], created_by="bench", now=now)
        with serve(place, folder) as server:
            ours = send(server, key, seconds, 0)
            killed = kill_while_sending(server, key, after, 10**9)
            server.restart()
            lost, doubled = count_lost(place, [*ours.acknowledged, *killed], 600)
        script = str(Path(__file__).parent / "support" / "bare_endpoint.py")
        command = [script, "{port}", str(folder / "bare.db")]
        with serve("", folder, command) as server:
            bare = send(server, key, seconds, 0)
    figures = {"claimwise": describe(ours), "bare_insert": describe(bare)}
    for label, one in figures.items():
        print(label, one)
    kept_up = ours.rate >= SPANS_A_SECOND * 0.98 and not ours.refused
    print(json.dumps({
        **figures, "seconds": seconds, "acknowledged_traces": len(ours.acknowledged) + len(killed),
        "lost": lost, "doubled": doubled, "keeps_up": kept_up,
        "holds": kept_up and not lost and not doubled and (ours.growth <= GROWTH or seconds < 60),
    }))  # fmt: skip


if __name__ == "__main__":
    main()
