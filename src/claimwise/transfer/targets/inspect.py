"""A log of Inspect, which ``inspect view`` and ``read_eval_log`` open."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import UTC

from claimwise.text.ids import make_content_id
from claimwise.transfer.outgoing import OutgoingAnswer, OutgoingRun, drop_none
from claimwise.transfer.target import FAITHFULNESS, Record, Target


def make_samples(run: OutgoingRun, answer: OutgoingAnswer) -> Iterator[Record]:
    """Yield one sample; a repeat is an epoch. Without a rate its score is Inspect's unscored: NaN.

    Metrics and reducers of Inspect leave such samples out.
    """
    output: Record = {"model": run.run.model or run.run.system, "choices": []}
    messages = [{"role": "user", "content": answer.question}]
    if answer.answer is not None:
        said = {"role": "assistant", "content": answer.answer}
        messages.append(said)
        output["choices"] = [{"message": said, "stop_reason": "stop"}]
        output["completion"] = answer.answer
    rate = answer.rate
    yield {
        "id": answer.item_id,
        "epoch": answer.sample + 1,
        "input": answer.question,
        "target": answer.gold_answer or "",
        "messages": messages,
        "output": drop_none({**output, "error": answer.failure}),
        "scores": {
            FAITHFULNESS: drop_none(
                {
                    "value": math.nan if rate is None else rate,
                    "answer": answer.answer,
                    "explanation": answer.explanation,
                    "reason": answer.why_unscored,
                    "metadata": {
                        **run.describe_answer(answer),
                        "claims": [run.describe_claim(claim) for claim in answer.claims],
                    },
                }
            )
        },
        "metadata": drop_none(
            {
                "contexts": answer.texts,
                "source_ids": answer.source_ids,
                "domain": answer.domain,
                "trace_id": answer.trace_id,
            }
        ),
        "store": {},
        "events": [],
        "model_usage": {},
    }


def wrap_samples(run: OutgoingRun, samples: list[Record]) -> Record:
    """Make the log; its mean is over scored samples, as Inspect's own would be."""
    row = run.run
    moment = row.started_at.replace(tzinfo=UTC).isoformat()
    values = [sample["scores"][FAITHFULNESS]["value"] for sample in samples]
    scored = [value for value in values if not math.isnan(value)]
    mean = {"mean": {"name": "mean", "value": math.fsum(scored) / len(scored)}} if scored else {}
    model = row.model or row.system
    return {
        "version": 2,
        "status": "success",
        "eval": {
            "eval_id": make_content_id("e1", row.run_id)[3:],
            "run_id": row.run_id,
            "created": moment,
            "task": row.system,
            "task_id": make_content_id("t1", row.system)[3:],
            "task_version": 0,
            "dataset": {
                "name": row.corpus_ver,
                "samples": len(samples),
                "sample_ids": list(dict.fromkeys(sample["id"] for sample in samples)),
                "shuffled": False,
            },
            "model": model,
            "model_args": {},
            "config": {"epochs": max((sample["epoch"] for sample in samples), default=1)},
            "packages": {},
            "metadata": {
                "claimwise_run": row.run_id,
                "claimwise_judges": [judge.describe() for judge in run.judges.values()],
            },
        },
        "plan": {"name": "plan", "steps": []},
        "results": {
            "total_samples": len(samples),
            "completed_samples": len(samples),
            "scores": [
                {
                    "name": FAITHFULNESS,
                    "scorer": FAITHFULNESS,
                    "scored_samples": len(scored),
                    "unscored_samples": len(samples) - len(scored),
                    "params": {},
                    "metrics": mean,
                }
            ],
        },
        "stats": {"started_at": moment, "completed_at": moment, "model_usage": {}},
        "samples": samples,
    }


TARGET = Target(forms=("json",), make_records=make_samples, wrap=wrap_samples)
