"""The pytest plugin: gates and answers as tests.

pytest loads it in every project that has claimwise installed, so nothing but pytest is imported
before a test asks for it.

    from claimwise.pytest_plugin import assert_faithful

    def test_height():
        assert_faithful(bot("How tall is it?"), Path("tower.md"))

    def test_gate(claimwise_gate):
        claimwise_gate("faithfulness")

``pytest --claimwise`` adds a test for every gate of ``claimwise.toml``.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from claimwise.checking.check import Actions, Sources
    from claimwise.config import Project
    from claimwise.gates.values import GateReport
    from claimwise.judges.judge import Verifier
    from claimwise.types.verdicts import CheckResult, ClaimVerdict

MARK = "claimwise"
_UNDECIDED = "claimwise_inconclusive"
_WAYS = ("skip", "xfail", "warn")
_WIDTH = 100

_RUNNERS: pytest.StashKey[dict[Path, GateRunner]] = pytest.StashKey()


class InconclusiveGateWarning(UserWarning):
    """A gate that only warns could not be decided."""


class GateFailed(AssertionError):
    """A gate failed, or could not be decided and may not pass by that."""


# Answers.


def assert_faithful(
    answer: str,
    sources: Sources,
    *,
    min_rate: float = 1.0,
    question: str | None = None,
    actions: Actions | None = None,
    verifier: str | Verifier = "auto",
    judge: str | None = None,
) -> CheckResult:
    """Assert that the sources support an answer, claim by claim.

    Args:
        answer: the answer.
        sources: a text, several, texts by id, or paths of files to read.
        min_rate: the least share of supported claims. A claim that could not be judged counts as
            not supported here, and an answer without a claim has no rate: both fail, with why.
        question: what was asked.
        actions: the log of what the system did; None when nobody kept one.
        verifier: "embedded", "lexical", "auto" for the best at hand, or a verifier.
        judge: a language model, as ``provider:model``, in place of the verifier.

    Returns:
        The claims with their verdicts.

    Raises:
        AssertionError: too few claims are supported, or that can't be told; shows the claims.
    """
    __tracebackhide__ = True
    if not 0 <= min_rate <= 1:
        raise ValueError(f"min_rate must be between 0 and 1, not {min_rate}")
    from claimwise.checking.check import check
    from claimwise.checking.report import check_rate

    result = check(
        answer, sources, question=question, actions=actions, verifier=verifier, judge=judge
    )
    if check_rate(result, min_rate).passed is not True:
        raise AssertionError("\n".join(_explain(result, min_rate)))
    return result


def _explain(result: CheckResult, min_rate: float) -> Iterator[str]:
    """Yield the lines of a failure, in the manner of a diff.

    ``-`` is what the answer says, ``+`` what the source says instead, ``?`` why.
    """
    from claimwise.checking.report import describe_result
    from claimwise.report.format import show_exact_percent, show_percent

    limit = show_exact_percent(min_rate)
    if result.rate is None:
        why = "no claim could be judged" if result.unscored else "the answer makes no claim"
        yield f"{why}: there is no rate to compare with {limit}"
    elif result.rate < min_rate:
        found = f"{result.supported} of {result.judged} claims are supported"
        yield f"{found}: {show_percent(result.rate)} is under {limit}"
    else:
        what = "1 claim was" if result.unscored == 1 else f"{result.unscored} claims were"
        yield f"{what} not scored: the rate may be under {limit}"
    for judged in result.claims:
        if judged.verdict is not None or judged.unscored is not None:
            yield from _explain_claim(judged)
    yield describe_result(result)
    yield from (f"warning: {_one_line(warning)}" for warning in result.warnings)


def _explain_claim(judged: ClaimVerdict) -> Iterator[str]:
    from claimwise.report.format import show_percent

    text = _one_line(judged.claim.wording)
    if judged.verdict == "supported":
        yield f"    {text}"
        return
    yield f"  - {text}"
    if judged.span is not None:
        place = f"{judged.span.source_id}:{judged.span.start}–{judged.span.end}"
        yield f"  + {_one_line(judged.span.text)}  [{_one_line(place)}]"
    word = judged.verdict or f"not scored ({judged.unscored})"
    sure = "" if judged.confidence is None else f" (confidence {show_percent(judged.confidence)})"
    yield f"  ? {word}{sure}" + (f": {_one_line(judged.reason)}" if judged.reason else "")


def _one_line(text: str) -> str:
    from claimwise.errors import make_printable

    return make_printable(" ".join(text.split()))


# Gates.


class GateRunner:
    """Decides gates of a project; a test calls it with a gate's name, or with none for all."""

    def __init__(self, project: Project, run_id: str | None, place: str | None, way: str) -> None:
        self._project = project
        self._run_id = run_id
        self._place = place
        self._way = way
        self._decide = cache(self._run)

    def __call__(self, name: str | None = None) -> GateReport:
        """Assert that a gate passes.

        An inconclusive gate fails, unless it says ``on_inconclusive = "warn"``: then the test is
        skipped (or what the ini-file's ``claimwise_inconclusive`` says), and never just passes.
        One half of the abstention pair brings the other.

        Raises:
            GateFailed: it failed, or was inconclusive.
        """
        __tracebackhide__ = True
        report = self._decide(name)
        if report.exit_code:
            raise GateFailed(_show_gates(report))
        if report.outcome == "inconclusive":
            self._leave_open(_show_gates(report))
        return report

    def _run(self, name: str | None) -> GateReport:
        from claimwise.gates.command import keep_or_warn
        from claimwise.gates.run import run_gates
        from claimwise.store import open_store

        place = self._place or os.environ.get("CLAIMWISE_STORE") or self._project.store_place
        with open_store(place) as store:
            names = () if name is None else (name,)
            report = run_gates(store, self._project, self._run_id, names)
            keep_or_warn(store, self._project, report)
            return report

    def _leave_open(self, text: str) -> None:
        if self._way == "warn":
            warnings.warn(text, InconclusiveGateWarning, stacklevel=3)
        elif self._way == "xfail":
            pytest.xfail(text)
        else:
            pytest.skip(text)


def _show_gates(report: GateReport) -> str:
    from io import StringIO

    from rich.console import Console

    from claimwise.gates.report import print_gates

    out = StringIO()
    print_gates(report, Console(file=out, width=_WIDTH, no_color=True, highlight=False))
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines())


class GateFile(pytest.File):
    """The settings of a project, as the place of its gates."""

    def collect(self) -> Iterator[GateItem]:
        """Yield a test for every gate.

        Raises:
            UsageError: the settings are wrong, or hold no gate.
        """
        from claimwise.errors import ClaimwiseError
        from claimwise.gates.settings import read_gates

        try:
            runner = make_runner(self.config, self.path.parent)
            gates = read_gates(runner._project)
        except ClaimwiseError as error:
            raise pytest.UsageError(str(error)) from error
        if not gates:
            raise pytest.UsageError(f"{self.path}: there are no [[gates]] for --claimwise to run")
        for gate in gates:
            yield GateItem.from_parent(self, name=gate.name, runner=runner)


class GateItem(pytest.Item):
    """One gate as a test."""

    def __init__(self, *, runner: GateRunner, **rest: Any) -> None:
        super().__init__(**rest)
        self._runner = runner
        self.add_marker(MARK)

    def runtest(self) -> None:
        """Decide the gate."""
        self._runner(self.name)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Show what became of the gate, without a traceback."""
        from claimwise.errors import ClaimwiseError

        if isinstance(excinfo.value, GateFailed):
            return str(excinfo.value)
        if isinstance(excinfo.value, ClaimwiseError):
            return f"the gate could not be decided: {excinfo.value}"
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, None, str]:
        """Return where the test is."""
        return self.path, None, f"gate {self.name}"


def choose_project(config: pytest.Config, *starts: Path) -> Project:
    """Return the project of the first folder that has one at or above it, else the root's.

    Raises:
        ConfigError: its settings are wrong.
    """
    from claimwise.config import FILE_NAME, find_project

    for start in starts:
        project = find_project(start)
        if (project.folder / FILE_NAME).is_file():
            return project
    return find_project(config.rootpath)


def make_runner(config: pytest.Config, start: Path) -> GateRunner:
    """Return the runner for the project of a folder, the same one for all tests of a project.

    Raises:
        ConfigError: its settings are wrong.
    """
    way = config.getini(_UNDECIDED)
    if way not in _WAYS:
        raise pytest.UsageError(f"{_UNDECIDED} must be one of {', '.join(_WAYS)}, not {way!r}")
    project = choose_project(config, start)
    runners = config.stash.setdefault(_RUNNERS, {})
    if project.folder not in runners:
        run, store = config.getoption("--claimwise-run"), config.getoption("--claimwise-store")
        runners[project.folder] = GateRunner(project, run, store, way)
    return runners[project.folder]


@pytest.fixture(scope="module")
def claimwise_gate(request: pytest.FixtureRequest) -> GateRunner:
    """Assert that a gate of the nearest claimwise.toml passes: ``claimwise_gate("name")``."""
    return make_runner(request.config, request.path.parent)


# Hooks.


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("claimwise")
    group.addoption(
        "--claimwise", action="store_true", help="Also run every gate of claimwise.toml as a test."
    )
    group.addoption("--claimwise-run", metavar="RUN", help="The run to gate; else the latest.")
    group.addoption(
        "--claimwise-store", metavar="PATH|URL", help="The store; else what claimwise.toml says."
    )
    parser.addini(
        _UNDECIDED, "An undecided gate that only warns: skip, xfail or warn.", default="skip"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the mark of gates: ``pytest --claimwise -m claimwise`` runs nothing else."""
    config.addinivalue_line("markers", f"{MARK}: a gate of claimwise.toml (with --claimwise)")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(
    session: pytest.Session, config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Add the gates, wherever the tests are; first, so that -k and -m choose among them too."""
    if config.getoption("--claimwise"):
        from claimwise.config import FILE_NAME
        from claimwise.errors import ClaimwiseError

        try:
            folder = choose_project(config, config.rootpath, config.invocation_params.dir).folder
        except ClaimwiseError as error:
            raise pytest.UsageError(str(error)) from error
        items.extend(GateFile.from_parent(session, path=folder / FILE_NAME).collect())
