"""A small client: checks answers over HTTP before they are shown."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self

import httpx2
import msgspec

from claimwise.errors import ClaimwiseError
from claimwise.online_check.values import AnswerToCheck, CheckedAnswer, CheckReply, CheckSource

_BUSY = (429, 503)
_ALLOWANCE = 1.0  # seconds beyond the deadline for the way there and back
_LONGEST_WAIT = 5.0
_KEPT_SECONDS = 3.0
_WITHOUT_DEADLINE = 60.0

Sources = Sequence[str | CheckSource] | Mapping[str, str]


class CheckError(ClaimwiseError):
    """The server did not check: it could not be reached, refused, or was too busy."""

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class CheckClient:
    """Asks ``claimwise serve`` to check answers.

    >>> async with CheckClient("http://127.0.0.1:8700", "cw_…") as client:
    ...     found = await client.check(answer, passages, question=question, deadline=0.3)
    ...     shown = answer if found.supported == found.scored else fallback

    Args:
        url: where the server is.
        key: a key with the scope “check”.
        retries: how often a busy server is asked again, as far as the deadline allows.
    """

    def __init__(self, url: str, key: str, *, retries: int = 1) -> None:
        self._retries = retries
        self._web = httpx2.AsyncClient(
            base_url=url.rstrip("/"),
            headers={"authorization": f"Bearer {key}"},
            # Shorter than the server's: it closes a connection that is idle for 5 s.
            limits=httpx2.Limits(keepalive_expiry=_KEPT_SECONDS),
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections."""
        await self._web.aclose()

    async def check(
        self,
        answer: str,
        sources: Sources,
        *,
        question: str | None = None,
        actions: Sequence[str] | None = None,
        deadline: float | None = None,
    ) -> CheckedAnswer:
        """Check one answer.

        Args:
            answer: the answer.
            sources: texts, texts by id, or sources.
            question: what was asked.
            actions: the log of what the system did.
            deadline: seconds until the response; claims that are not judged by then are unscored.

        Raises:
            CheckError: nobody checked it.
        """
        one = AnswerToCheck(
            answer=answer,
            sources=_list_sources(sources),
            question=question,
            actions=None if actions is None else tuple(actions),
        )
        return (await self.check_batch([one], deadline=deadline)).results[0]

    async def check_batch(
        self, answers: Sequence[AnswerToCheck], *, deadline: float | None = None
    ) -> CheckReply:
        """Check several answers in one request; the deadline is for all of them.

        Raises:
            CheckError: nobody checked them.
        """
        ends = time.monotonic() + (_WITHOUT_DEADLINE if deadline is None else deadline)
        for attempt in range(self._retries + 1):
            left = ends - time.monotonic()
            response = await self._post(
                answers, None if deadline is None else max(left, 0.001), left
            )
            if response.status_code == 200:
                return msgspec.json.decode(response.content, type=CheckReply)
            wait = _read_wait(response)
            last = attempt == self._retries
            if response.status_code not in _BUSY or last or time.monotonic() + wait >= ends:
                raise CheckError(_read_error(response), response.status_code)
            await asyncio.sleep(wait)
        raise AssertionError("unreachable")

    async def _post(
        self, answers: Sequence[AnswerToCheck], deadline: float | None, left: float
    ) -> httpx2.Response:
        call: dict[str, Any] = {"answers": answers}
        if deadline is not None:
            call["deadline_ms"] = max(1, int(deadline * 1000))
        try:
            return await self._web.post(
                "/v1/check",
                content=msgspec.json.encode(call),
                headers={"content-type": "application/json"},
                timeout=max(left, 0.0) + _ALLOWANCE,
            )
        except httpx2.HTTPError as error:
            raise CheckError(f"no response from the server: {type(error).__name__}") from error


def _list_sources(sources: Sources) -> tuple[CheckSource | str, ...]:
    if isinstance(sources, str):
        return (sources,)
    if isinstance(sources, Mapping):
        return tuple(CheckSource(text, id=name) for name, text in sources.items())
    return tuple(sources)


def _read_wait(response: httpx2.Response) -> float:
    try:
        return min(float(response.headers.get("retry-after", "1")), _LONGEST_WAIT)
    except ValueError:
        return 1.0


def _read_error(response: httpx2.Response) -> str:
    try:
        found = msgspec.json.decode(response.content)
        return f"{response.status_code}: {found['error']}"
    except (msgspec.DecodeError, KeyError, TypeError):
        return f"the server answered {response.status_code}"
