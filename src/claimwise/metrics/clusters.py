"""What items belong to above themselves: documents, conversations, whatever a project names.

Items that share a document or a conversation tend to be right or wrong together. Every interval
that takes them for independent is too narrow then; `map_clusters` says which belong together, and
`describe_shared` notices that they do where nobody said so.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from claimwise.metrics.counting import CONVERSATION, DOCUMENT, has_clusters, write_cluster
from claimwise.store import Store


def map_clusters(
    store: Store, runs: str | Sequence[str], cluster: str | None = None
) -> dict[str, str]:
    """Return what items belong to, as `count_items` adds them up; empty where they stand alone.

    Of several runs the first that knows an item's document says which it is.

    Raises:
        MetricError: there is no such cluster.
    """
    found: dict[str, str] = {}
    for run_id in (runs,) if isinstance(runs, str) else runs:
        if not has_clusters(store, run_id, cluster):
            continue
        joins: list[str] = []
        above = write_cluster(store, cluster or CONVERSATION, joins)
        sql = (
            f"select m.cluster_id, {above} from (select item_id as cluster_id from eval_items) "
            f"as m {' '.join(joins)}"
        )
        named = {"run_id": run_id} if ":run_id" in sql else {}
        rows = store.query(sql, named)
        found = {item: str(name) for item, name in rows if name is not None} | found
    return found


def describe_shared(
    store: Store, runs: str | Sequence[str], cluster: str | None = None
) -> str | None:
    """Say that items share documents although intervals take them for independent; or None.

    Items of one conversation count as one, as they do in intervals. A cluster that somebody chose
    is left alone.
    """
    if cluster is not None:
        return None
    runs = (runs,) if isinstance(runs, str) else tuple(runs)
    together = map_clusters(store, runs)
    documents = map_clusters(store, runs, DOCUMENT)
    asked = {
        row[0]
        for run_id in runs
        for row in store.query(
            "select distinct item_id from answers where run_id = :run_id", {"run_id": run_id}
        )
    }
    held: dict[str, set[str]] = defaultdict(set)
    for item in asked & documents.keys():
        held[documents[item]].add(together.get(item, item))
    shared = sum(len(held[documents[item]]) > 1 for item in asked & documents.keys())
    if 2 * shared <= len(asked):
        return None
    return (
        f"{shared:,} of {len(asked):,} items share a document with others, but ranges treat them "
        "as independent. If a document makes them right or wrong together, use --cluster "
        'document, or cluster = "document" in [metrics] of claimwise.toml'
    )
