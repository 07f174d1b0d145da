"""``claimwise judges``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from claimwise.command.grounded import describe_spent, make_judge, settings_options
from claimwise.command.judge import (
    CallPlan,
    JudgeOptions,
    check_replied,
    open_judge_client,
    plan_calls,
    print_call_plan,
    sending_options,
)
from claimwise.command.options import (
    cluster_option,
    current_project,
    format_option,
    open_project_store,
    print_json,
    store_option,
    warn_of_shared,
)
from claimwise.command.progress import show_progress
from claimwise.errors import make_printable
from claimwise.types.progress import JudgeProgress

if TYPE_CHECKING:
    from claimwise.judge_comparison.judge import Contestant, JudgedCases
    from claimwise.judge_comparison.values import Case, LabelledCases, ProbeName
    from claimwise.judges.judge import JudgeName
    from claimwise.llm.client import LlmClient

BASELINE = "overlap"
_LABELS = "labels"
_PROBES = ("repeat", "order", "length", "template", "wording")
_SENT = ("fresh", "dry_run", "max_cost", "timeout", "concurrency", "allow_host")
_GROUNDING = ("batch", "source_tokens", "missing_quote")


@click.group("judges", short_help="Compare judges on the same labelled claims.")
def command() -> None:
    """Compare judges on the same labelled claims."""


@command.command(
    "compare", short_help="Show which judge is better, and which differences are real."
)
@click.argument("names", metavar="JUDGE...", nargs=-1, required=True)
@click.option(
    "--on",
    metavar="labels|FOLDER",
    required=True,
    help="Claims to compare on: those that people labelled in the store, or a folder of labelled "
    "sets, as bench-verifier reads it.",
)
@click.option(
    "--run",
    "runs",
    metavar="RUN",
    multiple=True,
    help="With --on labels: use labels of this run (default: all runs); may be repeated.",
)
@click.option(
    "--set",
    "sets",
    metavar="NAME",
    multiple=True,
    help="With --on FOLDER: only this data set; may be repeated.",
)
@click.option(
    "--limit",
    metavar="N",
    type=click.IntRange(1),
    help="Use about N claims (of each set): whole groups, drawn at random with a fixed seed.",
)
@click.option(
    "--probe",
    "probes",
    type=click.Choice(["all", "none", *_PROBES]),
    multiple=True,
    default=("all",),
    show_default=True,
    help="Bias probe to run; may be repeated. Each asks about --probe-claims claims again.",
)
@click.option(
    "--probe-claims",
    metavar="N",
    type=click.IntRange(1),
    default=200,
    show_default=True,
    help="Use about N claims for the probes.",
)
@click.option(
    "--prompt", metavar="NAME|FILE", help="Prompt of language models, instead of the built-in one."
)
@click.option(
    "--price",
    "prices",
    metavar="[JUDGE=]IN,OUT",
    multiple=True,
    help="US$ per million tokens in and out, such as openai:gpt-4o=2.5,10; may be repeated.",
)
@sending_options(*_SENT)
@settings_options(*_GROUNDING)
@cluster_option
@store_option
@format_option("text", "json")
def compare(
    names: tuple[str, ...],
    on: str,
    runs: tuple[str, ...],
    sets: tuple[str, ...],
    limit: int | None,
    probes: tuple[str, ...],
    probe_claims: int,
    prompt: str | None,
    prices: tuple[str, ...],
    cluster: str | None,
    store: str | None,
    form: str,
    **options: Any,
) -> None:
    """Compare judges on the same claims: agreement with people, cost, speed and bias.

    \b
    claimwise judges compare embedded lexical --on labels
    claimwise judges compare embedded openai:gpt-4o --on FOLDER --limit 400 --dry-run

    JUDGE is a built-in judge, a plug-in or PROVIDER:MODEL. Word overlap is
    always included, as the baseline. Only replies are stored, so no rate changes.

    \b
    Need people's labels:  balanced accuracy, AUC, kappa, precision and recall,
                           and which judge is better
    Need no labels:        unscored share, tokens, price, speed, bias probes

    Each probe changes the request in a way that should not change the verdict, and counts how often
    it does: asking again (repeat), sources in reverse order (order), a padded answer (length), an
    older version of the prompt (template), claims in the judge's own words (wording).

    A difference is called real if it remains after correcting for all tests that were made
    (Benjamini-Hochberg, 5%). docs/choosing-a-judge.md explains the figures.
    """
    _check_names(names, prices)
    asked = _Asked(
        names=names if BASELINE in names else (*names, BASELINE),
        named=names,
        probes=_choose_probes(probes),
        prompt=prompt,
        prices=prices,
        store=store,
        grounding={name: options[name] for name in _GROUNDING if options[name] is not None},
        sending={name: options[name] for name in _SENT},
    )
    labelled = _read_cases(on, runs, sets, limit, cluster, store)
    probed = _draw_cases(labelled, probe_claims) if asked.probes else []
    if options["dry_run"]:
        print_call_plan(asked.plan(labelled, probed), form)
        return
    judged = [asked.judge(name, labelled, probed) for name in asked.names]
    _print(labelled, judged, form)


def _print(labelled: LabelledCases, judged: Sequence[JudgedCases], form: str) -> None:
    from claimwise.judge_comparison.figures import compare_judges
    from claimwise.judge_comparison.report import print_judge_comparison, to_document

    found = compare_judges(labelled, judged)
    if form == "json":
        print_json(to_document(found))
    else:
        print_judge_comparison(found)


def _check_names(names: Sequence[str], prices: Sequence[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise click.UsageError(f"{name} is named twice")
    for priced in _read_prices(prices):
        if priced and priced not in names:
            raise click.UsageError(
                f"--price names {priced}, which is not compared: {', '.join(names)}"
            )


def _choose_probes(given: Sequence[str]) -> tuple[ProbeName, ...]:
    from claimwise.judge_comparison.values import PROBES

    if "none" in given:
        if len(given) > 1:
            raise click.UsageError("--probe none excludes other probes")
        return ()
    return tuple(probe for probe in PROBES if "all" in given or probe in given)


def _read_cases(
    on: str,
    runs: tuple[str, ...],
    sets: tuple[str, ...],
    limit: int | None,
    cluster: str | None,
    store: str | None,
) -> LabelledCases:
    from claimwise.judge_comparison.cases import read_folder_cases, read_store_cases

    if on != _LABELS:
        if runs:
            raise click.UsageError("--run needs --on labels: a folder has no runs")
        return read_folder_cases(Path(on), sets, limit, cluster)
    if sets:
        raise click.UsageError("--set needs --on FOLDER: a store has no sets")
    project = current_project()
    settled = cluster or project.settings.cluster
    with open_project_store(project, store) as opened:
        found = read_store_cases(opened, runs, limit, settled)
        warn_of_shared(opened, sorted({claim.run_id for claim in found.claims}), settled)
    return found


def _draw_cases(labelled: LabelledCases, limit: int) -> list[Case]:
    """Return cases of whole groups that hold about so many labelled claims."""
    from claimwise.bench.measure import draw_groups

    groups = labelled.groups
    taken = draw_groups("probes", groups, limit)
    return [
        case
        for case in labelled.cases
        if any(row is not None and groups[row] in taken for row in case.rows)
    ]


@dataclass(slots=True)
class _Asked:
    """What the command line asks for, and what is spent so far."""

    names: tuple[str, ...]
    named: tuple[str, ...]
    probes: tuple[ProbeName, ...]
    prompt: str | None
    prices: tuple[str, ...]
    store: str | None
    grounding: dict[str, Any]
    sending: dict[str, Any]
    spent: float = 0.0

    def judge(self, name: str, labelled: LabelledCases, probed: Sequence[Case]) -> JudgedCases:
        """Ask one judge about everything."""
        from claimwise.judge_comparison.judge import judge_all

        probes = self.probes if name in self.named else ()
        total = len(labelled.claims) + len(probes) * sum(
            row is not None for case in probed for row in case.rows
        )
        with self._open(name) as (contestant, client), show_progress("claims", client) as watch:
            done = unscored = 0

            def count(claims: int, without: int) -> None:
                nonlocal done, unscored
                done, unscored = done + claims, unscored + without
                watch(JudgeProgress(total=max(total, done), done=done, unscored=unscored))

            found = judge_all(contestant, labelled, probed, probes, count)
            if client is not None:
                self._settle(name, client)
        return found

    def plan(self, labelled: LabelledCases, probed: Sequence[Case]) -> CallPlan:
        """Count what all judges would be asked."""
        from claimwise.judge_comparison.judge import plan_contestant

        plans = []
        for name in self.names:
            with self._open(name) as (contestant, client):
                if client is not None:
                    calls = plan_contestant(contestant, labelled, probed, self.probes)
                    plans.append(plan_calls(calls, client))
        costs = [plan.cost for plan in plans if plan.cost is not None]
        return CallPlan(
            calls=sum(plan.calls for plan in plans),
            cached=sum(plan.cached for plan in plans),
            input_tokens=sum(plan.input_tokens for plan in plans),
            output_tokens=sum(plan.output_tokens for plan in plans),
            cost=sum(costs) if len(costs) == len(plans) else None,
        )

    def _settle(self, name: str, client: LlmClient) -> None:
        check_replied(client.tally)
        self.spent += (client.tally.cost or 0.0) + (client.tally.unsure_cost or 0.0)
        click.echo(make_printable(f"{name}: {describe_spent(client)}"), err=True)

    @contextmanager
    def _open(self, name: str) -> Iterator[tuple[Contestant, LlmClient | None]]:
        from claimwise.judge_comparison.asking import Meter
        from claimwise.judge_comparison.judge import Contestant
        from claimwise.judges.judge import load_verifier, read_judge_name

        named = read_judge_name(name)
        if named.offline is not None:
            verifier = load_verifier(name)
            yield Contestant(name=name, verifier=verifier, baseline=name == BASELINE), None
            return
        judging = self._make_options(name, named)
        with open_judge_client(judging, current_project(), self.store) as client:
            meter = Meter(client)
            judge = make_judge(cast("LlmClient", meter), judging, self.grounding)
            yield (
                Contestant(
                    name=name, verifier=judge, meter=meter, price=client.price,
                    threads=client.concurrency,
                ),
                client,
            )  # fmt: skip

    def _make_options(self, name: str, named: JudgeName) -> JudgeOptions:
        """Return the options of one language model; all share the budget."""
        ceiling = self.sending["max_cost"]
        prices = _read_prices(self.prices)
        left = None if ceiling is None else max(ceiling - self.spent, 1e-9)
        return JudgeOptions(
            judge=named.model,
            served=named.served,
            prompt=self.prompt,
            repeats=1,
            price=prices.get(name, prices.get("")),
            **{**self.sending, "max_cost": left},
        )


def _read_prices(prices: Sequence[str]) -> dict[str, str]:
    """Return prices by the judge that they are for; the one for all has an empty name."""
    return dict(price.rpartition("=")[::2] for price in prices)
