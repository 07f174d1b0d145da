"""Agreement figures as their definitions read, slowly, label by label. Shares no code with ours."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations, permutations

Table = Sequence[Sequence[int]]


def list_units(table: Table) -> list[list[int]]:
    """The labels of every unit that has at least two."""
    units = [[label for label in row if label != -1] for row in table]
    return [unit for unit in units if len(unit) > 1]


def share_agreeing(unit: Sequence[int]) -> float:
    pairs = list(combinations(unit, 2))
    return sum(a == b for a, b in pairs) / len(pairs)


def find_raw(table: Table) -> float | None:
    units = list_units(table)
    return sum(map(share_agreeing, units)) / len(units) if units else None


def take_out_chance(observed: float, expected: float) -> float | None:
    return None if expected > 1 - 1e-12 else (observed - expected) / (1 - expected)


def find_fleiss(table: Table) -> float | None:
    units = list_units(table)
    if not units:
        return None
    labels = [label for unit in units for label in unit]
    expected = sum((count / len(labels)) ** 2 for count in Counter(labels).values())
    return take_out_chance(sum(map(share_agreeing, units)) / len(units), expected)


def find_alpha(table: Table) -> float | None:
    """By the coincidence matrix, as Krippendorff (2011) tells it."""
    units = list_units(table)
    coincidences: Counter[tuple[int, int]] = Counter()
    for unit in units:
        for pair in permutations(range(len(unit)), 2):
            coincidences[unit[pair[0]], unit[pair[1]]] += 1 / (len(unit) - 1)  # type: ignore[assignment]
    margins: Counter[int] = Counter()
    for (one, _), weight in coincidences.items():
        margins[one] += weight
    total = sum(margins.values())
    observed = sum(weight for (a, b), weight in coincidences.items() if a != b)
    expected = sum(margins[a] * margins[b] for a, b in permutations(margins, 2)) / max(total - 1, 1)
    return None if expected < 1e-12 else 1 - observed / expected


def find_ac1(table: Table, categories: int) -> float | None:
    units = list_units(table)
    if not units:
        return None
    guessing = 0.0
    for category in range(categories):
        share = sum(unit.count(category) / len(unit) for unit in units) / len(units)
        guessing += share * (1 - share)
    return take_out_chance(find_raw(table) or 0.0, guessing / (categories - 1))


def find_cohen(table: Table, one: int, other: int) -> float | None:
    both = [(row[one], row[other]) for row in table if row[one] != -1 and row[other] != -1]
    if not both:
        return None
    first, second = Counter(a for a, _ in both), Counter(b for _, b in both)
    expected = sum(first[a] * second[a] for a in first) / len(both) ** 2
    return take_out_chance(sum(a == b for a, b in both) / len(both), expected)


def find_mean_cohen(table: Table) -> float | None:
    total, weights = 0.0, 0
    for one, other in combinations(range(len(table[0])), 2):
        kappa = find_cohen(table, one, other)
        shared = sum(row[one] != -1 and row[other] != -1 for row in table)
        if kappa is not None:
            total, weights = total + kappa * shared, weights + shared
    return total / weights if weights else None


def find_same(table: Table, category: int) -> float | None:
    """Take every label of the category, and another label of its unit at random."""
    found = [
        (unit.count(category) - 1) / (len(unit) - 1)
        for unit in list_units(table)
        for label in unit
        if label == category
    ]
    return sum(found) / len(found) if found else None


def find_category(table: Table, category: int) -> float | None:
    if not any(category in unit for unit in list_units(table)):
        return None
    return find_fleiss(
        [[-1 if label == -1 else int(label == category) for label in row] for row in table]
    )
