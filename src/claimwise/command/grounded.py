"""What commands with a grounded judge share: its options, the judge, what it cost."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from claimwise.command.judge import (
    JudgeOptions,
    describe_cost,
    judge_options,
    refuse_with_served,
)
from claimwise.command.options import add_options
from claimwise.report.format import pluralize

if TYPE_CHECKING:
    from claimwise.judges.grounded import GroundedJudge
    from claimwise.llm.client import LlmClient

_NAMES = ("mode", "batch", "source_tokens", "missing_quote")
_OPTIONS = (
    click.option(
        "--mode",
        type=click.Choice(["claims", "single", "two-pass"]),
        help="Who splits the answer: claimwise (default), the model in the same call, or the model "
        "in a call of its own.",
    ),
    click.option(
        "--batch", type=click.IntRange(1), metavar="N", help="Claims per call (default: all)."
    ),
    click.option(
        "--source-tokens",
        type=click.IntRange(100),
        metavar="N",
        help="Send at most N tokens of sources, the best passages first (default: 60000).",
    ),
    click.option(
        "--missing-quote",
        type=click.Choice(["unscored", "downgrade"]),
        help="If no source contains the quote: give no verdict (default), or unlinked.",
    ),
)


def grounding_options(
    *, repeats: bool = True, batches: bool = False
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that adds a grounded judge's options, as ``judging`` and ``grounding``."""
    shared = judge_options(required=False, repeats=repeats, batches=batches)
    return lambda function: shared(_add_options(function))


def _add_options(function: Callable[..., None]) -> Callable[..., None]:
    @wraps(function)
    def gather(judging: JudgeOptions, **arguments: Any) -> None:
        grounding = {name: arguments.pop(name) for name in _NAMES}
        given = {name: value for name, value in grounding.items() if value is not None}
        if given and judging.judge is None:
            option = next(iter(given)).replace("_", "-")
            raise click.UsageError(f"--{option} needs a language model: name one with --judge")
        refuse_with_served(judging, given.keys() - {"source_tokens"})
        if judging.judge is not None and arguments.get("verifier") not in (None, "auto"):
            raise click.UsageError("--verifier and --judge exclude each other: choose one")
        if judging.repeats > 1 and given.get("mode") not in (None, "claims"):
            raise click.UsageError(
                "--repeats judges the same claims several times, but a model that splits the "
                "answer finds new ones each time: leave out --mode"
            )
        function(judging=judging, grounding=given, **arguments)

    for option in reversed(_OPTIONS):
        gather = option(gather)
    return gather


def make_judge(
    client: LlmClient, judging: JudgeOptions, grounding: dict[str, Any]
) -> GroundedJudge:
    """Return the judge that the options ask for: ours, or one with a prompt of its own."""
    from claimwise.judges.grounded import GroundedJudge, GroundedSettings

    if judging.served is not None:
        from claimwise.judges.judge import load_served_judge

        return load_served_judge(judging.served, client, **grounding)
    return GroundedJudge(client, GroundedSettings(**grounding), prompt=judging.prompt_place)


def describe_spent(client: LlmClient) -> str:
    """Say what a judge's calls came to."""
    tally = client.tally
    failed = sum(tally.failed.values())
    before = tally.replied - tally.sent
    parts = [
        f"{pluralize(tally.sent, 'request') if tally.sent else 'no request'} sent",
        f"{pluralize(before, 'reply')} from batches sent before" if before > 0 else "",
        f"{pluralize(tally.cached, 'reply')} from the cache" if tally.cached else "",
        f"{tally.retried:,} retried" if tally.retried else "",
        f"{pluralize(failed, 'call')} without a reply" if failed else "",
        f"{tally.input_tokens:,} tokens in, {tally.output_tokens:,} out" if tally.sent else "",
        describe_cost(tally.cost) if tally.sent or tally.cost else "",
    ]
    if tally.unsure_cost:
        parts.append(f"and at most US$ {tally.unsure_cost:,.4f} for requests without a bill")
    return ", ".join(part for part in parts if part)


def to_judge_document(client: LlmClient, judge: GroundedJudge) -> dict[str, Any]:
    """Return the judge and what it cost as plain values for JSON."""
    import msgspec

    return {
        "labeler": judge.labeler,
        "model": judge.model,
        "settings": judge.prompt_ver,
        **msgspec.to_builtins(client.tally),
    }


def settings_options(*names: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that adds some of a grounded judge's options, by their names."""
    return add_options(_OPTIONS, *names)
