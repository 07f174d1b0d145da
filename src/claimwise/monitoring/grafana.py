"""A Grafana dashboard over the figures of ``/metrics``."""

from __future__ import annotations

from typing import Any, NamedTuple

_SOURCE = {"type": "prometheus", "uid": "${datasource}"}
_OF_SYSTEM = 'system=~"$system"'
_WHOLE = 'system=~"$system",group=""'
_LAST = f"claimwise_last_day_timestamp_seconds{{{_OF_SYSTEM}}}"


class _Panel(NamedTuple):
    title: str
    about: str
    queries: tuple[tuple[str, str], ...]  # PromQL and legend
    unit: str = "percentunit"
    kind: str = "timeseries"
    wide: bool = False


_PANELS = (
    _Panel(
        "Open alarms",
        "Alarms that nobody has closed. `claimwise runbook ALARM` says what to do.",
        ((f"claimwise_alarm_open{{{_OF_SYSTEM}}} or claimwise_alarm_open{{system=\"\"}}",
          "{{signal}} {{system}} {{group}} {{alarm}}"),),
        unit="short",
        kind="stat",
        wide=True,
    ),
    _Panel(
        "Supported claims by week",
        "Corrected by people's labels where there are enough; the range is the 95% one.",
        (
            (f'claimwise_weekly_supported_share{{{_WHOLE}}}', "{{system}} ({{basis}})"),
            (f'claimwise_weekly_supported_share_low{{{_WHOLE}}}', "{{system}} low"),
            (f'claimwise_weekly_supported_share_high{{{_WHOLE}}}', "{{system}} high"),
        ),
        wide=True,
    ),
    _Panel(
        "Evidence of a change",
        "An alarm is raised at 1; while nothing changes that takes 20 years on average.",
        ((f"claimwise_alarm_evidence{{{_OF_SYSTEM}}}", "{{signal}} {{system}} {{group}}"),),
        unit="none",
    ),
    _Panel(
        "Supported claims by day",
        "“rate” is corrected by the day's labels; “judge_rate” is the judge alone.",
        ((f'claimwise_supported_share{{{_WHOLE}}}', "{{signal}} {{system}}"),),
    ),
    _Panel(
        "Unscored claims and refusals",
        "Rates speak for scored claims only.",
        (
            (f'claimwise_unscored_share{{{_WHOLE}}}', "unscored {{system}}"),
            (f'claimwise_refused_share{{{_WHOLE}}}', "refusals {{system}}"),
        ),
    ),
    _Panel(
        "Answers and labels by day",
        "No data is an alarm, not a zero.",
        (
            (f'claimwise_answers{{{_WHOLE}}}', "answers {{system}}"),
            (f'claimwise_labels{{{_WHOLE}}}', "labels {{system}}"),
        ),
        unit="short",
    ),
    _Panel(
        "Judge on the anchors",
        "How far the judge's rate on frozen claims has moved since they were frozen.",
        (('claimwise_judge_change', "{{group}}"),),
    ),
    _Panel(
        "Hours since the monitor read a day",
        "Above 49 hours the monitor itself is not running.",
        ((f"(time() - {_LAST}) / 3600", "{{system}}"),),
        unit="h",
    ),
)  # fmt: skip


def make_dashboard() -> dict[str, Any]:
    """Return the dashboard as Grafana imports it (schema version 39)."""
    return {
        "title": "claimwise",
        "uid": "claimwise-monitor",
        "schemaVersion": 39,
        "editable": True,
        "tags": ["claimwise"],
        "time": {"from": "now-90d", "to": "now"},
        "refresh": "5m",
        "templating": {"list": _list_variables()},
        "panels": list(_place_panels()),
    }


def _list_variables() -> list[dict[str, Any]]:
    return [
        {"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus"},
        {
            "name": "system",
            "label": "System",
            "type": "query",
            "datasource": _SOURCE,
            "query": "label_values(claimwise_answers, system)",
            "includeAll": True,
            "multi": True,
            "refresh": 2,
        },
    ]


def _place_panels() -> list[dict[str, Any]]:
    """Return the panels, two in a row where they are narrow."""
    placed, x, y = [], 0, 0
    for number, panel in enumerate(_PANELS, start=1):
        width = 24 if panel.wide else 12
        if x + width > 24:
            x, y = 0, y + 8
        targets = [
            {"datasource": _SOURCE, "expr": query, "legendFormat": legend, "refId": chr(65 + place)}
            for place, (query, legend) in enumerate(panel.queries)
        ]
        placed.append(
            {
                "id": number,
                "title": panel.title,
                "description": panel.about,
                "type": panel.kind,
                "datasource": _SOURCE,
                "gridPos": {"x": x, "y": y, "w": width, "h": 8},
                "fieldConfig": {"defaults": {"unit": panel.unit}, "overrides": []},
                "targets": targets,
            }
        )
        x += width
    return placed
