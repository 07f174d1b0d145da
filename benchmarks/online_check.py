"""Checks before an answer is shown: are they in time, and what happens when there are too many?

A real ``claimwise serve`` in a process of its own gets 20 requests a second for a minute, whether
or not earlier ones were answered (open loop): an answer of four claims with three sources of some
hundred words, to be checked within 250 ms; by the lexical judge, which is asked to be in time with
every claim, and by the embedded one, which on 2 cores can't judge that many. Then 400 requests in
two seconds. Rival, with the same requests: a bare endpoint that calls ``claimwise.check`` in a
thread. Asked: p99 under 300 ms at 20 requests a second with at least 99% of answers complete by the
lexical judge, and overload answered with 429 by both.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
import time
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from statistics import quantiles
from typing import Any, NamedTuple

import httpx2

from claimwise.accounts.api_keys import create_key
from claimwise.store import open_store
from support.served_app import serve

A_SECOND = 20
MOST_MS = 300.0
DEADLINE_MS = 250
ANSWER = (
    "The tower is {n} m tall. Refunds are issued within 30 days. The museum is closed on Mondays. "
    "Tickets cost 15 euros."
)
SOURCES = (
    "The tower is 330 metres tall. It was built in 1889 for the World's Fair. " * 6,
    "Refunds are issued within 14 days. Orders over 50 euros ship for free. " * 6,
    "The museum opens at 10 and closes at 18. On Mondays it is closed. Tickets cost 12 euros. " * 5,
)


class Replies(NamedTuple):
    """What came back."""

    statuses: Counter[int]
    milliseconds: list[float]  # of requests that were not turned away
    complete: int
    refusals: list[float]  # milliseconds until a request was turned away

    def describe(self) -> dict[str, Any]:
        """Return the figures."""
        answered = self.statuses[200]
        cuts = quantiles(self.milliseconds, n=100) if len(self.milliseconds) > 1 else [0.0] * 99
        return {
            "requests": sum(self.statuses.values()),
            "answered": answered,
            "turned_away": self.statuses[429],
            "p50_ms": round(cuts[49], 1),
            "p99_ms": round(cuts[98], 1),
            "complete": round(self.complete / answered, 3) if answered else 0.0,
        }


async def ask_at_pace(port: int, key: str, count: int, pause: float, deadline: int) -> Replies:
    """Send requests at a pace, whether or not earlier ones were answered."""
    found = Replies(Counter(), [], 0, [])
    complete = 0
    # The server closes a connection that is idle for 5 s.
    limits = httpx2.Limits(max_connections=600, keepalive_expiry=2)
    base = f"http://127.0.0.1:{port}"
    async with httpx2.AsyncClient(base_url=base, timeout=120, limits=limits, verify=False) as web:

        async def ask(number: int) -> None:
            nonlocal complete
            sources = [{"id": f"s{n}", "text": text} for n, text in enumerate(SOURCES)]
            call = {"answers": [{"answer": ANSWER.format(n=number), "sources": sources}],
                    "deadline_ms": deadline}  # fmt: skip
            headers = {"authorization": f"Bearer {key}"}
            asked = time.monotonic()
            reply = await web.post("/v1/check", json=call, headers=headers)
            taken = (time.monotonic() - asked) * 1000
            found.statuses[reply.status_code] += 1
            if reply.status_code == 200:
                found.milliseconds.append(taken)
                complete += reply.json()["results"][0]["complete"]
            else:
                found.refusals.append(taken)

        begun = time.monotonic()
        tasks = []
        for number in range(count):
            await asyncio.sleep(max(0.0, begun + number * pause - time.monotonic()))
            tasks.append(asyncio.create_task(ask(number)))
        await asyncio.gather(*tasks)
    return found._replace(complete=complete)


def measure(port: int, key: str, seconds: float) -> dict[str, Any]:
    """Return the figures at the pace, and of a flood."""
    # The first requests load the judge and connect.
    asyncio.run(ask_at_pace(port, key, 3, 0.5, 60_000))
    paced = asyncio.run(ask_at_pace(port, key, int(seconds * A_SECOND), 1 / A_SECOND, DEADLINE_MS))
    flood = asyncio.run(ask_at_pace(port, key, 400, 0.005, DEADLINE_MS))
    return {"paced": paced.describe(), "flood": flood.describe()}


def measure_judge(judge: str, seconds: float, folder: Path) -> dict[str, Any]:
    place = str(folder / f"{judge}.db")
    settings = f'[check]\njudge = "{judge}"\nwaiting = 16\n'
    (folder / "claimwise.toml").write_text(settings, encoding="utf-8")
    now = datetime.now(UTC).replace(tzinfo=None)
    with open_store(place, create=True) as store:
        key = create_key(store, "bench", ["check"], created_by="bench", now=now,
                         requests_per_minute=1_000_000)  # fmt: skip
    with serve(place, folder) as server:
        return measure(server.port, key, seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    seconds = 3.0 if quick else 60.0
    figures: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        figures["lexical"] = measure_judge("lexical", seconds, folder)
        if not quick:
            figures["embedded"] = measure_judge("embedded", seconds, folder)
        script = str(Path(__file__).parent / "support" / "bare_check.py")
        with serve("", folder, [script, "{port}", "lexical"]) as server:
            figures["bare_lexical"] = measure(server.port, "none", seconds)
    for label, one in figures.items():
        for kind, row in one.items():
            print(label, kind, row)
    ours = {name: one for name, one in figures.items() if name != "bare_lexical"}
    in_time = figures["lexical"]["paced"]["p99_ms"] < MOST_MS
    complete = figures["lexical"]["paced"]["complete"] >= 0.99
    refused = all(one["flood"]["turned_away"] > 0 for one in ours.values())
    print(json.dumps({**figures, "in_time": in_time, "overload_refused": refused,
                      "holds": in_time and complete and refused}))  # fmt: skip


if __name__ == "__main__":
    main()
