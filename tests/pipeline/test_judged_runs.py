"""Stored runs judged by a model behind a real server that fails, on each engine."""

from __future__ import annotations

import json
from functools import partial
from multiprocessing.context import ForkServerContext
from pathlib import Path

import pytest

from claimwise.checking.engine import plan_run
from claimwise.checking.run import GroundedRun, verify_rounds, verify_run
from claimwise.errors import PromptError
from claimwise.metrics.judge_agreement import measure_agreement
from claimwise.store import Store, open_store
from claimwise.types.llm import Price
from pipeline.judged_processes import MODEL, judge_run, open_judge, prepare
from small_data import SOURCE, answer, load, run
from support.faulty_server import Asked, FaultyServer
from support.grounded_model import reply_to_request
from support.waiting import DEADLINE, wait_until

LABELER = f"judge:grounded@2:{MODEL}"


def count(store: Store, table: str, where: str = "1 = 1") -> int:
    [(found,)] = store.query(f"select count(*) from {table} where {where}")
    return int(found)


@pytest.mark.each_engine
def test_every_answer_is_one_call_and_none_is_paid_twice(place: str) -> None:
    prepare(place, 20)
    with FaultyServer(reply_to_request) as server:
        with open_judge(place, server.url) as (store, client, judge):
            planned = list(plan_run(store, "r", GroundedRun(judge)))
            assert (len(planned), server.count, any(map(client.is_cached, planned))) == (
                20,
                0,
                False,
            )
            result = verify_run(store, "r", judge, threads=8)
            assert (server.count, client.tally.sent) == (20, 20)
        assert result.verdicts == {"supported": 20, "contradicted": 20, "unlinked": 20}
        assert (result.unscored, result.split, result.agreement) == ({}, 60, None)
        with open_judge(place, server.url) as (store, _, judge):
            assert verify_run(store, "r", judge, threads=8).judged == 0
            assert list(plan_run(store, "r", GroundedRun(judge))) == []
            # Judged again, from the cache: the same calls.
            assert verify_run(store, "r", judge, threads=8, again=True).judged == 60
        assert server.count == 20
    with open_store(place) as store:
        assert store.audit() == []
        assert store.query("select labeler, model, prompt_ver from labelers") == [
            (
                LABELER,
                MODEL,
                "grounded@2; mode claims, batch all, sources up to 60000 tokens, "
                "missing quote unscored",
            )
        ]
        [(span, start)] = store.query(
            "select distinct supporting_span, span_start from labels where verdict = 'supported'"
        )
        assert (span, start) == ("The tower is 139 m tall", 0)


@pytest.mark.parametrize(
    ("mode", "batch", "calls"),
    [("claims", None, 1), ("claims", 2, 2), ("single", None, 1), ("two-pass", None, 2)],
)
def test_calls_of_an_answer(tmp_path: Path, mode: str, batch: int | None, calls: int) -> None:
    place = str(tmp_path / "s.db")
    prepare(place, 5)
    with (
        FaultyServer(reply_to_request) as server,
        open_judge(place, server.url, mode, batch=batch) as (store, _, judge),
    ):
        assert len(list(plan_run(store, "r", GroundedRun(judge)))) == 5 * calls
        result = verify_run(store, "r", judge, threads=4)
        assert server.count == 5 * calls
        assert result.verdicts == {"supported": 5, "contradicted": 5, "unlinked": 5}
        assert store.audit() == []


def test_claims_that_the_model_split_are_stored_with_their_place(tmp_path: Path) -> None:
    place = str(tmp_path / "s.db")
    prepare(place, 1)
    with open_store(place) as store:
        [(text,)] = store.query("select answer_text from answers")
    with (
        FaultyServer(reply_to_request) as server,
        open_judge(place, server.url, "single") as (store, _, judge),
    ):
        verify_run(store, "r", judge)
        for claim, start, end in store.query(
            "select claim_text, answer_start, answer_end from claims order by position"
        ):
            assert text[start:end].rstrip(".") == claim.rstrip(".")
        # Known now: judged as they are, by the prompt for claims, which the label says.
        verify_run(store, "r", judge, again=True)
        told = store.query("select reason from labels order by labeled_at")
        assert [("judged by grounded@2" in reason) for (reason,) in told] == [False] * 3 + [
            True
        ] * 3
        assert count(store, "claims") == 3


def test_faults_leave_every_claim_accounted_for(place: str) -> None:
    prepare(place, 200)
    faults = {"malformed": 0.05, "500": 0.05, "429": 0.05, "hang": 0.01}
    with FaultyServer(reply_to_request, faults=faults, seed=4) as server:
        with open_judge(place, server.url, timeout=2.0) as (store, client, judge):
            result = verify_run(store, "r", judge, threads=16)
        scored, unscored = sum(result.verdicts.values()), sum(result.unscored.values())
        assert scored + unscored == 600
        assert scored >= 0.99 * 600
        assert client.tally.retried > 0
        assert {asked.fault for asked in server.requests} >= {"malformed", "500", "429", "hang"}


def test_without_retries_failures_are_unscored_and_the_next_call_mends_them(place: str) -> None:
    prepare(place, 60)
    faults = {"malformed": 0.2, "500": 0.1, "truncated": 0.1, "reset": 0.1, "garbage": 0.1}
    with FaultyServer(reply_to_request, faults=faults, seed=1) as server:
        with open_judge(place, server.url, attempts=1) as (store, _, judge):
            result = verify_run(store, "r", judge, threads=8)
        scored, unscored = sum(result.verdicts.values()), sum(result.unscored.values())
        assert scored + unscored == 180
        assert set(result.unscored) >= {"server_error", "truncated", "connection", "bad_reply"}
        assert scored % 3 == unscored % 3 == 0
        server.faults = {}
        before = server.count
        with open_judge(place, server.url) as (store, client, judge):
            mended = verify_run(store, "r", judge, threads=8)
        assert (sum(mended.verdicts.values()), mended.unscored) == (180, {})
        assert server.count - before == client.tally.sent == unscored // 3


def test_wrong_ids_are_unscored_and_not_kept(tmp_path: Path) -> None:
    place = str(tmp_path / "s.db")
    prepare(place, 4)

    def lose_one(asked: Asked) -> str:
        said = json.loads(reply_to_request(asked))
        return json.dumps({"claims": [*said["claims"][1:], {**said["claims"][0], "id": "c77"}]})

    with FaultyServer(lose_one) as server:
        with open_judge(place, server.url) as (store, _, judge):
            result = verify_run(store, "r", judge, threads=2)
            assert result.unscored == {"missing_id": 4}
            assert result.warnings == {"the reply had 1 ids that nobody asked for: dropped": 4}
            assert count(store, "llm_replies") == 0
        server.reply = reply_to_request
        with open_judge(place, server.url) as (store, _, judge):
            result = verify_run(store, "r", judge, threads=2)
            assert (sum(result.verdicts.values()), result.unscored) == (12, {})


def test_cost_ceiling_holds_and_more_money_finishes_the_run(tmp_path: Path) -> None:
    place = str(tmp_path / "s.db")
    prepare(place, 30)
    price = Price(input=1.0, output=1.0)
    with FaultyServer(reply_to_request) as server:
        with open_judge(place, server.url, price=price, max_cost=0.02) as (store, client, judge):
            result = verify_run(store, "r", judge, threads=4)
            spent = client.tally.cost
        assert spent is not None
        assert 0 < spent <= 0.02
        asked = sum(result.verdicts.values()) + sum(result.unscored.values())
        assert (asked, set(result.unscored)) == (90, {"cost_ceiling"})
        with open_judge(place, server.url, price=price, max_cost=1.0) as (store, _, judge):
            assert verify_run(store, "r", judge, threads=4).unscored == {}
        assert server.count == 30


@pytest.mark.each_engine
def test_rounds_stay_apart_and_flips_are_counted(place: str) -> None:
    prepare(place, 10)
    seen: dict[str, int] = {}

    def waver(asked: Asked) -> str:
        """Change the mind about the last claim of every other answer, the second time."""
        seen[asked.user] = seen.get(asked.user, 0) + 1
        said = json.loads(reply_to_request(asked))
        if seen[asked.user] == 2 and sorted(seen).index(asked.user) % 2:
            said["claims"][-1] = {**said["claims"][0], "id": "c3"}
        return json.dumps(said)

    with FaultyServer(waver) as server:
        with open_judge(place, server.url) as (store, _, judge):
            result, flips = verify_rounds(store, "r", judge, repeats=3, threads=1)
        assert server.count == 30
        assert flips is not None
        assert (flips.rounds, flips.compared) == (3, 30)
        assert 0 < flips.flipped <= 10
        with open_store(place) as store:
            labelers = store.query("select labeler, count(*) from labels group by 1 order by 1")
            assert labelers == [(LABELER, 30), (f"{LABELER}#2", 30), (f"{LABELER}#3", 30)]
            # One label of a claim decides, the first round's: rates count it once.
            assert count(store, "deciding_labels") == 30
            assert count(store, "deciding_labels", f"labeler = '{LABELER}'") == 30
            assert store.audit() == []
        assert sum(result.verdicts.values()) == 30
        with open_judge(place, server.url) as (store, _, judge):
            again, flips_again = verify_rounds(store, "r", judge, repeats=3, threads=1)
        assert (server.count, again.judged, flips_again) == (30, 0, flips)


@pytest.mark.each_engine
def test_other_settings_under_one_name_are_refused_or_judged_again(place: str) -> None:
    prepare(place, 2)
    with open_store(place) as store:
        load(store, {**run("s"), "started_at": "2026-01-02T00:00:00Z"},
             answer("q000", "The tower is 139 m tall.", run_id="s",
                    contexts=[{"source_id": "doc", "context_text": SOURCE}]))  # fmt: skip
    with FaultyServer(reply_to_request) as server:
        with open_judge(place, server.url) as (store, _, judge):
            verify_run(store, "r", judge)
            verify_run(store, "s", judge)
        asked = server.count
        with open_judge(place, server.url, batch=1) as (store, _, judge):
            with pytest.raises(PromptError, match=r"batch all.*batch 1.*--again.*nothing was sent"):
                verify_run(store, "r", judge)
            with pytest.raises(PromptError, match="batch all"):
                list(plan_run(store, "r", GroundedRun(judge)))
            assert server.count == asked
            result = verify_run(store, "r", judge, again=True)
            assert result.judged == 6
            [(warning, _)] = result.warnings.items()
            assert warning.startswith(f"1 labels of {LABELER} were made with its earlier settings")
            assert "in s: " in warning
            assert verify_run(store, "r", judge).judged == 0
        with (
            open_judge(place, server.url) as (store, _, judge),
            pytest.raises(PromptError, match=r"batch 1.*batch all"),
        ):
            verify_run(store, "r", judge)


def test_agreement_is_unknown_until_people_have_labelled(place: str) -> None:
    prepare(place, 5)
    with (
        FaultyServer(reply_to_request) as server,
        open_judge(place, server.url) as (store, _, judge),
    ):
        verify_run(store, "r", judge)
        assert measure_agreement(store, judge.labeler) is None
        for n, verdict in enumerate(["supported", "supported", "unlinked", "supported"]):
            load(store, {
                "type": "labels", "run_id": "r", "item_id": f"q{n:03}", "labeler": "ana",
                "claim_text": "The tower is 139 m tall.", "verdict": verdict,
                "labeled_at": "2026-01-05T00:00:00Z",
            })  # fmt: skip
        said = measure_agreement(store, judge.labeler)
        assert said is not None
        assert said.startswith("agrees with people on 75% (13–98.4%) of 4 claims")
        assert said.endswith("of 4 claims in r")
        assert measure_agreement(store, judge.labeler) == said
        assert measure_agreement(store, f"{judge.labeler}#2") is None


CONCURRENCY = 4
# Replies before each kill: none, one, fewer than are asked for at once, as many, more.
KILLED_AFTER = (0, 1, 2, 3, 4, 5, 7, 0, 6, 9)
ANSWERS = 2 * sum(KILLED_AFTER)  # so the run is never done


@pytest.mark.each_engine
def test_killed_again_and_again_it_loses_and_repays_nothing(
    place: str, forking: ForkServerContext
) -> None:
    """SIGKILL after some replies: stored labels stay, and no kept reply is asked for again."""
    prepare(place, ANSWERS)
    kept: set[str] = set()
    stored = asked = 0
    with FaultyServer(reply_to_request) as server:
        with open_judge(place, server.url) as (store, client, judge):
            keys = {
                call.user: client.key_for(call) for call in plan_run(store, "r", GroundedRun(judge))
            }
        assert len(set(keys.values())) == ANSWERS
        for replies in KILLED_AFTER:
            server.admit(asked + replies)
            process = forking.Process(target=judge_run, args=(place, server.url, CONCURRENCY))
            process.start()
            wait_until(partial(server.is_past, asked + replies), "a request waits for its reply")
            process.kill()
            process.join(DEADLINE)
            server.admit()  # to nobody
            wait_until(lambda: not server.under_way, "the server is idle")
            with open_store(place) as store:
                repaid = {keys[a.user] for a in server.requests[asked:]} & kept
                assert not repaid
                now = {key for (key,) in store.query("select key from llm_replies")}
                labels = count(store, "labels")
            # Only what was under way may be lost.
            assert server.count - asked - len(now - kept) <= CONCURRENCY
            assert kept <= now
            assert labels >= stored
            assert labels % 3 == 0
            kept, stored, asked = now, labels, server.count
        assert 0 < stored < 3 * ANSWERS
        with open_judge(place, server.url, concurrency=16) as (store, _, judge):
            result = verify_run(store, "r", judge, threads=16)
        assert server.count - asked == ANSWERS - len(kept)
        assert result.verdicts == dict.fromkeys(("supported", "contradicted", "unlinked"), ANSWERS)
        assert result.unscored == {}
    with open_store(place) as store:
        assert (count(store, "labels"), count(store, "llm_replies")) == (3 * ANSWERS, ANSWERS)
        assert store.audit() == []
