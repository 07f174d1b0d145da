"""``claimwise check``."""

from __future__ import annotations

from pathlib import Path

import click
from msgspec.structs import replace

from claimwise.cli.common import console, format_option, print_json
from claimwise.errors import make_printable
from claimwise.ingest.documents import check_stdin, read_action_log, read_sources, read_text
from claimwise.pipeline.check import check_answer
from claimwise.report.checking import Gate, decide_gate, print_checked, to_checked_document
from claimwise.types.checking import CheckRequest, CheckResult
from claimwise.verify.verifier import load_verifier

FAILED = 2
INCONCLUSIVE = 3

_FILE = click.Path(path_type=Path)


@click.command("check", short_help="Check one answer against its sources, claim by claim.")
@click.option("--answer", type=_FILE, required=True, metavar="FILE|-", help="The answer.")
@click.option(
    "--source",
    "sources",
    type=_FILE,
    multiple=True,
    metavar="FILE…",
    help="Text, a folder of texts, or .jsonl rows of sources.",
)
@click.argument("more", type=_FILE, nargs=-1, metavar="[SOURCE]…")
@click.option("--question", metavar="TEXT", help="What was asked.")
@click.option(
    "--actions", type=_FILE, metavar="FILE", help="What the system really did, one entry a line."
)
@click.option(
    "--verifier", default="auto", metavar="NAME", help="embedded, lexical, or auto: the best."
)
@click.option(
    "--fail-under",
    type=click.FloatRange(0, 1),
    metavar="RATE",
    help="Exit with 2 when fewer are supported, 3 when that can't be said.",
)
@format_option("text", "json")
@click.pass_context
def command(
    ctx: click.Context,
    answer: Path,
    sources: tuple[Path, ...],
    more: tuple[Path, ...],
    question: str | None,
    actions: Path | None,
    verifier: str,
    fail_under: float | None,
    form: str,
) -> None:
    """Split an answer into claims and judge each against the sources, offline.

    \b
    claimwise check --answer answer.txt --source policy.md
    claimwise check --answer answer.txt --source docs/*.md --question "How tall is it?"
    my-bot "How tall is it?" | claimwise check --answer - --source docs/

    Files that follow are sources too, so that docs/*.md works.
    Shows the answer with its claims marked; for each claim the verdict, how sure it is, why, and
    the span it rests on. Exits with 0 whatever the verdicts, unless --fail-under is given.
    """
    places = (*sources, *more)
    if not places and actions is None:
        raise click.UsageError("Missing option '--source': what should the answer rest on?")
    check_stdin([answer, *places, *([actions] if actions else [])])
    text = read_text(answer)
    documents, warnings = read_sources(places)
    request = CheckRequest(
        answer=text,
        sources=tuple(documents),
        question=question,
        actions=None if actions is None else tuple(read_action_log(actions)),
    )
    result = check_answer(request, load_verifier(verifier))
    result = replace(result, warnings=(*warnings, *result.warnings))
    gate = None if fail_under is None else decide_gate(result, fail_under)
    if form == "json":
        print_json(to_checked_document(result, documents, question=question, gate=gate))
    else:
        print_checked(result, console())
        for warning in result.warnings:
            click.echo(f"warning: {make_printable(warning)}", err=True)
    ctx.exit(_exit_code(result, gate))


def _exit_code(result: CheckResult, gate: Gate | None) -> int:
    if gate is None or gate.passed:
        return 0
    if gate.passed is False:
        click.echo(f"failed: the rate is under {gate.fail_under:g}", err=True)
        return FAILED
    why = "claims were not scored" if result.judged else "nothing was judged"
    click.echo(f"inconclusive: {why}", err=True)
    return INCONCLUSIVE
