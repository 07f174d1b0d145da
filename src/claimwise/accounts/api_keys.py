"""Keys of programs: what may send traces, or ask for checks. Only their hashes are kept."""

from __future__ import annotations

import re
import secrets
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import msgspec

from claimwise.accounts.queries import hash_token
from claimwise.errors import RefusedError, describe_unknown
from claimwise.store.files import SqlFolder
from claimwise.store.store import Store

_SQL = SqlFolder("claimwise.accounts")
# What a key may do; part of the store's format.
SCOPES = {"traces": "send traces", "check": "check answers", "metrics": "read figures"}
_START = "cw_"
_NAME = re.compile(r"[A-Za-z0-9._@-]{2,64}")
_COLUMNS = ("key_id", "name", "scopes", "requests_per_minute", "created_by", "created_at",
            "expires_at", "revoked_at")  # fmt: skip


class ApiKey(msgspec.Struct, frozen=True, kw_only=True):
    """A program's key, without the key itself."""

    key_id: str
    name: str
    scopes: str
    requests_per_minute: int | None = None
    created_by: str
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None

    def allows(self, scope: str) -> bool:
        """Tell whether a key may do something."""
        return scope in self.scopes.split(",")


def create_key(
    store: Store,
    name: str,
    scopes: Sequence[str],
    *,
    created_by: str,
    now: datetime,
    requests_per_minute: int | None = None,
    life: timedelta | None = None,
) -> str:
    """Make a key and return it; nobody can read it again.

    Raises:
        RefusedError: the name or a scope is wrong, or a key of that name is in use.
    """
    if not _NAME.fullmatch(name):
        raise RefusedError(
            f"“{name}” is not a name for a key: use 2 to 64 letters, digits and . _ @ -"
        )
    unknown = next((scope for scope in scopes if scope not in SCOPES), None)
    if unknown is not None:
        raise RefusedError(describe_unknown("scope", unknown, SCOPES))
    if any(key.name == name and key.revoked_at is None for key in list_keys(store)):
        raise RefusedError(
            f"there is a key named “{name}”; revoke it first (`claimwise keys revoke {name}`), or "
            "choose another name"
        )
    token = _START + secrets.token_urlsafe(32)
    params: dict[str, Any] = {
        "key_id": secrets.token_hex(8), "key_hash": hash_token(token), "name": name,
        "scopes": ",".join(dict.fromkeys(scopes)), "requests_per_minute": requests_per_minute,
        "created_by": created_by, "created_at": now,
        "expires_at": None if life is None else now + life,
    }  # fmt: skip
    store.execute_all([(_SQL["insert_key"], params)])
    return token


def find_key(store: Store, token: str, now: datetime) -> ApiKey | None:
    """Return the key that a program showed, if it holds."""
    params = {"key_hash": hash_token(token), "now": now}
    return next(map(_to_key, store.query(_SQL["find_key"], params)), None)


def list_keys(store: Store) -> list[ApiKey]:
    """Return all keys, also those that no longer hold, in the order of their making."""
    return list(map(_to_key, store.query(_SQL["list_keys"])))


def revoke_key(store: Store, name: str, now: datetime) -> int:
    """End the keys of a name or id at once; return how many there were."""
    with store.write():
        return store.execute(_SQL["revoke_key"], {"name": name, "now": now})


def _to_key(record: tuple[Any, ...]) -> ApiKey:
    return msgspec.convert(dict(zip(_COLUMNS, record, strict=True)), ApiKey, strict=False)
