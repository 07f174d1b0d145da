"""A language model that compares answers with gold answers: correct, incorrect, or unclear."""

from __future__ import annotations

from typing import Final

import msgspec

from claimwise.judges.gold_match import RULE, GoldMatch, match_gold
from claimwise.llm.parsing import ask_for
from claimwise.llm.prompts import Prompt, load_prompt, name_judge
from claimwise.text.word_limits import cut_words
from claimwise.types.llm import Asker, LlmCall, LlmFailure

PROMPT: Final = "correctness"
_VERDICTS: Final = {"correct": True, "incorrect": False}
_BASIS_WORDS: Final = 20
_REPLY_TOKENS: Final = 1_024  # and for models that think before they speak


class _Reply(msgspec.Struct):
    verdict: str
    basis: str = ""


class GoldRule:
    """The rule as a judge of answers: no model, and open where only meaning decides."""

    labeler = f"verifier:{RULE}"

    def compare(self, question: str, gold: str, answer: str) -> GoldMatch:
        """Compare an answer with its gold answer."""
        return match_gold(answer, gold)


class CorrectnessJudge:
    """A model as a judge of answers; safe to use from many threads at once."""

    def __init__(self, asker: Asker, prompt: Prompt | None = None) -> None:
        self._asker = asker
        self.prompt = prompt or load_prompt(PROMPT)
        self.labeler = name_judge(self.prompt, asker.model)

    def make_call(self, question: str, gold: str, answer: str) -> LlmCall:
        """Return the call about one answer; all three texts are fenced."""
        inputs = self.prompt.select_inputs(question=question, gold_answer=gold, answer=answer)
        return self.prompt.make_call(self._asker.model, max_tokens=_REPLY_TOKENS, **inputs)

    def compare(self, question: str, gold: str, answer: str) -> GoldMatch:
        """Compare an answer with its gold answer; a failed call leaves it open, with its code."""
        call = self.make_call(question, gold, answer)
        heard = ask_for(self._asker, call, _Reply)
        if isinstance(heard, LlmFailure):
            return GoldMatch(None, heard.code)
        reply, raw = heard
        if reply.verdict not in (*_VERDICTS, "unclear"):
            self._asker.reject(call, raw)
            return GoldMatch(None, "bad_label")
        return GoldMatch(_VERDICTS.get(reply.verdict), cut_words(reply.basis, _BASIS_WORDS)[0])
