"""The closed-book judge: a model labels an answer's claims from what it knows, without sources.

One call an answer. Its pieces go in under ids, and the reply must account for every id once: the
model splits each piece into atomic claims and labels them, or returns an empty list for it.
Whatever the reply does to ids, labels and claims, nothing is guessed: what can't be used is
unscored, with a code.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from claimwise.judges.closed_book_replies import ClosedBookReply, PieceReplyReader, give_up
from claimwise.llm.fencing import neutralise_text
from claimwise.llm.parsing import ask_for
from claimwise.llm.prompts import Prompt, load_prompt, name_judge
from claimwise.text.sentences import find_sentences
from claimwise.text.word_limits import cut_words
from claimwise.types.closed_book import AnswerPiece, FactClaim, Frame, Spent
from claimwise.types.llm import Asker, LlmCall, LlmFailure, LlmReply

PROMPT = "closed-book"
SPLIT_PROMPT = "closed-book-split"
SUMMARY_WORDS = 40
# Room for the reply: a claim is said again, with a basis; models write JSON at about 3 characters
# a token. A reply that does not fit is a failure, so there is room to spare.
_BASE_TOKENS = 2_048  # and for models that think before they speak
_PIECE_TOKENS = 150
_MOST_TOKENS = 16_000
_NO_FRAME = Frame()
_JSON = json.JSONEncoder(ensure_ascii=False)


class JudgedReply(NamedTuple):
    """What came of one reply."""

    claims: list[FactClaim]
    spent: Spent
    summary_basis: str = ""
    summary_shortened: bool = False
    served_by: str = ""
    skipped: tuple[FactClaim, ...] = ()
    invented: tuple[str, ...] = ()


class _Meter:
    """An asker that counts what goes through it."""

    def __init__(self, asker: Asker) -> None:
        self.model = asker.model
        self.spent = Spent()
        self._asker = asker

    def ask(self, call: LlmCall) -> LlmReply | LlmFailure:
        reply = self._asker.ask(call)
        self.spent += _count(reply)
        return reply

    def reject(self, call: LlmCall, reply: LlmReply) -> None:
        self._asker.reject(call, reply)


class ClosedBookJudge:
    """Labels claims true, false, unverifiable or non_factual by a model's own knowledge.

    ``repeat`` tells apart the rounds of a judge that is asked several times: each has replies of
    its own, and labels carry the number from the second on.
    """

    def __init__(
        self,
        client: Asker,
        *,
        prompt: Prompt | None = None,
        split_prompt: Prompt | None = None,
        repeat: int = 1,
    ) -> None:
        self.client = client
        self.prompt = prompt or load_prompt(PROMPT)
        self.split_prompt = split_prompt or load_prompt(SPLIT_PROMPT)
        self.model = client.model
        self.repeat = repeat
        self.labeler = name_judge(self.prompt, client.model)
        if repeat > 1:
            self.labeler += f"#{repeat}"

    def repeat_as(self, number: int) -> ClosedBookJudge:
        """Return the same judge for another round, which is asked again."""
        return ClosedBookJudge(
            self.client, prompt=self.prompt, split_prompt=self.split_prompt, repeat=number
        )

    def make_call(self, pieces: Sequence[AnswerPiece], frame: Frame = _NO_FRAME) -> LlmCall:
        """Return the request that judges an answer's pieces."""
        texts = {piece.id: piece.text for piece in pieces}
        return self._make_call(self.prompt, texts, frame)

    def _make_call(self, prompt: Prompt, texts: dict[str, str], frame: Frame) -> LlmCall:
        length = sum(map(len, texts.values()))
        inputs = prompt.select_inputs(
            pieces=write_pieces(texts),
            model_output="\n".join(texts.values()),
            domain_hint=_show(frame.domain_hint),
            question=_show(frame.question),
        )
        call = prompt.make_call(
            self.model,
            max_tokens=min(_MOST_TOKENS, _BASE_TOKENS + _PIECE_TOKENS * len(texts) + length),
            **inputs,
        )
        return msgspec.structs.replace(call, repeat=self.repeat)

    def judge_pieces(self, pieces: Sequence[AnswerPiece], frame: Frame = _NO_FRAME) -> JudgedReply:
        """Label the claims of an answer.

        Without pieces nothing is sent. A reply that can't be read is asked for twice more; then,
        as after any failure, all claims of our own splitter are unscored.
        """
        if not pieces:
            return JudgedReply([], Spent())
        call, meter = self.make_call(pieces, frame), _Meter(self.client)
        heard = ask_for(meter, call, ClosedBookReply)
        if isinstance(heard, LlmFailure):
            lost = [c for piece in pieces for c in give_up(piece, heard.code, heard.detail)]
            return JudgedReply(lost, meter.spent)
        reply, raw = heard
        reader = PieceReplyReader(pieces, frame.question or "")
        listed = reader.gather(reply)
        found = Counter(piece.id for piece in listed)
        given = {piece.id: piece.claims for piece in listed}
        claims: list[FactClaim] = []
        skipped: list[FactClaim] = []
        for piece in pieces:
            read = reader.read(piece, found, given)
            claims += read
            skipped += (
                reader.find_skipped(piece, given[piece.id], read) if found[piece.id] == 1 else ()
            )
        if skipped or any(claim.unscored for claim in claims):
            # Only replies that serve in full are kept: the next attempt may get one.
            self.client.reject(call, raw)
        summary, shortened = _cut_summary(reply.summary_basis)
        return JudgedReply(
            claims,
            meter.spent,
            summary,
            shortened,
            raw.served_by,
            skipped=tuple(skipped),
            invented=tuple(sorted(found.keys() - {piece.id for piece in pieces})),
        )

    def split_claims(
        self, claims: Sequence[FactClaim], frame: Frame = _NO_FRAME
    ) -> tuple[list[list[FactClaim]], Spent]:
        """Send compound claims back, once; return the parts of each, in order, and what it took.

        A claim whose parts can't be used, for whatever reason, comes back as its only part.
        """
        if not claims:
            return [], Spent()
        ids = [f"c{number}" for number in range(1, len(claims) + 1)]
        texts = dict(zip(ids, (claim.text for claim in claims), strict=True))
        call, meter = self._make_call(self.split_prompt, texts, frame), _Meter(self.client)
        heard = ask_for(meter, call, ClosedBookReply)
        if isinstance(heard, LlmFailure):
            return [[claim] for claim in claims], meter.spent
        reply, raw = heard
        wholes = [
            AnswerPiece(id=name, text=claim.text, start=claim.start, end=claim.end)
            for name, claim in zip(ids, claims, strict=True)
        ]
        listed = PieceReplyReader(wholes).gather(reply)
        found = Counter(piece.id for piece in listed)
        given = {piece.id: piece.claims for piece in listed}
        parts, whole_reply = [], True
        for whole, claim in zip(wholes, claims, strict=True):
            reader = PieceReplyReader([whole])
            read = reader.read(whole, found, given)
            usable = all(part.label for part in read) and reader.is_covered(whole.text, read)
            parts.append([_move(part, claim.piece) for part in read] if usable else [claim])
            whole_reply = whole_reply and usable
        if not whole_reply:
            self.client.reject(call, raw)
        return parts, meter.spent


def _show(text: str | None) -> str:
    return " ".join((text or "").split()) or "none"


def write_pieces(texts: dict[str, str]) -> str:
    """Return texts under their ids as lines of JSON: no text can end its line or forge an id.

    Neutralised before it is JSON: afterwards a control character is an escape, which the fence
    lets through and a model may hand back.
    """
    return "\n".join(
        f'{{"id": {_JSON.encode(name)}, "text": {_JSON.encode(_clean(text))}}}'
        for name, text in texts.items()
    )


def _clean(text: str) -> str:
    return " ".join(neutralise_text(text).split())


def _cut_summary(text: str) -> tuple[str, bool]:
    """Return the first sentence of a summary, at most forty words of it, and whether it is less."""
    sentences = find_sentences(text)
    first = text[slice(*sentences[0])] if sentences else text
    summary, shortened = cut_words(first, SUMMARY_WORDS)
    return summary, shortened or len(sentences) > 1


def _count(reply: LlmReply | LlmFailure) -> Spent:
    if isinstance(reply, LlmReply) and reply.cached:
        return Spent(cached=1)
    usage = reply.usage
    unsent = isinstance(reply, LlmFailure) and (reply.code == "cost_ceiling" or not reply.attempts)
    return Spent(
        calls=int(not unsent),
        input_tokens=usage.input_tokens or 0,
        output_tokens=usage.output_tokens or 0,
    )


def _move(part: FactClaim, piece: str) -> FactClaim:
    return msgspec.structs.replace(part, piece=piece)
