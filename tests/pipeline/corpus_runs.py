"""Stored runs that are judged with a corpus, here and in processes that can be killed."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import claimwise.checking.engine as run_engine
from claimwise.checking.engine import RunJudge, judge_run
from claimwise.checking.run import GroundedRun
from claimwise.fact_check.run import ClosedBookRun
from claimwise.judges.closed_book import ClosedBookJudge
from claimwise.judges.corpus import Corpus
from claimwise.judges.grounded import GroundedJudge
from claimwise.llm.client import LlmClient, open_client
from claimwise.openbook.cascade_run import CascadeRun
from claimwise.openbook.run import OpenBookRun
from claimwise.store import Store, open_store
from claimwise.store.replies import open_replies
from claimwise.types.corpus import Retrieval
from claimwise.types.rows import Source
from pipeline.instruments import ExactVerifier
from small_data import SOURCE, answer, item, load, run, source
from support.closed_book import label_pieces
from support.faulty_server import Asked
from support.grounded_model import reply_to_request

MODEL = "openai-compatible:m"
CLAIMS = ("The tower is 139 m tall.", "Entry costs {n} euros.", "Dogs may come in.")
DOCUMENTS = (
    Source(source_id="tower", corpus_ver="-", source_text="The tower is 139 m tall."),
    Source(source_id="prices", corpus_ver="-", source_text="Entry costs 5 euros."),
    Source(source_id="unused", corpus_ver="-", source_text="Zeppelins carried mail to Quito."),
)
CORPUS = Corpus(DOCUMENTS, name="files")
USUAL = Retrieval()
WAYS = ("grounded", "closed_book", "openbook", "cascade")


def fill(place: str, answers: int) -> None:
    """Store a run with three claims to an answer; every answer is a call of its own."""
    context = {"source_id": "doc", "context_text": SOURCE}
    names = [f"q{n:03}" for n in range(answers)]
    with open_store(place, create=True) as store:
        load(
            store, source(), run(), *map(item, names),
            *(
                answer(name, *(text.format(n=n + 100) for text in CLAIMS), contexts=[context])
                for n, name in enumerate(names)
            ),
        )  # fmt: skip


def reply(asked: Asked) -> str:
    """Judge as either prompt asks; closed-book, everything is true."""
    if '{"id": "s1"' in asked.user:
        return json.dumps(label_pieces(asked.user, lambda _: "true"))
    return reply_to_request(asked)


def make_judge(way: str, client: LlmClient, how: Retrieval = USUAL) -> RunJudge[Any]:
    """Return one of the ways to judge a run."""
    if way == "grounded":
        return GroundedRun(GroundedJudge(client))
    if way == "closed_book":
        return ClosedBookRun(ClosedBookJudge(client), resplit=False)
    if way == "openbook":
        return OpenBookRun(GroundedJudge(client), CORPUS, how)
    closed = ClosedBookJudge(client)
    return CascadeRun(judge=closed, corpus=CORPUS, verifier=ExactVerifier(), how=how, resplit=False)


@contextmanager
def open_client_for(place: str, url: str, **options: Any) -> Iterator[tuple[Store, LlmClient]]:
    """Open store and client; replies are kept in the store."""
    with (
        open_store(place) as store,
        open_replies(place, fresh=options.pop("fresh", False)) as replies,
        open_client(MODEL, cache=replies, environ={"CLAIMWISE_BASE_URL": url}, **options) as client,
    ):
        yield store, client


def judge_in_process(place: str, url: str, way: str, concurrency: int) -> None:
    """Judge the run in a process of its own, and write after every answer."""
    run_engine._FLUSH_SECONDS = 0
    os.environ.pop("CLAIMWISE_STORE", None)
    with open_client_for(place, url, concurrency=concurrency) as (store, client):
        judge_run(store, "r", make_judge(way, client), threads=concurrency)
