"""Simulated labelers, who work over HTTP as the desk in a browser does."""

from __future__ import annotations

import http.client
import json
import random
import re
import threading
import time
from collections import Counter
from typing import Any, NamedTuple
from urllib.parse import urlencode

PASSWORD = "a long enough password"
_CSRF = re.compile(r'name="csrf" value="([^"]+)"')
_FORM = {"content-type": "application/x-www-form-urlencoded"}
_RETRY_SECONDS = 0.1
_GIVE_UP_SECONDS = 60.0
_ENOUGH_AHEAD = 10  # claims; with fewer, the desk fetches more


class Pace(NamedTuple):
    """How fast people work; times are compressed already."""

    labels: int  # that each gives
    seconds: float  # from one to the next, on average


class Labeler(threading.Thread):
    """Logs in, waits until all have, then labels claim by claim.

    Sometimes skips one, takes a label back, or sends it twice.

    After the run: ``acknowledged`` has the verdict that the server last confirmed for every task,
    ``taken_back`` how many labels it confirmed as taken back, ``save_ms`` how long each save took
    as seen from here.
    """

    def __init__(
        self, port: int, round_id: str, name: str, pace: Pace, everyone: threading.Barrier
    ) -> None:
        super().__init__(name=name, daemon=True)
        self._port, self._round_id, self._pace = port, round_id, pace
        self._everyone = everyone
        self._random = random.Random(name)
        self._web: http.client.HTTPConnection | None = None
        self._cookies: dict[str, str] = {}
        self._csrf = ""
        self._ahead: list[dict[str, Any]] = []
        self.acknowledged: dict[str, str] = {}
        self.taken_back = 0
        self.save_ms: list[float] = []
        self.next_ms: list[float] = []
        self.retries = 0
        self.errors: list[str] = []
        self.did: Counter[str] = Counter()

    def run(self) -> None:
        """Work until the labels are given or nothing is left."""
        try:
            self._log_in()
            self._everyone.wait(_GIVE_UP_SECONDS)
            time.sleep(self._random.uniform(0, self._pace.seconds))
            self._work()
        except Exception as error:  # noqa: BLE001 - a thread's error must reach the report
            self.errors.append(f"{self.name}: {type(error).__name__}: {error}")
            self._everyone.abort()

    def _work(self) -> None:
        self._fetch()
        due = time.monotonic() + self._pace.seconds
        while len(self.acknowledged) < self._pace.labels:
            if len(self._ahead) < _ENOUGH_AHEAD:
                self._fetch()
            if not self._ahead:
                return
            task = self._ahead.pop(0)
            due = max(due, time.monotonic() - self._pace.seconds)
            time.sleep(max(0.0, due - time.monotonic()))
            due += self._random.uniform(0.5, 1.5) * self._pace.seconds
            if self._random.random() < 0.04:
                self._send("POST", f"/api/tasks/{task['task_id']}/skip", {"reason": "too hard"})
                self.did["skip"] += 1
            else:
                self._label(task)

    def _label(self, task: dict[str, Any]) -> None:
        choice = self._choose(task)
        self._save(task, choice)
        if self._random.random() < 0.08:
            self._save(task, choice)
            self.did["sent twice"] += 1
        if self._random.random() < 0.05:
            self._send("POST", f"/api/tasks/{task['task_id']}/undo", {})
            self.acknowledged.pop(task["task_id"])
            self.taken_back += 1
            self.did["undo"] += 1
            self._save(task, self._choose(task))

    def _choose(self, task: dict[str, Any]) -> dict[str, Any]:
        verdict = self._random.choice(("supported", "contradicted", "unlinked"))
        save_id = f"{self._random.getrandbits(128):032x}"
        choice: dict[str, Any] = {"verdict": verdict, "seconds": 12.0, "save_id": save_id}
        if verdict != "unlinked":
            source = task["sources"][0]
            span = source["source_text"].partition(".")[0]
            choice |= {"source_id": source["source_id"], "span_start": 0, "span_text": span}
        return choice

    def _save(self, task: dict[str, Any], choice: dict[str, Any]) -> None:
        start = time.perf_counter()
        self._send("POST", f"/api/tasks/{task['task_id']}/label", choice)
        self.save_ms.append((time.perf_counter() - start) * 1000)
        self.acknowledged[task["task_id"]] = choice["verdict"]

    def _fetch(self) -> None:
        """Fetch claims ahead, as the desk does; those that are here already are not sent again."""
        start = time.perf_counter()
        have = ",".join(task["task_id"] for task in self._ahead)
        told = self._send("GET", f"/api/rounds/{self._round_id}/batch?have={have}")
        self.next_ms.append((time.perf_counter() - start) * 1000)
        for claim in told["claims"]:
            sources = told["sources"][claim["answer"]]
            self._ahead.append({**claim["task"], "sources": sources})

    # HTTP

    def _log_in(self) -> None:
        page = self._exchange("GET", "/login", None, {})[1]
        form = {"csrf": _read_csrf(page), "name": self.name, "password": PASSWORD}
        status, _ = self._exchange("POST", "/login", urlencode(form).encode(), _FORM)
        if status != 303:
            raise AssertionError(f"login: {status}")
        self._csrf = _read_csrf(self._exchange("GET", "/account", None, {})[1])

    def _send(self, method: str, path: str, value: object = None) -> dict[str, Any]:
        """Send until there is an answer: after a lost connection the same request goes again."""
        body = None if value is None else json.dumps(value).encode()
        headers = {"content-type": "application/json", "x-csrf-token": self._csrf}
        give_up = time.monotonic() + _GIVE_UP_SECONDS
        while True:
            try:
                status, text = self._exchange(method, path, body, headers)
                break
            except (OSError, http.client.HTTPException):
                if time.monotonic() > give_up:
                    raise
                self.retries += 1
                time.sleep(_RETRY_SECONDS)
        if status != 200:
            raise AssertionError(f"{method} {path}: {status} {text[:200]}")
        found: dict[str, Any] = json.loads(text)
        return found

    def _exchange(
        self, method: str, path: str, body: bytes | None, headers: dict[str, str]
    ) -> tuple[int, str]:
        if self._web is None:
            self._web = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)
        cookie = "; ".join(f"{name}={value}" for name, value in self._cookies.items())
        try:
            self._web.request(method, path, body, {**headers, "cookie": cookie})
            answer = self._web.getresponse()
            text = answer.read().decode()
        except (OSError, http.client.HTTPException):
            self._web.close()
            self._web = None
            raise
        for value in answer.headers.get_all("set-cookie") or ():
            name, _, kept = value.partition(";")[0].partition("=")
            self._cookies[name] = kept
        return answer.status, text


def _read_csrf(page: str) -> str:
    found = _CSRF.search(page)
    if not found:
        raise AssertionError("the page has no form token")
    return found[1]
