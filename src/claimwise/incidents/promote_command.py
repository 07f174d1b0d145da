"""``claimwise promote``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import msgspec

from claimwise.command.options import (
    current_project,
    find_login_name,
    format_option,
    open_project_store,
    print_json,
    store_option,
)
from claimwise.disk.input import refuse
from claimwise.errors import make_printable
from claimwise.incidents.promotion import make_trace, promote_trace
from claimwise.incidents.queries import FoundAnswer, find_answer
from claimwise.incidents.values import ItemChoice, Promotion
from claimwise.judges.judge import load_verifier
from claimwise.readers.choose import read_one_trace
from claimwise.readers.documents import STDIN
from claimwise.report.format import pluralize
from claimwise.store import Store
from claimwise.types.traces import Trace


@click.command("promote", short_help="Turn a production error into a test case.")
@click.argument("what", metavar="TRACE|ANSWER")
@click.option("--as", "item_id", required=True, metavar="ITEM", help="Id of the new item.")
@click.option(
    "--answerable/--unanswerable",
    default=None,
    help="Whether the corpus can answer the question; decides if a refusal is right.",
)
@click.option(
    "--query-type", metavar="TYPE", help="Kind of question.  [default: lookup, or unanswerable]"
)
@click.option(
    "--stakes",
    type=click.Choice(["low", "medium", "high"]),
    help="How much a wrong answer matters.  [default: high]",
)
@click.option("--gold-answer", metavar="TEXT", help="The correct answer, if you know it.")
@click.option("--domain", metavar="TEXT", help="Subject area, to group by.")
@click.option(
    "--wrong",
    metavar="TEXT",
    multiple=True,
    help="Words of a wrong claim (default: as labels or the judge say); may be repeated.",
)
@click.option("--corpus", metavar="VERSION", help="Corpus version (default: the newest).")
@click.option("--trace-id", metavar="ID", help="Which trace to use if the file contains several.")
@click.option(
    "--reader", metavar="NAME", help="Reader for TRACE (default: recognised by its content)."
)
@click.option("--who", metavar="NAME", help="Who promotes it (default: your login name).")
@click.option(
    "--verifier",
    default="auto",
    metavar="NAME",
    help="Built-in judge: embedded, lexical, or auto (the best one installed).",
)
@click.option(
    "--force", is_flag=True, help="Continue even if an item asks nearly the same question."
)
@store_option
@format_option("text", "json")
def command(
    what: str,
    trace_id: str | None,
    reader: str | None,
    who: str | None,
    verifier: str,
    corpus: str | None,
    store: str | None,
    form: str,
    **choices: Any,
) -> None:
    """Turn a wrong answer from production into an item of your test set.

    \b
    claimwise promote trace.json --as refund-window --answerable --wrong "60 days"
    claimwise promote prod-may/q117 --as refund-window

    TRACE is a JSON file (- reads standard input) with question, answer and contexts, or a trace of
    OpenTelemetry, Langfuse, Phoenix, MLflow, LangSmith or another tool that `claimwise plugins`
    lists. ANSWER is RUN/ITEM or RUN/ITEM/SAMPLE in the store. The item records where it came from,
    and the annotation queue asks people for its gold spans. A question that another item already
    asks is refused.
    """
    project = current_project()
    choice = ItemChoice(corpus_ver=corpus, **choices)
    with open_project_store(project, store) as opened:
        trace, stored = _find(opened, what, trace_id, reader)
        done = promote_trace(
            opened,
            trace,
            choice,
            who=who or find_login_name(),
            verifier=load_verifier(verifier),
            stored=stored,
            query_types=project.query_types,
        )
    if form == "json":
        print_json(msgspec.to_builtins(done))
        return
    for line in _describe(done):
        click.echo(make_printable(line))
    for warning in done.warnings:
        click.echo(f"warning: {make_printable(warning)}", err=True)


def _find(
    store: Store, what: str, trace_id: str | None, reader: str | None
) -> tuple[Trace, FoundAnswer | None]:
    path = Path(what)
    if path == STDIN or path.is_file() or reader is not None:
        return read_one_trace(path, trace_id=trace_id, reader=reader), None
    answer = find_answer(store, what)
    if answer is None:
        raise refuse(
            path,
            f"neither a file nor an answer in {store.place}; name a trace's JSON file, or an "
            "answer as RUN/ITEM or RUN/ITEM/SAMPLE",
        )
    return make_trace(answer), answer


def _describe(done: Promotion) -> list[str]:
    item, incident = done.item, done.incident
    if done.repeated:
        return [
            f"{item.item_id}: already promoted by {incident.promoted_by} on "
            f"{incident.promoted_at:%Y-%m-%d}; nothing was changed"
        ]
    kind = (
        f"{item.query_type or 'unknown type'}, {item.stakes or 'unknown'} stakes, "
        f"corpus {item.source_corpus_ver}"
    )
    lines = [f"{'new item' if done.new_item else 'item'} {item.item_id} ({kind})"]
    asked = [claim for claim in done.claims if claim.claim_type != "non_factual"]
    for claim in asked:
        word = claim.verdict or ("wrong" if claim.wrong else "not scored")
        reason = f": {claim.reason}" if claim.reason else ""
        lines.append(f"  {word:<12} {claim.claim_text} [{claim.labeler}{reason}]")
    if done.added_documents:
        lines.append(f"added to corpus {item.source_corpus_ver}: {', '.join(done.added_documents)}")
    if done.state == "needs spans":
        lines.append(
            "needs gold spans: import them (claimwise import gold_spans.jsonl). Until then, "
            "context_recall leaves it out."
        )
    if done.queued:
        lines.append(f"added to the labelling queue: {pluralize(done.queued, 'task')}")
    return lines
