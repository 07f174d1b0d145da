"""From what a model says of a claim to a verdict: the quote is located, dates are looked up.

The model gives a verdict and a quote. Where the quote stands, whether that source still holds and
whether it is the one that the claim cites is decided here, by the texts alone.
"""

from __future__ import annotations

from typing import Literal

from claimwise.judges.compare import find_disagreement
from claimwise.judges.grounded_material import SourceMaterial
from claimwise.judges.grounded_replies import ClaimReply
from claimwise.judges.quotes import Located, is_thin
from claimwise.judges.reading import TextFacts
from claimwise.text.word_limits import cut_words
from claimwise.types.rows import Source, Verdict
from claimwise.types.validity import explain_stale
from claimwise.types.verdicts import AnswerClaim, ClaimVerdict

MissingQuote = Literal["unscored", "downgrade"]

QUOTE_NOT_FOUND = "quote_not_found"
APPROXIMATE_QUOTE = "approximate_quote"
THIN_QUOTE = "thin_quote"
QUOTE_DISAGREES = "quote_disagrees"
ELSEWHERE = "a claim is supported by another source than the one it cites"
_BASIS_WORDS = 20
_QUOTE_WORDS = 30


def settle_verdict(
    claim: AnswerClaim, entry: ClaimReply, material: SourceMaterial, missing: MissingQuote
) -> ClaimVerdict:
    """Return the verdict on a claim.

    A verdict that should rest on a quote and has none that a source says is unscored, or unlinked
    if that was asked for: also when a source says something similar. One whose quote is too thin
    to carry the claim, or says the reverse of what the verdict says, is unscored. A supported
    claim is stale when no source that still holds has its quote.
    """
    basis = _cut_words(entry.basis)
    if entry.verdict == "unlinked":
        reason = basis or "the judge found nothing about it in the sources"
        return ClaimVerdict(claim=claim, verdict="unlinked", reason=reason)
    located = _locate(claim, entry, material)
    if located is None or located.approximate:
        return _miss_quote(claim, entry, located, missing)
    if is_thin(located.span.text, claim.wording):
        reason = f"the quote “{located.span.text}” is too short to carry a verdict"
        return ClaimVerdict(claim=claim, unscored=THIN_QUOTE, reason=reason)
    disagreement = _find_disagreement(claim.wording, located.span.text, entry.verdict)
    if disagreement is not None:
        reason = f"the judge says {entry.verdict}, but its quote does not: {disagreement}"
        return ClaimVerdict(claim=claim, unscored=QUOTE_DISAGREES, reason=reason)
    verdict: Verdict = entry.verdict
    exceeds: str | None = None
    notes = [basis, *_note_place(claim, entry, material, located)]
    if verdict == "overreach":
        exceeds = _cut_words(entry.exceeds, 60) or None
    elif located.span.source_id not in material.holding:
        notes.append(f"the source is out of force: {explain_stale(_source_of(located, material))}")
        verdict = "stale" if verdict == "supported" else verdict
    reason = "; ".join(note for note in notes if note)
    return ClaimVerdict(
        claim=claim, verdict=verdict, span=located.span, reason=reason, exceeds=exceeds
    )


def _find_disagreement(wording: str, quote: str, verdict: str) -> str | None:
    """Say why a quote speaks for another verdict than the judge's; None where that is not plain."""
    core = wording.strip().rstrip(".")
    if verdict == "contradicted":
        same = core.casefold() == quote.strip().rstrip(".").casefold()
        return "it says just what the claim says" if same else None
    if verdict != "supported" or core in quote:
        return None
    return find_disagreement(TextFacts(wording), TextFacts(quote))


def stands_elsewhere(judged: ClaimVerdict, material: SourceMaterial) -> bool:
    """Tell whether a supported claim cites sources and rests on another one."""
    cited = _list_cited(judged.claim, material)
    rests = judged.verdict in ("supported", "stale") and judged.span is not None
    return rests and bool(cited) and judged.span.source_id not in cited  # type: ignore[union-attr]


def _locate(claim: AnswerClaim, entry: ClaimReply, material: SourceMaterial) -> Located | None:
    """Return where the quote stands.

    The same words may stand in several sources: one that the claim cites and that still holds
    comes first, then one that holds, then the one that the model named.
    """
    quote = entry.quote or ""
    named = material.find_source(entry.source or "")
    find = material.finder.locate
    found = find(quote, first=None if named is None else named.source_id)
    if found is None:
        return None
    cited = _list_cited(claim, material)
    for better in (cited & material.holding, material.holding):
        if found.span.source_id in better:
            return found
        other = find(quote, among=tuple(better)) if better else None
        if other is not None and other.approximate <= found.approximate:
            return other
    return found


def _list_cited(claim: AnswerClaim, material: SourceMaterial) -> set[str]:
    if not claim.marks:
        return set()
    known = {source.source_id for source in material.sources}
    return known & {mark.target for mark in claim.marks}


def _source_of(located: Located, material: SourceMaterial) -> Source:
    return next(s for s in material.sources if s.source_id == located.span.source_id)


def _note_place(
    claim: AnswerClaim, entry: ClaimReply, material: SourceMaterial, located: Located
) -> list[str]:
    """Say what a reader of the span must know: what the quote leaves out, where it stands."""
    notes = []
    named, at = material.find_source(entry.source or ""), located.span.source_id
    if located.left_out:
        left_out = ", ".join(f"“{_cut_words(text, _QUOTE_WORDS)}”" for text in located.left_out)
        notes.append(f"the judge's quote leaves out {left_out}")
    if named is None or (
        named.source_id != at
        and not material.finder.locate(entry.quote or "", among=(named.source_id,))
    ):
        notes.append(f"the judge named another source; the quote is in {at}")
    cited = _list_cited(claim, material)
    if cited and at not in cited and entry.verdict == "supported":
        notes.append(f"the claim cites {', '.join(sorted(cited))}, but {at} says so")
    return notes


def _miss_quote(
    claim: AnswerClaim, entry: ClaimReply, similar: Located | None, missing: MissingQuote
) -> ClaimVerdict:
    quote = _cut_words(entry.quote, _QUOTE_WORDS)
    if similar is not None:
        passage = _cut_words(similar.span.text, _QUOTE_WORDS)
        found = (
            f"its quote is only approximate: “{quote}”; {similar.span.source_id} says “{passage}”"
        )
    else:
        found = f"the quote “{quote}” is in no source" if quote else "no quote was given"
    reason = f"the judge says {entry.verdict}, but {found}"
    if missing == "downgrade":
        reason += ": counted as unlinked"
        return ClaimVerdict(claim=claim, verdict="unlinked", reason=reason)
    code = QUOTE_NOT_FOUND if similar is None else APPROXIMATE_QUOTE
    return ClaimVerdict(claim=claim, unscored=code, reason=reason)


def _cut_words(text: str | None, most: int = _BASIS_WORDS) -> str:
    return cut_words(text or "", most)[0]
