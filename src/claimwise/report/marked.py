"""Marks the claims of an answer, on a terminal and in HTML: one look for every verdict.

A verdict never shows by colour alone: it has a sign, and in HTML a line of its own style and its
word. Everything marked was written by others; in HTML all of it is escaped.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import Final, NamedTuple

from msgspec import Struct

from claimwise.report.format import clean, clean_lines

NOT_SCORED: Final = "not scored"


class Look(NamedTuple):
    """How a verdict is shown: a sign without colours, a style with them."""

    sign: str
    style: str


LOOKS: Final = {
    "contradicted": Look("✗", "red"),
    "false": Look("✗", "red"),
    "overreach": Look("△", "magenta"),
    "unlinked": Look("○", "yellow"),
    "unverifiable": Look("○", "yellow"),
    "stale": Look("◷", "cyan"),
    NOT_SCORED: Look("?", "dim underline"),
    "supported": Look("✓", "green"),
    "true": Look("✓", "green"),
    "non_factual": Look("·", "dim"),
}


class MarkedClaim(Struct, frozen=True, kw_only=True):
    """A claim as it is shown: what became of it, on what evidence, and where it stands."""

    number: int
    word: str  # a key of LOOKS
    text: str
    start: int | None = None  # in the answer
    end: int | None = None
    notes: tuple[str, ...] = ()  # who says so, how surely, whether it is disputed
    evidence: str | None = None
    source: str | None = None
    reason: str | None = None


class MarkedPiece(NamedTuple):
    """A stretch of an answer, and the claim that it makes."""

    text: str
    claim: MarkedClaim | None


def cut_answer(answer: str, claims: Iterable[MarkedClaim]) -> Iterator[MarkedPiece]:
    """Yield the answer in pieces, with their claims.

    Claims of one sentence may share words: those belong to the first. A claim without a place is
    in no piece.
    """
    at = 0
    placed = [(c.start, c.end, c) for c in claims if c.start is not None and c.end is not None]
    for begin, stop, claim in sorted(placed, key=lambda one: one[:2]):
        start, end = max(begin, at), max(stop, at)
        if answer[at:start]:
            yield MarkedPiece(answer[at:start], None)
        yield MarkedPiece(answer[start:end], claim)
        at = end
    if answer[at:]:
        yield MarkedPiece(answer[at:], None)


# Lines differ in style as well as in colour, for eyes and paper without colours.
STYLE: Final = """
.cw{font:15px/1.55 system-ui,sans-serif;color:#1b1b1b;max-width:46rem}
.cw .answer{white-space:pre-wrap;overflow-wrap:anywhere;margin:0 0 .8em}
.cw mark{background:none;color:inherit;border-bottom:2px var(--line,solid) var(--hue,#1a7f37)}
.cw sup{font-size:.7em;font-weight:600}
.cw .claims{list-style:none;padding:0;margin:0}
.cw .claims>li{border-left:4px var(--line,solid) var(--hue,#1a7f37)}
.cw .claims>li{padding-left:.7em;margin:0 0 .8em}
.cw .claims p,.cw blockquote{margin:.1em 0;overflow-wrap:anywhere}
.cw blockquote{padding-left:.8em;border-left:1px solid #999}
.cw .notes,.cw cite{color:#57606a;font-size:.87em;font-style:normal}
.cw .is-contradicted,.cw .is-false{--hue:#c4281c;--line:double}
.cw mark.is-contradicted,.cw mark.is-false{border-bottom-width:4px}
.cw .is-overreach{--hue:#8b4bb3;--line:dashed}
.cw .is-unlinked,.cw .is-unverifiable{--hue:#a87000;--line:dotted}
.cw .is-stale{--hue:#0f76b5;--line:groove}
.cw .is-not-scored,.cw .is-non-factual{--hue:#8c8c8c}
@media (prefers-color-scheme:dark){.cw{color:#e6e6e6}.cw .notes,.cw cite{color:#a8b1ba}}
""".strip()


def write_answer(answer: str, claims: Sequence[MarkedClaim]) -> str:
    """Return an answer as HTML, its claims marked and numbered."""
    pieces = (_write_piece(piece) for piece in cut_answer(answer, claims))
    return f'<p class="answer">{"".join(pieces)}</p>'


def _write_piece(piece: MarkedPiece) -> str:
    claim, text = piece.claim, escape(clean_lines(piece.text))
    if claim is None:
        return text
    sign = LOOKS[claim.word].sign
    title = escape(f"{claim.number} {claim.word}")
    marked = f'<mark class="{_name_class(claim.word)}" title="{title}">{text}</mark>'
    return f"{marked}<sup>{claim.number}{sign}</sup>"


def write_claims(claims: Iterable[MarkedClaim]) -> str:
    """Return claims as an HTML list, each with its verdict, evidence and reason."""
    return f'<ol class="claims">{"".join(map(_write_claim, claims))}</ol>'


def _write_claim(claim: MarkedClaim) -> str:
    notes = f' <span class="notes">{_show("; ".join(claim.notes))}</span>' if claim.notes else ""
    head = f"{claim.number} {LOOKS[claim.word].sign} {_show(claim.word)}"
    parts = [f"<p><strong>{head}</strong>{notes}</p>", f"<p>{_show(claim.text)}</p>"]
    if claim.evidence:
        cite = f" <cite>{_show(claim.source)}</cite>" if claim.source else ""
        parts.append(f"<blockquote>“{_show(claim.evidence)}”{cite}</blockquote>")
    if claim.reason:
        parts.append(f'<p class="notes">{_show(claim.reason)}</p>')
    return f'<li class="{_name_class(claim.word)}">{"".join(parts)}</li>'


def _show(text: str) -> str:
    return escape(clean(text))


def _name_class(word: str) -> str:
    return f"is-{word.replace(' ', '-').replace('_', '-')}"
