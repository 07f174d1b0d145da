"""Runs metric files and puts intervals on them. Never sees a model."""

from claimwise.measure.catalogue import Metric, find_metric, load_metrics
from claimwise.measure.counting import narrow_labels
from claimwise.measure.estimate import check_run, check_settings, estimate_metric

__all__ = [
    "Metric",
    "check_run",
    "check_settings",
    "estimate_metric",
    "find_metric",
    "load_metrics",
    "narrow_labels",
]
