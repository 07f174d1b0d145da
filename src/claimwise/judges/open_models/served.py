"""Open models behind a server that speaks OpenAI's format, each asked as it was trained to be.

One call per claim: these models judge one text against one document. What they say is read
strictly: a reply that is not of their form leaves the claim unscored, with the reason.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any

import msgspec
from msgspec.structs import replace

from claimwise.judges.decide import decide_unasked, is_for_model
from claimwise.judges.grounded import GroundedJudge, GroundedSettings, make_score_request
from claimwise.judges.grounded_material import CHARACTERS_PER_TOKEN, choose_passages
from claimwise.judges.open_models.scored_claims import ModelScores, decide_scored
from claimwise.judges.open_models.windows import SourceWindows, count_words
from claimwise.llm.parsing import UnparsableError
from claimwise.llm.token_odds import TokenReply, unpack_reply
from claimwise.types.llm import Asker, LlmCall, LlmFailure
from claimwise.types.rows import Source
from claimwise.types.verdicts import AnswerClaim, CheckRequest, ClaimVerdict, Scores

_ASKED = 3  # times that a model is asked for something that can be read
_SHOWN = 80
_NO_QUESTION = "(none)"
_LOGPROBS = {"logprobs": True, "top_logprobs": 5}


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """What a call is made of."""

    model: str
    document: str
    question: str | None
    claim: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ServedFormat:
    """How a family of models is asked, and how its replies are read.

    ``read`` returns the probability of support, and whether the model itself gave it.
    """

    kind: str
    version: int  # of prompt and parsing: labels carry it
    write: Callable[[Asked], dict[str, Any]]
    read: Callable[[TokenReply], tuple[float, bool]]


def _write_bespoke(asked: Asked) -> dict[str, Any]:
    system = (
        "Determine whether the provided claim is consistent with the corresponding document. "
        "Consistency in this context implies that all information presented in the claim is "
        "substantiated by the document. If not, it should be considered inconsistent. Please "
        "assess the claim's consistency with the document by responding with either "
        '"Yes" or "No".'
    )
    user = f"Document: {asked.document}\nClaim: {asked.claim}"
    return {"system": system, "user": user, "max_tokens": 16, "extra": dict(_LOGPROBS)}


def _read_bespoke(reply: TokenReply) -> tuple[float, bool]:
    """Read “Yes” or “No”; the probability is that of “Yes” among all tokens, as published."""
    said = _read_word(reply.text, ("yes", "no"))
    odds = reply.weigh("yes", "no")
    return (min(odds["yes"], 1.0), True) if odds else (float(said == "yes"), False)


_LYNX = (
    "Given the following QUESTION, DOCUMENT and ANSWER you must analyze the provided answer and "
    "determine whether it is faithful to the contents of the DOCUMENT. The ANSWER must not offer "
    "new information beyond the context provided in the DOCUMENT. The ANSWER also must not "
    "contradict information provided in the DOCUMENT. Output your final verdict by strictly "
    'following this format: "PASS" if the answer is faithful to the DOCUMENT and "FAIL" if the '
    "answer is not faithful to the DOCUMENT. Show your reasoning.\n\n"
    "--\nQUESTION (THIS DOES NOT COUNT AS BACKGROUND INFORMATION):\n{question}\n\n"
    "--\nDOCUMENT:\n{document}\n\n"
    "--\nANSWER:\n{claim}\n\n"
    '--\n\nYour output should be in JSON FORMAT with the keys "REASONING" and "SCORE":\n'
    '{{"REASONING": <your reasoning as bullet points>, "SCORE": <your final score>}}\n'
)
# Its JSON is often none (quotes of one stroke, lists without commas), but the score stands in it.
_SCORE = re.compile(r"""["']?SCORE["']?\s*:\s*["']?(?P<score>\w+)["']?""")


def _write_lynx(asked: Asked) -> dict[str, Any]:
    question = asked.question or _NO_QUESTION
    user = _LYNX.format(question=question, document=asked.document, claim=asked.claim)
    return {"system": "", "user": user, "max_tokens": 1024}


def _read_lynx(reply: TokenReply) -> tuple[float, bool]:
    """Read the score, PASS or FAIL; two different ones, or none, are no verdict."""
    found = {match["score"].upper() for match in _SCORE.finditer(reply.text)}
    if found not in ({"PASS"}, {"FAIL"}):
        raise UnparsableError(f"found no single SCORE of PASS or FAIL in {_show(reply.text)}")
    return float(found == {"PASS"}), False


_OLD_GUARDIAN = re.compile(r"guardian-3\.[012]\b|guardian:(?:2b|5b|8b)\b", re.IGNORECASE)
_TAGGED = re.compile(r"<score>\s*(?P<score>\w+)\s*</score>", re.IGNORECASE)
_THOUGHTS = re.compile(r"<think>.*?</think>", re.IGNORECASE | re.DOTALL)


def _write_guardian(asked: Asked) -> dict[str, Any]:
    """Ask for the risk “groundedness”, by the chat template that comes with the model.

    Versions 3.0 to 3.2 take the document as a message of its own, later ones beside the messages.
    """
    said: list[dict[str, str]] = [{"role": "assistant", "content": asked.claim}]
    extra: dict[str, Any] = dict(_LOGPROBS)
    if _OLD_GUARDIAN.search(asked.model):
        said.insert(0, {"role": "context", "content": asked.document})
        told: dict[str, Any] = {"guardian_config": {"risk_name": "groundedness"}}
    else:
        extra["documents"] = [{"doc_id": "0", "text": asked.document}]
        told = {"guardian_config": {"criteria_id": "groundedness"}, "think": False}
    extra |= {"messages": said, "chat_template_kwargs": told}
    # The text counts for the estimate of tokens; what is sent are the messages.
    user = f"{asked.document}\n{asked.claim}"
    return {"system": "", "user": user, "max_tokens": 64, "extra": extra}


def _read_guardian(reply: TokenReply) -> tuple[float, bool]:
    """Read “Yes” (there is a risk: not grounded) or “No”, bare or between tags."""
    text = _THOUGHTS.sub("", reply.text)
    tagged = {match["score"].lower() for match in _TAGGED.finditer(text)}
    said = tagged.pop() if len(tagged) == 1 else _read_word(text, ("yes", "no"))
    if said not in ("yes", "no"):
        raise UnparsableError(f"found no Yes or No in {_show(reply.text)}")
    odds = {} if "<think>" in reply.text else reply.weigh("yes", "no")
    total = sum(odds.values())
    return (odds["no"] / total, True) if total else (float(said == "no"), False)


def _read_word(text: str, words: Sequence[str]) -> str:
    """Return the word that a reply begins with, one of some."""
    first = re.match(r"\W*(\w+)", text)
    said = first[1].lower() if first else ""
    if said not in words:
        raise UnparsableError(f"found {_show(text)}, expected {' or '.join(words)}")
    return said


def _show(text: str) -> str:
    return f"“{text[:_SHOWN]}”"


BESPOKE_MINICHECK = ServedFormat(
    kind="bespoke-minicheck", version=1, write=_write_bespoke, read=_read_bespoke
)
LYNX = ServedFormat(kind="lynx", version=1, write=_write_lynx, read=_read_lynx)
GRANITE_GUARDIAN = ServedFormat(
    kind="granite-guardian", version=1, write=_write_guardian, read=_read_guardian
)


class ServedJudge(GroundedJudge):
    """A grounded judge whose model has a prompt of its own; safe to use from many threads at once.

    It gives no quotes: a supported claim's span is the sentence that shares most words with it. A
    probability that the server gives is the confidence; without one there is none.
    """

    def __init__(
        self,
        asker: Asker,
        form: ServedFormat,
        settings: GroundedSettings | None = None,
        *,
        repeat: int = 1,
    ) -> None:
        super().__init__(asker, settings or GroundedSettings(), repeat=repeat)
        self._form = form
        self.version = str(form.version)
        self._label = f"{form.kind}@{form.version}"
        self.labeler = f"judge:{self._label}:{asker.model}" + (f"#{repeat}" if repeat > 1 else "")

    def repeat_as(self, number: int) -> ServedJudge:
        """Return the same judge for another round, which is asked again."""
        return ServedJudge(self._asker, self._form, self.settings, repeat=number)

    @property
    def prompt_ver(self) -> str:
        """Prompt and settings in words, for the labeler's row."""
        return f"{self._label}; sources up to {self.settings.source_tokens} tokens"

    def score_claims(self, claims: Sequence[str], document: str) -> list[Scores | None]:
        """Return the model's probabilities, 1 or 0 where the server gives none; None: unscored."""
        if not document.strip():
            return super().score_claims(claims, document)
        verdicts, _ = self.judge_answer(*make_score_request(claims, document))
        return [judged.scores for judged in verdicts]

    def judge_answer(
        self, claims: Sequence[AnswerClaim], request: CheckRequest
    ) -> tuple[list[ClaimVerdict], list[str]]:
        """Return a verdict for every claim, in order, and warnings for the reader."""
        windows = SourceWindows(request.sources, count_words)
        as_of = request.as_of or datetime.now(UTC).date()
        verdicts = [
            self._judge(claim, self._make_call(claim, request), windows, as_of)
            if is_for_model(claim)
            else decide_unasked(claim, request)
            for claim in claims
        ]
        return verdicts, []

    def plan_calls(self, claims: Sequence[AnswerClaim], request: CheckRequest) -> list[LlmCall]:
        """Return the calls that judging claims would make."""
        return [self._make_call(claim, request) for claim in claims if is_for_model(claim)]

    def _make_call(self, claim: AnswerClaim, request: CheckRequest) -> LlmCall:
        asked = Asked(
            model=self._asker.model,
            document=_join_sources(request.sources, claim.wording, self.settings.source_tokens),
            question=request.question,
            claim=claim.wording,
        )
        return LlmCall(
            model=self._asker.model,
            prompt=self._label,
            repeat=self.repeat,
            **self._form.write(asked),
        )

    def _judge(
        self, claim: AnswerClaim, call: LlmCall, windows: SourceWindows, as_of: date
    ) -> ClaimVerdict:
        found = self._ask(call)
        if isinstance(found, LlmFailure):
            return ClaimVerdict(claim=claim, unscored=found.code, reason=found.detail)
        supports, measured = found
        scores = Scores(supports=supports, contradicts=0.0, neither=1 - supports)
        closest = windows.find_closest(claim.wording)
        verdict = decide_scored(claim, ModelScores(scores, closest), self.threshold, windows, as_of)
        if measured:
            return verdict
        said = "supported" if supports else "not supported"
        return replace(verdict, confidence=None, reason=f"the model calls it {said}")

    def _ask(self, call: LlmCall) -> tuple[float, bool] | LlmFailure:
        """Ask, and read the reply; one that can't be read is forgotten and asked for again."""
        told = ""
        for _ in range(_ASKED):
            reply = self._asker.ask(call)
            if isinstance(reply, LlmFailure):
                return reply
            try:
                return self._form.read(unpack_reply(call, reply.text))
            except (UnparsableError, msgspec.DecodeError) as error:
                self._asker.reject(call, reply)
                told = str(error)
        return LlmFailure(code="unparsable", detail=told, attempts=_ASKED, usage=reply.usage)


def make_served_judge(kind: str, asker: Asker, **settings: Any) -> ServedJudge:
    """Return the judge of a kind; ``source_tokens`` is the one setting that it takes."""
    formats = {one.kind: one for one in (BESPOKE_MINICHECK, GRANITE_GUARDIAN, LYNX)}
    return ServedJudge(asker, formats[kind], GroundedSettings(**settings))


def _join_sources(sources: Sequence[Source], claim: str, tokens: int) -> str:
    """Return the sources as one document; of longer ones, the passages closest to the claim."""
    texts = [source.source_text.strip() for source in sources]
    room = tokens * CHARACTERS_PER_TOKEN
    if sum(map(len, texts)) > room:
        texts = choose_passages(sources, [claim], room)
    return "\n\n".join(text for text in texts if text)
