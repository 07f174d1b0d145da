"""Finds labels that break the rules of ``types/label_rules.py``: by their facts, not one by one.

A query leaves out the labels whose facts are sound, which are nearly all; the rules are asked what
is wrong with the facts of the others. So a million labels cost one pass of the database.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from claimwise.store.checks import Violation
from claimwise.store.engine import NO_PARAMS, Engine, Params
from claimwise.store.files import SqlFolder
from claimwise.types.label_rules import Breach, LabelFacts, find_breach, list_sound_facts

_SQL = SqlFolder("claimwise.store", "sql/labels")

_FACTS = ", ".join(LabelFacts._fields)
_FLAGS = ("is_action", "by_judge", "covered", "expired")
# All facts of a label as one text; databases write truth values in different ways.
_KEY = " || ".join(
    ("verdict", "evidence", *(f"case when {flag} then '1' else '0' end" for flag in _FLAGS))
)


class Breaches(NamedTuple):
    """How many labels break a rule, and the combinations of facts that do."""

    total: int
    kinds: dict[LabelFacts, Breach]


def count_breaches(engine: Engine, subject: str, params: Params = NO_PARAMS) -> Breaches:
    """Count the labels of ``subject``, a select with file_no and line_no, that break a rule."""
    rows = engine.query(
        f"{_select_facts(subject)} select {_FACTS}, count(*) from facts where {_is_broken()} "
        f"group by {_FACTS}",
        params,
    )
    found: dict[LabelFacts, Breach] = {}
    total = 0
    for *values, count in rows:
        facts = _read_facts(values)
        breach = find_breach(facts)
        assert breach is not None
        found[facts] = breach
        total += count
    return Breaches(total, found)


def list_breaches(
    engine: Engine, subject: str, breaches: Breaches, *, limit: int
) -> list[Violation]:
    """Return the first labels of ``subject`` that break a rule, with their places."""
    if not breaches.kinds:
        return []
    rows = engine.query(
        f"{_select_facts(subject)} select file_no, line_no, {_FACTS} from facts "
        f"where {_is_broken()} order by file_no, line_no limit :limit",
        {"limit": limit},
    )
    return [
        Violation(file_no, line_no, *breaches.kinds[_read_facts(values)])
        for file_no, line_no, *values in rows
    ]


@cache
def _is_broken() -> str:
    """Return the condition that facts are not sound; a label without its claim has no facts."""
    keys = [
        one.verdict + one.evidence + "".join(str(int(getattr(one, flag))) for flag in _FLAGS)
        for one in list_sound_facts()
    ]
    listed = "', '".join(keys)
    return f"is_action is not null and {_KEY} not in ('{listed}')"


def _select_facts(subject: str) -> str:
    sql = _SQL["facts"]
    return f"with subject as ({subject}), facts as (\n{sql}\n)"


def _read_facts(values: list[Any]) -> LabelFacts:
    """Return facts as Python has them; SQLite gives 0 and 1 for truth values."""
    verdict, is_action, by_judge, evidence, covered, expired = values
    return LabelFacts(
        verdict, bool(is_action), bool(by_judge), evidence, bool(covered), bool(expired)
    )
