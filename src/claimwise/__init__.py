"""claimwise measures hallucination claim by claim.

The front door. Names are loaded on first use, so importing the package costs next to nothing.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from claimwise.checking.check import check
    from claimwise.claims.frame import claims_frame
    from claimwise.errors import ClaimwiseError, InputError, MetricError, StoreError
    from claimwise.fact_check.answer import factcheck
    from claimwise.judges.judge import load_verifier
    from claimwise.measuring.measure import measure
    from claimwise.measuring.values import Measurement
    from claimwise.metrics import Metric, estimate_metric, find_metric, load_metrics
    from claimwise.run_report import build_report
    from claimwise.run_report.values import Report
    from claimwise.store import Store, open_store
    from claimwise.transfer import export_arrow, export_store, import_arrow, import_files
    from claimwise.types.closed_book import FactCheckResult
    from claimwise.types.results import Estimate, MetricTable, Settings
    from claimwise.types.verdicts import CheckResult

if sys.version_info < (3, 11):  # noqa: UP036 - a checkout may be run by an older one
    raise ImportError(
        "claimwise needs Python 3.11 or newer, and this is Python {}.{}: "
        "create a virtual environment with a newer one".format(*sys.version_info[:2])
    )

_HOMES = {
    "CheckResult": "types.verdicts",
    "ClaimwiseError": "errors",
    "Estimate": "types.results",
    "FactCheckResult": "types.closed_book",
    "InputError": "errors",
    "Measurement": "measuring.values",
    "Metric": "metrics",
    "MetricError": "errors",
    "MetricTable": "types.results",
    "Report": "run_report.values",
    "Settings": "types.results",
    "Store": "store",
    "StoreError": "errors",
    "build_report": "run_report",
    "check": "checking.check",
    "claims_frame": "claims.frame",
    "estimate_metric": "metrics",
    "export_arrow": "transfer",
    "export_store": "transfer",
    "factcheck": "fact_check.answer",
    "find_metric": "metrics",
    "import_arrow": "transfer",
    "import_files": "transfer",
    "load_metrics": "metrics",
    "load_verifier": "judges.judge",
    "measure": "measuring.measure",
    "open_store": "store",
}

__all__ = [
    "CheckResult",
    "ClaimwiseError",
    "Estimate",
    "FactCheckResult",
    "InputError",
    "Measurement",
    "Metric",
    "MetricError",
    "MetricTable",
    "Report",
    "Settings",
    "Store",
    "StoreError",
    "build_report",
    "check",
    "claims_frame",
    "estimate_metric",
    "export_arrow",
    "export_store",
    "factcheck",
    "find_metric",
    "import_arrow",
    "import_files",
    "load_metrics",
    "load_verifier",
    "measure",
    "open_store",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'claimwise' has no attribute {name!r}")
    return getattr(import_module(f"claimwise.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
