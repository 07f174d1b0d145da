"""Pure functions on strings: content-addressed ids, and the borders of sentences."""

from __future__ import annotations

from claimwise.text.ids import make_claim_id, make_content_id
from claimwise.text.sentences import find_sentences

__all__ = ["find_sentences", "make_claim_id", "make_content_id"]
