"""Keeps replies of language models in the store, so that no question is paid for twice."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from claimwise.errors import StoreError
from claimwise.store.files import SqlFolder
from claimwise.store.store import Store, open_store
from claimwise.types.llm import LlmCall, LlmReply, Usage

_SQL = SqlFolder("claimwise.store", "sql/replies")


class _Waiting:
    """A row that waits to be written, and how that ended."""

    def __init__(self, params: Mapping[str, Any]) -> None:
        self.params = params
        self.done = False
        self.error: StoreError | None = None


class StoredReplies:
    """A :class:`~claimwise.types.llm.ReplyCache` over the table ``llm_replies``.

    Safe in many threads, which share one connection, and in many processes. A reply is on disk
    when ``put`` returns. Threads that come while another one writes are written together, by
    whoever is next: one commit serves them all.

    Args:
        store: a store that nobody else uses: a reply must not become part of another one's
            transaction. :func:`open_replies` opens one.
        fresh: return nothing that was kept before; a new reply takes the place of an old one,
            which stays where there is no new one.
    """

    def __init__(self, store: Store, *, fresh: bool = False) -> None:
        if store.schema_version is None:
            raise StoreError(f"{store.place}: the store is read-only; replies can't be kept there")
        self._store = store
        self._fresh = fresh
        self._own: set[str] = set()  # the keys of replies that were kept here
        self._lock = threading.Lock()
        self._queue: list[_Waiting] = []
        self._queue_lock = threading.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            self._store.close()

    def get(self, key: str) -> LlmReply | None:
        """Return a reply that was kept."""
        with self._lock:
            if self._is_old(key):
                return None
            found = self._store.query(_SQL["get"], {"key": key})
        if not found:
            return None
        text, served_by, given, back = found[0]
        usage = Usage(input_tokens=given, output_tokens=back)
        return LlmReply(text=text, served_by=served_by, usage=usage, cached=True)

    def put(self, key: str, call: LlmCall, reply: LlmReply) -> None:
        """Keep a reply; it is on disk when this returns.

        One that is there already stays, unless it is an old one and new ones are wanted.
        """
        mine = _Waiting(_make_params(key, call, reply))
        with self._queue_lock:
            self._queue.append(mine)
        with self._lock:
            if not mine.done:
                self._write_queue()
        if mine.error is not None:
            raise mine.error

    def replace_all(self, replies: Sequence[tuple[str, LlmCall, LlmReply]]) -> None:
        """Keep replies in place of those under the same keys, all or none; on disk afterwards."""
        old = [(_SQL["drop"], {"key": key}) for key, _, _ in replies]
        new = [(_SQL["put"], _make_params(*one)) for one in replies]
        with self._lock:
            self._store.execute_all([*old, *new])
            self._own |= {key for key, _, _ in replies}

    def drop(self, key: str) -> None:
        """Forget a reply."""
        with self._lock:
            self._store.execute_all([(_SQL["drop"], {"key": key})])

    def _write_queue(self) -> None:
        with self._queue_lock:
            batch, self._queue = self._queue, []
        keys = {waiting.params["key"] for waiting in batch}
        old = [(_SQL["drop"], {"key": key}) for key in keys if self._is_old(key)]
        new = [(_SQL["put"], waiting.params) for waiting in batch]
        error = None
        try:
            self._store.execute_all([*old, *new])
            self._own |= keys
        except StoreError as caught:
            error = caught
        for waiting in batch:
            waiting.done, waiting.error = True, error

    def _is_old(self, key: str) -> bool:
        return self._fresh and key not in self._own


def _make_params(key: str, call: LlmCall, reply: LlmReply) -> dict[str, Any]:
    return {
        "key": key,
        "model": call.model,
        "prompt": call.prompt,
        "served_by": reply.served_by,
        "reply": reply.text,
        "input_tokens": reply.usage.input_tokens,
        "output_tokens": reply.usage.output_tokens,
        "created_at": datetime.now(UTC).replace(tzinfo=None),
    }


def open_replies(place: str | Path, *, fresh: bool = False) -> StoredReplies:
    """Open the replies of the store at a path or URL, over a connection of their own."""
    store = open_store(place)
    try:
        return StoredReplies(store, fresh=fresh)
    except BaseException:
        store.close()
        raise
