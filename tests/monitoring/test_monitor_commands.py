"""The commands around alarms: exit codes, JSON, webhook, metrics, dashboard, events, runbook."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
import threading
import tomllib
from collections.abc import Callable
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from claimwise.accounts.api_keys import create_key
from claimwise.cli.main import run
from claimwise.config import Config, Project
from claimwise.errors import ClaimwiseError, ConfigError
from claimwise.monitoring.grafana import make_dashboard
from claimwise.monitoring.prometheus import write_metrics
from claimwise.monitoring.queries import list_alarms
from claimwise.monitoring.settings import MonitorSettings, read_settings
from claimwise.monitoring.watch import watch_all
from claimwise.monitoring.webhooks import deliver_due, post_message, sign_message
from claimwise.store import Store, open_store
from support.app_server import run_app, utc_now
from support.copies import Fill
from support.local_server import LocalServer
from support.monitored_traffic import DAY, FIRST, TrafficWriter

ALARMED_AT = FIRST + 45 * DAY + timedelta(hours=6)


def add_regression(store: Store) -> None:
    """Five quiet weeks and ten bad days; nobody has looked yet."""
    writer = TrafficWriter(store)
    writer.add_days(0, 35)
    writer.add_days(35, 45, wrong=9, model="m2")


class Receiver(LocalServer):
    """Takes webhooks: refuses the first, keeps all."""

    def __init__(self) -> None:
        self.messages: list[tuple[dict[str, str], bytes]] = []
        lock = threading.Lock()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                with lock:
                    receiver.messages.append((dict(self.headers), body))
                    first = len(receiver.messages) == 1
                self.send_response(503 if first else 204)
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                pass

        self.serve(ThreadingHTTPServer(("127.0.0.1", 0), Handler))


@pytest.fixture
def project(
    copy_store: Callable[[Fill], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """A project whose store holds a regression."""
    (tmp_path / "claimwise.toml").write_text(
        f'[store]\npath = "{copy_store(add_regression)}"\n[monitor]\nwait_days = 0\n'
    )
    monkeypatch.chdir(tmp_path)
    return tmp_path


def call(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    code = run(list(words))
    return code, capsys.readouterr().out


def test_a_regression_from_look_to_gate(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    now = ALARMED_AT.isoformat()
    code, said = call(
        capsys, "monitor", "--now", now, "--format", "json", "--otlp-out", "out.jsonl"
    )
    found = json.loads(said)
    assert code == 2
    assert len(found["days_read"]) == 45
    alarm = next(one for one in found["new_alarms"] if not one["slice"])
    assert "fell from 90" in alarm["summary"]
    events = [json.loads(line) for line in Path("out.jsonl").read_text("utf-8").splitlines()]
    records = events[0]["resourceLogs"][0]["scopeLogs"][0]["logRecords"]
    assert len(events) == 45 * 20
    assert {one["eventName"] for one in records} == {"gen_ai.evaluation.result"}
    code, said = call(capsys, "monitor", "--now", now)
    assert (code, "open alarm" in said, "NEW" in said) == (0, True, False)
    assert call(capsys, "monitor", "--now", now, "--fail-if", "open")[0] == 2
    code, said = call(capsys, "monitor", "--now", now, "--window", "week")
    assert "2026-W37" in said
    assert "corrected" in said

    code, said = call(capsys, "runbook", alarm["alarm_id"], "--open-incidents", "2", "--who", "ann")
    assert code == 0
    assert "What to look at" in said
    assert "contradicted: Claim 0 of bot-" in said
    assert said.count("is now an incident") == 2
    assert "would have marked down 2 of 2 incidents of this alarm" in said
    proposed = said[said.index("[[gates]]") :]
    gates = tomllib.loads(proposed)["gates"]
    assert [gate["min"] for gate in gates] == [0.88, 0.88]
    with Path("claimwise.toml").open("a", encoding="utf-8") as file:
        file.write(proposed)
    code, said = call(capsys, "incidents", "--format", "json")
    caught = [one["caught_by"] for one in json.loads(said)["incidents"]]
    assert [len(one) for one in caught] == [2, 2]

    code, said = call(capsys, "alarms", "close", alarm["alarm_id"], "--because", "rolled back m2")
    assert (code, said) == (0, f"{alarm['alarm_id']}: closed\n")
    assert run(["alarms", "close", alarm["alarm_id"], "--because", "again"]) == 1
    assert "closed already" in capsys.readouterr().err
    code, said = call(capsys, "alarms", "list", "--all")
    assert "rolled back m2" in said


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["monitor", "--now", "soon"], "'soon' is not a time; write it like 2026-11-16"),
        (
            ["monitor", "--system", "nobody"],
            "Unknown system 'nobody' in the traffic. Known systems: bot.",
        ),
        (["runbook", "x"], "Unknown alarm 'x'"),
        (["alarms", "close", "x", "--because", "y"], "Unknown alarm 'x'"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(
    project: Path, capsys: pytest.CaptureFixture[str], words: list[str], told: str
) -> None:
    assert run(words) == 1
    said = capsys.readouterr().err
    assert told in said
    assert said.count("\n") == 1


def test_a_webhook_is_signed_retried_and_kept(
    copy_store: Callable[[Fill], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOOK_SECRET", "s3cret")
    waits: list[float] = []
    with Receiver() as receiver, open_store(copy_store(add_regression)) as store:
        hook = {"url": f"{receiver.root}/alarms?token=1", "secret_env": "HOOK_SECRET"}
        settings = read_monitor({"wait_days": 0, "webhooks": [hook]})
        assert watch_all(store, settings, ALARMED_AT).raised
        # Nobody listens: it is kept, and not tried again at once.
        silent = deliver_due(store, settings, ALARMED_AT, post=refuse, sleep=waits.append)
        assert (silent.delivered, waits) == (0, [2.0, 8.0])
        assert "token" not in silent.problems[0]
        assert deliver_due(store, settings, ALARMED_AT, post=refuse).problems == []
        later = ALARMED_AT + timedelta(minutes=2)
        # An address that has left the settings is never asked.
        assert deliver_due(store, MonitorSettings(), later, post=refuse).delivered == 0
        assert receiver.messages == []
        result = deliver_due(store, settings, later, sleep=waits.append)
        assert (result.delivered, result.problems) == (1, [])
        assert deliver_due(store, settings, later + DAY).delivered == 0
        alarm = list_alarms(store)[0]
    assert len(receiver.messages) == 2  # refused once, then taken
    headers, body = receiver.messages[-1]
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    expected = base64.b64encode(hmac.new(b"s3cret", signed, hashlib.sha256).digest()).decode()
    assert headers["webhook-signature"] == f"v1,{expected}"
    assert json.loads(body)["alarm"]["alarm_id"] == alarm.alarm_id
    assert b"Claim 0" not in body


def refuse(*_: object) -> int:
    raise ClaimwiseError("it did not answer")


def read_monitor(section: dict[str, Any]) -> MonitorSettings:
    return read_settings(Project(Path(), Config(monitor=section)))


@pytest.mark.parametrize(
    ("hook", "wrong"),
    [
        ({"url": "http://example.org/x", "secret_env": "S"}, "must start with https://"),
        ({"url": "https://u:p@example.org/x", "secret_env": "S"}, "holds a password"),
        ({"url": "file:///etc/passwd", "secret_env": "S"}, "must be a whole address"),
        ({"url": "https://example.org/x", "secret_env": "whsec_abc"}, "environment variable"),
    ],
)
def test_a_webhook_that_could_leak_is_refused(hook: dict[str, str], wrong: str) -> None:
    with pytest.raises(ConfigError, match=wrong) as refused:
        read_monitor({"webhooks": [hook]})
    assert "whsec_abc" not in str(refused.value)


def test_a_secret_that_can_not_be_read_is_not_told() -> None:
    with pytest.raises(ClaimwiseError, match="is not base64") as refused:
        sign_message("d1", "{}", "whsec_no*base64", utc_now())
    assert "no*base64" not in str(refused.value)


def test_a_clouds_own_address_is_never_asked() -> None:
    with pytest.raises(ClaimwiseError, match="can't receive alarms"):
        post_message("https://169.254.169.254/latest/meta-data", b"{}", {})


def test_metrics_and_dashboard_speak_of_the_same_figures(
    copy_store: Callable[[Fill], str],
) -> None:
    with open_store(copy_store(add_regression)) as store:
        assert write_metrics(store) == ""
        watch_all(store, MonitorSettings(wait_days=0), ALARMED_AT)
        text = write_metrics(store)
        alarm = next(one for one in list_alarms(store) if not one.slice)
    sample = re.compile(r'([a-z_]+)\{((?:[a-z_]+="(?:[^"\\]|\\.)*",?)*)\} (\S+)')
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    found = [sample.fullmatch(line) for line in lines]
    assert all(found)
    names = {match[1] for match in found if match}
    assert f'alarm="{alarm.alarm_id}"' in text
    assert 'claimwise_answers{system="bot",group=""} 20.0' in lines
    queries = [
        target["expr"] for panel in make_dashboard()["panels"] for target in panel["targets"]
    ]
    used = set(re.findall(r"claimwise_[a-z_]+", " ".join(queries)))
    assert used - names == {"claimwise_judge_change"}  # this project has no anchors


def test_prometheus_needs_a_key_of_its_own(
    copy_store: Callable[[Fill], str], tmp_path: Path
) -> None:
    place = copy_store(add_regression)
    with open_store(place) as store:
        watch_all(store, MonitorSettings(wait_days=0), ALARMED_AT)
        keys = {
            scope: create_key(store, f"k-{scope}", [scope], created_by="ann", now=utc_now())
            for scope in ("metrics", "traces")
        }
    with run_app(place, tmp_path, config=Config()) as app:
        web = app.visit().web
        answers = {
            scope: web.get("/metrics", headers={"authorization": f"Bearer {key}"})
            for scope, key in {**keys, "nobody": "cw_wrong"}.items()
        }
    codes = {scope: answer.status_code for scope, answer in answers.items()}
    assert codes == {"metrics": 200, "traces": 403, "nobody": 401}
    assert answers["metrics"].headers["content-type"].startswith("text/plain; version=0.0.4")
    assert "claimwise_alarm_open{" in answers["metrics"].text
