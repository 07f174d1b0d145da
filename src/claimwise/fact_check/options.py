"""What commands with a closed-book judge share: the judge, trust in it, the queue for people."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

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
from claimwise.text.ids import make_content_id
from claimwise.types.closed_book import Frame, QueuedClaim
from claimwise.types.corpus import PeopleClaim
from claimwise.types.rows import Answer, ClosedBookLabel, Item, Run

if TYPE_CHECKING:
    from claimwise.llm.client import LlmClient


# An answer without documents rests on no corpus version.
_NO_CORPUS: Final = "none"


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


def write_queue(claims: Iterable[QueuedClaim | PeopleClaim], queue: Path) -> None:
    """Write claims as lines of ``closed_book_labels``: people fill in what is null.

    What was said of them is left out, so that it sways nobody. Every line names its kind, so that
    the file can be imported whatever it is called.
    """
    write_output("\n".join(_write_line(msgspec.structs.asdict(claim)) for claim in claims), queue)


def write_answer_queue(texts: Iterable[str], queue: Path, answer: str, frame: Frame) -> None:
    """Write claims of an answer that is in no store, for people to label.

    Labels belong to claims of a run: before the lines of ``write_queue`` stand the run, the item
    and the answer with these claims. Their ids are made from the text, so that importing the file
    twice adds nothing.
    """
    claims = list(dict.fromkeys(texts))
    item_id = make_content_id("q1", answer, frame.question or "")
    run_id = f"answer-{item_id.partition(':')[2][:8]}"
    place = {"run_id": run_id, "item_id": item_id}
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    records = [
        {"type": Run.kind, "run_id": run_id, "system": "unknown", "corpus_ver": _NO_CORPUS,
         "started_at": now},
        {"type": Item.kind, "item_id": item_id, "query": frame.question or "(not given)",
         "domain": frame.domain_hint, "source_corpus_ver": _NO_CORPUS},
        {"type": Answer.kind, **place, "answer_text": answer,
         "claims": [{"claim_text": text} for text in claims]},
    ]  # fmt: skip
    lines = [json.dumps(record, ensure_ascii=False) for record in records if claims]
    lines += [_write_line({**place, "claim_text": text}) for text in claims]
    write_output("\n".join(lines), queue)


def _write_line(known: dict[str, Any]) -> str:
    row = {name: known.get(name) for name in ClosedBookLabel.__struct_fields__}
    return json.dumps({"type": ClosedBookLabel.kind, **row}, ensure_ascii=False)
