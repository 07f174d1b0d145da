"""A stored run, judged closed-book by a real client against a local server that fails on demand."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from multiprocessing.context import ForkServerContext
from pathlib import Path
from typing import Any

import pytest

from claimwise.checking.engine import plan_run
from claimwise.config import LlmSection
from claimwise.errors import PromptError, StoreError
from claimwise.fact_check.report import describe_judged_run
from claimwise.fact_check.run import ClosedBookRun, factcheck_run
from claimwise.judges.closed_book import ClosedBookJudge
from claimwise.llm.client import LlmClient, open_client
from claimwise.llm.prompts import load_prompt
from claimwise.metrics.catalogue import load_metrics
from claimwise.metrics.estimate import estimate_metric
from claimwise.store import Store, open_store
from claimwise.store.replies import open_replies
from claimwise.types.closed_book import FactcheckRunResult
from small_data import answer, claim, item, load, run, source
from support.closed_book import label_pieces, read_pieces
from support.faulty_server import Asked, FaultyServer
from support.waiting import DEADLINE, wait_until

MODEL = "openai-compatible:any"
JUDGE = f"judge:closed-book@2:{MODEL}"


def judge_plainly(text: str) -> str:
    """Even numbers are true, odd ones false; without a number there is no telling."""
    digits = [char for char in text if char.isdigit()]
    if "lovely" in text:
        return "non_factual"
    if not digits:
        return "unverifiable"
    return "false" if int(digits[-1]) % 2 else "true"


def plain(asked: Asked) -> str:
    return json.dumps(label_pieces(asked.user, judge_plainly))


def connect(server: FaultyServer, place: str | None = None, **options: Any) -> LlmClient:
    environ = {"CLAIMWISE_BASE_URL": server.url}
    cache = options.pop("cache", None) or (None if place is None else open_replies(place))
    section = LlmSection(timeout=options.pop("timeout", DEADLINE))
    return open_client(MODEL, environ=environ, section=section, cache=cache, **options)


def judge_run(store: Store, client: LlmClient, **options: Any) -> FactcheckRunResult:
    judge = ClosedBookRun(ClosedBookJudge(client), options.pop("domain_hint", None))
    return factcheck_run(store, "r", judge, **options)


def labels(store: Store, columns: str = "claim_text, label") -> list[tuple[Any, ...]]:
    return store.query(
        f"select {columns} from closed_book_labels where labeler = :labeler "
        "order by item_id, claim_text, labeled_at",
        {"labeler": JUDGE},
    )


def unscored(store: Store) -> list[tuple[Any, ...]]:
    return store.query(
        "select claim_text, judgement, reason from unscored_claims where labeler = :labeler "
        "order by item_id, claim_text",
        {"labeler": JUDGE},
    )


@pytest.mark.each_engine
def test_stored_claims_are_labelled_as_they_are(store: Store) -> None:
    lovely = claim("How lovely!", claim_type="non_factual")
    load(store, source(), item("a"), item("b"), run(),
         answer("a", "The tower is 138 m tall.", "It has 3 floors."),
         answer("b", "The lift is old.", lovely))  # fmt: skip
    with FaultyServer(plain) as server, connect(server) as client:
        result = judge_run(store, client)
        assert server.count == 2  # one call an answer
    assert labels(store) == [
        ("It has 3 floors.", "false"),
        ("The tower is 138 m tall.", "true"),
        ("How lovely!", "non_factual"),
        ("The lift is old.", "unverifiable"),
    ]
    assert unscored(store) == []
    assert result.labels == {"false": 1, "true": 1, "unverifiable": 1, "non_factual": 1}
    assert result.factual_precision == 0.5
    assert result.bounds == (0.5, 0.5)
    assert [queued.claim_text for queued in result.second_look] == ["The tower is 138 m tall."]
    [known] = store.query(
        "select labeler_kind, model, prompt_ver from labelers where labeler = :l", {"l": JUDGE}
    )
    assert known == ("verifier", MODEL, "closed-book@2")


def test_labels_that_say_little_are_stored_as_unscored_with_what_was_said(store: Store) -> None:
    """No rate of the store counts them, and its bounds are open."""
    texts = {
        "The tower is 200 m tall.": ("The tower is 146 m tall.", "true"),
        "The tower is old and it has a lift.": (None, "true"),
        "It is the best tower in Europe.": (None, "true"),
        "The lift is red.": (None, "non_factual"),
        "The lift is slow.": (None, "false"),
    }
    load(store, source(), item("a"), run(), answer("a", *texts))

    def reply(asked: Asked) -> str:
        found = []
        for name, text in read_pieces(asked.user).items():
            said, label = texts[text]
            entry = {"text": said or text, "label": label, "decision_basis": "known"}
            found.append({"id": name, "claims": [entry]})
        return json.dumps({"pieces": found, "summary_basis": ""})

    with FaultyServer(reply) as server, connect(server) as client:
        result = judge_run(store, client)
    assert labels(store) == [("The lift is slow.", "false")]
    codes = {"changed_fact": 1, "compound": 1, "opinion": 1, "called_non_factual": 1}
    assert result.unscored == codes
    assert (result.factual_precision, result.bounds) == (0.0, (0.0, 0.8))
    details: dict[str, str] = dict(store.query("select reason, detail from unscored_claims"))
    assert details["changed_fact"] == "the judge's claim says 146 m, the answer 200 m"
    assert details["opinion"].startswith("the judge says true, but it reads like a value judgement")
    told = list(describe_judged_run(result))
    assert "labelled and not counted: 1 compound, 1 opinion, 1 called_non_factual" in told
    [overall] = estimate_metric(store, load_metrics()["factual_precision"], "r").overall
    assert (overall.micro, overall.bound_low, overall.bound_high) == (0.0, 0.0, 0.8)


def test_what_is_no_claim_counts_in_no_rate_whatever_the_judge_says_of_it(store: Store) -> None:
    """Nor is an answer without any factual claim one that a fresh judge has judged before."""
    opinion = claim("Room 8 is nice.", claim_type="non_factual")
    load(store, source(), item("a"), item("b"), run(),
         answer("a", "It has 3 floors.", opinion), answer("b", opinion))  # fmt: skip
    with FaultyServer(plain) as server, connect(server) as client:
        result = judge_run(store, client)
    assert labels(store) == [("It has 3 floors.", "false"), ("Room 8 is nice.", "true")]
    assert (result.labels, result.factual_precision) == ({"false": 1}, 0.0)
    assert (result.second_look, result.labels_unflagged) == ((), {"false": 1})
    assert (result.done_before, result.without_claims) == (0, 1)


@pytest.mark.each_engine
def test_answers_without_claims_are_split_as_verify_would(store: Store) -> None:
    text = (
        "The tower is 138 m tall [1]. It opened in 1999 and it has 4 floors. I think it is lovely."
    )
    contexts = [{"source_id": "doc", "context_text": "The tower is 139 m tall."}]
    load(store, source(), item("a"), run(), answer("a", answer_text=text, contexts=contexts))
    with FaultyServer(plain) as server, connect(server) as client:
        result = judge_run(store, client)
    stored = store.query("select claim_text, claim_type from claims order by position")
    assert [kind for _, kind in stored] == ["factual", "factual", "factual", "non_factual"]
    assert result.split == 4
    assert store.query("select source_id, marker from citations") == [("doc", "[1]")]
    assert Counter(label for _, label in labels(store)) == {"true": 2, "false": 1, "non_factual": 1}


@pytest.mark.parametrize("escape", ["\\ud83d", "\\u0000"])
def test_a_reply_that_no_store_takes_is_unscored_and_asked_for_again(
    store: Store, place: str, escape: str
) -> None:
    load(store, source(), item("a"), run(), answer("a", "The tower is 138 m tall."))

    def broken(asked: Asked) -> str:
        return plain(asked).replace('"decision_basis": "', f'"decision_basis": "{escape}')

    with (
        FaultyServer(broken) as server,
        open_replies(place) as cache,
        connect(server, cache=cache) as client,
    ):
        result = judge_run(store, client)
        assert escape in broken(server.requests[0])
    assert result.unscored == {"unparsable": 1}
    with (
        FaultyServer(plain) as server,
        open_replies(place) as cache,
        connect(server, cache=cache) as client,
    ):
        assert judge_run(store, client).labels == {"true": 1}


def test_what_the_judge_passes_over_is_asked_for_again(store: Store, place: str) -> None:
    load(store, source(), item("a"), run(), answer("a", "The tower is 138 m tall."))

    def pass_over(asked: Asked) -> str:
        pieces = [{"id": name, "claims": []} for name in read_pieces(asked.user)]
        return json.dumps({"pieces": pieces, "summary_basis": ""})

    said = iter([pass_over, plain])
    with (
        FaultyServer(lambda asked: next(said)(asked)) as server,
        open_replies(place) as cache,
        connect(server, cache=cache) as client,
    ):
        assert judge_run(store, client).unscored == {"skipped_piece": 1}
        assert judge_run(store, client).labels == {"true": 1}
        assert server.count == 2


@pytest.mark.each_engine
def test_a_prompt_that_changed_under_its_version_is_refused(store: Store, tmp_path: Path) -> None:
    load(store, source(), item("a"), run(), answer("a", "The tower is 138 m tall."))
    path = tmp_path / "house.md"
    head = '+++\nname = "house"\nversion = 1\ninputs = ["pieces"]\nchangelog = []\n+++\n'
    path.write_text(f"{head}## system\nBe strict.\n## user\n{{{{pieces}}}}\n")
    with FaultyServer(plain) as server, connect(server) as client:

        def judge(*, again: bool = False) -> FactcheckRunResult:
            own = ClosedBookJudge(client, prompt=load_prompt(path))
            return factcheck_run(store, "r", ClosedBookRun(own), again=again)

        assert [judge().judged, judge().judged, judge(again=True).judged] == [1, 0, 1]
        path.write_text(path.read_text().replace("strict", "lenient"))
        with pytest.raises(PromptError, match=r"then “house@1 .*”, now “house@1 .*--again"):
            judge()
        assert server.count == 2
        assert judge(again=True).judged == 1
        assert judge().judged == 0  # the store knows the new text now
        path.write_text(path.read_text().replace("version = 1", "version = 2"))
        assert judge().judged == 1


@pytest.mark.each_engine
def test_a_part_decides_for_its_claim_and_is_named(store: Store) -> None:
    load(store, source(), item("a"), run(), answer("a", "The tower is 138 m tall with 3 floors."))
    parts = [("The tower is 138 m tall.", "true"), ("The tower has 3 floors.", "false")]
    reply = {
        "pieces": [
            {
                "id": "s1",
                "claims": [{"text": t, "label": k, "decision_basis": "seen"} for t, k in parts],
            }
        ],
        "summary_basis": "",
    }
    with FaultyServer(lambda asked: json.dumps(reply)) as server, connect(server) as client:
        judge_run(store, client)
    assert labels(store, "label, decision_basis") == [("false", "“The tower has 3 floors.”: seen")]


def test_an_answer_that_states_nothing_is_split_and_not_sent(store: Store) -> None:
    refusal = "I'm sorry, I can't answer that."
    load(store, source(), item("a"), run(), answer("a", answer_text=refusal))
    with FaultyServer(plain) as server, connect(server) as client:
        assert list(plan_run(store, "r", ClosedBookRun(ClosedBookJudge(client)))) == []
        result = judge_run(store, client)
        again = judge_run(store, client)
        assert (again.without_claims, again.done_before) == (1, 0)
        assert server.count == 0
    assert (result.split, result.judged, result.unscored) == (1, 0, {})
    assert result.bounds is None


def drop_last(asked: Asked) -> str:
    reply = label_pieces(asked.user, judge_plainly)
    return json.dumps({**reply, "pieces": reply["pieces"][:-1]})


def empty(asked: Asked) -> str:
    found = [{"id": name, "claims": []} for name in read_pieces(asked.user)]
    return json.dumps({"pieces": found, "summary_basis": ""})


@pytest.mark.parametrize(
    ("reply", "reasons"),
    [
        (drop_last, {"missing_id": 1}),
        (empty, {"skipped_piece": 2}),
        (lambda asked: "no JSON", {"unparsable": 2}),
    ],
)
def test_what_was_not_judged_is_stored_with_the_reason(
    store: Store, reply: Callable[[Asked], str], reasons: dict[str, int]
) -> None:
    load(store, source(), item("a"), run(), answer("a", "It is 8 m tall.", "It is 6 m wide."))
    with FaultyServer(reply) as server, connect(server) as client:
        result = judge_run(store, client)
    assert result.unscored == reasons
    assert Counter(reason for _, _, reason in unscored(store)) == reasons
    assert {judgement for _, judgement, _ in unscored(store)} == {"closed_book"}
    assert len(labels(store)) + len(unscored(store)) == 2
    assert result.bounds is not None
    assert result.bounds[0] < result.bounds[1]
    with FaultyServer(plain) as server, connect(server) as client:
        mended = judge_run(store, client)  # the next call tries again
    assert mended.unscored == {}
    assert mended.labels == {"true": 2}


@pytest.mark.each_engine
def test_resuming_asks_only_for_what_is_open(store: Store) -> None:
    load(store, source(), run(), *(item(str(n)) for n in range(6)),
         *(answer(str(n), f"It is {n} m tall.") for n in range(3)),
         {"type": "answers", "run_id": "r", "item_id": "5", "failure": "timeout"})  # fmt: skip
    with FaultyServer(plain) as server, connect(server) as client:
        first = judge_run(store, client)
        assert server.count == 3
        load(store, answer("3", "It is 3 m tall."))
        second = judge_run(store, client)
        assert server.count == 4
        third = judge_run(store, client, again=True)
        assert server.count == 8
    assert (first.answers, first.failed, first.done_before, first.judged) == (4, 1, 0, 3)
    assert (second.done_before, second.judged) == (3, 1)
    assert third.judged == 4
    assert third.labels == second.labels == {"true": 2, "false": 2}


@pytest.mark.each_engine
def test_again_judges_although_the_clock_was_set_back(store: Store) -> None:
    load(store, source(), run(), item("a"), answer("a", "It is 8 m tall."))
    with FaultyServer(plain) as server, connect(server) as client:
        judge_run(store, client)
        ahead = datetime.now(UTC).replace(tzinfo=None) + timedelta(hours=10)
        with store.write():
            store.execute("update closed_book_labels set labeled_at = :ahead", {"ahead": ahead})
        assert judge_run(store, client, again=True).judged == 1
    assert len(labels(store)) == 2


@pytest.mark.each_engine
def test_two_that_share_a_run_double_nothing(place: str) -> None:
    """The second judges and stores everything while the first waits for its reply."""
    with open_store(place, create=True) as store:
        load(store, source(), run(), item("a"), item("b"),
             answer("a", "It is 8 m tall."),
             answer("b", answer_text="It is 6 m wide. It is old."))  # fmt: skip

    def meet(asked: Asked) -> str:
        if asked.number == 0:
            with open_store(place) as second, connect(server) as other:
                results.append(judge_run(second, other))
        return plain(asked)

    results: list[FactcheckRunResult] = []
    with FaultyServer(meet) as server, open_store(place) as store, connect(server) as client:
        results.append(judge_run(store, client))
        assert [result.judged for result in results] == [3, 0]
        assert len(labels(store)) == 3
        assert store.query("select count(*) from claims") == [(3,)]
    assert results[0].labels == results[1].labels == {"true": 2, "unverifiable": 1}


@pytest.mark.each_engine
def test_who_fails_where_another_labelled_stores_no_failure(place: str) -> None:
    with open_store(place, create=True) as store:
        load(store, source(), run(), item("a"), answer("a", "It is 8 m tall."))

    def meet(asked: Asked) -> str:
        if asked.number == 0:
            with open_store(place) as second, connect(server) as other:
                judge_run(second, other)
            return empty(asked)
        return plain(asked)

    with FaultyServer(meet) as server, open_store(place) as store, connect(server) as client:
        assert judge_run(store, client).unscored == {}
        assert (len(labels(store)), unscored(store)) == (1, [])


def test_the_items_own_domain_is_the_hint(store: Store) -> None:
    load(store, source(), item("a", domain="towers of Europe"), item("b"), run(),
         answer("a", "It is 8 m tall."),
         answer("b", "Metformin and insulin treat diabetes."))  # fmt: skip
    with FaultyServer(plain) as server, connect(server) as client:
        result = judge_run(store, client)
        assert sorted("towers of Europe" in asked.user for asked in server.requests) == [
            False,
            True,
        ]
        judge_run(store, client, domain_hint="masonry", again=True)
        assert all("masonry" in asked.user for asked in server.requests[2:])
    assert result.without_hint == 1


def waver(asked: Asked) -> str:
    """Say “true”; but the first time, and of the height, “false”."""

    def label(text: str) -> str:
        return "true" if "wide" in text or asked.number else "false"

    return json.dumps(label_pieces(asked.user, label))


def deciding(store: Store) -> list[tuple[Any, ...]]:
    return store.query(
        "select claim_text, label, labeler from deciding_closed_book_labels order by 1"
    )


@pytest.mark.each_engine
def test_repeats_are_labelers_and_the_first_decides(store: Store) -> None:
    load(store, source(), item("a"), run(), answer("a", "It is 8 m tall.", "It is 6 m wide."))
    with FaultyServer(waver) as server, connect(server) as client:
        result = judge_run(store, client, repeats=3)
        assert server.count == 3
        again = judge_run(store, client, repeats=3)
        assert server.count == 3
    given = store.query(
        "select labeler, label from closed_book_labels where claim_text = 'It is 8 m tall.' "
        "order by labeler"
    )
    assert given == [(JUDGE, "true"), (f"{JUDGE}#2", "true"), (f"{JUDGE}#3", "false")]
    assert deciding(store) == [
        ("It is 6 m wide.", "true", JUDGE), ("It is 8 m tall.", "true", JUDGE)
    ]  # fmt: skip
    assert result.labels == {"true": 2}  # a claim counts once
    assert result.judged == 2
    assert (result.repeats, result.compared, result.flipped) == (3, 2, 1)
    assert (again.judged, again.compared, again.flipped) == (0, 2, 1)
    # People get what repeats disagree on; each claim once.
    assert [claim.claim_text for claim in result.changed] == ["It is 8 m tall."]
    assert sorted(claim.claim_text for claim in result.queue) == [
        "It is 6 m wide.", "It is 8 m tall."
    ]  # fmt: skip


def test_the_first_decides_although_repeats_came_later(store: Store, place: str) -> None:
    """Its label is given again, from the kept reply; and so after a kill between the rounds."""
    load(store, source(), item("a"), run(), answer("a", "It is 8 m tall."))
    with (
        FaultyServer(waver) as server,
        open_replies(place) as cache,
        connect(server, cache=cache) as client,
    ):
        judge_run(store, client)
        second = ClosedBookRun(ClosedBookJudge(client)).repeat_as(2)
        factcheck_run(store, "r", second)
        assert deciding(store) == [("It is 8 m tall.", "true", f"{JUDGE}#2")]
        result = judge_run(store, client, repeats=2)
        assert (server.count, result.flipped) == (2, 1)
        assert deciding(store) == [("It is 8 m tall.", "false", JUDGE)]
        assert judge_run(store, client, repeats=2).judged == 0


def test_majorities_of_0_6_read_as_before(store: Store) -> None:
    """Up to 0.6 repeats were labels of one labeler, the one that most gave last."""
    load(store, source(), item("a"), run(), answer("a", "It is 8 m tall."),
         *({"type": "closed_book_labels", "run_id": "r", "item_id": "a",
            "claim_text": "It is 8 m tall.", "label": label, "labeler": JUDGE,
            "labeled_at": f"2026-02-01T00:00:00.00000{n}Z"}
           for n, label in enumerate(["false", "true", "true"])))  # fmt: skip
    assert deciding(store) == [("It is 8 m tall.", "true", JUDGE)]
    with FaultyServer(plain) as server, connect(server) as client:
        result = judge_run(store, client)
        assert server.count == 0
    assert (result.labels, result.done_before) == ({"true": 1}, 1)


@pytest.mark.each_engine
def test_a_plan_sends_nothing_and_stores_nothing(store: Store) -> None:
    load(store, source(), item("a"), run(), answer("a", answer_text="It is 8 m tall. It is old."))
    with FaultyServer(plain) as server, connect(server, sending=False) as client:
        [call] = plan_run(store, "r", ClosedBookRun(ClosedBookJudge(client)))
        assert read_pieces(call.user) == {"s1": "It is 8 m tall.", "s2": "It is old."}
        assert server.count == 0
    assert store.query("select * from claims") == []


def test_a_run_that_is_not_there(store: Store) -> None:
    load(store, source(), item("a"), run())
    with FaultyServer(plain) as server, connect(server) as client:
        with pytest.raises(StoreError, match="run 'r' has no answers"):
            judge_run(store, client)
        with pytest.raises(StoreError, match="Unknown run 'x'"):
            factcheck_run(store, "x", ClosedBookRun(ClosedBookJudge(client)))


def fill(place: str, answers: int) -> None:
    with open_store(place, create=True) as store:
        load(store, source(), run(), *(item(f"q{n:03}") for n in range(answers)),
             *(answer(f"q{n:03}", f"It is {n} m tall.", f"It is {n + 1} m wide.")
               for n in range(answers)))  # fmt: skip


def test_with_faults_everything_is_accounted_for(tmp_path: Path) -> None:
    place = str(tmp_path / "store.db")
    fill(place, 150)
    faults = {"malformed": 0.05, "500": 0.05, "429": 0.05, "hang": 0.01}
    with (
        FaultyServer(plain, faults=faults, seed=7) as server,
        open_store(place) as store,
        connect(server, place, timeout=2.0) as client,
    ):
        result = judge_run(store, client, threads=16)
        scored, lost = len(labels(store)), len(unscored(store))
    assert scored + lost == 300
    assert scored >= 297
    assert sum(result.labels.values()) + sum(result.unscored.values()) == 300
    assert result.bounds is not None
    assert result.bounds[0] <= 0.5 <= result.bounds[1]


def judge_in_process(place: str, url: str) -> None:
    with open_store(place) as store:
        client = open_client(
            MODEL, environ={"CLAIMWISE_BASE_URL": url}, cache=open_replies(place), concurrency=4
        )
        with client:
            judge_run(store, client, threads=4)


REPLIES = (0, 3, 8, 13)  # before each kill


def test_killed_again_and_again_it_loses_and_repays_nothing(
    tmp_path: Path, forking: ForkServerContext
) -> None:
    """What was answered before a kill is not asked again; only calls under way may be."""
    place = str(tmp_path / "store.db")
    fill(place, 60)
    with FaultyServer(plain) as server:
        for replies in REPLIES:
            past = server.count + replies
            server.admit(past)
            process = forking.Process(target=judge_in_process, args=(place, server.url))
            process.start()
            wait_until(partial(server.is_past, past), "a request waits for its reply")
            process.kill()
            process.join()
        server.admit()
        judge_in_process(place, server.url)
        asked = Counter(request.user for request in server.requests)
    assert len(asked) == 60
    assert server.count <= 60 + 4 * len(REPLIES)  # at most what was under way at each kill
    with open_store(place) as store:
        assert len(labels(store)) == 120
        assert unscored(store) == []
