"""Content-addressed ids."""

from __future__ import annotations

import base64
import hashlib

_ID_BYTES = 15  # 120 bits: 24 base-32 characters, no padding


def make_claim_id(item_id: str, claim_text: str, *, sample: int = 0, occurrence: int = 0) -> str:
    """Return the content-addressed id of a claim.

    The id depends on the item, the sample and the text, not on the run, so the same claim made
    by two runs has one id. ``occurrence`` tells apart a claim that an answer repeats word for
    word (0 for the first). The prefix names the recipe: a later recipe gets another prefix.
    """
    return make_content_id("c1", item_id, str(sample), str(occurrence), claim_text)


def make_content_id(recipe: str, *parts: str) -> str:
    """Return an id that the same parts always have; its prefix names the recipe."""
    digest = hashlib.sha256("\x1f".join(parts).encode()).digest()[:_ID_BYTES]
    return f"{recipe}:" + base64.b32encode(digest).decode().lower()
