"""Remembers what came of asking, so that the same things can be asked again and again for nothing.

A judge that can't read a reply asks the same call another time. So each time of asking has a reply
of its own: those that were rejected, in their order, then the one in the cache, or a failure.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import msgspec

from claimwise.types.llm import BulkReplyCache, LlmCall, LlmFailure, LlmReply


@dataclass(slots=True)
class Replay:
    """One thing that is asked about: which replies it was given, and whether one was missing."""

    asked: Counter[str] = field(default_factory=Counter)  # by key
    stage: str | None = None  # the prompt of the first missing reply
    rejected: list[tuple[LlmCall, LlmReply]] = field(default_factory=list)
    new: set[str] = field(default_factory=set)  # keys of replies that nobody has used before
    kept: int = 0  # other replies
    failed: Counter[str] = field(default_factory=Counter)

    def count(self, key: str, found: LlmReply | LlmFailure) -> None:
        """Count what a call was answered with."""
        if isinstance(found, LlmFailure):
            self.failed[found.code] += 1
        elif found.cached:
            self.kept += 1
        else:
            self.new.add(key)


class ReplyMemory:
    """A cache of replies, and what this command knows of them."""

    def __init__(self, cache: BulkReplyCache) -> None:
        self._cache = cache
        self._rejected: dict[str, list[LlmReply]] = {}  # by key, in the order of asking
        self._stale: set[str] = set()  # keys whose kept reply was rejected
        self._failures: dict[tuple[str, int], LlmFailure] = {}  # by key and time of asking
        self._new: set[str] = set()  # keys of replies that came in here and nobody has used yet

    def find(self, key: str, time: int) -> LlmReply | LlmFailure | None:
        """Return what came of asking for the n-th time; None: it has not been asked."""
        rejected = self._rejected.get(key, ())
        if time <= len(rejected):
            return rejected[time - 1]
        failure = self._failures.get((key, time))
        if failure is not None or key in self._stale:
            return failure
        kept = self._cache.get(key)
        if kept is None:
            return None
        return msgspec.structs.replace(kept, cached=key not in self._new)

    def is_missing(self, key: str) -> bool:
        """Tell whether a call is still to be asked: another process may have kept its reply."""
        return self.find(key, self._next_time(key)) is None

    def reject(self, key: str, time: int, reply: LlmReply) -> None:
        """Note that the reply of the n-th time is of no use; it stays in the cache for now."""
        if time >= self._next_time(key):
            self._rejected.setdefault(key, []).append(reply)
            self._stale.add(key)

    def fail(self, key: str, failure: LlmFailure) -> None:
        """Note that asking brought no reply; the next command asks again."""
        self._failures[key, self._next_time(key)] = failure

    def keep(self, replies: list[tuple[str, LlmCall, LlmReply]]) -> None:
        """Keep replies, in place of old ones of no use: else nobody would have asked again."""
        if not replies:
            return
        self._cache.replace_all(replies)
        keys = {key for key, _, _ in replies}
        self._stale -= keys
        self._new |= keys

    def use(self, replay: Replay) -> None:
        """Note that replies have been used: for others they come from the cache."""
        self._new -= replay.new

    def _next_time(self, key: str) -> int:
        return len(self._rejected.get(key, ())) + 1
