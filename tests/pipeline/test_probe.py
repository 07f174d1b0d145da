"""A judge on trial: who guesses is not trusted, who knows nothing is seen, failures help nobody."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from claimwise.errors import ClaimwiseError, ConfigError
from claimwise.fact_check.probe import FILE_NAME, find_probe, plan_probe, probe_judge, store_probe
from claimwise.fact_check.probe_facts import make_probe
from claimwise.fact_check.report import describe_probe
from claimwise.judges.closed_book import ClosedBookJudge
from claimwise.types.closed_book import ProbeResult
from claimwise.types.llm import LlmCall, LlmFailure
from support.closed_book import ScriptedAsker, label_pieces

KINDS = {claim.text: claim.kind for claim in make_probe(120, seed=0)}


def honest(text: str) -> str:
    return {"known_true": "true", "known_false": "false"}.get(KINDS[text], "unverifiable")


def probe(label: Any, **options: Any) -> ProbeResult:
    asker = ScriptedAsker(lambda call: label_pieces(call.user, label))
    return probe_judge(ClosedBookJudge(asker), **options)


def test_an_honest_judge_is_trusted() -> None:
    result = probe(honest)
    assert result.verdict == "trusted"
    assert (result.made_up_true.hits, result.made_up_true.scored) == (0, 120)
    assert result.made_up_true.high is not None
    assert 0 < result.made_up_true.high <= 0.05  # the upper end decides, not the rate of 0
    assert result.known_true.rate == result.known_false.rate == 1.0
    assert (result.fooled, result.warnings) == ((), ())
    assert result.spent.calls == 18  # 180 sentences, ten together


def test_a_judge_that_believes_everything_is_not_trusted() -> None:
    result = probe(lambda text: "true")
    assert result.verdict == "not_trusted"
    assert result.made_up_true.rate == 1.0
    assert len(result.fooled) == 120
    assert result.known_false.rate == 0.0


@pytest.mark.parametrize(("always", "wrong"), [("unverifiable", 2), ("false", 1)])
def test_a_judge_that_says_the_same_to_everything_is_not_trusted(always: str, wrong: int) -> None:
    result = probe(lambda text: always)
    assert result.made_up_true.rate == 0.0  # it invents nothing
    assert result.known_true.rate == 0.0
    assert result.verdict == "not_trusted"
    assert len(result.warnings) == wrong
    assert "it doesn't know plain facts" in describe_probe(result)


def test_a_judge_that_knows_most_plain_facts_is_warned_of_alone() -> None:
    known = [text for text, kind in KINDS.items() if kind == "known_true"]
    result = probe(lambda text: "unverifiable" if text in known[:8] else honest(text))
    assert (result.verdict, len(result.warnings)) == ("trusted", 1)


def test_between_rate_and_interval_nothing_is_said() -> None:
    fooled = [text for text, kind in KINDS.items() if kind == "made_up"][:4]
    result = probe(lambda text: "true" if text in fooled else honest(text))
    assert result.made_up_true.rate == pytest.approx(4 / 120)
    assert result.verdict == "inconclusive"
    assert sorted(result.fooled) == sorted(fooled)


def test_one_true_part_is_a_hit() -> None:
    def say(call: LlmCall) -> dict[str, Any]:
        reply = label_pieces(call.user, lambda text: "unverifiable")
        for piece in reply["pieces"]:
            part = {**piece["claims"][0], "text": piece["claims"][0]["text"].split(" ", 1)[1]}
            piece["claims"].append({**part, "label": "true"})
        return reply

    result = probe_judge(ClosedBookJudge(ScriptedAsker(say)))
    assert result.made_up_true.hits > 100


def test_failures_count_against_a_judge() -> None:
    def say(call: LlmCall) -> dict[str, Any]:
        reply = label_pieces(call.user, honest)
        return {**reply, "pieces": reply["pieces"][:5]}

    result = probe_judge(ClosedBookJudge(ScriptedAsker(say)))
    assert result.made_up_true.rate == 0.0
    assert result.made_up_true.unscored > 30
    assert result.verdict == "inconclusive"
    assert result.unscored == {"missing_id": 90}
    assert result.highest is not None
    assert result.highest > 0.3


def test_nothing_scored_says_nothing() -> None:
    asker = ScriptedAsker(LlmFailure(code="refused_request", detail="no key"))
    result = probe_judge(ClosedBookJudge(asker))
    assert result.verdict == "inconclusive"
    assert result.made_up_true.rate is None
    assert result.unscored == {"refused_request": 180}


def test_a_probe_that_nobody_could_pass_is_refused_before_anything_is_sent() -> None:
    asker = ScriptedAsker("never")
    with pytest.raises(ClaimwiseError, match=r"--n 40: .* choose --n 7\d or a higher --limit"):
        probe_judge(ClosedBookJudge(asker), n=40)
    assert asker.calls == []
    assert probe(honest, n=40, limit=0.1).verdict == "trusted"


def test_the_plan_is_what_is_sent() -> None:
    asker = ScriptedAsker(lambda call: label_pieces(call.user, honest))
    judge = ClosedBookJudge(asker)
    planned = plan_probe(judge)
    assert asker.calls == []
    probe_judge(judge, concurrency=1)
    assert asker.calls == planned


def test_results_are_kept_by_judge(tmp_path: Path) -> None:
    assert find_probe(tmp_path, "judge:a") is None
    first, second = probe(honest), probe(lambda text: "true")
    store_probe(tmp_path, first)
    assert find_probe(tmp_path, first.judge) == first
    store_probe(tmp_path, second)
    assert find_probe(tmp_path, first.judge) == second
    assert find_probe(tmp_path, "judge:another") is None
    assert [path.name for path in tmp_path.iterdir()] == [FILE_NAME]
    (tmp_path / FILE_NAME).write_text("{", encoding="utf-8")
    with pytest.raises(ConfigError, match="remove the file"):
        find_probe(tmp_path, first.judge)


def test_judge_that_stands_twice_in_the_file_is_refused(tmp_path: Path) -> None:
    path = store_probe(tmp_path, probe(honest))
    entry = path.read_text("utf-8").strip().removeprefix("{").removesuffix("}").rstrip()
    path.write_text(f"{{{entry},{entry}}}", "utf-8")
    with pytest.raises(ConfigError, match=r":\d+: found the key \"judge:.*\" twice"):
        find_probe(tmp_path, "judge:a")
