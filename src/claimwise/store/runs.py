"""Lists the runs that a dashboard shows, and tells whether a run has changed since."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from msgspec import Struct, convert

from claimwise.errors import StoreError
from claimwise.store.files import SqlFolder
from claimwise.store.store import Store

_SQL = SqlFolder("claimwise.store", "sql/runs")
_SEARCHED = (
    "r.run_id || ' ' || r.system || ' ' || coalesce(r.model, '') || ' ' || "
    "coalesce(r.prompt_ver, '') || ' ' || r.corpus_ver"
)
_IS_TRAFFIC = "exists (select 1 from traffic_answers as t where t.run_id = r.run_id)"
NO_RUNS = "no runs yet; start with `claimwise measure FILE` or `claimwise import FILE…`"


def find_latest_run(store: Store) -> str:
    """Return the run that started last; a day of live traffic only where there is no other run.

    Raises:
        StoreError: there are no runs.
    """
    latest = store.query(_SQL["latest"])
    if not latest:
        raise StoreError(f"{store.place}: {NO_RUNS}")
    return str(latest[0][0])


def count_asked(store: Store, run_id: str) -> dict[str, int]:
    """Return how many times a run was asked each item, answered or not."""
    return dict(store.query(_SQL["asked"], {"run_id": run_id}))


def find_previous_run(store: Store, run_id: str) -> str | None:
    """Return the run of the same system that started last before this one; None without one.

    Days of live traffic have such days before them, other runs have none of them.
    """
    found = store.query(_SQL["previous"], {"run_id": run_id})
    return str(found[0][0]) if found else None


def list_run_ids(store: Store) -> list[str]:
    """Return the ids of all runs, latest first; days of live traffic come after all others."""
    rows = store.query(
        f"select r.run_id from runs as r order by {_IS_TRAFFIC}, r.started_at desc, r.run_id"
    )
    return [row[0] for row in rows]


class FoundRun(Struct, frozen=True, kw_only=True):
    """A run in a list of all runs."""

    run_id: str
    system: str
    model: str | None
    prompt_ver: str | None
    corpus_ver: str
    started_at: datetime


class ListedRun(FoundRun, frozen=True, kw_only=True):
    """One of a system's newest runs."""

    runs: int  # how many the system has in all


def find_runs(
    store: Store,
    *,
    search: str = "",
    system: str | None = None,
    traffic: bool | None = None,
    after: str | None = None,
    limit: int,
) -> tuple[list[FoundRun], bool]:
    """Return a page of runs, the latest first, and whether there are more.

    Args:
        store: where they are.
        search: only runs with all these words in name, system, model, prompt or corpus.
        system: only runs of this system.
        traffic: only days of live traffic, or only the other runs.
        after: the last run of the page before; one that is not there starts at the first page.
        limit: how many on a page.
    """
    params: dict[str, Any] = {}
    conditions = ["1 = 1"]
    if system is not None:
        params["system"] = system
        conditions.append("r.system = :system")
    if traffic is not None:
        conditions.append(_IS_TRAFFIC if traffic else f"not {_IS_TRAFFIC}")
    for number, word in enumerate(search.split()):
        for sign in "!%_":
            word = word.replace(sign, f"!{sign}")
        params[f"word_{number}"] = f"%{word}%"
        conditions.append(f"lower({_SEARCHED}) like lower(:word_{number}) escape '!'")
    last = after and store.query("select started_at from runs where run_id = :after",
                                 {"after": after})  # fmt: skip
    if last:
        params.update(after=after, moment=last[0][0])
        conditions.append(
            "(r.started_at < :moment or (r.started_at = :moment and r.run_id > :after))"
        )
    columns = ", ".join(f"r.{name}" for name in FoundRun.__struct_fields__)
    rows = store.query(
        f"select {columns} from runs as r where {' and '.join(conditions)} "
        f"order by r.started_at desc, r.run_id limit {limit + 1}",
        params,
    )
    found = [
        convert(dict(zip(FoundRun.__struct_fields__, row, strict=True)), FoundRun, strict=False)
        for row in rows
    ]
    return found[:limit], len(found) > limit


def has_kinds(store: Store) -> tuple[bool, bool]:
    """Tell whether there are days of live traffic, and other runs."""
    traffic, others = (
        store.query(f"select 1 from runs as r where {sign} {_IS_TRAFFIC} limit 1")
        for sign in ("", "not")
    )
    return bool(traffic), bool(others)


def list_systems(store: Store) -> list[tuple[str, int]]:
    """Return the systems and how many runs each has; the one with the latest run first.

    Systems of live traffic alone come after all others.
    """
    sql = (
        "select k.system, count(*) from ("
        f"select r.*, case when {_IS_TRAFFIC} then 1 else 0 end as is_traffic from runs as r) as k "
        "group by k.system order by min(k.is_traffic), max(k.started_at) desc, k.system"
    )
    return [(system, int(count)) for system, count in store.query(sql)]


def list_newest_runs(store: Store, most: int) -> list[ListedRun]:
    """Return up to ``most`` runs of every system, the latest first."""
    return [
        convert(dict(zip(ListedRun.__struct_fields__, row, strict=True)), ListedRun, strict=False)
        for row in store.query(_SQL["newest"], {"most": most})
    ]


def read_fingerprint(store: Store, run_id: str) -> tuple[Any, ...]:
    """Return counts and latest times of what a run's figures rest on.

    Costs about as much as counting the run's labels, far less than measuring anything.
    """
    return tuple(store.query(_SQL["fingerprint"], {"run_id": run_id})[0])
