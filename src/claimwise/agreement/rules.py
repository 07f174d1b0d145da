"""Names the rules of the guide that decide between two verdicts."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from claimwise.agreement.people import FindRules
from claimwise.labelling.guide import GuideVersion, find_guide
from claimwise.store import Store


def make_rule_finder(store: Store, folder: Path) -> FindRules:
    """Return what names the rules of a guide for two verdicts; a guide without ids has none."""

    @cache
    def find(version: str) -> GuideVersion | None:
        return find_guide(store, version, folder)

    def find_rules(version: str, one: str, other: str) -> list[str]:
        guide = find(version)
        rules = guide.find_rules(one, other) if guide else []
        return [f"{rule.rule_id} {rule.title}" for rule in rules]

    return find_rules
