"""What scorers of all tools share; no tool is needed for it."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence

import pytest

from claimwise.errors import MissingExtraError
from claimwise.scorers.score import find_contexts, score_answer
from claimwise.types.verdicts import AnswerClaim, CheckRequest, ClaimVerdict, Scores

TOWER = "The tower is 139 m tall. It opened in 1999."


class Failing:
    """A judge that can't judge anything."""

    name = "failing"
    labeler = "verifier:failing-1"
    threshold = 0.5

    def score_claims(self, claims: Sequence[str], document: str) -> list[Scores | None]:
        return [None for _ in claims]

    def judge_answer(
        self, claims: Sequence[AnswerClaim], request: CheckRequest
    ) -> tuple[list[ClaimVerdict], list[str]]:
        return [ClaimVerdict(claim=claim, unscored="timeout") for claim in claims], []


def test_reason_names_the_unsupported_claims_and_the_judge() -> None:
    found = score_answer(
        "The tower is 139 m tall. The tower is 200 m tall.", [TOWER], verifier="lexical"
    )
    assert found.value == 0.5
    assert found.reason.startswith("1 of 2 judged claims supported.\nNot supported: “The tower is ")
    assert "200 m" in found.reason
    assert found.reason.endswith("that it was not fitted on.")
    assert found.judge == "verifier:lexical-7"
    assert "balanced accuracy" in found.metadata["judge_agreement"]
    verdicts = [claim["verdict"] for claim in found.metadata["claims"]]
    assert verdicts == ["supported", "contradicted"]
    assert found.metadata["claims"][0]["evidence"] == "The tower is 139 m tall."


@pytest.mark.parametrize(
    ("answer", "contexts", "code"),
    [
        ("It is tall.", None, "no_contexts"),
        ("It is tall.", [], "no_contexts"),
        ("It is tall.", ["", " \n"], "no_contexts"),
        (None, [TOWER], "no_answer"),
        ("", [TOWER], "no_answer"),
        ("I'm sorry, I can't help with that.", [TOWER], "no_claims"),
    ],
)
def test_what_can_not_be_judged_has_a_reason_and_no_score(
    answer: str | None, contexts: list[str] | None, code: str
) -> None:
    found = score_answer(answer, contexts, verifier="lexical")
    assert found.value is None
    assert found.unscored == code
    assert found.reason


def test_failure_of_the_judge_is_no_zero() -> None:
    found = score_answer("The tower is 139 m tall.", [TOWER], verifier=Failing())
    assert found.value is None
    assert found.unscored == "timeout"
    assert "Not scored: “The tower is 139 m tall" in found.reason
    assert "not yet checked against people" in found.reason


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"contexts": ["a", "b"]}, ["a", "b"]),
        ({"context": "a"}, ["a"]),
        ({"documents": [{"page_content": "a"}, {"text": "b"}, {"id": 1}]}, ["a", "b"]),
        ({"contexts": None, "context": {"content": "a"}}, ["a"]),
        ({"question": "?"}, None),
        ({"contexts": 5}, None),
        ("text", None),
    ],
)
def test_contexts_are_found_under_their_usual_names(
    fields: object, expected: list[str] | None
) -> None:
    assert find_contexts(fields) == expected


@pytest.mark.parametrize(
    ("module", "tool"), [("mlflow", "mlflow"), ("inspect", "inspect_ai"), ("deepeval", "deepeval")]
)
def test_scorer_without_its_tool_names_the_extra(
    module: str, tool: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, tool, None)
    monkeypatch.delitem(sys.modules, f"claimwise.scorers.{module}", raising=False)
    with pytest.raises(MissingExtraError, match=rf"pip install 'claimwise\[{module}-scorer\]'"):
        importlib.import_module(f"claimwise.scorers.{module}")
