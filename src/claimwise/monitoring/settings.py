"""Reads ``[monitor]`` of ``claimwise.toml``: a wrong entry stops the monitor, and nothing else."""

from __future__ import annotations

import re
from typing import Literal
from urllib.parse import urlsplit

import msgspec

from claimwise.config import FILE_NAME, Project
from claimwise.errors import ConfigError

_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]*")


class Webhook(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where alarms are sent. The secret is read from the environment, never from the file."""

    url: str
    secret_env: str


class MonitorSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is watched, and who is told."""

    by: tuple[str, ...] = ()  # columns of items whose groups have alarms of their own
    wait_days: int = 1  # how long after its end a day is read: judges and people need time
    rate_alarm: Literal["days", "labels"] = "days"
    anchors: str | None = None  # the run whose labelled claims the judge judges again every week
    webhooks: tuple[Webhook, ...] = ()


def read_settings(project: Project) -> MonitorSettings:
    """Return how a project is monitored.

    Raises:
        ConfigError: a key or value that nobody knows, or a webhook that can't be meant.
    """
    path = project.folder / FILE_NAME
    try:
        found = msgspec.convert(project.config.monitor, MonitorSettings)
    except msgspec.ValidationError as error:
        raise ConfigError(
            f"{path}: [monitor] {error}; docs/alarms-you-can-believe.md lists the keys"
        ) from error
    if not 0 <= found.wait_days <= 14:
        raise ConfigError(f"{path}: [monitor] wait_days must be 0 to 14, not {found.wait_days}")
    for webhook in found.webhooks:
        _check_webhook(str(path), webhook)
    return found


def _check_webhook(path: str, webhook: Webhook) -> None:
    where = f"{path}: [[monitor.webhooks]]"
    if not _VARIABLE.fullmatch(webhook.secret_env):
        # Not shown: it may be the secret itself.
        raise ConfigError(
            f"{where} secret_env must name an environment variable, such as "
            'secret_env = "CLAIMWISE_WEBHOOK_SECRET"'
        )
    parts = urlsplit(webhook.url)
    if parts.scheme not in ("https", "http") or not parts.hostname:
        raise ConfigError(f"{where} url must be a whole address, such as https://host/path")
    if parts.username or parts.password:
        raise ConfigError(f"{where} url holds a password; remove it, messages are signed instead")
    if parts.scheme == "http" and parts.hostname not in ("localhost", "127.0.0.1", "::1"):
        raise ConfigError(
            f"{where} url must start with https:// unless it stays on this machine; found "
            f"http://{parts.hostname}"
        )
