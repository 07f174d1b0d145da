"""Live traffic from its first span to a gate: a month with a regression and a judge that changed.

The app runs on PostgreSQL. Spans come from OpenTelemetry's SDK and from OpenInference, which
watches a real client of a stubbed model; only their times are moved into the past.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, TypeVar

import pytest
from openai import OpenAI
from openinference.instrumentation.openai import OpenAIInstrumentor
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult
from playwright.sync_api import Page, expect

from browser.desk import wait_ready
from browser.tabs import LendTab
from claimwise.accounts.api_keys import create_key
from claimwise.cli.main import run
from claimwise.monitoring.explain import explain_alarm
from claimwise.monitoring.settings import MonitorSettings
from claimwise.monitoring.values import Alarm
from claimwise.monitoring.watch import watch_all
from claimwise.store import open_store
from claimwise.traffic.judging import judge_traffic
from support.app_process import AppProcess
from support.app_server import utc_now
from support.local_server import LocalServer
from support.monitored_traffic import PERSON, add_anchors
from support.tour import make_account, press_verdict
from support.waiting import wait_until

T = TypeVar("T")
DAY = timedelta(days=1)
ANSWERS = 8  # a day
BAD, FIXED = 30, 37  # the days on which the regression begins and ends
JUDGE_CHANGES = 5  # the week in which the judge becomes harsher
MONTHS = 24  # what the documents say; a wrong answer says 36


class StubbedModel(LocalServer):
    """Answers as a model would: what the passage in the prompt says, or what it is told to."""

    def __init__(self) -> None:
        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
                body = json.dumps(complete(asked["messages"][-1]["content"])).encode()
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                pass

        self.serve(ThreadingHTTPServer(("127.0.0.1", 0), Handler))


def complete(prompt: str) -> dict[str, Any]:
    passage, _, wish = prompt.partition("\n")
    said = passage.replace(f"{MONTHS} months", "36 months") if "wrong" in wish else passage
    message = {"role": "assistant", "content": said}
    return {
        "id": "c1", "object": "chat.completion", "created": 1, "model": "stub-1",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 9, "completion_tokens": 9, "total_tokens": 18},
    }  # fmt: skip


class Past(SpanExporter):
    """Gathers a day's spans, and sends them as if they had happened on that day."""

    def __init__(self, exporter: OTLPSpanExporter) -> None:
        self._exporter = exporter
        self._spans: list[ReadableSpan] = []

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        self._spans += spans
        return SpanExportResult.SUCCESS

    def send(self, ago: timedelta) -> None:
        back = int(ago.total_seconds()) * 10**9
        for span in self._spans:
            assert span._start_time is not None and span._end_time is not None  # noqa: PT018
            span._start_time -= back
            span._end_time -= back
        assert self._exporter.export(self._spans) is SpanExportResult.SUCCESS
        self._spans.clear()


class HelpDesk:
    """The system that is watched: it retrieves, asks the model and answers, all of it traced."""

    def __init__(self, address: str, place: str, model: StubbedModel) -> None:
        with open_store(place) as store:
            key = create_key(store, "desk", ["traces"], created_by="ada", now=utc_now())
        headers = {"authorization": f"Bearer {key}"}
        self.past = Past(OTLPSpanExporter(f"{address}/v1/traces", headers=headers))
        resource = Resource.create({"service.name": "help-desk", "service.version": "7"})
        self.provider = TracerProvider(resource=resource)
        self.provider.add_span_processor(SimpleSpanProcessor(self.past))
        self.tracer = self.provider.get_tracer("desk")
        self.client = OpenAI(base_url=f"{model.root}/v1", api_key="none", max_retries=0)
        OpenAIInstrumentor().instrument(tracer_provider=self.provider)

    def close(self) -> None:
        OpenAIInstrumentor().uninstrument()
        self.client.close()
        self.provider.shutdown()

    def answer(self, number: int, *, wrong: bool) -> None:
        question = f"How long is the warranty of model {number}?"
        passage = f"The warranty of model {number} lasts {MONTHS} months."
        with self.tracer.start_as_current_span("answer") as root:
            root.set_attributes({"openinference.span.kind": "CHAIN", "input.value": question})
            with self.tracer.start_as_current_span("search") as search:
                search.set_attributes({
                    "openinference.span.kind": "RETRIEVER",
                    "retrieval.documents.0.document.id": f"manual-{number}",
                    "retrieval.documents.0.document.content": passage,
                })  # fmt: skip
            wish = "wrong" if wrong else "right"
            reply = self.client.chat.completions.create(
                model="stub-1", messages=[{"role": "user", "content": f"{passage}\n{wish}"}]
            )
            root.set_attribute("output.value", reply.choices[0].message.content or "")

    def live(self, days: int, today: datetime) -> int:
        """Answer through all days up to yesterday; return how many answers that were."""
        for day in range(days):
            usual = (1, 1, 0, 1, 2, 1, 0)[day % 7]
            wrong = 5 if BAD <= day < FIXED else usual
            for place in range(ANSWERS):
                self.answer(day * ANSWERS + place, wrong=place < wrong)
            self.past.send(today - (today.replace(hour=0, minute=0) - (days - day) * DAY
                                    + timedelta(hours=12)))  # fmt: skip
        return days * ANSWERS


@pytest.fixture
def place(postgres_place: str) -> str:
    aside(lambda: open_store(postgres_place, create=True).close())
    return postgres_place


@pytest.fixture
def app(place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[AppProcess]:
    settings = f'[store]\nurl = "{place}"\n[traffic]\nquiet_seconds = 0.05\n'
    (tmp_path / "claimwise.toml").write_text(settings, "utf-8")
    monkeypatch.chdir(tmp_path)
    with AppProcess(tmp_path, place) as running:
        yield running
        assert not [line for line in running.lines if line.startswith("error")]


@pytest.fixture
def page(lend_tab: LendTab, app: AppProcess) -> Iterator[Page]:
    tab = lend_tab(width=1280)
    assert app.setup_link
    make_account(tab.page, app.setup_link, "ada")
    yield tab.page
    assert tab.errors == []


def aside(work: Callable[[], T]) -> T:
    """Do something in another thread: in this one the browser keeps an event loop running."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(work).result()


def test_a_month_from_the_first_span_to_the_gate(
    app: AppProcess, place: str, page: Page, capsys: pytest.CaptureFixture[str]
) -> None:
    monday, raised = aside(lambda: live_and_watch(app.address, place))
    assert {(one.signal, one.system) for one in raised} == {
        ("judge_rate", "help-desk"), ("judge", ""),
    }  # fmt: skip
    rate = next(one for one in raised if one.signal == "judge_rate")
    assert rate.evidence.since is not None
    assert abs((rate.evidence.since - (monday + BAD * DAY).date()).days) <= 2
    assert "the system changed" in " ".join(explain_alarm(rate))
    changed = next(one for one in raised if one.signal == "judge")
    assert changed.evidence.since is not None
    assert changed.evidence.since >= (monday + 7 * JUDGE_CHANGES * DAY).date()
    assert "it is harsher than it was" in " ".join(explain_alarm(changed))

    window = f"{monday + BAD * DAY:%Y-%m-%d}..{monday + FIXED * DAY:%Y-%m-%d}"
    assert aside(lambda: run(["label-next", "40", "--window", window])) == 0
    page.goto(f"{app.address}/label")
    assert label_truly(page) == 40
    capsys.readouterr()
    assert aside(lambda: run(["estimate", "--window", window, "--format", "json"])) == 0
    estimate = json.loads(capsys.readouterr().out)["headline"]
    assert estimate["basis"] == "corrected"
    assert estimate["low"] <= 1 - 5 / ANSWERS <= estimate["high"]

    page.goto(f"{app.address}/alarms")
    page.get_by_role("link", name="Supported claims (judge alone) of help-desk fell").click()
    page.get_by_label("Worst answers to turn into incidents").fill("3")
    page.get_by_label("Yes: a refusal would be wrong").check()
    page.get_by_role("button", name="Open incidents").click()
    expect(page.get_by_role("status")).to_contain_text("3 new incidents")
    expect(page.locator("#main")).to_contain_text("Would have marked down 3 of 3 incidents")
    assert aside(lambda: count_cases(place)) == 3


def live_and_watch(address: str, place: str) -> tuple[datetime, list[Alarm]]:
    """Live through seven weeks, judge them, and look; return the first day and the alarms."""
    today = utc_now().replace(second=0, microsecond=0)
    monday = today.replace(hour=0, minute=0) - (today.weekday() + 49) * DAY
    with StubbedModel() as model:
        desk = HelpDesk(address, place, model)
        try:
            sent = desk.live((today - monday).days, today)
        finally:
            desk.close()
    with open_store(place) as store:
        stored = "select count(*) from traffic_answers"
        wait_until(lambda: store.query(stored)[0][0] == sent, "every answer is stored")
        judge = judge_traffic(store, "lexical").labeler
        with store.write():
            store.insert_rows("labelers", ("labeler", "labeler_kind"), [(PERSON, "human")])
        for week in range(7):
            harsh = 12 if week >= JUDGE_CHANGES else 0
            add_anchors(store, week, harsh=harsh, judge=judge, first=monday)
        settings = MonitorSettings(wait_days=0, anchors="anchors")
        return monday, watch_all(store, settings, utc_now()).raised


def count_cases(place: str) -> int:
    with open_store(place) as store:
        sql = "select count(*) from eval_items where item_id like 'incident-%'"
        return int(store.query(sql)[0][0])


def label_truly(page: Page) -> int:
    """Label by keyboard what the documents say; return how many claims that were."""
    wait_ready(page)
    labelled = 0
    while not page.locator("#finished").is_visible():
        text = page.locator("#claim-text").inner_text()
        with page.expect_response(re.compile(r"/api/tasks/.*/label$")) as answered:
            press_verdict(page, supported=f"{MONTHS} months" in text)
        assert answered.value.ok
        labelled += 1
        page.wait_for_function(
            "() => !document.getElementById('desk').classList.contains('waiting')"
        )
    return labelled
