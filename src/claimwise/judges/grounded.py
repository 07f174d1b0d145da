"""The grounded judge: a language model compares claims with sources, and we check what it says.

Three ways, the mode, which is kept with the labeler:

- ``claims``: the claims are known (stored, or from our own splitter), and judged in one call.
- ``single``: one call in which the model splits the answer's pieces and judges each claim.
- ``two-pass``: one call to split the pieces, one to judge all claims.

Whatever the reply is like, every claim comes out once: with a verdict that rests on a located
quote, or unscored with the reason. The model is not asked what can be known: whether a source
still holds, and whether the action log has an action.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Literal, TypeVar

import msgspec
from msgspec.structs import replace

from claimwise.judges.attribution import Wordings, measure_said_share, read_telling
from claimwise.judges.decide import decide_unasked, is_for_model
from claimwise.judges.grounded_material import SourceMaterial
from claimwise.judges.grounded_replies import (
    BAD_ENTRY,
    ClaimReply,
    ClaimsReply,
    PieceReply,
    PiecesReply,
    SplitPiece,
    account_for,
    group_repeated,
    read_entry,
)
from claimwise.judges.grounded_verdicts import (
    ELSEWHERE,
    MissingQuote,
    settle_verdict,
    stands_elsewhere,
)
from claimwise.judges.kept_facts import CHANGED_FACT, KeptFacts
from claimwise.llm.parsing import ask_for
from claimwise.llm.prompts import Prompt, load_prompt, name_judge
from claimwise.types.llm import Asker, LlmCall, LlmFailure
from claimwise.types.rows import Source
from claimwise.types.verdicts import AnswerClaim, CheckRequest, ClaimVerdict, Scores

Mode = Literal["claims", "single", "two-pass"]
MODES: tuple[Mode, ...] = ("claims", "single", "two-pass")

SKIPPED_PIECE = "skipped_piece"
FOREIGN_CLAIM = "foreign_claim"
TOO_MANY_CLAIMS = "too_many_claims"
CONFLICTING_VERDICTS = "conflicting_verdicts"
_REPLY_TOKENS = 2048  # for the frame of a reply, and for models that think before they speak
_CLAIM_TOKENS, _PIECE_TOKENS, _SPLIT_TOKENS = 250, 600, 200
_TOLD_WORDS = 0.5  # share of a piece's content words that its claims must say
_NONE_GIVEN = "(none)"

T = TypeVar("T", bound=ClaimReply | PieceReply | SplitPiece)
R = TypeVar("R", bound=ClaimsReply | PiecesReply)
C = TypeVar("C", bound=AnswerClaim | ClaimVerdict)


class GroundedSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What changes a judge's verdicts beside prompt and model; kept with its labeler."""

    mode: Mode = "claims"
    batch: int | None = None  # claims, or pieces, in one call; None: all of an answer
    source_tokens: int = 60_000  # of the sources in one call, about
    missing_quote: MissingQuote = "unscored"

    def describe(self) -> str:
        """Return the settings in words."""
        return (
            f"mode {self.mode}, batch {self.batch or 'all'}, sources up to "
            f"{self.source_tokens} tokens, missing quote {self.missing_quote}"
        )


_USUAL = GroundedSettings()


class GroundedJudge:
    """Judges claims with a language model; safe to use from many threads at once.

    ``repeat`` tells apart the rounds of a judge that is asked several times: each has replies of
    its own, and labels carry the number from the second on.
    """

    threshold: float = 0.5

    def __init__(
        self,
        asker: Asker,
        settings: GroundedSettings = _USUAL,
        *,
        prompt: str | Path | None = None,
        repeat: int = 1,
    ) -> None:
        single = settings.mode == "single"
        self._asker = asker
        self._prompt = prompt
        self.settings = settings
        self.claims_prompt = load_prompt("grounded" if single or prompt is None else prompt)
        self.pieces_prompt = load_prompt(prompt if single and prompt else "grounded-split")
        self.split_prompt = load_prompt("split")
        self.repeat = repeat
        self.name = self.model = asker.model
        self.labeler: str = name_judge(self._main_prompt, asker.model)
        if repeat > 1:
            self.labeler += f"#{repeat}"
        # How far it agrees with people: whoever has measured that says so.
        self.agreement: str | None = None

    def repeat_as(self, number: int) -> GroundedJudge:
        """Return the same judge for another round, which is asked again."""
        return GroundedJudge(self._asker, self.settings, prompt=self._prompt, repeat=number)

    @property
    def splits(self) -> bool:
        """Whether the model splits answers whose claims are not known."""
        return self.settings.mode != "claims"

    @property
    def prompt_ver(self) -> str:
        """Prompts and settings in words, for the labeler's row."""
        prompts = [self._main_prompt.edition]
        if self.settings.mode == "two-pass":
            prompts.insert(0, self.split_prompt.label)
        return f"{'+'.join(prompts)}; {self.settings.describe()}"

    @property
    def _main_prompt(self) -> Prompt:
        return self.pieces_prompt if self.settings.mode == "single" else self.claims_prompt

    def score_claims(self, claims: Sequence[str], document: str) -> list[Scores | None]:
        """Return 1 for the verdict's probability and 0 for the others; None is unscored.

        The model is asked for verdicts, not for probabilities, which it can't calibrate. All
        claims about the document are judged together, or in batches; an empty one supports none.
        """
        if not document.strip():
            return [Scores(supports=0.0, contradicts=0.0, neither=1.0) for _ in claims]
        verdicts, _ = self.judge_answer(*make_score_request(claims, document))
        return [_to_scores(judged) for judged in verdicts]

    def judge_answer(
        self, claims: Sequence[AnswerClaim], request: CheckRequest
    ) -> tuple[list[ClaimVerdict], list[str]]:
        """Return a verdict for every claim, in order, and warnings for the reader."""
        hearing = _Hearing(self, self._asker, claims, request)
        judged = dict(zip(map(id, hearing.asked), hearing.judge(hearing.asked), strict=True))
        verdicts = [judged.get(id(c)) or decide_unasked(c, request) for c in claims]
        return verdicts, hearing.list_warnings(verdicts)

    def judge_pieces(
        self, pieces: Sequence[AnswerClaim], request: CheckRequest
    ) -> tuple[list[ClaimVerdict], list[str]]:
        """Let the model split the pieces of an answer, and return a verdict for every claim.

        Pieces are what our own splitter found: the claims of a piece have its place. One that the
        model does not account for, or whose claims hardly mention it, is an unscored claim itself.
        """
        hearing = _Hearing(self, self._asker, pieces, request)
        made = hearing.judge_split() if self.settings.mode == "single" else hearing.split_judge()
        found = dict(zip(map(id, hearing.asked), made, strict=True))
        verdicts: list[ClaimVerdict] = []
        for piece in pieces:
            verdicts += found.get(id(piece)) or [decide_unasked(piece, request)]
        return verdicts, hearing.list_warnings(verdicts)

    def plan_calls(self, claims: Sequence[AnswerClaim], request: CheckRequest) -> list[LlmCall]:
        """Return the calls that judging known claims would make."""
        hearing = _Hearing(self, self._asker, claims, request)
        return [call for call, _ in hearing.call_claims(hearing.asked)]

    def plan_scores(self, claims: Sequence[str], document: str) -> list[LlmCall]:
        """Return the calls that scoring claims about one document would make."""
        if not document.strip():
            return []
        return self.plan_calls(*make_score_request(claims, document))

    def plan_split(self, pieces: Sequence[AnswerClaim], request: CheckRequest) -> list[LlmCall]:
        """Return the calls that judging pieces would make.

        In two passes the second depends on the first: it is planned as if each piece were a claim.
        """
        hearing = _Hearing(self, self._asker, pieces, request)
        if self.settings.mode == "single":
            return [call for call, _ in hearing.call_pieces()]
        splits = [call for call, _ in hearing.call_split()]
        return splits + [call for call, _ in hearing.call_claims(hearing.asked)]


class _Hearing:
    """One answer before the judge."""

    def __init__(
        self,
        judge: GroundedJudge,
        asker: Asker,
        claims: Sequence[AnswerClaim],
        request: CheckRequest,
    ) -> None:
        self.asked = [c for c in claims if is_for_model(c)]
        self._judge = judge
        self._asker = asker
        self._context = {
            "question": request.question or _NONE_GIVEN,
            "answer": request.answer or _NONE_GIVEN,
        }
        self._material = SourceMaterial(
            request.sources,
            [c.wording for c in self.asked],
            request.as_of or datetime.now(UTC).date(),
            judge.settings.source_tokens,
        )
        self._invented = 0

    @cached_property
    def _wordings(self) -> Wordings:
        context = f"{self._context['answer']} {self._context['question']}"
        return Wordings((piece.wording for piece in self.asked), context)

    @cached_property
    def _facts(self) -> KeptFacts:
        return KeptFacts(f"{self._context['answer']}\n{self._context['question']}")

    # Calls: each with the claims that it is about

    def call_claims(
        self, claims: Sequence[AnswerClaim]
    ) -> Iterator[tuple[LlmCall, Sequence[AnswerClaim]]]:
        prompt = self._judge.claims_prompt
        for some in self._cut(claims):
            shown = self._material.show_claims(some, "c")
            sources = self._material.show_sources()
            yield self._call(prompt, _CLAIM_TOKENS, some, claims=shown, sources=sources), some

    def call_pieces(self) -> Iterator[tuple[LlmCall, Sequence[AnswerClaim]]]:
        prompt = self._judge.pieces_prompt
        for some in self._cut(self.asked):
            shown = self._material.show_claims(some, "s")
            sources = self._material.show_sources()
            yield self._call(prompt, _PIECE_TOKENS, some, pieces=shown, sources=sources), some

    def call_split(self) -> Iterator[tuple[LlmCall, Sequence[AnswerClaim]]]:
        prompt = self._judge.split_prompt
        for some in self._cut(self.asked):
            shown = self._material.show_claims(some, "s")
            yield self._call(prompt, _SPLIT_TOKENS, some, pieces=shown), some

    def _cut(self, claims: Sequence[AnswerClaim]) -> Iterator[Sequence[AnswerClaim]]:
        size = self._judge.settings.batch or len(claims) or 1
        return (claims[n : n + size] for n in range(0, len(claims), size))

    def _call(
        self, prompt: Prompt, each: int, some: Sequence[AnswerClaim], **shown: str
    ) -> LlmCall:
        room = _REPLY_TOKENS + each * len(some)
        call = prompt.make_call(self._judge.model, max_tokens=room, **self._context, **shown)
        return replace(call, repeat=self._judge.repeat)

    # Replies

    def judge(self, claims: Sequence[AnswerClaim]) -> list[ClaimVerdict]:
        """Judge known claims."""
        verdicts: list[ClaimVerdict] = []
        for call, some in self.call_claims(claims):
            settled = self._ask(
                call, some, ClaimsReply, ClaimReply, lambda c, e: [self._settle(c, e)]
            )
            verdicts += chain.from_iterable(settled)
        return verdicts

    def judge_split(self) -> list[list[ClaimVerdict]]:
        """Judge the claims that the model finds in every piece, in the same call."""
        verdicts: list[list[ClaimVerdict]] = []
        for call, some in self.call_pieces():
            verdicts += self._ask(call, some, PiecesReply, PieceReply, self._settle_piece)
        return verdicts

    def split_judge(self) -> list[list[ClaimVerdict]]:
        """Let the model split the pieces first, then judge all claims."""
        split: list[list[AnswerClaim | ClaimVerdict]] = []
        for call, some in self.call_split():
            split += self._ask(call, some, PiecesReply, SplitPiece, self._read_split)
        claims = [c for made in split for c in made if isinstance(c, AnswerClaim)]
        judged = iter(self.judge(claims))
        return [[next(judged) if isinstance(c, AnswerClaim) else c for c in m] for m in split]

    def _ask(
        self,
        call: LlmCall,
        some: Sequence[AnswerClaim],
        reply_type: type[R],
        kind: type[T],
        settle: Callable[[AnswerClaim, T | LlmFailure | str], list[C]],
    ) -> list[list[C]]:
        """Return what becomes of every claim or piece by its entry, or by why there is none."""
        reply = ask_for(self._asker, call, reply_type)
        if isinstance(reply, LlmFailure):
            return [settle(claim, reply) for claim in some]
        value, told = reply
        letter = "c" if kind is ClaimReply else "s"
        account = account_for([f"{letter}{n + 1}" for n in range(len(some))], value.entries, kind)
        self._invented += account.invented
        settled = [settle(c, e) for c, e in zip(some, account.found, strict=True)]
        lost = any(isinstance(c, ClaimVerdict) and c.unscored for c in chain(*settled))
        if lost or account.invented:
            # Kept, it would be read again by the next command, and its claims never be judged.
            self._asker.reject(call, told)
        return settled

    def _settle(self, claim: AnswerClaim, found: ClaimReply | LlmFailure | str) -> ClaimVerdict:
        if not isinstance(found, ClaimReply):
            return _fail(claim, found)
        # The claim is known: a model that says it again may not say something else.
        change = self._find_other_text(claim, found.text) if found.text else None
        if change is not None:
            return _refuse_change(claim, found.text, change)
        settings = self._judge.settings
        verdict = settle_verdict(claim, found, self._material, settings.missing_quote)
        # In single mode, claims that were known already are judged by another prompt: say so.
        if settings.mode != "single":
            return verdict
        return replace(verdict, instrument=self._judge.claims_prompt.label)

    def _find_other_text(self, claim: AnswerClaim, text: str) -> str | None:
        """Say what a model changes that says a known claim again."""
        if Wordings(c.wording for c in self.asked).takes_in(text, claim.wording):
            return "the judge's claim takes in another claim of the answer"
        return self._facts.find_change(text, claim.wording)

    def _settle_piece(
        self, piece: AnswerClaim, found: PieceReply | LlmFailure | str
    ) -> list[ClaimVerdict]:
        if not isinstance(found, PieceReply):
            return [_fail(piece, found)]
        if not self._wordings.allow(piece.wording, len(found.claims)):
            return [_fail(piece, TOO_MANY_CLAIMS)]
        entries = [read_entry(entry, ClaimReply) for entry in found.claims]
        texts = [e.text if isinstance(e, ClaimReply) else f"\0{n}" for n, e in enumerate(entries)]
        said = [entry.text for entry in entries if isinstance(entry, ClaimReply)]
        made = [
            self._settle_same(piece, [entries[n] for n in at], said) for at in group_repeated(texts)
        ]
        return [*made, *self._find_skipped(piece, made)]

    def _find_skipped(
        self, piece: AnswerClaim, made: Sequence[AnswerClaim | ClaimVerdict]
    ) -> list[ClaimVerdict]:
        """Return a piece as unscored if its claims leave most of it out, or a fact of it.

        One of which a claim was refused is unscored already, and counted once.
        """
        if any(isinstance(one, ClaimVerdict) and one.claim is piece for one in made):
            return []
        said = [(one.claim if isinstance(one, ClaimVerdict) else one).wording for one in made]
        if piece.wording in said:
            return []
        if measure_said_share(piece.wording, said) < _TOLD_WORDS:
            return [_skip(piece)]
        lost = self._facts.find_lost(piece.wording, said)
        return [] if lost is None else [_skip(piece, lost)]

    def _settle_same(
        self, piece: AnswerClaim, entries: Sequence[ClaimReply | str], said: Sequence[str]
    ) -> ClaimVerdict:
        """Settle a claim that a piece is given once or more; with two verdicts it has none."""
        first, *others = (self._settle_part(piece, entry, said) for entry in entries)
        if all(other.verdict == first.verdict for other in others):
            return first
        reason = "the judge gave it twice, with different verdicts"
        return ClaimVerdict(claim=first.claim, unscored=CONFLICTING_VERDICTS, reason=reason)

    def _settle_part(
        self, piece: AnswerClaim, entry: ClaimReply | str, said: Sequence[str]
    ) -> ClaimVerdict:
        if isinstance(entry, str):
            return _fail(piece, entry)
        claim = self._make_claim(piece, entry.text, said)
        if isinstance(claim, ClaimVerdict):
            return claim
        missing = self._judge.settings.missing_quote
        return settle_verdict(claim, entry, self._material, missing)

    def _read_split(
        self, piece: AnswerClaim, found: SplitPiece | LlmFailure | str
    ) -> list[AnswerClaim | ClaimVerdict]:
        if not isinstance(found, SplitPiece):
            return [_fail(piece, found)]
        if not self._wordings.allow(piece.wording, len(found.claims)):
            return [_fail(piece, TOO_MANY_CLAIMS)]
        kept = [found.claims[at[0]] for at in group_repeated(found.claims)]
        made = [self._make_claim(piece, text, kept) for text in kept]
        return [*made, *self._find_skipped(piece, made)]

    def _make_claim(
        self, piece: AnswerClaim, text: str, said: Sequence[str]
    ) -> AnswerClaim | ClaimVerdict:
        """Return a claim that the model found, at its piece's place.

        One that has little in common with the answer was made up, or is another piece's. One that
        changes a fact of its piece is not the answer's either.
        """
        wording = " ".join(text.split())
        if not read_telling(wording):
            return _fail(piece, BAD_ENTRY)
        if not self._wordings.own(wording, piece.wording):
            reason = f"the judge read “{wording}” into it, which it does not say"
            return ClaimVerdict(claim=piece, unscored=FOREIGN_CLAIM, reason=reason)
        change = self._facts.find_change(wording, piece.wording, said=said)
        if change is not None:
            return _refuse_change(piece, wording, change)
        return replace(piece, wording=wording, compound=())

    def list_warnings(self, verdicts: Sequence[ClaimVerdict]) -> list[str]:
        """Return what a reader must know about this answer's verdicts."""
        found = []
        if self.asked and self._material.left_out:
            share = min(max(self._material.left_out, 0.01), 0.99)
            found.append(
                f"the sources are longer than {self._judge.settings.source_tokens} tokens: about "
                f"{share:.0%} of their text, what is least like the claims, was not shown"
            )
        if self._invented:
            found.append(f"the reply had {self._invented} ids that nobody asked for: dropped")
        if any(stands_elsewhere(judged, self._material) for judged in verdicts):
            found.append(ELSEWHERE)
        return found


def make_score_request(
    claims: Sequence[str], document: str
) -> tuple[list[AnswerClaim], CheckRequest]:
    """Return claims about one document as those of an answer."""
    source = Source(source_id="document", corpus_ver="-", source_text=document)
    known = [AnswerClaim(text=c, start=0, end=len(c), wording=c) for c in claims]
    return known, CheckRequest(answer="", sources=(source,))


def _fail(claim: AnswerClaim, why: LlmFailure | str) -> ClaimVerdict:
    if isinstance(why, LlmFailure):
        return ClaimVerdict(claim=claim, unscored=why.code, reason=why.detail)
    return ClaimVerdict(
        claim=claim, unscored=why, reason="the judge's reply does not account for it"
    )


def _refuse_change(piece: AnswerClaim, wording: str, change: str) -> ClaimVerdict:
    reason = f"{change}; the judge read it as “{wording}”"
    return ClaimVerdict(claim=piece, unscored=CHANGED_FACT, reason=reason)


def _skip(piece: AnswerClaim, lost: str | None = None) -> ClaimVerdict:
    reason = "the judge found no claim in it, or passed over most of it"
    if lost is not None:
        reason = f"the judge passed over a part of it: {lost}"
    return ClaimVerdict(claim=piece, unscored=SKIPPED_PIECE, reason=reason)


def _to_scores(judged: ClaimVerdict) -> Scores | None:
    if judged.verdict is None:
        return None
    supports = float(judged.verdict == "supported")
    contradicts = float(judged.verdict == "contradicted")
    return Scores(supports=supports, contradicts=contradicts, neither=1 - supports - contradicts)
