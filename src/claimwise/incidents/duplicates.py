"""Finds items that ask the same question already, or nearly the same."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from claimwise.disk.input import refuse
from claimwise.errors import InputError
from claimwise.incidents.queries import FoundAnswer, read_questions
from claimwise.incidents.values import ItemChoice
from claimwise.store import Store
from claimwise.text.questions import normalise_question
from claimwise.text.words import is_common, read_stems
from claimwise.types.rows import Item
from claimwise.types.traces import Trace

# Shared words over all words of two questions; from here on they may ask the same.
NEAR = 0.6
_SHOWN = 5


def find_near(question: str, questions: Mapping[str, str]) -> list[str]:
    """Return the items that ask nearly the same, nearest first: by shared stems of full words."""
    own = find_full_words(question)
    shares = {}
    for item_id, other in questions.items():
        stems = find_full_words(other)
        share = len(own & stems) / len(own | stems) if own and stems else 0.0
        if share >= NEAR:
            shares[item_id] = share
    return sorted(shares, key=lambda item_id: (-shares[item_id], item_id))


def find_full_words(text: str) -> frozenset[str]:
    """Return the stems of the words that carry meaning."""
    return frozenset(stem for stem in read_stems(text) if not is_common(stem))


def refuse_repeats(
    store: Store, trace: Trace, choice: ItemChoice, known: Item | None, stored: FoundAnswer | None
) -> list[str]:
    """Refuse a question that an item asks already; return warnings where it is asked nearly so.

    An answer of a stored run may be copied into another item; a warning says so.
    """
    wanted = normalise_question(trace.question)
    if known is not None:
        return _compare_known(trace, known)
    questions = read_questions(store)
    copied = []
    if stored is not None:
        # A stored answer's own item asks the same; the new one is its copy for the golden set.
        own = stored.item.item_id
        questions.pop(own, None)
        copied = [
            f"the question of item {own} is now asked twice, and counts twice in runs over both "
            f"items; --as {own} would have filed the incident under that item"
        ]
    equal = [i for i, query in questions.items() if normalise_question(query) == wanted]
    if equal:
        raise refuse_trace(
            trace,
            f"item {equal[0]} asks this question already; --as {equal[0]} files the incident under "
            "that item",
        )
    near = find_near(trace.question, questions)
    if not near:
        return copied
    listed = ", ".join(f"{i} ({questions[i]!r})" for i in near[:_SHOWN])
    if not choice.force:
        raise refuse_trace(
            trace,
            f"almost the same question is asked by {listed}; --as {near[0]} files the incident "
            "there if it is the same, --force makes a new item",
        )
    return [*copied, f"almost the same question is asked by {listed}"]


def _compare_known(trace: Trace, known: Item) -> list[str]:
    """Refuse to file an incident under an item that asks something else."""
    if normalise_question(known.query) == normalise_question(trace.question):
        return []
    if find_near(trace.question, {known.item_id: known.query}):
        return [f"the item {known.item_id} asks it in other words: {known.query!r}"]
    raise refuse_trace(
        trace,
        f"the item {known.item_id}, which asks {known.query!r}",
        "a new id after --as, or the id of the item that asks this question",
    )


def refuse_trace(trace: Trace, found: str, expected: str = "") -> InputError:
    """Return the error for a trace that can't be promoted."""
    return refuse(Path(trace.place), found, expected)
