"""The items behind a rate that no list of claims explains, each with a link to its answer."""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import urlencode

from claimwise.app.links import GROUP_FIELDS, read_group
from claimwise.app.requests import Call, PageRoute, Refusal, Response
from claimwise.app.run_choice import check_run
from claimwise.metrics import Metric, load_metrics
from claimwise.report import format as form
from claimwise.run_report.rate_items import (
    ItemKind,
    RateChoice,
    add_up,
    find_items,
    read_answers,
    wants_all,
)

PAGE: Final = 50


def show_items(call: Call) -> Response:
    """Show the items behind a rate of a run: the faults by it, the others, and the unscored."""
    metrics = load_metrics(call.project.metrics_folder, call.project.citations)
    choice = _read_choice(call, metrics)
    kinds = find_items(call.store, metrics, choice, call.project.settings)
    filled = [kind for kind, found in kinds.items() if found]
    asked = call.query.get("show", "")
    shown: ItemKind = next((kind for kind in filled if kind == asked), (filled or ["faults"])[0])
    items = kinds[shown]
    number = _read_page(call.query.get("page", "1"), len(items))
    fields = {name: value for name, value in call.query.items() if name not in ("show", "page")}

    def link(**more: Any) -> str:
        return f"/items?{urlencode({**fields, **more})}"

    return call.render(
        "items.html",
        form=form,
        choice=choice,
        title=_name_rate(choice),
        groups=[form.clean(f"{name} = {value or 'none'}") for name, value in choice.groups],
        total=add_up(kinds),
        tabs=[(name_kind(kind, choice.metric), len(kinds[kind]), link(show=kind), kind == shown)
              for kind in filled],
        rows=read_answers(call.store, choice.run_id, items[(number - 1) * PAGE : number * PAGE]),
        before=link(show=shown, page=number - 1) if number > 1 else None,
        after=link(show=shown, page=number + 1) if number * PAGE < len(items) else None,
    )  # fmt: skip


def name_kind(kind: ItemKind, metric: Metric) -> str:
    """Return what the items of a list have in common."""
    if kind == "unscored":
        return "Not scored"
    if wants_all(metric):
        return "Below 100%" if kind == "faults" else "100%"
    return "Counted" if kind == "faults" else "Not counted"


def _read_choice(call: Call, metrics: dict[str, Metric]) -> RateChoice:
    """Return the rate that a link names.

    Raises:
        Refusal: there is no such run or rate.
    """
    run_id = call.query.get("run", "")
    check_run(call.store, run_id)
    metric, part = metrics.get(call.query.get("metric", "")), call.query.get("part")
    if metric is None or (part is None) != (metric.series is None):
        raise Refusal(404, "There is no such rate; a run's metrics have them all.")
    groups = tuple(read_group(call.query[name]) for name in GROUP_FIELDS if name in call.query)
    return RateChoice(run_id, metric, part, groups)


def _read_page(asked: str, items: int) -> int:
    last = max(1, -(-items // PAGE))
    return min(last, max(1, int(asked[:9]))) if asked.isascii() and asked.isdigit() else 1


def _name_rate(choice: RateChoice) -> str:
    title = form.clean(choice.metric.title)
    return f"{title}: {form.name_in_words(choice.part)}" if choice.part else title


ROUTES: tuple[PageRoute, ...] = (PageRoute("GET", "/items", show_items, "adjudicator"),)
