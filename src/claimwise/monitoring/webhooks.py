"""Sends alarms to the webhooks of ``claimwise.toml``: signed, tried again, kept until delivered.

The format is that of Standard Webhooks (headers ``webhook-id``, ``webhook-timestamp`` and
``webhook-signature``), for which there are libraries in every language. Only addresses that the
settings name are ever asked, redirects are not followed, and addresses that only a machine's own
cloud answers (link-local ones) are refused. Messages hold figures and names, never a claim's text.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import socket
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from claimwise.errors import ClaimwiseError
from claimwise.monitoring.settings import MonitorSettings
from claimwise.store import Store

Post = Callable[[str, bytes, Mapping[str, str]], int]

_SECRET_PREFIX = "whsec_"  # noqa: S105 - how the standard marks a secret, not one
_SECONDS = 15.0
_LONGEST_REPLY = 65_536
_WAITS = (2.0, 8.0)  # between the attempts of one call
_FIRST_PAUSE = timedelta(minutes=1)
_LONGEST_PAUSE = timedelta(hours=6)


@dataclass(slots=True)
class DeliveryResult:
    """What became of messages: how many arrived, and why others did not."""

    delivered: int = 0
    problems: list[str] = field(default_factory=list)


class QueuedMessage(NamedTuple):
    """A message that waits."""

    delivery_id: str
    url: str
    body: str
    attempts: int


def deliver_due(
    store: Store,
    settings: MonitorSettings,
    now: datetime,
    *,
    post: Post | None = None,
    sleep: Callable[[float], object] = time.sleep,
) -> DeliveryResult:
    """Send every message whose time has come; what does not arrive waits longer every time.

    A message counts as delivered when the receiver answers with 2xx. It may arrive twice, under
    the same ``webhook-id``, where an answer got lost.
    """
    result = DeliveryResult()
    secrets = {webhook.url: webhook.secret_env for webhook in settings.webhooks}
    for message in _list_due(store, now):
        if message.url not in secrets:
            result.problems.append(f"{_hide(message.url)}: no longer in claimwise.toml; not sent")
            continue
        secret = os.environ.get(secrets[message.url])
        if not secret:
            result.problems.append(
                f"{_hide(message.url)}: the variable {secrets[message.url]} is not set; not sent"
            )
            continue
        error = _deliver(store, message, secret, now, post or post_message, sleep)
        if error is None:
            result.delivered += 1
        elif error:
            result.problems.append(f"{_hide(message.url)}: {error}; kept, and tried again later")
    return result


def _list_due(store: Store, now: datetime) -> list[QueuedMessage]:
    rows = store.query(
        "select delivery_id, url, body, attempts from webhook_deliveries "
        "where delivered_at is null and next_attempt_at <= :now "
        "order by next_attempt_at, delivery_id",
        {"now": now},
    )
    return [QueuedMessage(*row) for row in rows]


def _deliver(
    store: Store,
    message: QueuedMessage,
    secret: str,
    now: datetime,
    post: Post,
    sleep: Callable[[float], object],
) -> str | None:
    """Send one message; return None when it arrived, or why not; "" where another process sends."""
    if not _lease(store, message, now):
        return ""
    error = None
    for wait in (0.0, *_WAITS):
        if wait:
            sleep(wait)
        error = _try_once(message, secret, post)
        if error is None:
            break
    _note(store, message, error, now)
    return error


def _try_once(message: QueuedMessage, secret: str, post: Post) -> str | None:
    try:
        headers = sign_message(message.delivery_id, message.body, secret, datetime.now(UTC))
        status = post(message.url, message.body.encode(), headers)
    except (ClaimwiseError, OSError) as error:
        return str(error)
    return None if 200 <= status < 300 else f"it answered with {status}"


def sign_message(delivery_id: str, body: str, secret: str, moment: datetime) -> dict[str, str]:
    """Return the headers that prove who sent a message, and when.

    Raises:
        ClaimwiseError: the secret can't be read.
    """
    key = _read_secret(secret)
    stamp = str(int(moment.timestamp()))
    signed = hmac.new(key, f"{delivery_id}.{stamp}.{body}".encode(), hashlib.sha256).digest()
    return {
        "content-type": "application/json",
        "webhook-id": delivery_id,
        "webhook-timestamp": stamp,
        "webhook-signature": f"v1,{base64.b64encode(signed).decode()}",
    }


def _read_secret(secret: str) -> bytes:
    """Return a secret's bytes; one that starts with whsec_ is written in base64.

    Raises:
        ClaimwiseError: it is not; the secret itself is not told.
    """
    if not secret.startswith(_SECRET_PREFIX):
        return secret.encode()
    try:
        return base64.b64decode(secret.removeprefix(_SECRET_PREFIX), validate=True)
    except ValueError as error:
        raise ClaimwiseError("its secret starts with whsec_ but is not base64 after it") from error


def _lease(store: Store, message: QueuedMessage, now: datetime) -> bool:
    """Take a message for this process, and set when it is tried next; False: another has it."""
    pause = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2 ** min(message.attempts, 12))
    with store.write("monitor"):
        changed = store.execute(
            "update webhook_deliveries set attempts = attempts + 1, next_attempt_at = :next "
            "where delivery_id = :delivery_id and attempts = :attempts and delivered_at is null",
            {
                "next": now + pause,
                "delivery_id": message.delivery_id,
                "attempts": message.attempts,
            },
        )
    return changed == 1


def _note(store: Store, message: QueuedMessage, error: str | None, now: datetime) -> None:
    with store.write("monitor"):
        store.execute(
            "update webhook_deliveries set delivered_at = :at, last_error = :error "
            "where delivery_id = :delivery_id",
            {
                "at": now if error is None else None,
                "error": error,
                "delivery_id": message.delivery_id,
            },
        )


def post_message(url: str, body: bytes, headers: Mapping[str, str]) -> int:
    """Post a message and return the status.

    Raises:
        ClaimwiseError: the address is refused, or nothing answers in time.
    """
    # Most commands never send anything.
    from httpcore2 import TimeoutException

    from claimwise.llm.transport import FAILED, Deadlines, open_http

    _refuse_link_local(url)
    deadlines = Deadlines()
    with open_http(url, dict(headers), deadlines, connections=1) as client:
        deadlines.start(_SECONDS)
        try:
            return client.post_content(body, longest=_LONGEST_REPLY).status
        except (*FAILED, TimeoutException) as error:
            raise ClaimwiseError(f"it did not answer: {type(error).__name__}") from error


def _refuse_link_local(url: str) -> None:
    """Refuse addresses that no receiver of messages has, such as a cloud's own metadata.

    Raises:
        ClaimwiseError: the host is or means such an address, or none at all.
    """
    host = urlsplit(url).hostname or ""
    try:
        found: list[Any] = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError as error:
        raise ClaimwiseError("its host name can't be resolved") from error
    for *_, place in found:
        address = ip_address(str(place[0]).partition("%")[0])
        if address.is_link_local or address.is_multicast or address.is_unspecified:
            raise ClaimwiseError(f"{host} means {address}, which can't receive alarms")


def _hide(url: str) -> str:
    """Return an address without its path and query, which may hold a token."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}/…"
