"""Links to the claims behind a number; every template can write them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Protocol
from urllib.parse import urlencode

from claimwise.types.rows import Claim, Label

UNSUPPORTED_WORD: Final = "unsupported"
GROUP_FIELDS: Final = ("group", "group2", "group3")
# What a report can group by and a list of claims can't choose by as a group.
_NO_GROUPS: Final = {*Claim.__struct_fields__, *Label.__struct_fields__}


def link_claims(**fields: str | None) -> str:
    """Return a link to the claims that the fields of the claims page choose."""
    return "/claims?" + urlencode({name: v for name, v in fields.items() if v is not None})


class PlacedClaim(Protocol):
    """A claim and the answer that makes it."""

    run_id: str
    item_id: str
    sample: int
    claim_id: str


def link_claim(run_id: str, item_id: str, sample: int, claim_id: str) -> str:
    """Return a link to a claim in its answer, by its key."""
    fields = {"run": run_id, "item": item_id, "sample": sample, "claim": claim_id}
    return f"/answers?{urlencode(fields)}#chosen"


def link_answer(claim: PlacedClaim, kept: str) -> str:
    """Return a link to a claim in its answer; ``kept`` is the list that leads back."""
    fields = {"run": claim.run_id, "item": claim.item_id, "sample": claim.sample}
    return f"/answers?{urlencode({**fields, 'claim': claim.claim_id, 'list': kept})}#chosen"


def link_group(run_id: str, group: Mapping[str, str | None], verdict: str | None) -> str | None:
    """Return a link to a run's claims in a group of its report; None where that has no claims."""
    if not group or len(group) > len(GROUP_FIELDS) or _NO_GROUPS & set(group):
        return None
    chosen = (f"{name}={value or ''}" for name, value in group.items())
    return link_claims(run=run_id, verdict=verdict, **dict(zip(GROUP_FIELDS, chosen, strict=False)))
