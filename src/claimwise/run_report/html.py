"""Writes a report as one self-contained HTML page: nothing on it comes from outside."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from claimwise.claims.report import mark_claim
from claimwise.report import format as form
from claimwise.report.marked import LOOKS
from claimwise.run_report import sentences, summary_text
from claimwise.run_report.claim_cards import arrange_claims
from claimwise.run_report.sentences import describe_trust
from claimwise.run_report.summary_text import LEAST_ITEMS
from claimwise.run_report.values import Report, Summary
from claimwise.types.results import Estimate, MetricTable

if TYPE_CHECKING:
    from jinja2 import Template


MOST_CLAIMS: Final = 1000
"""Claims on a page; a page of more takes long to open, and nobody reads it to the end."""


def render_html(report: Report, summary: Summary) -> str:
    """Write a report as an HTML page: the first screen, every unsupported claim, the method.

    The page searches its claims with a script of its own, which its policy names by hash; without
    scripts everything is there all the same.
    """
    script = _read_template("search.js").removesuffix("\n")
    claims = summary.claims[:MOST_CLAIMS]
    return load_template("report.html.jinja").render(
        report=report,
        summary=summary,
        run_id=form.clean(report.run.get("run_id")),
        what=" · ".join(summary_text.describe_run(summary).split(" · ")[1:]),
        facts=_list_facts(summary),
        next_step=summary_text.suggest_next(summary.headline, summary.run.get("run_id")),
        worst_claims=[mark_claim(row, 0) for row in claims[: summary_text.WORST_CLAIMS]],
        most_errors=max((count for _, count in summary.errors), default=1),
        claim_groups=arrange_claims(claims, report.by),
        shown=len(claims),
        claims_command=summary_text.name_commands(summary)[0],
        method_note=summary_text.describe_method(summary.headline),
        script_hash=b64encode(sha256(script.encode()).digest()).decode(),
        worst=sentences.describe_worst(report),
        notes=form.Notes(),
        measured=[table for table in report.tables if form.is_measured(table)],
        unmeasured=sentences.describe_unmeasured(report.tables),
    )


def _list_facts(summary: Summary) -> list[tuple[str, str]]:
    """List what stands beside the rate; the rate and its basis stand there already."""
    facts = [*summary_text.describe_facts(summary), *summary_text.describe_rest(summary)]
    return [
        (name, text) for name, text in facts if name in ("Change", "Gates", "Not scored", "Judge")
    ]


@cache
def load_template(name: str) -> Template:
    """Return a page's template; all pages share a style, filters and helpers."""
    # Imported here because no other format needs it, and commands should start fast.
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        loader=FunctionLoader(_read_template),
    )
    environment.filters.update(_filters())
    environment.globals.update(
        say=sentences,
        form=form,
        missing=form.MISSING,
        quadrant=form.QUADRANT,
        split_groups=_split_groups,
        split_pairs=_split_pairs,
        least_items=LEAST_ITEMS,
        list_parts=_list_parts,
        looks=LOOKS,
        capitalize=lambda text: text[:1].upper() + text[1:],
        text=summary_text,
        percent_range=form.show_percent_range,
        describe_scale=summary_text.describe_scale,
        describe_trust=describe_trust,
        unscored_of=_unscored_of,
    )
    return environment.get_template(name)


def _read_template(name: str) -> str:
    return files("claimwise.run_report").joinpath("templates", name).read_text("utf-8")


def _filters() -> dict[str, Any]:
    return {
        "percent": form.show_percent,
        "difference": form.show_difference,
        "number": form.show_number,
        "count": form.show_count,
        "clean": form.clean,
        "value": form.clean_value,
        "range": lambda row: form.show_percent_range(row.low, row.high),
        "macro_range": lambda row: form.show_percent_range(row.macro_low, row.macro_high),
        "bounds": lambda row: form.show_percent_range(row.bound_low, row.bound_high),
        "adjusted": lambda row: form.show_percent_range(
            row.simultaneous_low, row.simultaneous_high
        ),
        # Plots are drawn 0 to 100 wide, whatever their size on the page.
        "place": lambda share: f"{share * 100:.2f}",
    }


def _split_groups(table: MetricTable) -> tuple[list[Estimate], list[Estimate]]:
    """Return the groups that are large enough to rank, and the others."""
    large = [row for row in table.slices if row.items >= LEAST_ITEMS]
    return large, [row for row in table.slices if row.items < LEAST_ITEMS]


_Pairs = list[tuple[Estimate, list[Estimate | None]]]


def _split_pairs(table: MetricTable) -> tuple[_Pairs, _Pairs]:
    """Return each group once, with its estimates in the order of the series; large ones, others."""
    members = form.members_of(table)
    large: _Pairs = []
    small: _Pairs = []
    for one, found in form.pair_slices(table):
        items = max(row.items for row in found.values())
        chosen = large if items >= LEAST_ITEMS else small
        chosen.append((one, [found.get(member) for member in members]))
    return large, small


class _Part(NamedTuple):
    name: str
    number: int  # of the member: its colour
    share: float
    start: float
    width: float


def _list_parts(rows: Sequence[Estimate | None], members: Sequence[str | None]) -> list[_Part]:
    """Return the parts of a bar of shares. “Supported” would dwarf the errors: they stand alone."""
    chosen = [
        (str(member), number, row.micro)
        for number, (row, member) in enumerate(zip(rows, members, strict=True))
        if row is not None and row.micro and member != "supported"
    ]
    whole = sum(share for _, _, share in chosen)
    parts: list[_Part] = []
    at = 0.0
    for name, number, share in chosen:
        parts.append(_Part(name, number, share, at, share / whole))
        at += share / whole
    return parts


def _unscored_of(table: MetricTable, rows: list[Estimate | None]) -> int:
    """Count what a slice leaves unscored; shares of one whole leave the same unscored."""
    found = [row.unscored for row in rows if row]
    return sum(found) if form.is_pair(table) else max(found)
