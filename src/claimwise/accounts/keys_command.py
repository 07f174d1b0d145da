"""``claimwise keys``."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import click

from claimwise.accounts.api_keys import SCOPES, ApiKey, create_key, list_keys, revoke_key
from claimwise.accounts.queries import COMMAND_LINE, add_event
from claimwise.command.options import (
    current_project,
    find_login_name,
    format_option,
    open_project_store,
    print_json,
    print_table,
    store_option,
)
from claimwise.errors import RefusedError, describe_unknown
from claimwise.report.format import pluralize


@click.group("keys", short_help="Manage keys of programs that send traces or ask for checks.")
def command() -> None:
    """Manage keys of programs. Anyone who can write to the store can do this."""


@command.command("create")
@click.argument("name")
@click.option(
    "--scope",
    "scopes",
    type=click.Choice(list(SCOPES)),
    multiple=True,
    required=True,
    help="What the key may do: send traces, check answers, or read figures; may be repeated.",
)
@click.option(
    "--per-minute",
    type=click.IntRange(1),
    metavar="N",
    help="Checks per minute (default: [check] requests_per_minute of claimwise.toml).",
)
@click.option(
    "--days",
    type=click.IntRange(1, 3660),
    metavar="N",
    help="Days until it expires (default: never).",
)
@store_option
def create_command(
    name: str, scopes: tuple[str, ...], per_minute: int | None, days: int | None, store: str | None
) -> None:
    """Create a key and print it. It is shown once: only its hash is stored.

    \b
    claimwise keys create collector --scope traces
    export OTEL_EXPORTER_OTLP_HEADERS="authorization=Bearer cw_…"
    """
    now = _now()
    life = None if days is None else timedelta(days=days)
    with open_project_store(current_project(), store) as opened, opened.write():
        token = create_key(
            opened,
            name,
            scopes,
            created_by=find_login_name(),
            now=now,
            requests_per_minute=per_minute,
            life=life,
        )
        add_event(opened, "key created", account=None, subject=name, detail=COMMAND_LINE, now=now)
    click.echo(token)


@command.command("list")
@store_option
@format_option("text", "json")
def list_command(store: str | None, form: str) -> None:
    """List all keys, without the keys themselves."""
    now = _now()
    with open_project_store(current_project(), store) as opened:
        found = list_keys(opened)
    if form == "json":
        print_json({"keys": [_to_document(key, now) for key in found]})
    elif not found:
        click.echo("no keys yet; `claimwise keys create NAME --scope traces` makes one")
    else:
        print_table(
            ("name", "scopes", "per minute", "since", "state"),
            [
                (key.name, key.scopes, key.requests_per_minute, f"{key.created_at:%Y-%m-%d}",
                 _describe_state(key, now))
                for key in found
            ],
        )  # fmt: skip


@command.command("revoke")
@click.argument("name")
@store_option
def revoke_command(name: str, store: str | None) -> None:
    """Revoke a key by its name or id. It stops working at once."""
    now = _now()
    with open_project_store(current_project(), store) as opened, opened.write():
        count = revoke_key(opened, name, now)
        if not count:
            known = [key.name for key in list_keys(opened) if key.revoked_at is None]
            raise RefusedError(describe_unknown("key", name, known))
        add_event(opened, "key revoked", account=None, subject=name, detail=COMMAND_LINE, now=now)
    click.echo(f"revoked {pluralize(count, 'key')}")


def _to_document(key: ApiKey, now: datetime) -> dict[str, object]:
    return {
        "key_id": key.key_id,
        "name": key.name,
        "scopes": key.scopes.split(","),
        "requests_per_minute": key.requests_per_minute,
        "created_by": key.created_by,
        "created_at": key.created_at.isoformat(),
        "expires_at": None if key.expires_at is None else key.expires_at.isoformat(),
        "revoked_at": None if key.revoked_at is None else key.revoked_at.isoformat(),
        "state": _describe_state(key, now),
    }


def _describe_state(key: ApiKey, now: datetime) -> str:
    if key.revoked_at is not None:
        return "revoked"
    return "expired" if key.expires_at is not None and key.expires_at <= now else "active"


def _now() -> datetime:
    return datetime.now(UTC).replace(tzinfo=None)
