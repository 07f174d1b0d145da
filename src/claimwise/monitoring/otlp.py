"""Sends the verdicts of days that were read as OpenTelemetry events, to a file or collector."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from claimwise.errors import ClaimwiseError
from claimwise.monitoring.webhooks import post_message
from claimwise.store import Store
from claimwise.transfer.outgoing import read_outgoing_answers, read_outgoing_run
from claimwise.transfer.targets.otel import make_requests

_LOGS: Final = "/v1/logs"


def send_events(store: Store, runs: Iterable[str], to: str) -> int:
    """Send ``gen_ai.evaluation.result`` events of runs; return of how many answers.

    Args:
        store: where the runs are.
        runs: their ids.
        to: the address of an OTLP/HTTP collector, or a file that lines of JSON are added to.

    Raises:
        ClaimwiseError: the collector refuses them, or the file can't be written.
    """
    if to.startswith(("http://", "https://")):
        url = to if to.endswith(_LOGS) else to.rstrip("/") + _LOGS
        return sum(_post(url, request) for request in _list_requests(store, runs))
    try:
        with Path(to).open("a", encoding="utf-8") as file:
            count = 0
            for request in _list_requests(store, runs):
                file.write(json.dumps(request, ensure_ascii=False) + "\n")
                count += 1
            return count
    except OSError as error:
        raise ClaimwiseError(f"{to}: {error.strerror}; events were not written") from error


def _list_requests(store: Store, runs: Iterable[str]) -> Iterator[dict[str, Any]]:
    for run_id in runs:
        with store.snapshot():
            run = read_outgoing_run(store, run_id, None)
            for answer in read_outgoing_answers(store, run_id):
                yield from make_requests(run, answer)


def _post(url: str, request: dict[str, Any]) -> int:
    status = post_message(url, json.dumps(request).encode(), {"content-type": "application/json"})
    if not 200 <= status < 300:
        raise ClaimwiseError(
            f"{url}: it answered with {status}; verdicts are kept, `claimwise export --to otel` "
            "writes them again"
        )
    return 1
