"""Finds what is suspicious in a file of answers, before anybody trusts a number from it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from claimwise.types.traces import Passage, Trace

_ENOUGH = 5  # fewer rows can be alike by chance
_MOST = 0.5
_CUT_CONTEXTS = 5
_CUT_SHARE = 0.2
_SHORTEST_CUT = 100
_SHOWN = 60
# Cut texts end within a sentence.
_SENTENCE_ENDS = tuple(".!?…\"”')]}>|`*")


def find_smells(traces: Sequence[Trace]) -> list[str]:
    """Return warnings in plain words; none where nothing is suspicious.

    Found are contexts that were cut at one length, that are empty, that are lists written as text
    or the same for all answers; answers and questions that repeat; and answers that are copies of
    the reference.
    """
    answered = [trace for trace in traces if trace.answer.strip()]
    found = (
        _find_missing_contexts(answered),
        _find_empty_contexts(answered),
        _find_cut_contexts(answered),
        _find_unread_lists(answered),
        _find_same_contexts(answered),
        _find_repeats([trace.answer for trace in answered], "answers"),
        _find_repeats([trace.question for trace in answered], "questions"),
        _find_copies(answered),
    )
    return [warning for warning in found if warning is not None]


def _count(number: int, of: int, what: str) -> str:
    return f"{number:,} of {of:,} {what}"


def _find_missing_contexts(traces: Sequence[Trace]) -> str | None:
    """Say where only some answers have contexts; a file without any is told elsewhere."""
    without = sum(trace.passages is None for trace in traces)
    if not 0 < without < len(traces):
        return None
    return f"{_count(without, len(traces), 'answers')} have no contexts recorded"


def _find_empty_contexts(traces: Sequence[Trace]) -> str | None:
    recorded = [trace.passages for trace in traces if trace.passages is not None]
    empty = sum(not any(map(_has_text, passages)) for passages in recorded)
    if not empty:
        return None
    return (
        f"{_count(empty, len(recorded), 'answers')} have empty contexts: "
        "their claims are not judged"
    )


def _has_text(passage: Passage) -> bool:
    return bool(passage.source_id or (passage.text and passage.text.strip()))


def _list_texts(traces: Sequence[Trace]) -> list[str]:
    found = (passage for trace in traces for passage in trace.passages or ())
    return list(dict.fromkeys(p.text for p in found if p.text and p.kind == "passage"))


def _find_cut_contexts(traces: Sequence[Trace]) -> str | None:
    """Look for many different contexts that share the greatest length and end in mid-sentence."""
    texts = _list_texts(traces)
    longest = max(map(len, texts), default=0)
    cut = [text for text in texts if len(text) == longest]
    broken = [text for text in cut if not text.rstrip().endswith(_SENTENCE_ENDS)]
    enough = len(cut) >= _CUT_CONTEXTS and len(cut) >= _CUT_SHARE * len(texts)
    if longest < _SHORTEST_CUT or not enough or len(broken) < _MOST * len(cut):
        return None
    return (
        f"{_count(len(cut), len(texts), 'contexts')} are exactly {longest:,} characters long: "
        "they seem to be cut off, and what was cut off can support nothing"
    )


def _find_unread_lists(traces: Sequence[Trace]) -> str | None:
    """Look for answers with one context that begins and ends like a list; tools return such."""
    single = [trace.passages for trace in traces if trace.passages is not None]
    texts = [
        passages[0].text
        for passages in single
        if len(passages) == 1 and passages[0].kind == "passage"
    ]
    lists = sum(_looks_like_list(text) for text in texts if text)
    if not lists:
        return None
    return (
        f"{_count(lists, len(single), 'answers')} have one context that looks like a list written "
        "as text, and could not be taken apart"
    )


def _looks_like_list(text: str) -> bool:
    stripped = text.strip()
    return stripped[:2] in ("['", '["', "[{", "[D") or (
        stripped[:1] == "[" and stripped[-2:] in ("']", '"]', "}]")
    )


def _find_same_contexts(traces: Sequence[Trace]) -> str | None:
    """Look for different questions that all have the same contexts."""
    recorded = [trace for trace in traces if trace.passages]
    if len(recorded) < _ENOUGH or len({trace.question for trace in recorded}) < _ENOUGH:
        return None
    kinds = {tuple((p.source_id, p.text) for p in trace.passages or ()) for trace in recorded}
    if len(kinds) > 1:
        return None
    return f"all {len(recorded):,} answers have the same contexts"


def _find_repeats(texts: Sequence[str], what: str) -> str | None:
    """Look for one text that stands in half the rows."""
    if len(texts) < _ENOUGH:
        return None
    [(text, times)] = Counter(text.strip() for text in texts).most_common(1)
    if times < _MOST * len(texts):
        return None
    shown = " ".join(text.split())
    shown = shown if len(shown) <= _SHOWN else shown[: _SHOWN - 1] + "…"
    return f"{_count(times, len(texts), what)} are the same: “{shown}”"


def _find_copies(traces: Sequence[Trace]) -> str | None:
    known = [trace for trace in traces if trace.gold_answer]
    copied = sum(trace.answer.strip() == (trace.gold_answer or "").strip() for trace in known)
    if len(known) < _ENOUGH or copied < _MOST * len(known):
        return None
    return (
        f"{_count(copied, len(known), 'answers')} are equal to the reference answer, letter for "
        "letter: is the answer column a copy of it?"
    )
