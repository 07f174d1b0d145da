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


def link_claim(run_id: str, item_id: str, sample: int | None, claim_id: str) -> str:
    """Return a link to a claim in its answer, by its key; the claim says which answer it is."""
    fields = {"run": run_id, "item": item_id, "sample": sample, "claim": claim_id}
    return f"/answers?{urlencode({n: v for n, v in fields.items() if v is not None})}#chosen"


def link_answer_of(run_id: str, item_id: str, sample: int) -> str:
    """Return a link to an answer, by its key."""
    return f"/answers?{urlencode({'run': run_id, 'item': item_id, 'sample': sample})}"


def link_answer(claim: PlacedClaim, kept: str) -> str:
    """Return a link to a claim in its answer; ``kept`` is the list that leads back."""
    fields = {"run": claim.run_id, "item": claim.item_id, "sample": claim.sample}
    return f"/answers?{urlencode({**fields, 'claim': claim.claim_id, 'list': kept})}#chosen"


def link_group(run_id: str, group: Mapping[str, str | None], **chosen: str | None) -> str | None:
    """Return a link to a run's claims in a group of its report; None where that has no claims."""
    if not group or len(group) > len(GROUP_FIELDS) or _NO_GROUPS & set(group):
        return None
    return link_claims(run=run_id, **chosen, **_write_group(group))


def link_items(
    run_id: str, metric: str, part: str | None = None, group: Mapping[str, str | None] | None = None
) -> str:
    """Return a link to the items behind a rate of a run, or of a group in it.

    Args:
        run_id: the run.
        metric: whose rate.
        part: for a metric of several rates, which of them.
        group: the columns of the group with their values.
    """
    fields = {"run": run_id, "metric": metric, "part": part, **_write_group(group or {})}
    return "/items?" + urlencode({name: v for name, v in fields.items() if v is not None})


def _write_group(group: Mapping[str, str | None]) -> dict[str, str]:
    written = (f"{name}={value or ''}" for name, value in group.items())
    return dict(zip(GROUP_FIELDS, written, strict=False))


def read_group(text: str) -> tuple[str, str | None]:
    """Return the column and the value that a field of a link names."""
    name, _, value = text.partition("=")
    return name, value or None
