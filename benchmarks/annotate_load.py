"""Many people label at once: what saving costs, and whether a label is ever lost or doubled.

A real ``claimwise serve`` in a process of its own, on this machine. When all have logged in, each
works as the desk does: fetches up to 20 claims ahead, saves a label; 4 % skipped, 5 % taken back
and labelled again, 8 % sent twice. A label about every 12 s of 20 minutes, 100 each, in a sixteenth
of the time. SQLite with 10 labelers, PostgreSQL (its default settings; ours in a temporary folder,
or --postgres URL, an empty database) with 50. Times are the client's, server and clients on the
same cores. Then once more, with the server killed by -9 half way and started again; a request
without an answer is sent again. After each: every acknowledged label must stand exactly once with
its verdict, every taken-back one be marked so, no slot be done twice, and ``doctor``'s checks
pass. Rival: ``begin; insert; commit`` of one label row through the same store, by as many threads
at the same pace, without HTTP, session, rules, queue or audit trail. Asked: p95 of saving under
150 ms.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from claimwise.accounts.queries import create_account
from claimwise.labelling.draw import draw_round
from claimwise.labelling.guide import read_guide
from claimwise.labelling.rounds import add_guide
from claimwise.store import Store, open_store
from claimwise.text import make_claim_id
from claimwise.types.rows import Answer, Claim, Context, Item, Placed, Row, Run, Source
from support.labelers import PASSWORD, Labeler, Pace
from support.own_postgres import start_postgres
from support.served_app import serve

MOST_MS = 150.0
CLAIMS = 5  # of one answer
FILLER = "The opening hours of the museum change with the season and are posted at the door. " * 20


class Plan(NamedTuple):
    """How much is simulated."""

    labelers: int
    pace: Pace


class Outcome(NamedTuple):
    """What one run of people at work showed."""

    save_ms: list[float]
    next_ms: list[float]
    acknowledged: int
    retries: int
    problems: list[str]


# The store


def fill_store(place: str, plan: Plan) -> str:
    """Make a store with a run, a round and accounts; return the round's id."""
    wanted = int(plan.labelers * plan.pace.labels * 1.15) + 2 * plan.labelers
    with open_store(place, create=True) as store:
        rows = (Placed(row, 0, n) for n, row in enumerate(make_rows(wanted), start=1))
        store.load(rows, ["made"])
        now = utc_now()
        guide = read_guide("grounded")
        add_guide(store, guide.version, guide.text, now)
        made = draw_round(
            store, "run", "grounded", title=None, created_by="admin",
            guide_version=guide.version, now=now,
        )  # fmt: skip
        for number in range(plan.labelers):
            create_account(store, f"person{number}", "labeler", PASSWORD, now)
    return made.round_id


def make_rows(claims: int) -> Iterator[Row]:
    """Yield a run whose answers have five claims each, and a page of source."""
    yield Run(run_id="run", system="museum", corpus_ver="v1", started_at=utc_now())
    for number in range(-(-claims // CLAIMS)):
        item_id, source_id = f"item{number:05}", f"source{number:05}"
        text = f"Room {number} holds {number + 3} paintings. {FILLER}"
        told = [f"Painting {n} of room {number} is on loan." for n in range(CLAIMS)]
        yield Source(source_id=source_id, corpus_ver="v1", source_text=text)
        yield Item(
            item_id=item_id, query=f"What is in room {number}?", query_type="lookup",
            answerable=True, stakes="low", source_corpus_ver="v1",
        )  # fmt: skip
        yield Answer(run_id="run", item_id=item_id, answer_text=" ".join(told))
        yield Context(
            run_id="run", item_id=item_id, position=0, context_text=text, source_id=source_id
        )
        for position, claim in enumerate(told):
            yield Claim(
                run_id="run", item_id=item_id, claim_id=make_claim_id(item_id, claim),
                position=position, claim_text=claim, claim_type="factual",
            )  # fmt: skip


def utc_now() -> datetime:
    return datetime.now(UTC).replace(tzinfo=None)


# People at work


def work(place: str, plan: Plan, folder: Path, *, kill: bool) -> Outcome:
    """Let people label until they are done; check what is stored against what they were told."""
    round_id = fill_store(place, plan)
    with serve(place, folder) as server:
        everyone = threading.Barrier(plan.labelers)
        people = [
            Labeler(server.port, round_id, f"person{n}", plan.pace, everyone)
            for n in range(plan.labelers)
        ]
        for person in people:
            person.start()
        if kill:
            wait_until_half(people, plan)
            server.kill()
            time.sleep(0.5)
            server.restart()
        for person in people:
            person.join()
    problems = [error for person in people for error in person.errors]
    with open_store(place) as store:
        problems += check_store(store, people, plan)
    return Outcome(
        save_ms=[ms for person in people for ms in person.save_ms],
        next_ms=[ms for person in people for ms in person.next_ms],
        acknowledged=sum(len(person.acknowledged) for person in people),
        retries=sum(person.retries for person in people),
        problems=problems,
    )


def wait_until_half(people: Sequence[Labeler], plan: Plan) -> None:
    half = plan.labelers * plan.pace.labels // 2
    while any(p.is_alive() for p in people) and sum(len(p.acknowledged) for p in people) < half:
        time.sleep(0.02)


def check_store(store: Store, people: Sequence[Labeler], plan: Plan) -> list[str]:
    """Return what is wrong with the labels, in words."""
    standing: dict[tuple[str, str], list[str]] = {}
    for task_id, labeler, verdict in store.query(
        "select t.task_id, l.labeler, l.verdict from labels as l "
        "join annotation_tasks as t on t.run_id = l.run_id and t.item_id = l.item_id "
        "and t.claim_id = l.claim_id where l.label_kind = 'human' and not exists ("
        "select 1 from label_retractions as r where r.run_id = l.run_id "
        "and r.item_id = l.item_id and r.claim_id = l.claim_id and r.labeler = l.labeler "
        "and r.labeled_at = l.labeled_at)"
    ):
        standing.setdefault((task_id, labeler), []).append(verdict)
    wanted = {(t, p.name): v for p in people for t, v in p.acknowledged.items()}
    lost = sum(key not in standing for key in wanted)
    wrong = sum(key in standing and standing[key][-1] != v for key, v in wanted.items())
    doubled = sum(len(found) > 1 for found in standing.values())
    invented = sum(key not in wanted for key in standing)
    backs = store.query("select count(*) from label_retractions")[0][0]
    told_back = sum(person.taken_back for person in people)
    slots = store.query(
        "select count(*), count(distinct task_id || ' ' || labeler) from annotation_slots "
        "where state = 'done'"
    )[0]
    short = [p.name for p in people if len(p.acknowledged) < plan.pace.labels]
    checks = (
        (lost == 0, f"{lost} acknowledged labels are not stored"),
        (wrong == 0, f"{wrong} labels have another verdict than acknowledged"),
        (doubled == 0, f"{doubled} claims have two standing labels of one person"),
        (invented == 0, f"{invented} labels stand that nobody was told of"),
        (backs == told_back, f"{backs} labels taken back, {told_back} acknowledged"),
        (slots[0] == slots[1] == len(standing), f"slots {slots}, labels {len(standing)}"),
        (not short, f"{len(short)} people did not get enough to do"),
        (not store.audit(), "the store's own checks fail"),
    )
    return [told for holds, told in checks if not holds]


# The rival


def insert_bare(place: str, plan: Plan) -> list[float]:
    """Return milliseconds of one row in one transaction, by as many threads at the same pace.

    The labels are spread over the claims that people labelled: hundreds of labels of one claim are
    compared with one another, and nobody gives as many.
    """
    times: list[float] = []
    with open_store(place) as store:
        columns = [row[0] for row in _describe(store)]
        given = store.query("select * from labels where label_kind = 'human'")
    rows = [dict(zip(columns, one, strict=True)) for one in given]
    sql = (
        f"insert into labels ({', '.join(columns)}) values ({', '.join(':' + c for c in columns)})"
    )

    def insert(number: int) -> None:
        with open_store(place) as store:
            due = time.monotonic() + plan.pace.seconds * number / plan.labelers
            for label in range(plan.pace.labels):
                time.sleep(max(0.0, due - time.monotonic()))
                due += plan.pace.seconds
                moment = datetime(1990, 1, 1, tzinfo=UTC).replace(tzinfo=None)
                moment += timedelta(seconds=number * 10_000 + label)
                row = rows[(number * plan.pace.labels + label) % len(rows)]
                start = time.perf_counter()
                store.execute_all([(sql, {**row, "labeled_at": moment})])
                times.append((time.perf_counter() - start) * 1000)

    threads = [threading.Thread(target=insert, args=(n,)) for n in range(plan.labelers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return times


def _describe(store: Store) -> list[tuple[str]]:
    return [(name,) for name in store.describe("select * from labels")]


# The report


def summarize(ms: Sequence[float]) -> dict[str, float]:
    return {f"p{q}": round(float(np.percentile(ms, q)), 1) for q in (50, 95, 99)}


def measure(engine: str, place: str, killed_place: str, plan: Plan, folder: Path) -> dict[str, Any]:
    """Run people, the rival and the kill on one database; print a line each."""
    usual = work(place, plan, folder, kill=False)
    bare = insert_bare(place, plan)
    killed = work(killed_place, plan, folder, kill=True)
    saves, problems = summarize(usual.save_ms), usual.problems + killed.problems
    for name, ms in (("save", usual.save_ms), ("next", usual.next_ms), ("bare insert", bare)):
        told = summarize(ms)
        print(
            f"| {engine} | {plan.labelers} | {name} | {len(ms):,} | {told['p50']} | {told['p95']} "
            f"| {told['p99']} |"
        )
    for problem in problems:
        print(f"PROBLEM, {engine}: {problem}")
    return {
        "labelers": plan.labelers,
        "labels": usual.acknowledged,
        "save_ms": saves,
        "next_ms": summarize(usual.next_ms),
        "bare_ms": summarize(bare),
        "killed_labels": killed.acknowledged,
        "killed_retries": killed.retries,
        "problems": problems,
        "holds": saves["p95"] < MOST_MS and not problems and killed.retries > 0,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="6 labels each of 3 and 8 people")
    parser.add_argument("--postgres", metavar="URL", help="an empty PostgreSQL database")
    parser.add_argument("--only", choices=("sqlite", "postgresql"), help="one database alone")
    args = parser.parse_args()
    pace = Pace(labels=6, seconds=0.2) if args.quick else Pace(labels=100, seconds=12 / 16)
    few, many = (3, 8) if args.quick else (10, 50)
    found: dict[str, Any] = {}
    print("| store | labelers | what | times | p50 ms | p95 ms | p99 ms |")
    print("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as name, ExitStack() as ends:
        folder = Path(name)
        if args.only != "postgresql":
            places = (str(folder / "usual.db"), str(folder / "killed.db"))
            found["sqlite"] = measure("SQLite", *places, Plan(few, pace), folder)
        if args.only != "sqlite":
            url = args.postgres or ends.enter_context(start_postgres())
            places = (f"{url}?schema=usual", f"{url}?schema=killed")
            found["postgresql"] = measure("PostgreSQL", *places, Plan(many, pace), folder)
    figures = {**found, "holds": all(one["holds"] for one in found.values())}
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
