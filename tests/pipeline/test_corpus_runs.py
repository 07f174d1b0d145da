"""Stored runs judged by a corpus and by the cascade, and what all four ways have in common."""

from __future__ import annotations

import json
from functools import partial
from multiprocessing.context import ForkServerContext
from typing import Any

import pytest

from claimwise.checking.engine import judge_run, plan_run
from claimwise.checking.run import verify_run
from claimwise.errors import PromptError, StoreError
from claimwise.judges.corpus import Corpus
from claimwise.openbook.answer import read_stored_corpus
from claimwise.openbook.cascade_run import CascadeRun, cascade_run
from claimwise.openbook.run import OpenBookRun, openbook_run
from claimwise.store import Store, open_store
from claimwise.types.corpus import Retrieval
from claimwise.types.rows import Source
from pipeline.corpus_runs import (
    CORPUS,
    MODEL,
    WAYS,
    fill,
    judge_in_process,
    make_judge,
    open_client_for,
    reply,
)
from pipeline.instruments import ExactVerifier
from small_data import answer, claim, item, load, run, source
from support.closed_book import label_pieces
from support.faulty_server import Asked, FaultyServer
from support.waiting import DEADLINE, wait_until

OPENBOOK = "verifier:openbook:exact-1"
CASCADE = f"judge:cascade:closed-book@2:{MODEL}"


def labels(store: Store, labeler: str = OPENBOOK) -> list[tuple[Any, ...]]:
    return store.query(
        "select claim_text, verdict, supporting_span, source_id, span_start from labels "
        "where labeler = :labeler order by item_id, claim_text",
        {"labeler": labeler},
    )


@pytest.mark.each_engine
def test_a_run_is_judged_by_the_stored_corpus(store: Store) -> None:
    load(store, source(), item("q"), run(),
         answer("q", "Dogs may come in.", "Entry costs 9 euros.", "Zeppelins flew to Quito.",
                claim("Lovely!", claim_type="non_factual")))  # fmt: skip
    judge = OpenBookRun(ExactVerifier(), read_stored_corpus(store))
    judged = openbook_run(store, "r", judge)
    assert labels(store) == [
        ("Dogs may come in.", "supported", "Dogs may come in", "doc", 65),
        ("Entry costs 9 euros.", "contradicted", "Entry costs 5 euros", "doc", 44),
        ("Zeppelins flew to Quito.", "unlinked", None, None, None),
    ]
    assert judged.no_passage == 1
    assert judged.result.verdicts == {"supported": 1, "contradicted": 1, "unlinked": 1}
    assert judged.result.bases == {"searched": 1}
    assert store.query("select labeler, prompt_ver from labelers") == [
        (OPENBOOK, "5 passages, floor 0.3, sure 0.6")
    ]
    assert store.count_rows()["sources"] == 1
    assert store.audit() == []
    assert openbook_run(store, "r", judge).result.judged == 0
    # The same verifier against what the system was given is another labeler.
    assert verify_run(store, "r", ExactVerifier()).judged == 3


@pytest.mark.each_engine
def test_cited_documents_of_an_outside_corpus_become_sources(store: Store) -> None:
    load(store, source(), item("q"), run(),
         answer("q", answer_text="The tower is 139 m tall. Cats may come in."))  # fmt: skip
    judged = openbook_run(store, "r", OpenBookRun(ExactVerifier(), CORPUS))
    assert (judged.result.split, judged.result.judged) == (2, 2)
    assert labels(store)[1] == (
        "The tower is 139 m tall.", "supported", "The tower is 139 m tall", "tower", 0
    )  # fmt: skip
    known = store.query("select source_id, corpus_ver from sources order by 1")
    assert known == [("doc", "v1"), ("tower", "v1")]
    assert store.audit() == []
    # A second run finds it there.
    load(store, run("s"), answer("q", "The tower is 139 m tall.", run_id="s"))
    assert openbook_run(store, "s", OpenBookRun(ExactVerifier(), CORPUS)).result.judged == 1


@pytest.mark.each_engine
def test_what_supersedes_a_cited_document_comes_with_it(store: Store) -> None:
    old = Source(source_id="old", corpus_ver="-", source_text="Entry costs 5 euros.",
                 superseded_by="new")  # fmt: skip
    new = Source(source_id="new", corpus_ver="-", source_text="Admission is free.")
    load(store, source(), item("q"), run(), answer("q", "Entry costs 5 euros."))
    openbook_run(store, "r", OpenBookRun(ExactVerifier(), Corpus([old, new])))
    assert labels(store)[0][1] == "stale"
    assert store.query("select source_id from sources order by 1") == [("doc",), ("new",), ("old",)]
    assert store.audit() == []


def test_an_outside_document_with_the_id_of_another_text_is_refused(store: Store) -> None:
    load(store, source("tower"), item("q"), run(), answer("q", "The tower is 139 m tall."))
    with pytest.raises(StoreError, match=r"another text of “tower”.*corpus version v1.*rename"):
        openbook_run(store, "r", OpenBookRun(ExactVerifier(), CORPUS))
    assert labels(store) == []
    same = Corpus([Source(source_id="tower", corpus_ver="-", source_text=source()["source_text"])])
    assert openbook_run(store, "r", OpenBookRun(ExactVerifier(), same)).result.judged == 1


def has_more(server: FaultyServer, requests: int) -> bool:
    """Tell whether a server has had more requests than that."""
    return server.count > requests


def say(asked: Asked) -> str:
    """Know what the demo of a cascade needs: see test_a_run_goes_through_the_cascade."""
    known = {"Zeppelins flew to Quito.": "unverifiable", "Lovely!": "non_factual"}
    return json.dumps(label_pieces(asked.user, lambda text: known.get(text, "true")))


@pytest.mark.each_engine
def test_a_run_goes_through_the_cascade(place: str) -> None:
    with open_store(place, create=True) as store:
        lovely = claim("Lovely!", claim_type="non_factual")
        load(store, source(), item("q"), run(),
             answer("q", "The tower is 139 m tall.", "Entry costs 9 euros.", "Dogs may come in.",
                    "Zeppelins flew to Quito.", lovely))  # fmt: skip
    with FaultyServer(say) as server, open_client_for(place, server.url) as (store, client):
        cascade = make_judge("cascade", client)
        assert len(list(plan_run(store, "r", cascade))) == 1
        assert isinstance(cascade, CascadeRun)
        result, flips = cascade_run(store, "r", cascade)
        found = store.query(
            "select claim_text, label, decision_basis from closed_book_labels "
            "where labeler = :labeler order by claim_text",
            {"labeler": CASCADE},
        )
        assert [row[:2] for row in found] == [
            ("Dogs may come in.", "true"), ("Lovely!", "non_factual"),
            ("The tower is 139 m tall.", "true"),
        ]  # fmt: skip
        assert found[0][2].startswith("closed_book: ")
        assert found[2][2] == (
            "corpus: it stands there (tower:0–23 “The tower is 139 m tall”)"
        )  # fmt: skip
        assert result.stages == {"closed_book": 2, "corpus": 1, "people": 2}
        assert result.unscored == {"for_people": 2}
        left = [(claim.claim_text, claim.why) for claim in result.queue]
        assert sorted(left) == [
            ("Entry costs 9 euros.",
             "the judge says true, the corpus says false: the source says “Entry costs 5 euros”"),
            ("Zeppelins flew to Quito.",
             "the corpus neither supports nor contradicts it: no source says it"),
        ]  # fmt: skip
        assert (result.factual_precision, result.bounds) == (1.0, (0.5, 1.0))
        assert (server.count, flips) == (1, None)
        again, _ = cascade_run(store, "r", cascade)  # what is for people is looked at again, free
        assert (server.count, again.judged, again.queue) == (1, 0, result.queue)
        assert store.query("select count(*) from unscored_claims") == [(2,)]
        assert store.audit() == []


# What all ways have in common


def count_labels(store: Store) -> int:
    counts = store.count_rows()
    return counts["labels"] + counts["closed_book_labels"]


@pytest.mark.each_engine
@pytest.mark.parametrize("way", WAYS)
def test_repeats_are_labelers_and_the_first_decides(place: str, way: str) -> None:
    fill(place, 3)
    with FaultyServer(reply) as server, open_client_for(place, server.url) as (store, client):
        judge = make_judge(way, client)
        judged = judge_run(store, "r", judge, repeats=2)
        assert server.count == 6
        name = judge.row.labeler
        known = store.query("select labeler from labelers order by length(labeler)")
        assert known == [(name,), (f"{name}#2",)]
        kind = "" if judge.judgement == "grounded" else "closed_book_"
        deciding = f"select distinct labeler from deciding_{kind}labels"
        assert store.query(deciding) == [(name,)]
        flips = judged.result.flips
        assert flips is not None
        assert (flips.rounds, flips.flipped) == (2, 0)
        assert flips.compared == judged.result.judged == sum(judged.result.verdicts.values()) >= 3
        assert judge_run(store, "r", judge, repeats=2).result.flips == flips
        assert server.count == 6


@pytest.mark.parametrize("way", WAYS)
def test_again_reads_kept_replies_and_fresh_asks(place: str, way: str) -> None:
    fill(place, 3)
    with FaultyServer(reply) as server:
        with open_client_for(place, server.url) as (store, client):
            first = judge_run(store, "r", make_judge(way, client)).result
            again = judge_run(store, "r", make_judge(way, client), again=True).result
            assert (server.count, again.judged) == (3, first.judged)
        with open_client_for(place, server.url, fresh=True) as (store, client):
            judge_run(store, "r", make_judge(way, client), again=True)
            assert server.count == 6


@pytest.mark.each_engine
@pytest.mark.parametrize("way", WAYS)
def test_a_changed_judge_is_refused_or_judges_again(place: str, way: str) -> None:
    fill(place, 2)
    with FaultyServer(reply) as server, open_client_for(place, server.url) as (store, client):
        judge = make_judge(way, client)
        first = judge_run(store, "r", judge).result
        store.execute_all([("update labelers set prompt_ver = 'an earlier text'", {})])
        before, asked = count_labels(store), server.count
        for attempt in (judge_run, lambda *given: list(plan_run(*given))):
            with pytest.raises(PromptError, match=r"then “an earlier text”, now “.*--again"):
                attempt(store, "r", judge)
        assert (count_labels(store), server.count) == (before, asked)
        again = judge_run(store, "r", judge, again=True).result
        assert again.judged == first.judged
        assert judge_run(store, "r", judge).result.judged == 0


@pytest.mark.parametrize("way", ["openbook", "cascade"])
def test_another_search_is_another_setting(place: str, way: str) -> None:
    fill(place, 1)
    with FaultyServer(reply) as server, open_client_for(place, server.url) as (store, client):
        judge_run(store, "r", make_judge(way, client))
        with pytest.raises(PromptError, match=r"5 passages.*3 passages"):
            judge_run(store, "r", make_judge(way, client, Retrieval(k=3)))


KILLS, CONCURRENCY = 3, 2


@pytest.mark.each_engine
@pytest.mark.parametrize("way", WAYS)
def test_killed_again_and_again_it_loses_and_repays_nothing(
    place: str, way: str, forking: ForkServerContext
) -> None:
    """SIGKILL while requests wait: only calls under way are asked again."""
    answers = 12
    fill(place, answers)
    with FaultyServer(reply) as server:
        for replies in range(1, KILLS + 1):
            past = server.count + replies
            server.admit(past)
            process = forking.Process(
                target=judge_in_process, args=(place, server.url, way, CONCURRENCY)
            )
            process.start()
            wait_until(partial(has_more, server, past), "a request waits for its reply")
            process.kill()
            process.join(DEADLINE)
            server.admit()
            wait_until(lambda: not server.under_way, "the server is idle")
        with open_client_for(place, server.url) as (store, client):
            result = judge_run(store, "r", make_judge(way, client), threads=CONCURRENCY).result
            scored, lost = sum(result.verdicts.values()), sum(result.unscored.values())
            assert scored + lost == 3 * answers
            assert count_labels(store) == scored >= answers  # none twice
            assert store.audit() == []
        assert server.count <= answers + KILLS * CONCURRENCY


@pytest.mark.each_engine
@pytest.mark.parametrize("way", WAYS)
def test_two_that_share_a_run_double_nothing(place: str, way: str) -> None:
    """The second judges and stores everything while the first waits for its reply."""
    fill(place, 3)
    results = []

    def meet(asked: Asked) -> str:
        if asked.number == 0:
            with open_client_for(place, server.url) as (store, client):
                results.append(judge_run(store, "r", make_judge(way, client)).result)
        return reply(asked)

    with FaultyServer(meet) as server, open_client_for(place, server.url) as (store, client):
        results.append(judge_run(store, "r", make_judge(way, client)).result)
        assert count_labels(store) == results[0].judged
        assert results[1].judged == 0
        assert results[0].verdicts == results[1].verdicts
        assert store.audit() == []
