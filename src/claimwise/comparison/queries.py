"""Reads what a comparison of two runs needs beyond their rates."""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

from claimwise.errors import StoreError
from claimwise.store.engine import Record
from claimwise.store.files import SqlFolder
from claimwise.store.lookup import find_run
from claimwise.store.store import Store
from claimwise.types.rows import Judgement, Run

_SQL = SqlFolder("claimwise.comparison")


class RunPair(NamedTuple):
    """Two runs, the earlier first."""

    base: Run
    new: Run

    @property
    def ids(self) -> tuple[str, str]:
        """The names of both."""
        return self.base.run_id, self.new.run_id

    @property
    def params(self) -> dict[str, str]:
        """The parameters that the queries share."""
        return {
            "base_run": self.base.run_id,
            "new_run": self.new.run_id,
            "base_ver": self.base.corpus_ver,
            "new_ver": self.new.corpus_ver,
        }


def find_pair(store: Store, base_id: str, new_id: str) -> RunPair:
    """Return two runs.

    Raises:
        StoreError: one of them is not there, or both are the same.
    """
    pair = RunPair(find_run(store, base_id), find_run(store, new_id))
    if base_id == new_id:
        raise StoreError(f"Both runs are {base_id!r}. Name two different runs to compare.")
    return pair


def find_moved_evidence(store: Store, runs: RunPair) -> dict[str, list[str]]:
    """Return the items whose evidence differs between the runs' corpora, and its documents."""
    found: dict[str, list[str]] = defaultdict(list)
    if runs.base.corpus_ver != runs.new.corpus_ver:
        for item_id, source_id in store.query(_SQL["moved_evidence"], runs.params):
            found[item_id].append(source_id)
    return dict(found)


def find_linked_items(store: Store, runs: RunPair) -> set[str]:
    """Return the items of which it is known which documents they rest on."""
    return {row[0] for row in store.query(_SQL["linked"], runs.params)}


def has_documents(store: Store, corpus_ver: str) -> bool:
    """Tell whether any document of a corpus version is stored."""
    sql = "select 1 from sources where corpus_ver = :corpus_ver limit 1"
    return bool(store.query(sql, {"corpus_ver": corpus_ver}))


class DecidedVerdict(NamedTuple):
    """A claim of a run and its verdict, or None."""

    sample: int
    claim_text: str
    verdict: str | None
    evidence: str | None


def read_verdicts(
    store: Store, run_id: str, judgement: Judgement, narrowed: tuple[str, dict[str, str]]
) -> dict[tuple[str, str], DecidedVerdict]:
    """Return the verdicts of a run by item and claim; ``narrowed`` as of `read_judged_claims`."""
    prefix, params = narrowed
    sql = prefix + _SQL.for_judgement("verdicts", judgement)
    rows = store.query(sql, {"run_id": run_id, **params})
    return {(item_id, claim_id): DecidedVerdict(*rest) for item_id, claim_id, *rest in rows}


def read_judged_claims(
    store: Store, run_id: str, item_id: str, narrowed: tuple[str, dict[str, str]] = ("", {})
) -> list[Record]:
    """Return the claims of an item with what decides them.

    Args:
        store: where the rows are.
        run_id: the run.
        item_id: the item.
        narrowed: a WITH clause that says which labels may decide, and its parameters.
    """
    prefix, params = narrowed
    sql = prefix + _SQL["claims"]
    return store.query(sql, {"run_id": run_id, "item_id": item_id, **params})


def read_actions(store: Store, run_id: str, item_id: str) -> list[Record]:
    """Return sample, action and failure of every answer to an item."""
    return store.query(_SQL["answers"], {"run_id": run_id, "item_id": item_id})


def read_item_questions(store: Store, item_ids: list[str]) -> dict[str, str]:
    """Return the questions of some items; empty where a metric counts by something else."""
    sql = "select query from eval_items where item_id = :item_id"
    found = {i: store.query(sql, {"item_id": i}) for i in item_ids}
    return {i: rows[0][0] if rows else "" for i, rows in found.items()}
