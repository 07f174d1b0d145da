"""What is asked of a language model, and what comes back: a reply or a failure, nothing between."""

from __future__ import annotations

from collections.abc import Callable, Container, Hashable, Iterable, Sequence
from typing import Any, Literal, Protocol, TypeVar

import msgspec

from claimwise.types.progress import Watch

T = TypeVar("T")

# Why there is no reply. An answer's claims are then unscored with this code.
FailureCode = Literal[
    "rate_limited",  # HTTP 429 until the attempts were used up
    "server_error",  # HTTP 5xx, likewise
    "refused_request",  # another 4xx: wrong key, unknown model, too long; not tried again
    "timeout",  # no whole reply within the time for one call
    "connection",  # no connection, or one that broke off
    "bad_reply",  # the server's envelope could not be read
    "truncated",  # the model ran into its limit of tokens: what there is of it is not used
    "content_filter",  # the provider withheld the reply
    "unparsable",  # a whole reply, but not the JSON that was asked for; asked twice
    "cost_ceiling",  # not sent: it could have cost more than was left
    "cancelled",  # not sent: the command was stopped; or a batch was, before it came to this one
    "expired",  # a batch ran out of time before it came to this one
]


class LlmCall(msgspec.Struct, frozen=True, kw_only=True):
    """One request. Everything in it decides the reply, so all of it is in the cache's key."""

    model: str  # "openai:gpt-4o", as users name it
    prompt: str  # the prompt's name and version: "closed-book@1"
    system: str
    user: str
    # The JSON schema that the reply must follow, and the name to send it under; None: free text.
    schema: dict[str, Any] | None = None
    schema_name: str = "reply"
    max_tokens: int = 4096
    temperature: float = 0.0
    # Which time it is asked: another time is another reply, and is kept beside the first.
    repeat: int = 1
    # Fields of the request's body that a model needs beside the usual ones, or in their place. With
    # "logprobs" among them the reply is packed (``claimwise.llm.token_odds``).
    extra: dict[str, Any] | None = None


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens as the provider counted them; None where it does not say."""

    input_tokens: int | None = None
    output_tokens: int | None = None


class LlmReply(msgspec.Struct, frozen=True, kw_only=True):
    """A whole reply: the model ended it by itself."""

    text: str
    # The model as the server names it, which may be a dated version of what was asked for.
    served_by: str = ""
    usage: Usage = Usage()
    seconds: float = 0.0
    attempts: int = 1
    # Read from the cache: nothing was paid this time.
    cached: bool = False


class LlmFailure(msgspec.Struct, frozen=True, kw_only=True):
    """No usable reply, after all attempts. Never cached."""

    code: FailureCode
    detail: str  # one line, no key in it
    attempts: int = 1
    # What the attempts were billed, where a provider says so (a truncated reply costs money).
    usage: Usage = Usage()


class Price(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """US$ per million tokens."""

    input: float
    output: float


class Tally(msgspec.Struct, frozen=True, kw_only=True):
    """What a client has done so far."""

    sent: int = 0  # requests on the wire, repeated ones included
    replied: int = 0  # calls that ended with a reply from the model
    cached: int = 0  # calls answered without asking
    retried: int = 0  # requests that were sent again
    failed: dict[str, int] = {}  # calls that ended without a reply, by code
    input_tokens: int = 0
    output_tokens: int = 0
    # As the provider's counts of tokens make it; None when the price is unknown.
    cost: float | None = None
    # What requests without a count (given up on, broken off) may have cost beside that, at most.
    unsure_cost: float | None = None
    concurrency: int = 1  # calls that may be under way at once just now
    # What the server refused and does without since, for people: "temperature", "schema".
    refused: tuple[str, ...] = ()


class Asker(Protocol):
    """What judges need of a client. Safe to call from many threads at once."""

    model: str

    def ask(self, call: LlmCall) -> LlmReply | LlmFailure:
        """Return the reply, from the cache if it is there; waits for its turn, tries again."""
        ...

    def reject(self, call: LlmCall, reply: LlmReply) -> None:
        """Forget a cached reply that turned out to be unusable: failures are never cached."""
        ...


# All that is to be asked about but what is in the container, each under a name of its own.
ListAsks = Callable[[Container[Hashable]], Iterable[tuple[Hashable, Callable[[], object]]]]


class Batches(Protocol):
    """What runs need of a client that asks in batches, beside asking."""

    @property
    def waiting(self) -> bool:
        """Whether batches are under way that nobody waits for."""
        ...

    def fetch(self, list_asks: ListAsks, total: int, watch: Watch | None = None) -> None:
        """Get all replies that asking needs: as many rounds of batches as it takes."""
        ...

    def replay(self, ask: Callable[[], T]) -> T | None:
        """Return what asking comes to, now that the replies are there; None: some are missing."""
        ...

    def check_complete(self) -> None:
        """Raise an error while batches are under way that nobody waits for."""
        ...


class ReplyCache(Protocol):
    """Replies by key; safe to use from many threads and processes at once."""

    def get(self, key: str) -> LlmReply | None:
        """Return a reply that was kept."""
        ...

    def put(self, key: str, call: LlmCall, reply: LlmReply) -> None:
        """Keep a reply; it is on disk when this returns."""
        ...

    def drop(self, key: str) -> None:
        """Forget a reply."""
        ...


class BulkReplyCache(ReplyCache, Protocol):
    """Replies that also come by the thousand."""

    def replace_all(self, replies: Sequence[tuple[str, LlmCall, LlmReply]]) -> None:
        """Keep replies in place of those under the same keys; on disk when this returns."""
        ...
