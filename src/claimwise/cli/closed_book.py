"""What commands with a closed-book judge share: whether it is trusted, and the queue for people."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import click
import msgspec

from claimwise.cli.common import write_output
from claimwise.config import Project
from claimwise.errors import ClaimwiseError, make_printable
from claimwise.pipeline.probe import find_probe
from claimwise.report.factchecking import describe_probe
from claimwise.types.factchecking import QueuedClaim
from claimwise.types.rows import ClosedBookLabel
from claimwise.verify.closed_book import ClosedBookJudge


def check_trust(project: Project, judge: ClosedBookJudge, *, untrusted_ok: bool) -> None:
    """Refuse a judge that failed its probe; say when nobody has probed it."""
    probe = find_probe(project.folder, judge.labeler)
    if probe is None:
        told = f"{judge.labeler} has not been probed: see `claimwise probe-judge`"
    elif probe.verdict == "trusted":
        return
    elif probe.verdict == "not_trusted" and not untrusted_ok:
        raise ClaimwiseError(
            f"{describe_probe(probe)}; nothing was sent: choose another judge, or --untrusted-ok"
        )
    else:
        told = describe_probe(probe)
    click.echo(f"warning: {make_printable(told)}", err=True)


def write_queue(claims: Iterable[str | QueuedClaim], queue: Path) -> None:
    """Write claims as lines of ``closed_book_labels``: people fill in what is null.

    What was said of them is left out, so that it sways nobody.
    """
    lines = []
    for claim in claims:
        known = {"claim_text": claim} if isinstance(claim, str) else msgspec.structs.asdict(claim)
        row = {name: known.get(name) for name in ClosedBookLabel.__struct_fields__}
        lines.append(json.dumps(row, ensure_ascii=False))
    write_output("\n".join(lines), queue)
