"""How figures and names are written, in one style for every format.

People read shares in percent and changes in points; design effects and correlations have two
decimals; what is missing is a dash. A forest plot runs from 0 to 1 always, so that plots can be
compared.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from claimwise.types.results import Estimate, JudgeSummary, MetricTable

MISSING: Final = "—"
NO_VALUE: Final = "(unknown)"
EVERY: Final = "(all)"
UNCHECKED: Final = "not yet checked against people"
REFERENCE: Final = "the reference"
QUADRANT: Final = {
    "faithful": ("faithful_correct", "faithful_wrong"),
    "unfaithful": ("unfaithful_correct", "unfaithful_wrong"),
}

_COUNT_IN_BRACKETS = re.compile(r" \((?:about )?\d[\d,]*(?: of \d[\d,]*)?\)")
_PLAIN_PERCENT: Final = 9.95  # this far from none and all a share has no decimals
_NOISE: Final = 1e-7  # of sums of floating-point numbers
_LEAST_PERCENT: Final = 0.05  # and this far one decimal tells it from them
_LEADING_COUNT = re.compile(r"\A\d[\d,]* ")
# Characters that steer a terminal or turn the direction of the text after them.
_STEERING = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_JOINERS = frozenset("\u200c\u200d")  # Persian, Hindi and emoji are spelt with them
# Spaces that would vanish, at an end or beside another; quotation marks and backslashes; the rest.
_UNSEEN = re.compile(r'\A +| +\Z| {2,}|["\\]|[^ -~]')


def show_percent(value: float | None) -> str:
    """Write a share for people: ``88%``; below 10% and above 90% with a decimal: ``97.4%``.

    What is not quite none or all never reads as 0% or 100%: it gets the decimals that it needs,
    ``0.04%`` or ``99.97%``.
    """
    if value is None:
        return MISSING
    percent = 100 * value
    rest = min(percent, 100 - percent)
    if rest < _NOISE or rest >= _PLAIN_PERCENT:
        return f"{percent:.0f}%"
    return f"{percent:.{1 if rest >= _LEAST_PERCENT else math.ceil(-math.log10(rest))}f}%"


def show_percent_range(low: float | None, high: float | None) -> str:
    """Write a range of shares: ``82–92%``.

    Ends beside none and all are rounded outwards: what says ``0–5.1%`` holds whatever is near 0.
    """
    if low is None or high is None:
        return MISSING
    least = _LEAST_PERCENT / 100
    outer = (0.0 if low < least else low, 1.0 if high > 1 - least else high)
    return f"{show_percent(outer[0])[:-1]}–{show_percent(outer[1])}"


def show_rate(value: float | None, low: float | None, high: float | None) -> str:
    """Write a rate with its range: ``88% (82–92%)``."""
    if value is None or low is None or high is None:
        return show_percent(value)
    return f"{show_percent(value)} ({show_percent_range(low, high)})"


def describe_bounds(low: float, high: float, unscored: int) -> str:
    """Say what a share would be if everything unscored were bad, and good."""
    it = "it is" if unscored == 1 else "they are"
    return f"{show_percent_range(low, high)} whatever {it}"


def show_points(value: float) -> str:
    """Write a change in percentage points: ``+3.2``, ``−1.0``."""
    rounded = round(value * 100, 1) + 0.0  # never a negative zero
    return f"{rounded:+.1f}".replace("-", "−")


def show_difference(value: float | None) -> str:
    """Write the size of a difference in percentage points: ``9.1``."""
    return MISSING if value is None else f"{100 * value:.1f}"


def show_number(value: float | None) -> str:
    """Write a design effect or a correlation: ``1.43``, ``−0.03``, and never ``−0.00``."""
    return MISSING if value is None else f"{round(value, 2) + 0.0:.2f}".replace("-", "−")


def show_ranged_number(value: float | None, low: float | None, high: float | None) -> str:
    """Write a figure that is a share of nothing with its range: ``0.59 (0.33–0.75)``.

    Beside a minus a dash would be hard to read: ``0.19 (−0.05 to 0.43)``.
    """
    if value is None or low is None or high is None:
        return show_number(value)
    dash = "–" if round(low, 2) >= 0 else " to "
    return f"{show_number(value)} ({show_number(low)}{dash}{show_number(high)})"


def show_precisely(value: float | None) -> str:
    """Write a figure that is no share and whose third decimal counts: ``0.862``."""
    return MISSING if value is None else f"{value:.3f}"


def show_count(value: float) -> str:
    """Write a count: ``1,234``."""
    return f"{value:,.0f}"


def show_exact_percent(value: float) -> str:
    """Write a share that somebody chose, with all of its digits: ``95%``, ``99.9%``, ``80.5%``."""
    return f"{value * 100:.6g}%"


def pluralize(count: float, word: str) -> str:
    """Write a count with its word: ``1 claim``, ``12 claims``."""
    return f"{show_count(count)} {word if count == 1 else plural_of(word)}"


def plural_of(word: str) -> str:
    """Return the plural of a unit's name."""
    if word.endswith("y") and word[-2:-1] not in "aeiou":
        return f"{word[:-1]}ies"
    return f"{word}es" if word.endswith(("s", "x", "ch", "sh")) else f"{word}s"


def join_words(words: Sequence[str]) -> str:
    """Write a list: ``citations``, ``answerable and action``, ``a, b and c``."""
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))


def clean(text: str | None) -> str:
    """Return foreign text on one line, without characters that steer a terminal or a reader."""
    if text is None:
        return MISSING
    return _replace_steering(" ".join(text.split()))


def clean_lines(text: str) -> str:
    """Return foreign text as :func:`clean` does, with its lines and spaces as they are."""
    lines = text.replace("\r\n", "\n").replace("\t", "    ").split("\n")
    return "\n".join(map(_replace_steering, lines))


def _replace_steering(text: str) -> str:
    return "".join("\ufffd" if _is_steering(character) else character for character in text)


def _is_steering(character: str) -> bool:
    return character not in _JOINERS and unicodedata.category(character) in _STEERING


def name_in_words(name: str) -> str:
    """Return the name of a metric or of a member as it stands in a sentence."""
    return clean(name).replace("_", " ").lower()


def clean_value(value: str | None) -> str:
    r"""Return the value of a slice column in words, each value in its own.

    A value that reads as it is stands as it is. One that would look like another, because it is
    empty, has spaces at its ends or characters that don't show, or spells one of our own words, is
    quoted, and what can't be seen is escaped: ``"\x20"``, ``"\n"``, ``"(all)"``.
    """
    if value is None:
        return NO_VALUE
    if value and value == clean(value) and value not in (NO_VALUE, EVERY) and value[0] != '"':
        return value
    return f'"{_UNSEEN.sub(_escape_unseen, value)}"'


def _escape_unseen(found: re.Match[str]) -> str:
    text = found[0]
    if text in ('"', "\\"):
        return f"\\{text}"
    if text[0] == " ":
        return "\\x20" * len(text)
    seen = text.isprintable() or text in _JOINERS
    return text if seen else text.encode("unicode_escape").decode("ascii")


def slice_cell(row: Estimate, name: str) -> str:
    """Return what a table shows of a slice in one column: a slice by other columns spans it."""
    return clean_value(row.slice[name]) if name in row.slice else EVERY


def slice_name(row: Estimate, series: str | None = None) -> str:
    """Write a slice: ``query_type=aggregation, stakes=high``; the series is left out."""
    parts = [
        f"{clean(name)}={clean_value(value)}" for name, value in row.slice.items() if name != series
    ]
    return ", ".join(parts) or "overall"


def member_of(row: Estimate, series: str | None) -> str | None:
    """Return the member of the series that a row is about."""
    return row.slice.get(series) if series else None


def members_of(table: MetricTable) -> list[str | None]:
    """Return the members of the series, those without data too; [None] without a series."""
    if table.series is None:
        return [None]
    found = [member_of(row, table.series) for row in table.overall]
    return list(dict.fromkeys([*table.notes, *found]))


def overall_of(table: MetricTable, member: str | None) -> Estimate | None:
    """Return the overall estimate of a member of the series, if there is one."""
    rows = (row for row in table.overall if member_of(row, table.series) == member)
    return next(rows, None)


def is_measured(table: MetricTable) -> bool:
    """Return whether anything of a metric has a rate."""
    return any(row.micro is not None for row in table.overall)


def is_pair(table: MetricTable) -> bool:
    """Return whether a metric is two rates that only make sense side by side."""
    return table.series is not None and len(members_of(table)) == 2


def is_division(table: MetricTable) -> bool:
    """Return whether the members of the series are shares of one whole, none of them better."""
    return (
        table.series is not None
        and not is_pair(table)
        and all(row.better is None for row in table.overall)
    )


def slice_columns(table: MetricTable, *, with_series: bool = False) -> list[str]:
    """Return the names of the slice columns."""
    series = [table.series] if with_series and table.series else []
    return [*series, *table.by]


def pair_slices(table: MetricTable) -> list[tuple[Estimate, dict[str | None, Estimate]]]:
    """Return each slice once, with its estimates by member of the series, in their order."""
    names = slice_columns(table)
    pairs: dict[object, tuple[Estimate, dict[str | None, Estimate]]] = {}
    for row in table.slices:
        key = tuple((name in row.slice, row.slice.get(name)) for name in names)
        pairs.setdefault(key, (row, {}))[1][member_of(row, table.series)] = row
    return list(pairs.values())


def count_compared(table: MetricTable) -> int:
    """Return how many slices the simultaneous intervals of a table hold for at once."""
    return max(1, len(pair_slices(table)))


def agreement_text(instrument: JudgeSummary) -> str:
    """Say how far an instrument agrees with people, or that nobody knows."""
    row = instrument.agreement
    if instrument.kind != "verifier":
        return REFERENCE
    if row is None or row.micro is None:
        return UNCHECKED
    return f"{show_rate(row.micro, row.low, row.high)} of {pluralize(row.claims, 'claim')}"


def generalize_warning(warning: str) -> str:
    """Return a row's warning without the row's own counts, so that rows can share a note."""
    text = _LEADING_COUNT.sub("", _COUNT_IN_BRACKETS.sub("", clean(warning)))
    return text[:1].upper() + text[1:]


class Notes:
    """The warnings of the rows that are shown, each once, under a letter."""

    def __init__(self) -> None:
        self._marks: dict[str, str] = {}

    def listed(self) -> list[tuple[str, str]]:
        """Return letters and warnings, in the order in which readers met them."""
        return [(mark, text) for text, mark in self._marks.items()]

    def marks(self, row: Estimate) -> str:
        """Return the letters of a row's warnings; a new warning gets the next letter."""
        texts = map(generalize_warning, row.warnings)
        found = {self._marks.setdefault(text, _letters(len(self._marks))) for text in texts}
        return "".join(sorted(found))


def _letters(number: int) -> str:
    return chr(ord("a") + number % 26) * (1 + number // 26)


@dataclass(frozen=True, kw_only=True, slots=True)
class Forest:
    """What a forest plot of one row draws, every place a share of its width."""

    point: float
    thick: tuple[float, float]
    thin: tuple[float, float]
    reference: float | None


def forest_of(row: Estimate, reference: float | None = None) -> Forest | None:
    """Return the forest plot of a row: plain interval thick, simultaneous interval thin."""
    if row.micro is None:
        return None
    point = _clip(row.micro)
    thick = (_clip(row.low, point), _clip(row.high, point))
    thin = (_clip(row.simultaneous_low, thick[0]), _clip(row.simultaneous_high, thick[1]))
    return Forest(
        point=point,
        thick=thick,
        thin=thin,
        reference=None if reference is None else _clip(reference),
    )


def describe_forest(row: Estimate, reference: float | None = None) -> str:
    """Say in words what a forest plot shows, for those who can't see it."""
    if row.micro is None:
        return "no rate"
    text = (
        f"{show_percent(row.micro)}, range {show_percent_range(row.low, row.high)}, adjusted "
        f"{show_percent_range(row.simultaneous_low, row.simultaneous_high)}"
    )
    return text if reference is None else f"{text}, overall {show_percent(reference)}"


def _clip(value: float | None, default: float = 0.0) -> float:
    return default if value is None else min(1.0, max(0.0, value))


def share_cells(shares: Sequence[float], width: int) -> list[int]:
    """Divide a bar's cells by shares of one whole; whatever is not zero gets a cell."""
    if not sum(shares):
        return [0 for _ in shares]
    cells = [max(1, round(share / sum(shares) * width)) if share else 0 for share in shares]
    largest = cells.index(max(cells))
    cells[largest] += width - sum(cells)
    return cells
