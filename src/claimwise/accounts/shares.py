"""Links that show the overview to whoever has them: read-only, for a while, and revocable."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final
from uuid import uuid4

import msgspec

from claimwise.accounts.queries import hash_token, new_token
from claimwise.errors import RefusedError
from claimwise.store.files import SqlFolder
from claimwise.store.store import Store

_SQL = SqlFolder("claimwise.accounts")
SHARE_LIFE: Final = timedelta(days=7)
LONGEST_SHARE: Final = timedelta(days=90)
_LONGEST_NOTE: Final = 200


class ShareLink(msgspec.Struct, frozen=True, kw_only=True):
    """A link to the overview of one system; its token is not kept."""

    link_id: str
    system: str
    baseline: str | None
    note: str  # who it is for
    created_by: str
    created_at: datetime
    expires_at: datetime
    revoked_at: datetime | None

    def holds(self, now: datetime) -> bool:
        """Return whether the link still opens something."""
        return self.revoked_at is None and self.expires_at > now


def create_share(
    store: Store,
    system: str,
    created_by: str,
    now: datetime,
    *,
    note: str = "",
    baseline: str | None = None,
    life: timedelta = SHARE_LIFE,
) -> str:
    """Make a link to a system's overview; return its token, which is not kept and so shown once.

    Raises:
        RefusedError: there is no such system, or the link would hold too long.
    """
    if not timedelta() < life <= LONGEST_SHARE:
        raise RefusedError(f"a link can hold for 1 to {LONGEST_SHARE.days} days")
    if not store.query("select 1 from runs where system = :system limit 1", {"system": system}):
        raise RefusedError("there is no such system; choose one that has runs")
    token = new_token()
    params = {
        "link_id": uuid4().hex[:12],
        "token_hash": hash_token(token),
        "system": system,
        "baseline": baseline,
        "note": note.strip()[:_LONGEST_NOTE],
        "created_by": created_by,
        "now": now,
        "expires_at": now + life,
    }
    with store.write():
        store.execute(_SQL["insert_share"], params)
    return token


def find_share(store: Store, token: str, now: datetime) -> ShareLink | None:
    """Return the link of a token while it holds; None when it expired, was revoked or never was."""
    found = store.query(_SQL["read_share"], {"token_hash": hash_token(token), "now": now})
    return _read_link(found[0]) if found else None


def list_shares(store: Store, now: datetime) -> list[ShareLink]:
    """Return all links, those that still hold first."""
    return [_read_link(row) for row in store.query(_SQL["list_shares"], {"now": now})]


def revoke_share(store: Store, link_id: str, who: str, now: datetime) -> None:
    """End a link at once; one that has ended stays as it is."""
    with store.write():
        store.execute(_SQL["revoke_share"], {"link_id": link_id, "who": who, "now": now})


def _read_link(row: tuple[object, ...]) -> ShareLink:
    values = dict(zip(ShareLink.__struct_fields__, row, strict=True))
    return msgspec.convert(values, ShareLink, strict=False)
