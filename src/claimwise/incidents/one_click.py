"""Makes a stored answer a test case, with nothing to fill in."""

from __future__ import annotations

from collections.abc import Collection

from claimwise.errors import RefusedError
from claimwise.incidents.promotion import INCIDENT, ORIGIN, make_trace, promote_trace
from claimwise.incidents.queries import FoundAnswer
from claimwise.incidents.values import ItemChoice, Promotion
from claimwise.judges.judge import load_verifier
from claimwise.store import Store
from claimwise.text import make_content_id
from claimwise.types.rows import QUERY_TYPES

_LONGEST_NAME = 150


def promote_answer(
    store: Store,
    answer: FoundAnswer,
    *,
    who: str,
    answerable: bool | None = None,
    query_types: Collection[str] = QUERY_TYPES,
) -> Promotion:
    """Make an item of a stored answer, under a name that follows from its own item's.

    Answers of several runs to the same question become incidents of one test case; the same
    answer twice changes nothing. An item that came from an incident is its own test case.

    Raises:
        RefusedError: nobody has said whether the corpus can answer the question.
    """
    if answerable is None and answer.item.answerable is None:
        raise RefusedError(
            "choose whether the sources can answer this question: a refusal is right or wrong by it"
        )
    choice = ItemChoice(item_id=_name_case(store, answer), answerable=answerable, force=True)
    return promote_trace(
        store,
        make_trace(answer),
        choice,
        who=who,
        # Judges only what has no claims yet; loading a model would keep the page waiting.
        verifier=load_verifier("lexical"),
        stored=answer,
        query_types=(*query_types, answer.item.query_type or ""),
    )


def _name_case(store: Store, answer: FoundAnswer) -> str:
    own = answer.item.item_id
    marked = store.query(
        "select 1 from item_attributes "
        "where item_id = :item_id and name = :name and value = :value",
        {"item_id": own, "name": ORIGIN, "value": INCIDENT},
    )
    if marked:
        return own
    if len(own) > _LONGEST_NAME:
        own = make_content_id("case", own)
    return f"{INCIDENT}-{own}"
