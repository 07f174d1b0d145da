"""Runs metric files and puts intervals on them. Never sees a model."""

from claimwise.metrics.catalogue import Metric, find_metric, load_metrics
from claimwise.metrics.counting import narrow_labels
from claimwise.metrics.estimate import check_settings, estimate_metric, refuse_unknown_run

__all__ = [
    "Metric",
    "check_settings",
    "estimate_metric",
    "find_metric",
    "load_metrics",
    "narrow_labels",
    "refuse_unknown_run",
]
