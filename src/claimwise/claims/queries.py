"""Reads the claims of a run, worst first."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from claimwise.claims.values import UNSCORED, VERDICT_NAMES, ClaimPlace, ClaimRow
from claimwise.errors import MetricError, describe_unknown
from claimwise.metrics.counting import narrow_labels, write_slice
from claimwise.metrics.estimate import check_labeler
from claimwise.store import Store
from claimwise.store.files import SqlFolder
from claimwise.store.lookup import find_run
from claimwise.types.rows import Judgement

_SQL = SqlFolder("claimwise.claims")
_NOT_READ: Final = ("run_id", "judgement", "slice")
_OWN_SLICES: Final = ("query_type", "stakes", "domain")
# Columns of the claim itself that the list can be narrowed to and grouped by.
_OWN_COLUMNS: Final = ["claim_type", "label_kind", "labeler", "source_id", "verdict"]
_SEARCHED: Final = ("m.claim_text", "m.supporting_span", "m.reason", "q.query")
_ORDER: Final = "m.severity, m.doubt, m.cluster_id, m.sample, m.position, m.claim_id"
_ITEMS_AT_ONCE: Final = 500  # databases limit the parameters of a statement


def list_claims(
    store: Store,
    run_id: str,
    *,
    verdicts: Collection[str] | None = None,
    by: Sequence[str] = (),
    where: Mapping[str, str | None] | None = None,
    disputed: bool = False,
    search: str | None = None,
    unscored: bool = True,
    judgement: Judgement | None = None,
    labels: str = "default",
    limit: int | None = None,
    after: ClaimPlace | None = None,
) -> list[ClaimRow]:
    """Return a run's claims, worst first.

    Contradicted (or false) claims come first, then overreaching, unlinked (or unverifiable) and
    stale ones, then those without a verdict, then the supported (or true). Within a verdict
    people's labels come first, then the more confident judgement. Statements that make no claim
    are left out unless someone labelled them.

    Args:
        store: where the run is.
        run_id: the run.
        verdicts: only claims with these verdicts; ``unscored`` for those without one.
        by: further columns for ``ClaimRow.slice``: of items, runs, attributes, or of the claim
            (its type, source_id, labeler…).
        where: only claims with these values; None for no value. Columns as of ``by``.
        disputed: only claims on which people differ, or a judge differs from people.
        search: only claims with this text in the claim, its evidence, reason or question.
        unscored: False leaves out claims without a verdict.
        judgement: the verdicts against the sources, or the closed-book ones; None takes those
            that the run has, against the sources if it has both.
        labels: which labels may decide, as everywhere: default, human, verifier, labeler:NAME.
        limit: at most so many.
        after: only claims after this one's place: the last of the page before.

    Raises:
        ClaimwiseError: there is no such run, verdict, column, or kind of labels.
    """
    find_run(store, run_id)
    joins = ["join eval_items as q on q.item_id = m.cluster_id"]
    judgement = judgement or choose_judgement(store, run_id)
    params: dict[str, Any] = {"run_id": run_id, "judgement": judgement}
    claims = _SQL.for_judgement("claims", judgement)
    groups = [
        f"{write_slice(store, name, _OWN_COLUMNS, joins)} as slice_{number}"
        for number, name in enumerate(by)
    ]
    conditions = [
        *_choose_verdicts(verdicts, params),
        *_match_slices(store, where or {}, joins, params),
        *_match_text(search, params),
        *_start_after(after, params),
        *(["m.disputed = 1"] if disputed else []),
        *([] if unscored else ["m.verdict is not null"]),
    ]
    check_labeler(store, labels)
    if limit is not None:
        params["most"] = limit
        ending = f"\norder by {_ORDER}\nlimit :most"
    else:
        ending = ""
    page = (
        f"select {', '.join(['m.*', *groups])}\nfrom (\n{claims}\n) as m\n"
        + "\n".join(joins)
        + ("\nwhere " + "\n    and ".join(conditions) if conditions else "")
        + ending
    )
    views, label_params = narrow_labels(labels)
    names = "".join(f", p.slice_{number}" for number in range(len(by)))
    listing = _SQL["page"].format(groups=names)
    sql = f"{views.rstrip() + ', ' if views else 'with '}page as (\n{page}\n)\n{listing}"
    records = store.query(sql, {**params, **label_params})
    return list(_read_rows(store, run_id, judgement, records, by))


def choose_judgement(store: Store, run_id: str) -> Judgement:
    """Return how a run was judged: against the sources unless it was judged closed-book alone."""
    grounded, closed_book = store.query(_SQL["judgement"], {"run_id": run_id})[0]
    return "closed_book" if closed_book and not grounded else "grounded"


def count_claims(
    store: Store, run_id: str, *, judgement: Judgement | None = None, labels: str = "default"
) -> dict[str, int]:
    """Return how many claims of a run have each verdict, worst first; ``unscored`` for none."""
    claims = _SQL.for_judgement("claims", judgement or choose_judgement(store, run_id))
    views, label_params = narrow_labels(labels)
    sql = (
        f"{views}select m.verdict, count(*)\nfrom (\n{claims}\n) as m\n"
        "group by m.verdict, m.severity order by m.severity, m.verdict"
    )
    rows = store.query(sql, {"run_id": run_id, **label_params})
    return {verdict or UNSCORED: int(count) for verdict, count in rows}


def _choose_verdicts(verdicts: Collection[str] | None, params: dict[str, Any]) -> Iterator[str]:
    if not verdicts:
        return
    for verdict in verdicts:
        if verdict not in VERDICT_NAMES:
            raise MetricError(describe_unknown("verdict", verdict, VERDICT_NAMES))
    names = [f"verdict_{number}" for number in range(len(verdicts))]
    params.update(zip(names, verdicts, strict=True))
    listed = ", ".join(f":{name}" for name in names)
    yield f"coalesce(m.verdict, '{UNSCORED}') in ({listed})"


def _match_slices(
    store: Store, where: Mapping[str, str | None], joins: list[str], params: dict[str, Any]
) -> Iterator[str]:
    for number, (name, value) in enumerate(where.items()):
        column = write_slice(store, name, _OWN_COLUMNS, joins)
        if value is None:
            yield f"{column} is null"
        else:
            params[f"value_{number}"] = value
            yield f"{column} = :value_{number}"


def _match_text(search: str | None, params: dict[str, Any]) -> Iterator[str]:
    """Yield the condition that a text occurs, in whatever case as far as the database knows it."""
    if not search:
        return
    for character in "!%_":
        search = search.replace(character, f"!{character}")
    params["pattern"] = f"%{search}%"
    yield (
        "(" + " or ".join(f"lower({c}) like lower(:pattern) escape '!'" for c in _SEARCHED) + ")"
    )


def _start_after(after: ClaimPlace | None, params: dict[str, Any]) -> Iterator[str]:
    if after is None:
        return
    params.update({f"after_{name}": value for name, value in after._asdict().items()})
    values = ", ".join(f":after_{name}" for name in after._fields)
    yield f"({_ORDER}) > ({values})"


def _read_rows(
    store: Store,
    run_id: str,
    judgement: Judgement,
    records: Sequence[tuple[Any, ...]],
    by: Sequence[str],
) -> Iterator[ClaimRow]:
    columns = [name for name in ClaimRow.__struct_fields__ if name not in _NOT_READ]
    columns += _OWN_SLICES
    attributes = _read_attributes(store, sorted({record[0] for record in records}))
    for record in records:
        values = dict(zip(columns, record, strict=False))
        own = {name: values.pop(name) for name in _OWN_SLICES}
        asked = dict(zip(by, record[len(columns) :], strict=True))
        slices = {**attributes.get(values["item_id"], {}), **own, **asked}
        values.update(run_id=run_id, judgement=judgement, slice=slices)
        yield msgspec.convert(values, ClaimRow, strict=False)


def _read_attributes(store: Store, items: Sequence[str]) -> dict[str, dict[str, str]]:
    """Return the items' own attributes, by item."""
    found: dict[str, dict[str, str]] = {}
    for start in range(0, len(items), _ITEMS_AT_ONCE):
        chunk = items[start : start + _ITEMS_AT_ONCE]
        params = {f"item_{number}": item for number, item in enumerate(chunk)}
        listed = ", ".join(f":{name}" for name in params)
        sql = f"select item_id, name, value from item_attributes where item_id in ({listed})"
        for item_id, name, value in store.query(sql, params):
            found.setdefault(item_id, {})[name] = value
    return found
