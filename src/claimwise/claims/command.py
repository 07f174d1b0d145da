"""``claimwise claims``."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Final

import click

from claimwise.claims.queries import choose_judgement, count_claims, list_claims
from claimwise.claims.report import (
    ClaimList,
    print_claims,
    render_claims_html,
    to_claims_document,
    write_claims_csv,
)
from claimwise.claims.values import VERDICT_NAMES
from claimwise.command.options import (
    console,
    current_project,
    format_option,
    open_project_store,
    print_json,
    read_columns,
    resolve_run,
    store_option,
    write_output,
)
from claimwise.types.rows import Judgement

_SHOWN: Final = 20  # claims on a terminal, if nobody says how many


@click.command("claims", short_help="List the claims behind the numbers, worst first.")
@click.option("--run", "run_id", metavar="RUN", help="The run (default: the latest).")
@click.option(
    "--verdict",
    "verdicts",
    metavar="A,B",
    help=f"Only claims with these verdicts: {', '.join(VERDICT_NAMES)}.",
)
@click.option(
    "--by",
    metavar="A,B=X",
    help="Columns to group by (domain), or to filter by (domain=billing).",
)
@click.option("--search", metavar="TEXT", help="Only claims that mention this text.")
@click.option(
    "--disputed",
    is_flag=True,
    help="Only claims on which people differ, or a judge differs from people.",
)
@click.option("--closed-book", is_flag=True, help="Use labels given without sources.")
@click.option(
    "--labels",
    metavar="WHICH",
    default="default",
    help="Labels to count: default, human, verifier or labeler:NAME.",
)
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    metavar="N",
    help=f"At most N claims (default: {_SHOWN} as text, otherwise all).",
)
@click.option(
    "--output",
    "-o",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write to this file instead of the terminal.",
)
@store_option
@format_option("text", "json", "csv", "html")
def command(
    run_id: str | None,
    verdicts: str | None,
    by: str | None,
    search: str | None,
    disputed: bool,
    closed_book: bool,
    labels: str,
    limit: int | None,
    output: Path | None,
    store: str | None,
    form: str,
) -> None:
    """List a run's claims, worst first, each with its verdict, evidence and reason.

    Contradicted claims come first, then overreach, unlinked and stale ones, then claims without a
    verdict, then supported ones. Within a verdict, people's labels come first, then the more
    confident judgement.

    \b
    claimwise claims --verdict contradicted,unlinked --by domain
    claimwise claims --by domain=billing --search refund --format html -o claims.html
    """
    groups, where = _read_by(by)
    if limit is None and form == "text":
        limit = _SHOWN
    with open_project_store(current_project(), store) as opened, opened.snapshot():
        chosen = resolve_run(opened, run_id)
        judgement: Judgement = "closed_book" if closed_book else choose_judgement(opened, chosen)
        rows = list_claims(
            opened,
            chosen,
            verdicts=read_columns(verdicts, ()),
            by=groups,
            where=where,
            disputed=disputed,
            search=search,
            judgement=judgement,
            labels=labels,
            limit=None if limit is None else limit + 1,
        )
        counts = count_claims(opened, chosen, judgement=judgement, labels=labels)
    listed = ClaimList(
        run_id=chosen,
        judgement=judgement,
        counts=counts,
        claims=rows[:limit],
        by=groups,
        more=limit is not None and len(rows) > limit,
    )
    if output is None and form in ("text", "json"):
        _PRINTERS[form](listed)
    else:
        write_output(_RENDERERS[form](listed), output)


def _read_by(by: str | None) -> tuple[tuple[str, ...], dict[str, str | None]]:
    """Return the columns to group by, and the values to filter by; ``domain=`` is no value."""
    groups: list[str] = []
    where: dict[str, str | None] = {}
    for part in read_columns(by, ()):
        name, sign, value = part.partition("=")
        if sign:
            where[name.strip()] = value.strip() or None
        else:
            groups.append(name)
    return tuple(groups), where


def _render_text(listed: ClaimList) -> str:
    recorder = console()
    with recorder.capture() as captured:
        print_claims(listed, recorder)
    return captured.get()


_PRINTERS: dict[str, Callable[[ClaimList], None]] = {
    "text": lambda listed: print_claims(listed, console()),
    "json": lambda listed: print_json(to_claims_document(listed)),
}
_RENDERERS: dict[str, Callable[[ClaimList], str]] = {
    "text": _render_text,
    "json": lambda listed: json.dumps(to_claims_document(listed), ensure_ascii=False, indent=2),
    "csv": lambda listed: write_claims_csv(listed.claims).rstrip("\n"),
    "html": render_claims_html,
}
