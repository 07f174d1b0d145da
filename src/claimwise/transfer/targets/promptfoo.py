"""A results file of promptfoo (version 3), which ``promptfoo import`` takes.

Results and not tests: promptfoo fills in templates and opens ``file://`` in the texts of tests, and
these texts come from documents and models.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC

from claimwise.text.ids import make_content_id
from claimwise.transfer.outgoing import OutgoingAnswer, OutgoingClaim, OutgoingRun, drop_none
from claimwise.transfer.target import FAITHFULNESS, VERDICT, Record, Target, make_score_id

_PROMPT = "{{question}}"
# promptfoo's ResultFailureReason
_PASSED, _FAILED, _ERROR = 0, 1, 2


def make_results(run: OutgoingRun, answer: OutgoingAnswer) -> Iterator[Record]:
    """Yield one result; it passes when every judged claim is supported.

    An answer that nothing was judged of is promptfoo's “error”: it counts as neither passed nor
    failed, and has no named score.
    """
    rate = answer.rate
    passed = answer.label == "supported"
    variables = drop_none(
        {"question": answer.question, "context": answer.texts, "reference": answer.gold_answer}
    )
    yield drop_none(
        {
            "id": make_score_id(run, answer, None),
            "promptIdx": 0,
            "promptId": make_content_id("p1", _PROMPT),
            "provider": {"id": run.run.model or run.run.system, "label": run.run.system},
            "prompt": {"raw": answer.question, "label": _PROMPT},
            "vars": variables,
            "testCase": {
                "description": answer.item_id,
                "vars": variables,
                "assert": [_make_assertion(claim) for claim in answer.claims if claim.verdict],
                "options": {},
                "metadata": {},
            },
            "response": drop_none({"output": answer.answer, "error": answer.failure}),
            "success": passed,
            "score": rate or 0,
            "namedScores": {} if rate is None else {FAITHFULNESS: rate},
            "failureReason": _ERROR if rate is None else _PASSED if passed else _FAILED,
            "error": None if passed else answer.explanation,
            "gradingResult": None if rate is None else _grade(run, answer, rate),
            "latencyMs": 0,
            "cost": 0,
            "metadata": {
                **run.describe_answer(answer),
                "claims": [run.describe_claim(claim) for claim in answer.claims],
            },
        }
    )


def _grade(run: OutgoingRun, answer: OutgoingAnswer, rate: float) -> Record:
    return {
        "pass": answer.label == "supported",
        "score": rate,
        "reason": answer.explanation,
        "namedScores": {FAITHFULNESS: rate},
        "tokensUsed": {"total": 0, "prompt": 0, "completion": 0, "cached": 0},
        "componentResults": [
            {
                "pass": claim.verdict == "supported",
                "score": claim.score,
                "reason": claim.explanation,
                "assertion": _make_assertion(claim),
                "metadata": run.describe_claim(claim),
            }
            for claim in answer.claims
            if claim.verdict is not None
        ],
        "assertion": None,
    }


def _make_assertion(claim: OutgoingClaim) -> Record:
    """Name what was asserted: a verdict by a person counts, in promptfoo's words, as human."""
    kind = "human" if claim.label_kind in ("human", "adjudicated") else "context-faithfulness"
    return {"type": kind, "value": claim.claim_text, "metric": VERDICT}


def wrap_results(run: OutgoingRun, results: list[Record]) -> Record:
    """Make the file: promptfoo shows the prompt's figures, so they are counted here."""
    for number, result in enumerate(results):
        result["testIdx"] = number
    moment = run.run.started_at.replace(tzinfo=UTC)
    provider = run.run.model or run.run.system
    metrics = _count_results(results)
    return {
        "evalId": f"eval-{make_content_id('e1', run.run.run_id)[3:11]}-{moment:%Y-%m-%dT%H:%M:%S}",
        "results": {
            "version": 3,
            "timestamp": moment.isoformat(),
            "prompts": [
                {
                    "raw": _PROMPT,
                    "label": _PROMPT,
                    "id": make_content_id("p1", _PROMPT),
                    "provider": provider,
                    "metrics": metrics,
                }
            ],
            "results": results,
            "stats": {
                "successes": metrics["testPassCount"],
                "failures": metrics["testFailCount"],
                "errors": metrics["testErrorCount"],
                "tokenUsage": metrics["tokenUsage"],
            },
        },
        "config": {
            "description": f"claimwise run {run.run.run_id}",
            "prompts": [_PROMPT],
            "providers": [provider],
            "tests": [],
        },
        "shareableUrl": None,
        "metadata": {
            "evaluationCreatedAt": moment.isoformat(),
            "exportedAt": moment.isoformat(),
        },
    }


def _count_results(results: list[Record]) -> Record:
    """Return the figures that promptfoo shows above a prompt's column."""
    passed = sum(result["success"] for result in results)
    errors = sum(result["failureReason"] == _ERROR for result in results)
    rates = [result["namedScores"].get(FAITHFULNESS, 0) for result in results]
    return {
        "score": sum(result["score"] for result in results),
        "testPassCount": passed,
        "testFailCount": len(results) - passed - errors,
        "testErrorCount": errors,
        "assertPassCount": _count_components(results, passed=True),
        "assertFailCount": _count_components(results, passed=False),
        "totalLatencyMs": 0,
        "tokenUsage": {"total": 0, "prompt": 0, "completion": 0, "cached": 0, "numRequests": 0},
        "namedScores": {FAITHFULNESS: sum(rates)},
        "namedScoresCount": {FAITHFULNESS: len(results) - errors},
        "cost": 0,
    }


def _count_components(results: list[Record], *, passed: bool) -> int:
    graded = (result["gradingResult"] for result in results if "gradingResult" in result)
    return sum(one["pass"] is passed for result in graded for one in result["componentResults"])


TARGET = Target(forms=("json",), make_records=make_results, wrap=wrap_results)
