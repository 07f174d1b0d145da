"""What measuring files came to, as values: what was read, each run, and how it stands."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from typing import Any

from msgspec import to_builtins

from claimwise.calibration.headline import Headline
from claimwise.claims.values import UNSCORED, ClaimRow
from claimwise.report.format import clean
from claimwise.run_report.summary_text import format_summary
from claimwise.run_report.values import Summary


@dataclass(frozen=True, kw_only=True, slots=True)
class InputSummary:
    """What was read from files: how, how much, and what was left out."""

    reader: str
    recognised: tuple[str, ...]  # “read as ragas: question ← user_input”
    answers: int
    dropped: dict[str, int]
    unread: tuple[str, ...]  # rows that can't be read, with reasons
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class RunMeasure:
    """One run of a measured file, and how it stands."""

    run_id: str
    system: str
    answers: int
    without_contexts: int
    claims: int
    by: tuple[str, ...]  # the columns that make groups
    summary: Summary
    worst_claims: tuple[ClaimRow, ...] = ()

    @property
    def headline(self) -> Headline:
        """The run's rate, with range and basis."""
        return self.summary.headline

    def to_document(self) -> dict[str, Any]:
        """Return the run as plain values for JSON; scripts rely on these keys."""
        headline = to_builtins(self.headline)
        first = ("rate", "low", "high", "basis", "unscored")
        return {
            "run_id": self.run_id,
            "system": self.system,
            "answers": self.answers,
            "answers_without_contexts": self.without_contexts,
            "failed_answers": self.summary.failed_answers,
            "claims": self.claims,
            "headline": {name: headline[name] for name in first} | headline,
            "worst_claims": [claim.to_dict() for claim in self.worst_claims],
        }


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """What :func:`claimwise.measure` returns: the first run's rate and claims, and all runs.

    Files with the answers of several systems make one run for each: see ``runs``.
    """

    reading: InputSummary
    runs: tuple[RunMeasure, ...]
    store: str | None  # where everything is kept; None: nowhere
    _claims: dict[str, list[ClaimRow]] = field(default_factory=dict, repr=False)

    @property
    def run_id(self) -> str:
        """The id of the first run."""
        return self.runs[0].run_id

    @property
    def headline(self) -> Headline:
        """The first run's rate of supported claims, with its range and what it rests on."""
        return self.runs[0].headline

    @property
    def lowest(self) -> RunMeasure:
        """The run with the lowest rate; the first of several that are equal."""
        return min(
            self.runs, key=lambda run: 1.0 if run.headline.rate is None else run.headline.rate
        )

    def claims(self, *verdicts: str, run_id: str | None = None) -> list[ClaimRow]:
        """Return a run's claims, worst first: all, or those with some verdicts.

        >>> claimwise.measure("answers.jsonl").claims("contradicted", "unlinked")
        """
        found = self._claims[run_id or self.run_id]
        return [one for one in found if not verdicts or (one.verdict or UNSCORED) in verdicts]

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return one dictionary per claim of all runs, as tables take them."""
        return [one.to_dict() for rows in self._claims.values() for one in rows]

    def to_document(self) -> dict[str, Any]:
        """Return everything as plain values for JSON, the first run's at the top."""
        runs = [run.to_document() for run in self.runs]
        return {
            **runs[0],
            "reader": self.reading.reader,
            "recognised": list(self.reading.recognised),
            "dropped": self.reading.dropped,
            "unread": list(self.reading.unread),
            "warnings": list(self.reading.warnings),
            "store": self.store,
            "runs": runs,
        }

    def __str__(self) -> str:
        return "\n\n".join(format_summary(run.summary) for run in self.runs)

    def _repr_html_(self) -> str:
        """Return the summary and the worst claims, for notebooks."""
        parts = [f"<pre>{escape(str(self))}</pre>"]
        for run in self.runs:
            rows = "".join(
                f"<tr><td>{escape(one.verdict or UNSCORED)}</td>"
                f"<td>{escape(clean(one.claim_text))}</td>"
                f"<td>{escape(clean(one.evidence or one.reason))}</td></tr>"
                for one in run.worst_claims
            )
            head = "<tr><th>verdict</th><th>claim</th><th>evidence or reason</th></tr>"
            parts.append(f"<table>{head}{rows}</table>" if rows else "")
        return "".join(parts)
