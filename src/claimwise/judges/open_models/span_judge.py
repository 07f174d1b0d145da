"""LettuceDetect: a model that marks which tokens of an answer its passages do not support.

The prompt is the one that its authors trained it with. A claim is as well supported as its least
supported token. Where the passages need several prompts, a token counts as unsupported only if it
is so in all of them: what one passage says, the others need not repeat.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from claimwise.judges.encoder import replace_half_characters
from claimwise.judges.open_models.batches import BatchRunner
from claimwise.judges.open_models.identity import OpenJudgeIdentity
from claimwise.judges.open_models.model_files import find_model
from claimwise.judges.open_models.model_name import ModelName, parse_model_name
from claimwise.judges.open_models.networks import load_network
from claimwise.judges.open_models.scored_claims import (
    ANSWER_TOO_LONG,
    NOTHING_SAID,
    ModelScores,
    decide_scored,
    judge_claims_with,
)
from claimwise.judges.open_models.tokens import (
    count_tokens,
    find_max_tokens,
    find_padding,
    load_tokenizer,
)
from claimwise.judges.open_models.windows import SourceWindows
from claimwise.text.words import has_words
from claimwise.types.rows import Source
from claimwise.types.verdicts import AnswerClaim, CheckRequest, ClaimVerdict, Scores

if TYPE_CHECKING:
    from tokenizers import Encoding

OPTIONS = ("device", "file", "threads")
_MAX_TOKENS = 4096
_LEAST_ROOM = 0.25  # share of what the model reads at once that an answer must leave to passages
_SHOWN_WORDS = 3
_ANSWER_PROMPT = (
    "Briefly answer the following question:\n{question}\n"
    "Bear in mind that your response should be strictly based on the following {count} passages:\n"
    "{passages}\n"
    "In case the passages do not contain the necessary information to answer the question, please "
    'reply with: "Unable to answer based on given passages."\n'
    "output:"
)
_SUMMARY_PROMPT = "Summarize the following text:\n{passages}\noutput:"


class MarkedToken(NamedTuple):
    """A token of an answer, and the probability that nothing supports it."""

    start: int
    end: int
    unsupported: float


@dataclass(frozen=True, kw_only=True, slots=True)
class SpanModel:
    """A loaded model of this kind."""

    name: ModelName
    fingerprint: str
    tokenizer: Any
    runner: BatchRunner
    max_tokens: int

    def measure(self, texts: Sequence[str]) -> list[int]:
        """Return how many tokens texts have."""
        return count_tokens(self.tokenizer, [replace_half_characters(one) for one in texts])

    def encode(self, passages: Sequence[str], question: str | None, answer: str) -> Encoding:
        """Return what the model reads: the prompt and the answer, as a pair."""
        prompt = write_prompt(passages, question)
        encoded: Encoding = self.tokenizer.encode(
            replace_half_characters(prompt), replace_half_characters(answer)
        )
        return encoded

    def mark(self, encoded: Sequence[Encoding]) -> list[list[MarkedToken]]:
        """Return the tokens of the answers, each with its probability of being unsupported."""
        found = []
        for one, logits in zip(encoded, self.runner.run(encoded), strict=True):
            shares = _read_unsupported(logits[: len(one.ids)])
            places = zip(one.sequence_ids, one.offsets, shares, strict=True)
            found.append(
                [
                    MarkedToken(a, b, share)
                    for which, (a, b), share in places
                    if which == 1 and a < b
                ]
            )
        return found


def load_lettucedetect(text: str) -> SpanJudge:
    """Load a LettuceDetect model as a judge.

    Raises:
        ClaimwiseError: it can't be loaded.
    """
    files = find_model(parse_model_name("lettucedetect", text, OPTIONS))
    labels = files.config.get("id2label") or {}
    if len(labels) not in (0, 2):
        raise files.refuse(f"it has {len(labels)} labels per token, and LettuceDetect two")
    network, weights = load_network(files, "token")
    return SpanJudge(
        SpanModel(
            name=files.name,
            fingerprint=files.make_fingerprint(weights),
            tokenizer=load_tokenizer(files),
            runner=BatchRunner(network, find_padding(files)),
            max_tokens=find_max_tokens(files, _MAX_TOKENS),
        )
    )


class SpanJudge(OpenJudgeIdentity):
    """A span model as a judge: the whole answer is read, and its claims by the tokens they have."""

    def __init__(self, model: SpanModel) -> None:
        self._model = model
        settings = f"prompts of up to {model.max_tokens} tokens"
        super().__init__(model.name, model.fingerprint, settings)

    def score_claims(self, claims: Sequence[str], document: str) -> list[Scores | None]:
        """Return probabilities for claims about one document, each read as an answer of its own."""
        source = Source(source_id="document", corpus_ver="-", source_text=document)
        windows = SourceWindows([source], self._model.measure)
        asked = [claim for claim in claims if has_words(claim)]
        marked = self._mark_answers(asked, windows, None)
        found = {
            claim: _score(tokens, windows) for claim, tokens in zip(asked, marked, strict=True)
        }
        return [found.get(claim) for claim in claims]

    def judge_answer(
        self, claims: Sequence[AnswerClaim], request: CheckRequest
    ) -> tuple[list[ClaimVerdict], list[str]]:
        """Return a verdict for every claim, in order, and warnings for the reader."""
        windows = SourceWindows(request.sources, self._model.measure)
        words: dict[int, str] = {}

        def score(asked: Sequence[AnswerClaim], as_of: date) -> list[ModelScores | str]:
            found: list[ModelScores | str] = []
            for claim, tokens in zip(
                asked, self._mark_claims(asked, windows, request), strict=True
            ):
                scores = _score(tokens, windows)
                if tokens is None or scores is None:
                    found.append(ANSWER_TOO_LONG)
                    continue
                words[id(claim)] = _quote_unsupported(tokens, claim, request.answer)
                found.append(ModelScores(scores, windows.find_closest(claim.wording)))
            return found

        def decide(claim: AnswerClaim, scored: ModelScores, as_of: date) -> ClaimVerdict:
            verdict = decide_scored(claim, scored, self.threshold, windows, as_of)
            quoted = words[id(claim)]
            if verdict.verdict != "unlinked" or not quoted:
                return verdict
            return replace(verdict, reason=f"the model finds no support for {quoted}")

        return judge_claims_with(score, claims, request, decide), []

    def _mark_claims(
        self, claims: Sequence[AnswerClaim], windows: SourceWindows, request: CheckRequest
    ) -> list[list[MarkedToken] | None]:
        """Return the tokens of every claim; one without a place in the answer is read alone."""
        placed = [_is_placed(claim, request.answer) for claim in claims]
        alone = [c.wording for c, known in zip(claims, placed, strict=True) if not known]
        answers = ([request.answer] if any(placed) else []) + alone
        marked = self._mark_answers(answers, windows, request.question)
        whole = marked.pop(0) if any(placed) else None
        rest = iter(marked)
        return [
            (None if whole is None else [t for t in whole if t.end > c.start and t.start < c.end])
            if known
            else next(rest)
            for c, known in zip(claims, placed, strict=True)
        ]

    def _mark_answers(
        self, answers: Sequence[str], windows: SourceWindows, question: str | None
    ) -> list[list[MarkedToken] | None]:
        """Return the tokens of every answer, by all its prompts together; None: it is too long."""
        prompts = [self._write_prompts(answer, windows, question) for answer in answers]
        encoded = [one for some in prompts for one in some or ()]
        marked = iter(self._model.mark(encoded))
        return [
            None if some is None else _join_least([next(marked) for _ in some]) for some in prompts
        ]

    def _write_prompts(
        self, answer: str, windows: SourceWindows, question: str | None
    ) -> list[Encoding] | None:
        """Return one prompt with all passages, or several where they are too long for it."""
        model = self._model
        passages = [s.source_text for s in windows.sources if s.source_text.strip()]
        whole = model.encode(passages, question, answer)
        if len(whole.ids) <= model.max_tokens:
            return [whole]
        room = model.max_tokens - len(model.encode([""], question, answer).ids)
        if room < _LEAST_ROOM * model.max_tokens:
            return None
        pieces = [windows.read(window) for window in windows.cut(room - _LINE_TOKENS)]
        sizes = model.measure([f"passage {n}: {text}" for n, text in enumerate(pieces, start=1)])
        groups = _group(pieces, sizes, room)
        return [model.encode(group, question, answer) for group in groups]


_LINE_TOKENS = 8  # of “passage 12: ” and a line's end


def write_prompt(passages: Sequence[str], question: str | None) -> str:
    """Return the text that the model was trained to read before an answer."""
    lines = "\n".join(f"passage {n}: {text}" for n, text in enumerate(passages, start=1))
    if question is None:
        return _SUMMARY_PROMPT.format(passages=lines)
    return _ANSWER_PROMPT.format(question=question, count=len(passages), passages=lines)


def _group(pieces: Sequence[str], sizes: Sequence[int], room: int) -> list[list[str]]:
    groups: list[list[str]] = []
    held = 0
    for piece, size in zip(pieces, sizes, strict=True):
        if not groups or held + size + 1 > room:  # 1: the line's end between two passages
            groups.append([])
            held = 0
        groups[-1].append(piece)
        held += size + 1
    return groups


def _read_unsupported(logits: NDArray[np.float32]) -> list[float]:
    """Return the probability of the second label, “hallucinated”, of every token."""
    high = logits.astype(np.float64) - logits.max(axis=-1, keepdims=True)
    powers = np.exp(high)
    shares: list[float] = (powers[:, 1] / powers.sum(axis=-1)).tolist()
    return shares


def _join_least(marked: Sequence[Sequence[MarkedToken]]) -> list[MarkedToken]:
    return [min(same, key=lambda token: token.unsupported) for same in zip(*marked, strict=True)]


def _score(tokens: Sequence[MarkedToken] | None, windows: SourceWindows) -> Scores | None:
    if tokens is None:
        return None
    if not tokens or windows.is_empty:
        return NOTHING_SAID
    worst = max(token.unsupported for token in tokens)
    return Scores(supports=1 - worst, contradicts=0.0, neither=worst)


def _is_placed(claim: AnswerClaim, answer: str) -> bool:
    return claim.start < claim.end and answer[claim.start : claim.end] == claim.text


def _quote_unsupported(tokens: Sequence[MarkedToken], claim: AnswerClaim, answer: str) -> str:
    """Return the words of a claim that are likelier unsupported than not, quoted."""
    text = answer if _is_placed(claim, answer) else claim.wording
    spans: list[tuple[int, int]] = []
    for token in tokens:
        if token.unsupported < 0.5:
            continue
        start, end = _widen(text, token.start, token.end)
        if spans and not text[spans[-1][1] : start].strip():
            spans[-1] = (spans[-1][0], max(end, spans[-1][1]))
        else:
            spans.append((start, end))
    return ", ".join(f"“{text[start:end].strip()}”" for start, end in spans[:_SHOWN_WORDS])


def _widen(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the place of the whole word that a token is a part of."""
    while start > 0 and text[start - 1 : start + 1].isalnum():
        start -= 1
    while end < len(text) and text[end - 1 : end + 1].isalnum():
        end += 1
    return start, end
