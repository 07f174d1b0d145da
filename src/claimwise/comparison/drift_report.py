"""Shows why a rate moved: on a terminal, as Markdown and JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec
from rich.console import Console

from claimwise.comparison.drift_values import Drift, DriftPart, SliceWeight
from claimwise.report.changes import (
    describe_one_sided,
    describe_side,
    list_ids,
    name_slice,
    show_change,
    show_change_range,
)
from claimwise.report.columns import Column, Writer
from claimwise.report.format import (
    clean,
    name_in_words,
    pluralize,
    show_exact_percent,
    show_percent,
)
from claimwise.report.judges import describe_judge, judge_to_document
from claimwise.report.markdown import escape, write_bullets, write_table
from claimwise.run_report.sentences import describe_policy

FORMAT: Final = 1  # of the JSON; a field that changes its meaning raises it
_HEADERS: Final = ("part", "points", "range", "", "measured on")
READING: Final = (
    "The parts add up to the overall change. Mix: the runs were asked different items. Evidence: "
    "how much more the items moved whose evidence changed. Judge: other judges judged the claims. "
    "System: the rest, on items whose evidence did not change."
)
_WEIGHT_HEADERS: Final = ("baseline", "new", "points")
_MOST_SLICES: Final = 10


def name_drift(drift: Drift) -> str:
    """Return the name of the rate that moved."""
    return name_in_words(drift.member or drift.title)


def describe_movement(drift: Drift) -> str:
    """Say in one line how far the rate moved, in percentage points."""
    return (
        f"{name_drift(drift)}: {show_percent(drift.base_rate)} to {show_percent(drift.new_rate)}, "
        f"{show_change(drift.change)} points ({show_change_range(drift.low, drift.high)})"
    )


def judge_part(part: DriftPart) -> str:
    """Say in a word whether a part differs from nothing."""
    if not part.changed:
        return "unchanged"
    return "clear" if part.is_clear else "unclear"


def _name_causes(part: DriftPart) -> list[str]:
    """Return what people call a part's causes: JSON keeps the name that it has always had."""
    return ["judge" if cause == "instrument" else cause for cause in part.causes]


def describe_blame(drift: Drift) -> str:
    """Say which causes clearly moved the rate."""
    clear = [" and ".join(_name_causes(part)) for part in drift.parts if part.is_clear]
    if not clear:
        return "No cause is clear yet, if anything moved the rate at all."
    return f"Clear causes: {', '.join(clear)}."


def describe_items(drift: Drift) -> Iterator[str]:
    """Say which items the parts rest on."""
    yield f"{pluralize(drift.shared, 'item')} asked in both runs."
    for run, ids in ((drift.base, drift.only_base), (drift.new, drift.only_new)):
        if ids:
            yield f"{describe_one_sided(run, ids)}."
    if drift.moved_evidence:
        documents = sorted({one for sources in drift.moved_evidence.values() for one in sources})
        yield (
            f"Evidence changed for {list_ids(list(drift.moved_evidence))} "
            f"(documents: {list_ids(documents)})."
        )
    for run, judged in ((drift.base, drift.base_instruments), (drift.new, drift.new_instruments)):
        if judged:
            who = ", ".join(f"{count:,} by {clean(name)}" for name, count in judged.items())
            yield f"Labels that decide in {clean(run['run_id'])}: {who}."
    for judge in drift.judges:
        yield f"{describe_judge(judge)}."


def describe_drift_settings(drift: Drift) -> str:
    """Say in one line how the figures were made."""
    confidence = show_exact_percent(drift.settings.confidence)
    return (
        f"{confidence} ranges over items, paired where both runs were asked. "
        f"{describe_policy(drift.settings)}"
    )


def _rows(drift: Drift) -> list[list[str]]:
    rows = [
        [
            " + ".join(_name_causes(part)),
            show_change(part.change),
            "exactly" if not part.changed else show_change_range(part.low, part.high),
            judge_part(part),
            clean(part.basis),
        ]
        for part in drift.parts
    ]
    whole = show_change_range(drift.low, drift.high)
    sure = "unclear" if drift.low <= 0 <= drift.high else "clear"
    return [*rows, ["overall", show_change(drift.change), whole, sure, ""]]


def _shown_weights(drift: Drift) -> Sequence[SliceWeight]:
    """Return the slices whose share changed, where the mix did."""
    mixed = any(part.causes == ("mix",) and part.changed for part in drift.parts)
    moved = [weight for weight in drift.weights if weight.base_share != weight.new_share]
    return moved[:_MOST_SLICES] if mixed else []


def _weight_rows(drift: Drift) -> list[list[str]]:
    return [
        [
            name_slice(weight.slice),
            show_percent(weight.base_share),
            show_percent(weight.new_share),
            show_change(weight.new_share - weight.base_share),
        ]
        for weight in _shown_weights(drift)
    ]


def print_drifts(drifts: Sequence[Drift], console: Console) -> None:
    """Print the movement of one rate or several, and its parts."""
    writer = Writer(console)
    first = drifts[0]
    for number, drift in enumerate(drifts):
        if number:
            writer.skip()
        _print_drift(writer, drift)
    writer.skip()
    for run in (first.base, first.new):
        known = " · ".join(f"{field} {value}" for field, value in describe_side(run))
        writer.say(f"{clean(run['run_id'])}: {known}")
    writer.say(describe_drift_settings(first), "dim")
    writer.skip()
    writer.say(READING, "dim")


def _print_drift(writer: Writer, drift: Drift) -> None:
    rows = _rows(drift)
    styles = ["bold" if row[3] == "clear" else "" for row in rows]
    columns = [
        Column(
            header=header,
            cells=[row[number] for row in rows],
            right=header == "points",
            least=8 if header == "part" else None,
            styles=styles if header == "points" else (),
        )
        for number, header in enumerate(_HEADERS[:-1])
    ]
    writer.say(describe_movement(drift), "bold")
    writer.say(describe_blame(drift))
    writer.put_columns(columns)
    for part in drift.parts:
        writer.say(f"{' + '.join(_name_causes(part))}: {clean(part.basis)}", "dim", indent=2)
    weights = _weight_rows(drift)
    if weights:
        writer.skip()
        writer.say("Shares of the items, by group", indent=2)
        writer.put_columns([
            Column(header=header, cells=[row[n] for row in weights], right=n > 0,
                   least=None if n else 8)
            for n, header in enumerate(("group", *_WEIGHT_HEADERS))
        ])  # fmt: skip
    writer.skip()
    for line in describe_items(drift):
        writer.say(line, indent=2)
    for warning in drift.warnings:
        writer.say(f"! {clean(warning)}", "yellow", indent=2)
    for advice in drift.advice:
        writer.say(f"To know more: {clean(advice)}", indent=2)


def render_drifts_markdown(drifts: Sequence[Drift]) -> str:
    """Write the movement of one rate or several as GitHub-flavoured Markdown."""
    first = drifts[0]
    base, new = (escape(run["run_id"] or "") for run in (first.base, first.new))
    parts = [f"# Drift from {base} to {new}", escape(describe_drift_settings(first))]
    for drift in drifts:
        parts += [
            f"## {escape(describe_movement(drift))}",
            escape(describe_blame(drift)),
            write_table(_HEADERS, _rows(drift), text=(0, 2, 3, 4)),
            write_table(("group, share of the items", *_WEIGHT_HEADERS), _weight_rows(drift))
            if _shown_weights(drift)
            else "",
            write_bullets([
                *map(escape, describe_items(drift)),
                *(f"**Warning:** {escape(warning)}" for warning in drift.warnings),
                *(f"To know more: {escape(advice)}" for advice in drift.advice),
            ]),
        ]  # fmt: skip
    return "\n\n".join(part for part in [*parts, READING] if part) + "\n"


def to_drift_document(drifts: Sequence[Drift]) -> dict[str, Any]:
    """Return movements as plain values for JSON: docs/drift.md lists the fields."""
    return {
        "format": FORMAT,
        "drifts": [
            {
                **msgspec.to_builtins(drift),
                "judges": [judge_to_document(judge) for judge in drift.judges],
            }
            for drift in drifts
        ],
    }
