"""Checks over HTTP: verdicts, deadlines, limits, overload, and the client."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator, Sequence
from math import inf
from pathlib import Path
from typing import Any, cast

import pytest

from claimwise.accounts.api_keys import create_key
from claimwise.app import api
from claimwise.checking.check import check_answer
from claimwise.config import CheckSection, Config
from claimwise.judges.judge import Verifier, load_verifier
from claimwise.online_check.checker import (
    CheckJob,
    OnlineChecker,
    OverloadedError,
    describe_job,
    make_request,
)
from claimwise.online_check.client import CheckClient, CheckError
from claimwise.online_check.limits import RateLimits
from claimwise.online_check.values import AnswerToCheck, CheckSource
from claimwise.store import open_store
from claimwise.types.verdicts import AnswerClaim, CheckRequest, ClaimVerdict
from support.app_server import RunningApp, run_app, utc_now
from support.waiting import DEADLINE

SOURCES = {
    "guide": "The tower is 139 m tall. It was built in 1889.",
    "faq": "Tickets cost 12 euros.",
}
ANSWER = "The tower is 200 m tall. It was built in 1889. Tickets cost 12 euros. I hope that helps!"
LEXICAL = Config(check=CheckSection(judge="lexical", requests_per_minute=5))


@pytest.fixture
def served(place: str, tmp_path: Path) -> Iterator[RunningApp]:
    with run_app(place, tmp_path, config=LEXICAL) as app:
        yield app


def make_key(app: RunningApp, **options: Any) -> str:
    with open_store(app.place) as store:
        return create_key(store, "shop", ["check"], created_by="ann", now=utc_now(), **options)


def test_client_gets_the_verdicts_that_check_gives(served: RunningApp) -> None:
    key = make_key(served)

    async def ask() -> Any:
        async with CheckClient(served.url, key) as client:
            one = await client.check(ANSWER, SOURCES, question="How tall?", deadline=60)
            batch = [AnswerToCheck(answer=ANSWER, sources=("Nothing.",), id="b"),
                     AnswerToCheck(answer="", sources=(), id="c")]  # fmt: skip
            return one, await client.check_batch(batch, deadline=60)

    one, several = asyncio.run(ask())
    sources = tuple(CheckSource(text, id=name) for name, text in SOURCES.items())
    given = AnswerToCheck(answer=ANSWER, sources=sources, question="How tall?")
    expected = check_answer(make_request(given), load_verifier("lexical"))
    assert [(c.text, c.verdict, c.confidence, c.span) for c in one.claims] == [
        (c.claim.text, c.verdict, c.confidence, c.span and c.span.text) for c in expected.claims
    ]
    assert [claim.verdict for claim in one.claims] == [
        "contradicted",
        "supported",
        "supported",
        None,
    ]
    assert (one.complete, one.supported, one.scored, one.unscored) == (True, 2, 3, 0)
    assert several.judge == expected.verifier
    assert [(found.id, found.scored, found.supported) for found in several.results] == [
        ("b", 3, 0), ("c", 0, 0)]  # fmt: skip


def test_refusals_are_told_in_one_line(served: RunningApp) -> None:
    key = make_key(served, requests_per_minute=2)
    web = served.visit(authorization=f"Bearer {key}").web
    assert served.visit().web.post("/v1/check", content=b"{}").status_code == 401
    twice = [{"id": "a", "text": "x"}, {"id": "a", "text": "y"}]
    for body, words in (
        (b"{", "can't be read"),
        (b'{"answers": []}', "length >= 1"),
        (b'{"answer": "x", "sources": [], "depth": 1}', "unknown field `depth`"),
        (b"[" * 100_000, "can't be read"),
    ):
        answer = web.post("/v1/check", content=body)
        assert (answer.status_code, words in answer.json()["error"]) == (400, True), answer.text
    assert (
        "the id “a”"
        in web.post("/v1/check", json={"answer": "x", "sources": twice}).json()["error"]
    )
    assert web.post("/v1/check", json={"answer": "x", "sources": ["y"]}).status_code == 200
    limited = web.post("/v1/check", json={"answer": "x", "sources": ["y"]})
    assert limited.status_code == 429
    assert 1 <= int(limited.headers["retry-after"]) <= 30
    assert limited.json()["error"].startswith("This key may check 2 answers per minute.")
    too_long = web.post("/v1/check", content=b"x" * (api.CHECK_BYTES + 1))
    assert too_long.status_code == 413

    async def ask() -> None:
        async with CheckClient(served.url, key, retries=0) as client:
            await client.check("x", ["y"], deadline=5)

    with pytest.raises(CheckError, match="429: This key may check") as caught:
        asyncio.run(ask())
    assert caught.value.status == 429


def test_interface_is_described_for_programs_and_people(served: RunningApp) -> None:
    web = served.visit().web
    found = web.get("/v1/openapi.json").json()
    assert found["openapi"] == "3.1.0"
    assert set(found["paths"]) == {"/v1/check", "/v1/traces"}
    names = set(found["components"]["schemas"])
    assert {"CheckCall", "AnswerToCheck", "CheckReply", "CheckedClaim"} <= names
    page = web.get("/v1")
    assert page.status_code == 200
    assert "deadline_ms" in page.text


class HeldJudge:
    """Judges a claim when it is let."""

    name = labeler = "held"

    def __init__(self) -> None:
        self.begun = threading.Semaphore(0)
        self.let = threading.Semaphore(0)

    def judge_answer(
        self, claims: Sequence[AnswerClaim], request: CheckRequest
    ) -> tuple[list[ClaimVerdict], list[str]]:
        self.begun.release()
        assert self.let.acquire(timeout=DEADLINE)
        if "fails" in claims[0].text:
            raise KeyError("x")
        return [ClaimVerdict(claim=claim, verdict="supported") for claim in claims], []


def make_checker(judge: HeldJudge) -> OnlineChecker:
    return OnlineChecker(lambda: cast(Verifier, judge), workers=1, waiting=1)


def test_what_is_not_judged_by_the_deadline_is_unscored_and_never_late() -> None:
    judge = HeldJudge()
    checker = make_checker(judge)
    job = CheckJob(AnswerToCheck(answer=ANSWER, sources=("x",)))
    judge.let.release()  # the first claim alone
    worker = threading.Thread(target=checker._run, args=(job, inf))
    worker.start()
    for _ in range(2):
        assert judge.begun.acquire(timeout=DEADLINE)
    job.stopped = True  # as at the deadline, while the second claim is judged
    found = describe_job(job)
    assert [(c.verdict, c.unscored) for c in found.claims] == [
        ("supported", None), (None, "deadline"), (None, "deadline"), (None, None)]  # fmt: skip
    assert (found.complete, found.unscored, found.failure) == (False, 2, None)
    judge.let.release()
    worker.join(DEADLINE)
    assert describe_job(job) == found
    assert not judge.begun.acquire(blocking=False)  # the third was not begun
    checker.close()


def test_answers_wait_up_to_a_number_and_more_are_turned_away() -> None:
    judge = HeldJudge()
    checker = make_checker(judge)
    given = AnswerToCheck(answer="It works.", sources=("x",))

    async def ask() -> Any:
        first = asyncio.ensure_future(checker.check([given], 3600))
        await asyncio.get_running_loop().run_in_executor(None, judge.begun.acquire)
        waiting = await checker.check([given], 0.01)
        with pytest.raises(OverloadedError):
            await checker.check([given], 0.01)
        judge.let.release(100)
        return (await first)[0], waiting[0]

    first, waiting = asyncio.run(ask())
    checker.close()
    assert (first.complete, first.supported) == (True, 1)
    # Nobody came to it in time: not even its claims are known.
    assert (waiting.complete, waiting.claims, waiting.failure) == (False, (), "deadline")


def test_a_judge_that_fails_leaves_claims_unscored() -> None:
    judge = HeldJudge()
    judge.let.release(10)
    checker = make_checker(judge)
    given = AnswerToCheck(answer="It works. It fails. It works.", sources=("x",))
    try:
        [found] = asyncio.run(checker.check([given], 60))
    finally:
        checker.close()
    assert [(c.verdict, c.unscored) for c in found.claims] == [
        ("supported", None), (None, "judge_failed"), (None, "judge_failed")]  # fmt: skip
    assert found.warnings == ("the judge failed: KeyError",)


def test_a_key_has_a_minutes_worth_and_gets_it_back_evenly() -> None:
    now = [0.0]
    limits = RateLimits(lambda: now[0])
    assert [limits.take("a", 6) for _ in range(7)] == [0, 0, 0, 0, 0, 0, 10]
    assert limits.take("b", 6) == 0
    now[0] = 10.0
    assert (limits.take("a", 6), limits.take("a", 6)) == (0, 10)
    # A batch larger than a minute's worth goes through when the whole minute is there.
    now[0] = 100.0
    assert (limits.take("a", 6, 50), limits.take("a", 6)) == (0, 10)
