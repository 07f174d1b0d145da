"""Who may log in, and as what."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from msgspec import Struct

Role = Literal["admin", "adjudicator", "labeler"]
ROLES: tuple[Role, ...] = ("admin", "adjudicator", "labeler")


class Account(Struct, frozen=True, kw_only=True):
    """Someone who may log in. The name is also the labeler of their labels."""

    account: str
    role: Role
    created_at: datetime
    disabled_at: datetime | None = None
