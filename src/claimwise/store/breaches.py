"""Finds labels that break the rules of ``types/label_rules.py``: by their facts, not one by one.

A query sorts the labels by their facts, of which there are few combinations; the rules are asked
about each combination once. So a million labels cost one pass of the database.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from claimwise.store.checks import Violation
from claimwise.store.engine import NO_PARAMS, Engine, Params
from claimwise.store.files import SqlFolder
from claimwise.types.label_rules import Breach, LabelFacts, find_breach

_SQL = SqlFolder("claimwise.store", "sql/labels")

_FACTS = ", ".join(LabelFacts._fields)


class Breaches(NamedTuple):
    """How many labels break a rule, and the combinations of facts that do."""

    total: int
    kinds: dict[LabelFacts, Breach]


def count_breaches(engine: Engine, subject: str, params: Params = NO_PARAMS) -> Breaches:
    """Count the labels of ``subject``, a select with file_no and line_no, that break a rule."""
    rows = engine.query(
        f"{_select_facts(subject)} select {_FACTS}, count(*) from facts group by {_FACTS}", params
    )
    found: dict[LabelFacts, Breach] = {}
    total = 0
    for *values, count in rows:
        facts = _read_facts(values)
        breach = find_breach(facts)
        if breach is not None:
            found[facts] = breach
            total += count
    return Breaches(total, found)


def list_breaches(
    engine: Engine, subject: str, breaches: Breaches, *, limit: int
) -> list[Violation]:
    """Return the first labels of ``subject`` that break a rule, with their places."""
    if not breaches.kinds:
        return []
    params: dict[str, Any] = {"limit": limit}
    kinds = []
    for number, facts in enumerate(breaches.kinds):
        names = {field: f"{field}_{number}" for field in LabelFacts._fields}
        kinds.append(" and ".join(f"{field} = :{name}" for field, name in names.items()))
        params |= {names[field]: value for field, value in facts._asdict().items()}
    rows = engine.query(
        f"{_select_facts(subject)} select file_no, line_no, {_FACTS} from facts "
        f"where ({') or ('.join(kinds)}) order by file_no, line_no limit :limit",
        params,
    )
    return [
        Violation(file_no, line_no, *breaches.kinds[_read_facts(values)])
        for file_no, line_no, *values in rows
    ]


def _select_facts(subject: str) -> str:
    sql = _SQL["facts"]
    return f"with subject as ({subject}), facts as (\n{sql}\n)"


def _read_facts(values: list[Any]) -> LabelFacts:
    """Return facts as Python has them; SQLite gives 0 and 1 for truth values."""
    verdict, is_action, by_judge, evidence, covered, expired = values
    return LabelFacts(
        verdict, bool(is_action), bool(by_judge), evidence, bool(covered), bool(expired)
    )
