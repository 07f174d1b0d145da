"""``claimwise accounts``."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import cast

import click

from claimwise.accounts.queries import (
    COMMAND_LINE,
    LONGEST_INVITE,
    add_event,
    create_invite,
    create_named_account,
    disable_account,
    list_accounts,
)
from claimwise.accounts.values import ROLES, Role
from claimwise.command.options import (
    current_project,
    format_option,
    open_project_store,
    print_json,
    print_table,
    store_option,
)
from claimwise.store import Store

_ADDRESS = "http://127.0.0.1:8700"

address_option = click.option(
    "--address",
    metavar="URL",
    default=_ADDRESS,
    show_default=True,
    help="Address of the app; the link starts with it.",
)
hours_option = click.option(
    "--hours",
    type=click.IntRange(1, LONGEST_INVITE // timedelta(hours=1)),
    metavar="N",
    default=72,
    show_default=True,
    help="Hours until the link expires.",
)


@click.group("accounts", short_help="Manage who may use the app.")
def command() -> None:
    """Manage accounts of the app. Anyone who can write to the store can do this."""


@command.command("list")
@store_option
@format_option("text", "json")
def list_command(store: str | None, form: str) -> None:
    """List all accounts."""
    with open_project_store(current_project(), store) as opened:
        found = list_accounts(opened)
        place = opened.place
    if form == "json":
        rows = [
            {
                "account": one.account,
                "role": one.role,
                "created_at": one.created_at.isoformat(),
                "disabled_at": one.disabled_at.isoformat() if one.disabled_at else None,
            }
            for one in found
        ]
        print_json({"accounts": rows})
    elif not found:
        click.echo(f"{place}: no accounts yet; `claimwise serve` creates the first one")
    else:
        print_table(
            ("account", "role", "since", "state"),
            [
                (one.account, one.role, f"{one.created_at:%Y-%m-%d}",
                 "disabled" if one.disabled_at else "active")
                for one in found
            ],
        )  # fmt: skip


@command.command("invite")
@click.option("--role", type=click.Choice(ROLES), default="labeler", show_default=True,
              help="What the account may do.")  # fmt: skip
@click.option(
    "--name",
    metavar="NAME",
    help="Create the account under this name, even if imported labels use it; otherwise the "
    "invited person chooses a name that has no labels.",
)
@hours_option
@address_option
@store_option
def invite_command(
    role: str, name: str | None, hours: int, address: str, store: str | None
) -> None:
    """Print a link that creates one account. It is shown once and works once."""
    life, now, chosen = timedelta(hours=hours), _now(), cast(Role, role)
    with open_project_store(current_project(), store) as opened, opened.write():
        if name is None:
            token = create_invite(opened, chosen, COMMAND_LINE, now, life=life)
        else:
            token = create_named_account(opened, name, chosen, COMMAND_LINE, now, life=life)
        _record(opened, "invite", name or role, now)
    click.echo(f"{address.rstrip('/')}/invite/{token}")


@command.command("disable")
@click.argument("name")
@store_option
def disable_command(name: str, store: str | None) -> None:
    """Disable an account immediately. Its labels stay."""
    now = _now()
    with open_project_store(current_project(), store) as opened, opened.write():
        disable_account(opened, name, now)
        _record(opened, "disable", name, now)
    click.echo(f"{name} is disabled; all its sessions have ended")


@command.command("reset")
@click.argument("name")
@hours_option
@address_option
@store_option
def reset_command(name: str, hours: int, address: str, store: str | None) -> None:
    """Print a link that sets a new password for an account."""
    life, now = timedelta(hours=hours), _now()
    with open_project_store(current_project(), store) as opened, opened.write():
        token = create_invite(opened, "labeler", COMMAND_LINE, now, account=name, life=life)
        _record(opened, "password link", name, now)
    click.echo(f"{address.rstrip('/')}/invite/{token}")


def _record(store: Store, event: str, subject: str, now: datetime) -> None:
    add_event(store, event, account=None, subject=subject, detail=COMMAND_LINE, now=now)


def _now() -> datetime:
    return datetime.now(UTC).replace(tzinfo=None)
