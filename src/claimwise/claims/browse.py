"""Finds claims among millions, by what the index holds of them: one page at a time, worst first.

A filter that leaves few claims is followed from its own index, and what it finds is sorted. Where
all filters leave many, the list is walked in its order until a page is full. So neither a rare
word nor a common one makes a page wait.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import nextafter
from typing import Any, Final, Literal, NamedTuple, get_args

from msgspec import Struct

from claimwise.claims.values import UNSCORED, VERDICT_NAMES
from claimwise.errors import MetricError, describe_unknown
from claimwise.metrics.counting import write_slice
from claimwise.store import Store
from claimwise.store.claim_index import join_hits, match_words
from claimwise.store.files import SqlFolder
from claimwise.types.rows import Judgement

Dispute = Literal["any", "people", "judge"]
Deciders = Literal["people", "judges", "no_people"]

_SQL = SqlFolder("claimwise.claims")
_FEW: Final = 10_000  # claims that are sorted at once
_MOST_COUNTED: Final = 10_000
_MOST_WALKED: Final = 1_500  # claims that are looked at to count
_MOST_IN_RUN: Final = 10_000  # of a single run, whose claims lie together
_INDEXED: Final = (
    "select m.claim_no from claim_index as m where m.claim_rank between :low and :high"
)
_DISPUTES: Final[dict[Dispute, str]] = {"any": "1, 2, 3", "people": "1, 3", "judge": "2, 3"}
# As in the view indexed_claims: where the verdicts stand in the list.
_PER_SEVERITY: Final = 5_000
_PER_JUDGEMENT: Final = 100_000
_SEVERITIES: Final = {
    "contradicted": 0, "false": 0, "overreach": 1, "unlinked": 2, "unverifiable": 2, "stale": 3,
    UNSCORED: 4, "supported": 5, "true": 5, "non_factual": 6,
}  # fmt: skip


class SaidFilter(Struct, frozen=True, kw_only=True):
    """What someone's own latest label of a claim says, whether or not it decides."""

    labeler: str
    verdicts: tuple[str, ...] = ()  # "unscored": no label of theirs; empty: any label
    scores: tuple[float, float] | None = None  # of support, from and below; 1.0 below 1.0 as well


class ClaimFilter(Struct, frozen=True, kw_only=True):
    """Which claims a list shows; what is left out does not narrow it."""

    run_id: str | None = None
    judgement: Judgement = "grounded"
    verdicts: tuple[str, ...] = ()
    groups: tuple[tuple[str, str | None], ...] = ()  # columns and attributes of items
    source_id: str | None = None
    labeler: str | None = None  # whose label decides
    decided_by: Deciders | None = None  # what kind of labeler's does
    said: SaidFilter | None = None
    round_id: str | None = None  # of people's labels, that asks for them
    dispute: Dispute | None = None
    reason: str | None = None  # why there is no verdict
    search: str | None = None


class ListPlace(NamedTuple):
    """Where a claim stands in the list."""

    rank: int
    number: int


class Opinion(NamedTuple):
    """What someone says of a claim."""

    verdict: str
    label_kind: str
    labeler: str
    confidence: float | None
    evidence: str | None
    reason: str | None


class ListedClaim(Struct, frozen=True, kw_only=True):
    """A claim as a list shows it."""

    claim_no: int
    claim_rank: int
    run_id: str
    item_id: str
    sample: int
    claim_id: str
    judgement: Judgement
    claim_text: str
    question: str
    verdict: str | None
    unscored: str | None  # why it has no verdict
    labeler: str | None
    source_id: str | None
    source_title: str | None
    dispute: int  # 1: people differ; 2: a judge differs from people; 3: both
    opinions: tuple[Opinion, ...]  # what decides first

    @property
    def place(self) -> ListPlace:
        """Where the claim stands in the list."""
        return ListPlace(self.claim_rank, self.claim_no)

    @property
    def deciding(self) -> Opinion | None:
        """The label that decides; None without a verdict."""
        return self.opinions[0] if self.opinions else None


class ClaimPage(NamedTuple):
    """A page of a list."""

    claims: list[ListedClaim]
    found: int
    more_found: bool  # there may be more than were counted
    before: ListPlace | None  # the page before this one ends before it
    after: ListPlace | None  # the next page starts after it


class _Condition(NamedTuple):
    """A filter: a condition on a row m that no index serves, and the claims by its own index."""

    check: str
    hits: str | None = None


class _Search(NamedTuple):
    """A list in SQL: where it begins and ends, what it leaves out, and the parameters of both."""

    span: list[str]
    conditions: list[_Condition]
    params: dict[str, Any]


def find_claims(
    store: Store,
    wanted: ClaimFilter,
    *,
    limit: int,
    after: ListPlace | None = None,
    before: ListPlace | None = None,
    count: bool = True,
) -> ClaimPage:
    """Return a page of claims, worst first: the first, or the one after or before a place.

    Args:
        store: where they are.
        wanted: which claims.
        limit: how many on a page.
        after: the last place of the page before.
        before: the first place of the page after; instead of ``after``.
        count: also count what the filter finds, exactly as far as that is quick.

    Raises:
        MetricError: there is no such verdict or column.
    """
    search = _write_search(store, wanted)
    hits = _choose_hits(store, search)
    if hits is not None:
        places = _sort_hits(store, search, hits)
        found, more_found = len(places), False
        chosen = _cut_page(places, limit, after, before)
    else:
        chosen = _walk(store, search, limit, after, before)
        found, more_found = len(chosen[0]), chosen[1] or chosen[2]
        if count and more_found:  # else this page is all there is
            found, more_found = _count(store, search)
    return _make_page(store, chosen, found, more_found)


def _make_page(
    store: Store, chosen: tuple[list[ListPlace], bool, bool], found: int, more_found: bool
) -> ClaimPage:
    places, earlier, later = chosen
    return ClaimPage(
        claims=_read_claims(store, places),
        found=found,
        more_found=more_found,
        before=places[0] if places and earlier else None,
        after=places[-1] if places and later else None,
    )


def read_claims_of(store: Store, numbers: Sequence[int]) -> list[ListedClaim]:
    """Return claims by their numbers in the index, worst first."""
    return _read_claims(store, [ListPlace(0, number) for number in numbers])


def list_reasons(store: Store) -> list[str]:
    """Return why claims of the store have no verdict."""
    return [row[0] for row in store.query(_SQL["reasons"])]


def list_groups(store: Store) -> list[tuple[str, str]]:
    """Return the groups that items are in: column and value."""
    return [(name, value) for name, value in store.query(_SQL["groups"])]


# The list in SQL.


def _write_search(store: Store, wanted: ClaimFilter) -> _Search:
    params: dict[str, Any] = {}
    low, high = _find_ranks(wanted, params)
    params.update(low=low, high=high)
    span = ["m.claim_rank between :low and :high"]
    if wanted.run_id is not None:
        params["run_id"] = wanted.run_id
        span.append("m.run_id = :run_id")
    conditions = [
        *_match_verdicts(wanted, params),
        *_match_columns(wanted, params),
        *_match_deciders(wanted),
        *_match_said(wanted, params),
        *_match_round(wanted, params),
        *_match_groups(store, wanted, params),
        *_match_words(store, wanted, params),
    ]
    return _Search(span, conditions, params)


def _find_ranks(wanted: ClaimFilter, params: dict[str, Any]) -> tuple[int, int]:
    """Return the part of the list that holds the verdicts, from the worst to the best of them."""
    base = _PER_JUDGEMENT * get_args(Judgement).index(wanted.judgement)
    for verdict in (*wanted.verdicts, *(wanted.said.verdicts if wanted.said else ())):
        if verdict not in VERDICT_NAMES:
            raise MetricError(describe_unknown("verdict", verdict, VERDICT_NAMES))
    severities = [_SEVERITIES[verdict] for verdict in wanted.verdicts]
    if wanted.reason is not None:
        severities = [_SEVERITIES[UNSCORED]]
    low, high = min(severities, default=0), max(severities, default=max(_SEVERITIES.values()))
    return base + _PER_SEVERITY * low, base + _PER_SEVERITY * (high + 1) - 1


def _match_verdicts(wanted: ClaimFilter, params: dict[str, Any]) -> Iterator[_Condition]:
    names = {f"verdict_{number}": verdict for number, verdict in enumerate(wanted.verdicts)}
    if len(names) > 1:  # a single one is a part of the list by itself
        params.update(names)
        listed = ", ".join(f":{name}" for name in names)
        yield _Condition(f"coalesce(m.verdict, '{UNSCORED}') in ({listed})")


def _match_columns(wanted: ClaimFilter, params: dict[str, Any]) -> Iterator[_Condition]:
    for column, value in (
        ("source_id", wanted.source_id),
        ("labeler", wanted.labeler),
        ("unscored", wanted.reason),
    ):
        if value is not None:
            params[column] = value
            # coalesce keeps databases from leaving the list's order for the column's index.
            yield _Condition(
                f"coalesce(m.{column}, '') = :{column}", f"{_INDEXED} and m.{column} = :{column}"
            )
    if wanted.dispute is not None:
        check = f"m.dispute in ({_DISPUTES[wanted.dispute]})"
        yield _Condition(check, f"{_INDEXED} and m.dispute > 0 and {check}")


def _match_deciders(wanted: ClaimFilter) -> Iterator[_Condition]:
    people = "select p.labeler from labelers as p where p.labeler_kind <> 'verifier'"
    check = f"coalesce(m.labeler, '') in ({people})"
    if wanted.decided_by == "people":  # they label few of many: their index is worth following
        yield _Condition(check, f"{_INDEXED} and m.labeler in ({people})")
    elif wanted.decided_by == "no_people":
        yield _Condition(f"not {check}")
    elif wanted.decided_by == "judges":
        yield _Condition(f"m.labeler is not null and not {check}")


def _match_said(wanted: ClaimFilter, params: dict[str, Any]) -> Iterator[_Condition]:
    said = wanted.said
    if said is None:
        return
    params["said_by"] = said.labeler
    names = {f"said_{n}": one for n, one in enumerate(said.verdicts) if one != UNSCORED}
    params.update(names)
    gave = _write_said(wanted.judgement, names=list(names), scores=said.scores)
    if UNSCORED in said.verdicts:
        none = f"not {_write_said(wanted.judgement)}"
        yield _Condition(f"({none} or {gave})" if names else none)
    else:
        yield _Condition(gave)


def _write_said(
    judgement: Judgement,
    names: Sequence[str] = (),
    scores: tuple[float, float] | None = None,
) -> str:
    """Return the condition that someone gave one of some verdicts, or any, with a score."""
    low, high = scores or (0.0, 1.0)
    return _SQL.for_judgement("said", judgement).format(
        any_verdict=_write_flag(not names),
        verdicts=", ".join(f":{name}" for name in names) or "''",
        any_score=_write_flag(scores is None),
        low=repr(float(low)),
        high=repr(float(high) if high >= 1 else nextafter(high, 0.0)),
    )


def _write_flag(holds: bool) -> str:
    return "1 = 1" if holds else "1 = 0"


def _match_round(wanted: ClaimFilter, params: dict[str, Any]) -> Iterator[_Condition]:
    if wanted.round_id is not None:
        params["round_id"] = wanted.round_id
        hits = _SQL["round"]
        yield _Condition(f"m.claim_no in ({hits})", hits)


def _match_groups(
    store: Store, wanted: ClaimFilter, params: dict[str, Any]
) -> Iterator[_Condition]:
    for number, (name, value) in enumerate(wanted.groups):
        joins: list[str] = []
        column = write_slice(store, name, [], joins)
        condition = f"{column} is null"
        if value is not None:
            params[f"group_{number}"] = value
            condition = f"{column} = :group_{number}"
        items = (
            "select m.cluster_id from (select item_id as cluster_id from eval_items) as m "
            f"{' '.join(joins)} where {condition}"
        )
        if wanted.run_id is None and ":run_id" in items:
            raise MetricError(f"{name} is a column of runs; choose a run to filter by it")
        run = " and m.run_id = :run_id" if wanted.run_id is not None else ""
        yield _Condition(
            f"m.item_id || '' in ({items})",
            f"select m.claim_no from claim_index as m where m.item_id in ({items}){run}",
        )


def _match_words(store: Store, wanted: ClaimFilter, params: dict[str, Any]) -> Iterator[_Condition]:
    match = match_words(store.engine_name, wanted.search or "")
    if match is not None:
        params["words"] = match.words
        yield _Condition(match.holds, match.hits)


# Ways to a page.


def _choose_hits(store: Store, search: _Search) -> _Condition | None:
    """Return the filter that leaves the fewest claims; None where each leaves many."""
    fewest, chosen = _FEW + 1, None
    for condition in search.conditions:
        if condition.hits is not None:
            sql = f"select count(*) from ({condition.hits} limit {fewest}) as h"
            found = int(store.query(sql, search.params)[0][0])
            if found < fewest:
                fewest, chosen = found, condition
    return chosen


def _sort_hits(store: Store, search: _Search, hits: _Condition) -> list[ListPlace]:
    """Return the places of all claims of the list, looked up by what one filter finds."""
    checks = [one.check for one in search.conditions if one is not hits]
    sql = (
        f"select m.claim_rank, m.claim_no from ({hits.hits} limit {_FEW + 1}) as h\n"
        f"{join_hits(store.engine_name)} and {' and '.join([*search.span, *checks])} "
        "order by m.claim_rank, m.claim_no"
    )
    return [ListPlace(*row) for row in store.query(sql, search.params)]


def _cut_page(
    places: list[ListPlace], limit: int, after: ListPlace | None, before: ListPlace | None
) -> tuple[list[ListPlace], bool, bool]:
    """Return a page of places, and whether there is one before and one after it."""
    if before is not None:
        end = sum(place < before for place in places)
        start = max(0, end - limit)
    else:
        start = 0 if after is None else sum(place <= after for place in places)
        end = start + limit
    return places[start:end], start > 0, end < len(places)


def _walk(
    store: Store,
    search: _Search,
    limit: int,
    after: ListPlace | None,
    before: ListPlace | None,
) -> tuple[list[ListPlace], bool, bool]:
    """Go through the list in its order until a page is full."""
    conditions = [*search.span, *(one.check for one in search.conditions)]
    params = dict(search.params)
    edge = before or after
    if edge is not None:
        params.update(rank=edge.rank, number=edge.number)
        sign = "<" if before else ">"
        conditions.append(f"(m.claim_rank, m.claim_no) {sign} (:rank, :number)")
    way = " desc" if before else ""
    sql = (
        f"select m.claim_rank, m.claim_no from claim_index as m where {' and '.join(conditions)} "
        f"order by m.claim_rank{way}, m.claim_no{way} limit {limit + 1}"
    )
    found = [ListPlace(*row) for row in store.query(sql, params)]
    more = len(found) > limit
    places = found[:limit]
    if before is not None:
        return places[::-1], more, True
    return places, after is not None, more


def _count(store: Store, search: _Search) -> tuple[int, bool]:
    """Count what a walk would find, as far as that is quick; say whether there may be more."""
    span = " and ".join(search.span)
    if not search.conditions:
        sql = f"select 1 from claim_index as m where {span} limit {_MOST_COUNTED + 1}"
        found = int(store.query(f"select count(*) from ({sql}) as n", search.params)[0][0])
        return min(found, _MOST_COUNTED), found > _MOST_COUNTED
    checks = " and ".join(one.check for one in search.conditions)
    most = _MOST_IN_RUN if "run_id" in search.params else _MOST_WALKED
    walked = (
        f"select m.* from claim_index as m where {span} "
        f"order by m.claim_rank, m.claim_no limit {most}"
    )
    sql = f"select count(*), sum(case when {checks} then 1 else 0 end) from ({walked}) as m"
    looked, found = store.query(sql, search.params)[0]
    found = int(found or 0)
    return min(found, _MOST_COUNTED), looked >= most or found > _MOST_COUNTED


# What a page shows.


def _read_claims(store: Store, places: Sequence[ListPlace]) -> list[ListedClaim]:
    if not places:
        return []
    params = {f"no_{number}": place.number for number, place in enumerate(places)}
    listed = ", ".join(f":{name}" for name in params)
    rows = store.query(_SQL["listed"].format(numbers=listed), params)
    opinions: dict[int, list[Opinion]] = {}
    for judgement in {row[6] for row in rows}:
        sql = _SQL.for_judgement("opinions", judgement).format(numbers=listed)
        for number, *said in store.query(sql, params):
            opinions.setdefault(number, []).append(Opinion(*said))
    columns = ListedClaim.__struct_fields__[:-1]
    return [
        ListedClaim(
            **dict(zip(columns, row, strict=True)),
            opinions=tuple(opinions.get(row[0], ())),
        )
        for row in rows
    ]
