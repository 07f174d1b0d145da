"""The SQL behind every figure: its text, what it counts, and how to run it."""

from __future__ import annotations

from shlex import quote

from claimwise.app.requests import Call, PageRoute, Refusal, Response
from claimwise.errors import MetricError
from claimwise.metrics import find_metric, load_metrics
from claimwise.report import format as form
from claimwise.store import list_views


def list_queries(call: Call) -> Response:
    """List every metric with what it counts, and the views that metrics read."""
    metrics = load_metrics(call.project.metrics_folder, call.project.citations)
    return call.render(
        "metrics.html",
        metrics=[metrics[name] for name in sorted(metrics)],
        views=sorted(dict(list_views())),
        form=form,
    )


def show_query(call: Call) -> Response:
    """Show the SQL of a metric, or of a view that metrics read."""
    name = call.path["name"]
    metrics = load_metrics(call.project.metrics_folder, call.project.citations)
    views = dict(list_views())
    if name in views:
        return call.render(
            "sql.html",
            name=name,
            metric=None,
            sql=f"create view {name} as\n{views[name]}",
            commands=[(f"claimwise sql {quote(name)}", "prints this text")],
            metrics=sorted(metrics),
            views=sorted(views),
            form=form,
        )
    try:
        metric = find_metric(metrics, name)
    except MetricError as error:
        raise Refusal(404, "There is no metric or view of that name.") from error
    run = quote(call.query.get("run") or "RUN")
    return call.render(
        "sql.html",
        name=metric.name,
        metric=metric,
        sql=metric.sql,
        commands=[
            (f"claimwise sql {metric.name}", "prints this text"),
            (f"claimwise sql {metric.name} --run {run}", "its counts, item by item"),
            (f"claimwise metrics --metric {metric.name} --run {run}", "its rates with intervals"),
        ],
        metrics=sorted(metrics),
        views=sorted(views),
        form=form,
    )


ROUTES: tuple[PageRoute, ...] = (
    PageRoute("GET", "/sql", list_queries, "adjudicator"),
    PageRoute("GET", "/sql/{name}", show_query, "adjudicator"),
)
