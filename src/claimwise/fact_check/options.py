"""What commands with a closed-book judge share: the judge, trust in it, the queue for people."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from claimwise.command.judge import JudgeOptions
from claimwise.command.options import write_output
from claimwise.config import Project
from claimwise.errors import ClaimwiseError, make_printable
from claimwise.fact_check.probe import find_probe
from claimwise.fact_check.report import describe_probe
from claimwise.judges.closed_book import ClosedBookJudge
from claimwise.llm.prompts import load_prompt
from claimwise.types.closed_book import QueuedClaim
from claimwise.types.corpus import PeopleClaim
from claimwise.types.rows import ClosedBookLabel

if TYPE_CHECKING:
    from claimwise.llm.client import LlmClient


def make_closed_judge(client: LlmClient, judging: JudgeOptions) -> ClosedBookJudge:
    """Return the judge, with the prompt that the options name or the built-in one."""
    place = judging.prompt_place
    return ClosedBookJudge(client, prompt=load_prompt(place) if place else None)


def check_trust(project: Project, judge: ClosedBookJudge, *, untrusted_ok: bool) -> None:
    """Refuse a judge that failed its probe; say when nobody has probed it."""
    probe = find_probe(project.folder, judge.labeler)
    if probe is None:
        told = f"{judge.labeler} has not been tested on made-up facts: run `claimwise probe-judge`"
    elif probe.verdict == "trusted":
        return
    elif probe.verdict == "not_trusted" and not untrusted_ok:
        raise ClaimwiseError(
            f"{describe_probe(probe)}; nothing was sent: choose another judge or add --untrusted-ok"
        )
    else:
        told = describe_probe(probe)
    click.echo(f"warning: {make_printable(told)}", err=True)


def check_queue(queue: Path | None) -> None:
    """Refuse a queue in no folder before anything is paid for."""
    if queue is not None and not queue.parent.is_dir():
        raise click.BadParameter(f"no such folder: {queue.parent}", param_hint="--queue")


def write_queue(claims: Iterable[str | QueuedClaim | PeopleClaim], queue: Path) -> None:
    """Write claims as lines of ``closed_book_labels``: people fill in what is null.

    What was said of them is left out, so that it sways nobody.
    """
    lines = []
    for claim in claims:
        known = {"claim_text": claim} if isinstance(claim, str) else msgspec.structs.asdict(claim)
        row = {name: known.get(name) for name in ClosedBookLabel.__struct_fields__}
        lines.append(json.dumps(row, ensure_ascii=False))
    write_output("\n".join(lines), queue)
