"""What the first screen about a run says: can it be shipped, its rate, its worst, what is to do."""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

from claimwise.app.figures import Wanted
from claimwise.app.gate_words import explain_block, explain_pass
from claimwise.calibration.basis import find_basis
from claimwise.calibration.headline import Headline
from claimwise.config import Project
from claimwise.gates.values import FAILED, PASSED
from claimwise.metrics import load_metrics
from claimwise.report.format import clean
from claimwise.run_report.summary import summarize_project
from claimwise.run_report.values import Summary
from claimwise.store import Store

Answer = Literal["yes", "no", "unknown"]


class ShipAnswer(NamedTuple):
    """Whether a run can be shipped, by the project's gates: in a word, and why."""

    answer: Answer
    sign: str
    title: str
    why: str


_SIGNS: Final[dict[Answer, str]] = {"yes": "✓", "no": "✗", "unknown": "?"}


def want_summary(
    project: Project, run_id: str, *, baseline: str | None = None, since: str | None = None
) -> Wanted:
    """Return how to measure the first screen about a run.

    Args:
        project: whose gates and metrics.
        run_id: the run.
        baseline: the run to compare with that someone chose.
        since: the run that it is compared with, chosen or not.
    """

    def measure(store: Store) -> Summary:
        # The screen names no judge's agreement, which would take longer than all the rest.
        return summarize_project(store, project, run_id, baseline=baseline, agreements={})

    others = (since,) if since else ()
    return Wanted(("summary", run_id, baseline), run_id, measure, others)


def want_headline(project: Project, run_id: str) -> Wanted:
    """Return how to measure the one rate of a run."""

    def measure(store: Store) -> Headline:
        metrics = load_metrics(project.metrics_folder, project.citations)
        return find_basis(store, metrics, run_id, project.settings).headline

    return Wanted(("headline", run_id), run_id, measure)


def answer_ship(summary: Summary) -> ShipAnswer:
    """Say whether the gates let a run pass, and which one does not."""
    if summary.gate_problem:
        return _answer(
            "unknown", "Can't tell: the gates could not be applied", summary.gate_problem
        )
    if summary.gates is None:
        return _answer(
            "unknown",
            "Can't tell: this project has no gate",
            "A gate says which rate is good enough to ship. Add one to claimwise.toml.",
        )
    gates = summary.gates
    if gates.exit_code == PASSED:
        return _answer("yes", "Ready to ship", explain_pass(gates))
    failed = gates.exit_code == FAILED
    title = "Not ready to ship" if failed else "Can't tell yet: a gate needs more evidence"
    return _answer("no" if failed else "unknown", title, explain_block(gates))


def _answer(answer: Answer, title: str, why: str) -> ShipAnswer:
    text = clean(why)
    return ShipAnswer(answer, _SIGNS[answer], title, text[:1].upper() + text[1:])
