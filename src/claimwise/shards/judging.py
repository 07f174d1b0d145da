"""Which judge the workers of a job load."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from claimwise.judges.judge import Verifier, load_verifier

if TYPE_CHECKING:
    from claimwise.command.judge import JudgeOptions
    from claimwise.config import LlmSection
    from claimwise.shards.sharing import KeeperLink


class JudgeSpec(Protocol):
    """What is sent to workers, so that each of them loads its judge, once."""

    def load(self) -> tuple[Verifier, int]:
        """Return the judge, and how many answers it is asked about at once.

        Raises:
            ClaimwiseError: it can't run here.
        """
        ...


class OfflineJudge(msgspec.Struct, frozen=True):
    """A judge without a language model, by name."""

    name: str

    def load(self) -> tuple[Verifier, int]:
        """Return the judge; it computes, so one answer at a time keeps its worker busy."""
        return load_verifier(self.name), 1


class ModelJudge(msgspec.Struct, frozen=True, kw_only=True):
    """A language model, and how workers share its turns, its money and its replies."""

    options: JudgeOptions
    grounding: dict[str, Any]
    section: LlmSection
    hosts: tuple[str, ...]  # that the user has allowed
    link: KeeperLink

    def load(self) -> tuple[Verifier, int]:
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
        return make_judge(client, self.options, self.grounding), client.concurrency
