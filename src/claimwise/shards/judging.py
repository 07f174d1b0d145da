"""Which judge the workers of a job load."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import msgspec

from claimwise.judges.judge import Verifier, load_verifier

if TYPE_CHECKING:
    from claimwise.command.judge import JudgeOptions
    from claimwise.config import LlmSection
    from claimwise.shards.sharing import KeeperLink


class LoadedJudge(NamedTuple):
    """A judge that is ready, how many answers it is asked about at once, and how it is closed."""

    verifier: Verifier
    threads: int = 1
    close: Callable[[], object] = lambda: None


class JudgeSpec(Protocol):
    """What is sent to workers, so that each of them loads its judge, once."""

    def load(self) -> LoadedJudge:
        """Return the judge.

        Raises:
            ClaimwiseError: it can't run here.
        """
        ...


class OfflineJudge(msgspec.Struct, frozen=True):
    """A judge without a language model, by name."""

    name: str

    def load(self) -> LoadedJudge:
        """Return the judge; it computes, so one answer at a time keeps its worker busy."""
        return LoadedJudge(load_verifier(self.name))


class ModelJudge(msgspec.Struct, frozen=True, kw_only=True):
    """A language model, and how workers share its turns, its money and its replies."""

    options: JudgeOptions
    grounding: dict[str, Any]
    section: LlmSection
    hosts: tuple[str, ...]  # that the user has allowed
    link: KeeperLink

    def load(self) -> LoadedJudge:
        """Return the judge; it waits for a server, so it is asked about many answers at once."""
        from claimwise.command.grounded import make_judge
        from claimwise.llm.client import LlmClient, open_client
        from claimwise.llm.pricing import parse_price
        from claimwise.shards.sharing import SharedLimits

        shared, price = SharedLimits(self.link), self.options.price
        client = open_client(
            str(self.options.judge),
            section=self.section,
            cache=shared.cache,
            price=None if price is None else parse_price(price),
            concurrency=self.options.concurrency,
            timeout=self.options.timeout,
            allowed_hosts=self.hosts,
            make=partial(LlmClient, limiter=shared.limiter, budget=shared.budget),
        )
        judge = make_judge(client, self.options, self.grounding)
        return LoadedJudge(judge, client.concurrency, client.close)
