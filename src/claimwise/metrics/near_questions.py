"""Finds items whose questions are near-duplicates: they stand or fall together.

A question asked in five wordings is measured five times and is one question. Intervals that take
its items for independent are too narrow.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Final

from claimwise.metrics.counting import has_clusters
from claimwise.store import Store
from claimwise.text.words import is_common, read_stems

NEAR: Final = 0.75
"""Shared words over all words of two questions, from which on they ask nearly the same."""
_WORTH_A_WARNING: Final = 0.1  # of the items


def group_near_questions(questions: Mapping[str, str]) -> dict[str, str]:
    """Return items that ask nearly what others do, each with the first item of its group.

    Two questions are alike where the stems of their full words are, to `NEAR` (Jaccard); groups
    are what is alike directly or through others. Items without a near-duplicate are left out.

    Method: two such sets share one of the few rarest words of either (prefix filtering), so that
    the work grows with the questions and not with their pairs.

    Reference: Chaudhuri, Ganti & Kaushik (2006), ICDE, on prefix filters for set similarity.
    """
    words = {
        item: frozenset(stem for stem in read_stems(text) if not is_common(stem))
        for item, text in sorted(questions.items())
    }
    rarity = Counter(stem for stems in words.values() for stem in stems)
    parents = {item: item for item in words}

    def find(item: str) -> str:
        while parents[item] != item:
            parents[item] = item = parents[parents[item]]
        return item

    seen: dict[str, list[str]] = defaultdict(list)
    for item, stems in words.items():
        ordered = sorted(stems, key=lambda stem: (rarity[stem], stem))
        prefix = ordered[: len(ordered) - math.ceil(NEAR * len(ordered)) + 1]
        for other in dict.fromkeys(held for stem in prefix for held in seen[stem]):
            if _are_near(stems, words[other]):
                first, second = sorted((find(item), find(other)))
                parents[second] = first
        for stem in prefix:
            seen[stem].append(item)
    sizes = Counter(find(item) for item in words)
    return {item: find(item) for item in words if sizes[find(item)] > 1}


def _are_near(one: frozenset[str], other: frozenset[str]) -> bool:
    return len(one & other) >= NEAR * len(one | other)


def read_asked_questions(store: Store, run_id: str | None = None) -> dict[str, str]:
    """Return the questions of a run's items, or of all, by item."""
    if run_id is None:
        return dict(store.query("select item_id, query from eval_items"))
    sql = (
        "select distinct e.item_id, e.query from eval_items as e "
        "join answers as a on a.item_id = e.item_id where a.run_id = :run_id"
    )
    return dict(store.query(sql, {"run_id": run_id}))


def describe_near_questions(
    store: Store, run_id: str | None = None, cluster: str | None = None
) -> str | None:
    """Say that items ask nearly the same although intervals take them for independent; or None.

    Nothing is said where items are put together already, or where it is a tenth of them at most.
    """
    if cluster is not None or (run_id is not None and has_clusters(store, run_id)):
        return None
    questions = read_asked_questions(store, run_id)
    groups = group_near_questions(questions)
    if len(groups) <= _WORTH_A_WARNING * len(questions):
        return None
    shown = next(item for item in sorted(groups) if item != groups[item])
    return (
        f"{len(groups):,} of {len(questions):,} items ask nearly what another item asks, such as "
        f"{groups[shown]} and {shown}, but ranges treat them as independent. Give them a common "
        "cluster_id, or keep one of each"
    )
