"""From probabilities to a verdict with the span it rests on and a reason in words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date
from typing import NamedTuple

from claimwise.judges.binding import Misbinding
from claimwise.judges.compare import (
    FactDifference,
    Gap,
    find_differences,
    find_gap,
    find_reckoned,
    list_content_stems,
)
from claimwise.judges.evidence import (
    DIGEST_RECALL,
    FEATURES,
    EvidenceIndex,
    LinkedSentence,
    weigh_part,
)
from claimwise.judges.reading import TextFacts
from claimwise.text.words import Word, find_stem, has_words, is_common, read_stems
from claimwise.types.rows import ActionEntry, Source, Verdict
from claimwise.types.validity import explain_stale, is_stale
from claimwise.types.verdicts import AnswerClaim, CheckRequest, ClaimVerdict, Scores, Span

NO_WORDS = "no_words"
OTHERWISE = "; another source says otherwise"  # what a reason ends with where sources disagree
_PARTLY = 0.4  # share of a claim's words in one place from which a claim counts as partly backed
_CLOSE = 0.5  # share from which a sentence speaks about the claim, so that it can contradict it
# Probability of support that an opposite, another name or an unheard-of addition does not overrule.
_SURE = 0.6
_SURELY_AGAINST = 1.5  # log-odds of contradiction from which the encoder's word alone is taken
# Log-odds of support below which the encoder sees nothing backed: shared words are no overreach.
_NOTHING_BACKED = -2.0
_A_STATEMENT = 3  # content words that a statement has at least
_MOSTLY_MISSING = 0.5  # share of what goes beyond the source that the source lacks
_QUOTED = 4  # words that a reason quotes
# “…, and was also” before the first word that the sources do not have.
_CLAUSE_BEGINS = re.compile(
    r"(?:[,;]|\b(?:and|but|which|who|because|while|where|although|including))(?:\s+\w+){0,2}\s*$"
)
# Before what goes beyond the source, where a phrase begins: “…, including the”, “… in”.
_PHRASE_BEGINS = re.compile(
    r"(?:[,;:(–—]|\b(?:and|but|or|nor|which|who|that|because|since|while|whereas|where|when|although|"
    r"though|if|unless|so|than|including|as|by|in|on|at|of|for|from|to|with|without|during|after|"
    r"before|until|under|over|near|between|among|through|into|within))(?:\s+\w+){0,2}\s*$"
)
_ASIDE_BEGINS = re.compile(r"[,(–—](?:\s+\w+){0,2}\s*$")
_ASIDE_ENDS = re.compile(r"\s*[,)–—]\s*\w")
_ENTRY_ALIKE = 0.6  # share of an action claim's words that its log entry must hold
_ABOUT_AS_MANY = 0.8  # share of the best sentence's words with which another may take its place
_NUMBERS = (FEATURES.index("numbers_missing"), FEATURES.index("numbers_found"))
_LOOKED_AT = 6  # sentences, best first, that are compared in detail
# What tells in a log that something was tried and not done.
_FAILED = re.compile(
    r"\b(?:fail(?:ed|ure|s)?|errors?|declined|rejected|denied|refused|aborted|timed out|timeout|"
    r"not (?:sent|done|completed|processed|found|possible)|unsuccessful(?:ly)?|pending)\b",
    re.IGNORECASE,
)
# The verb of "I have (now) refunded…", "We refunded…", "… has been refunded".
_ACT = re.compile(
    r"(?:\b(?:have|has|had|been|was|were|i|we)|['’]ve)\s+"
    r"(?:(?:been|now|just|already|also|\w+ly)\s+)*(?P<verb>\w+ed)\b",
    re.IGNORECASE,
)
_EMPTY_ACTS = frozenset(
    map(find_stem, ("processed", "issued", "completed", "initiated", "submitted", "arranged"))
)
_SAME_ACTS = [
    frozenset(map(find_stem, acts.split()))
    for acts in (
        "opened created raised filed logged",
        "cancelled canceled cancel terminated voided",
        "refunded reimbursed",
        "deleted removed erased",
        "updated changed modified edited",
        "booked reserved scheduled",
        "emailed mailed sent send",
        "closed resolved",
    )
]


class Weighed(NamedTuple):
    """A claim's parts, its probabilities, the threshold they are held against, and the tier.

    ``towards`` and ``against`` are how sure the encoder is that the passage says so, and that it
    says otherwise, as log-odds; ``misbound`` is a value that the sources give for something else.
    """

    parts: list[LinkedSentence]
    scores: Scores
    threshold: float
    tier: str
    towards: float | None = None
    against: float | None = None
    misbound: Misbinding | None = None


def decide_claim(
    claim: AnswerClaim, weighed: Weighed, index: EvidenceIndex, as_of: date
) -> ClaimVerdict:
    """Return the verdict on one claim.

    Contradicted where a value of it belongs to something else, whatever the probability. Else
    supported from the threshold on, unless the sentence that it would rest on says otherwise or
    the claim goes on with something that the sources never mention;
    then stale when every sentence that carries it is from a source that no longer holds.
    Otherwise contradicted when the sources say something else, overreach when a part of it is
    backed (a good share of its words in one place, and the encoder does not rule it out or a whole
    statement is covered), unlinked when nothing is.
    """
    if weighed.misbound is not None:
        position, words = weighed.misbound
        return _describe_contradicted(claim, weighed, index, position, words, as_of)
    part = _weakest(weighed.parts)
    if not part.ranked:
        return _tell(claim, weighed, "unlinked", reason=_describe_nothing_found(part, index))
    looked_at = part.ranked[:_LOOKED_AT]
    differences = find_differences(part, index, looked_at)
    best = _best_sentence(part, index, differences, as_of)
    here = [d for d in differences if d.position == best]
    figures = any(part.features[place] for place in _NUMBERS)
    reckoned = find_reckoned(part, index, best) if figures and not here else None
    likely = weighed.scores.supports >= weighed.threshold
    doubted = _outweighs(here, weighed.scores) or (
        weighed.scores.supports < _SURE and _adds_the_unknown(part, index)
    )
    if (likely and not doubted) or reckoned is not None:
        return _decide_supported(claim, weighed, part, index, best, differences, as_of, reckoned)
    against = _find_contradiction(here, weighed, _recall(part.reading.content, index, [best]))
    if against is not None:
        return _describe_contradicted(claim, weighed, index, best, against, as_of)
    return _decide_unsupported(claim, weighed, part, index, best)


def _describe_contradicted(
    claim: AnswerClaim,
    weighed: Weighed,
    index: EvidenceIndex,
    position: int,
    reason: str,
    as_of: date,
) -> ClaimVerdict:
    source = index.sources[index.sentences[position].source]
    if is_stale(source, as_of):
        reason += f"; {explain_stale(source)}"
    return _tell(claim, weighed, "contradicted", _span(index, [position]), reason=reason)


def _outweighs(differences: Sequence[FactDifference], scores: Scores) -> bool:
    """Tell whether a difference that can be pointed at overrules the probability of support.

    Another number, another date or a denial always does (the encoder hardly sees a "not"); any
    other only where the probability is in doubt.
    """
    return any(
        d.kind in ("number", "date", "denial") or scores.supports < _SURE for d in differences
    )


def _find_contradiction(
    differences: Sequence[FactDifference], weighed: Weighed, recall: float
) -> str | None:
    """Return why the closest sentence contradicts an unsupported claim, or None.

    Either a difference can be pointed at, or the encoder is sure and the sentence is close. An
    opposite counts unless the encoder leans the other way, another name only where the encoder
    leans this way: London may be what the claim calls England.
    """
    against = weighed.against
    leans = against is None or against > 0
    believed = {"number", "date", "denial"} | ({"opposite"} if leans else set())
    if leans and against is not None:
        believed.add("name")
    for difference in differences:
        if difference.kind in believed:
            return difference.words
    if against is not None and against >= _SURELY_AGAINST and recall >= _CLOSE:
        return "the closest passage says otherwise, as the encoder reads it"
    return None


def _weakest(parts: Sequence[LinkedSentence]) -> LinkedSentence:
    """Return the part with the least of its words in the sources: it decides the claim."""
    return min(parts, key=lambda part: part.features[DIGEST_RECALL])


def _recall(content: frozenset[str], index: EvidenceIndex, positions: Sequence[int]) -> float:
    """Return the share of a claim's words that sentences hold together."""
    return _count_held(content, index, positions) / len(content) if content else 0.0


def _count_held(content: frozenset[str], index: EvidenceIndex, positions: Sequence[int]) -> int:
    held = [index.sentences[p].stem_set for p in positions]
    return len(content & (held[0] if len(held) == 1 else frozenset().union(*held)))


def _best_sentence(
    part: LinkedSentence, index: EvidenceIndex, differences: Sequence[FactDifference], as_of: date
) -> int:
    """Return the sentence that the claim rests on: the one with most of its words.

    Among those that have about as many, one that does not say otherwise and that still holds.
    Where a sentence says otherwise, the words of the claim's dates do not count: they differ.
    """
    claim = part.reading
    recall = {p: _recall(claim.content, index, [p]) for p in part.ranked[:_LOOKED_AT]}
    enough = _ABOUT_AS_MANY * max(recall.values())
    otherwise = {d.position for d in differences}
    # Where some sentence has other figures, one without any does not speak for the claim.
    figures: set[str] = set()
    if any(d.kind in ("number", "date") for d in differences):
        figures = {stem for stem in claim.stem_set if stem[:1].isdigit()}

    def rank(position: int) -> tuple[bool, bool, float, float, int]:
        stale = is_stale(index.sources[index.sentences[position].source], as_of)
        clean = position not in otherwise and figures <= index.sentences[position].stem_set
        alike = recall[position] if clean else _recall(claim.undated, index, [position])
        return (clean, not stale, alike, recall[position], -part.ranked.index(position))

    return max((position for position in recall if recall[position] >= enough), key=rank)


def _decide_supported(
    claim: AnswerClaim,
    weighed: Weighed,
    part: LinkedSentence,
    index: EvidenceIndex,
    best: int,
    differences: Sequence[FactDifference],
    as_of: date,
    reckoned: str | None,
) -> ClaimVerdict:
    positions = _carry(part, index, best)
    source = index.sources[index.sentences[best].source]
    stale = is_stale(source, as_of)
    others = _find_conflicts(index, best, differences, as_of)
    conflicts = tuple(_span(index, [position]) for position in others)
    reason = (
        f"the source says so, but {explain_stale(source)}"
        if stale
        else reckoned or _describe_supported(weighed, part, index, positions)
    )
    if others:
        reason += f"{OTHERWISE}: {next(iter(others.values()))}"
    verdict: Verdict = "stale" if stale else "supported"
    span = _span(index, positions)
    return _tell(claim, weighed, verdict, span, reason=reason, conflicts=conflicts)


def _find_conflicts(
    index: EvidenceIndex, best: int, differences: Sequence[FactDifference], as_of: date
) -> dict[int, str]:
    """Return where other sources that still hold say otherwise, and what: the closest of each."""
    told = {index.sentences[best].source}
    found: dict[int, str] = {}
    for difference in differences:
        source = index.sentences[difference.position].source
        if source not in told and not is_stale(index.sources[source], as_of):
            found[difference.position] = difference.words
            told.add(source)
    return found


def _carry(part: LinkedSentence, index: EvidenceIndex, best: int) -> list[int]:
    """Return the best sentence, with a neighbour that adds a good part of what it lacks."""
    content = part.reading.content
    own = _recall(content, index, [best])
    if own >= 0.8:
        return [best]
    for other in index.surround(best):
        if other != best and _recall(content, index, [best, other]) >= own + 0.2:
            return sorted([best, other])
    return [best]


def _decide_unsupported(
    claim: AnswerClaim, weighed: Weighed, part: LinkedSentence, index: EvidenceIndex, best: int
) -> ClaimVerdict:
    if _recall(part.reading.content, index, [best]) < _PARTLY:
        return _tell(claim, weighed, "unlinked", reason=_describe_nothing_found(part, index))
    gap = find_gap(part, index, [best])
    ruled_out = weighed.towards is not None and weighed.towards < _NOTHING_BACKED
    if gap is not None and _goes_beyond(gap) and (_adds_a_clause(gap) or not ruled_out):
        return _tell(
            claim, weighed, "overreach", _span(index, [best]), reason=_describe_gap(gap),
            exceeds=gap.uncovered,
        )  # fmt: skip
    return _tell(claim, weighed, "unlinked", reason=_describe_closest(part, index, best))


def _goes_beyond(gap: Gap) -> bool:
    """Tell whether a claim can be cut in two: a statement that is covered, and what is not.

    What is covered opens the claim with the words of a statement, or stands around an aside; the
    rest begins where a phrase does, ends with the claim or the aside, and has mostly words that are
    missing. Where missing words are strewn over a claim nothing tells what of it is backed.
    """
    if gap.share < _MOSTLY_MISSING or not _is_statement(gap.covered):
        return False
    if _ASIDE_ENDS.match(gap.after):
        return _ASIDE_BEGINS.search(gap.before) is not None
    is_last = not any(map(str.isalnum, gap.after))
    begins = _PHRASE_BEGINS.search(gap.before) is not None or gap.uncovered.isdecimal()
    return is_last and begins and _count_content(gap.before) >= _A_STATEMENT


def _is_statement(text: str) -> bool:
    """Tell whether a stretch of a claim has the words of a statement, and not only of names."""
    facts = TextFacts(text)
    named = {stem for name in facts.names for stem in name.stems}
    return len(facts.content) >= _A_STATEMENT and not facts.content <= named


def _count_content(text: str) -> int:
    return sum(not is_common(stem) for stem in read_stems(text))


def _adds_the_unknown(part: LinkedSentence, index: EvidenceIndex) -> bool:
    """Tell whether a claim goes on with a statement of which the sources have not one word."""
    gap = find_gap(part, index, part.digest)
    if gap is None or not _adds_a_clause(gap):
        return False
    return not any(map(index.holds, list_content_stems(read_stems(gap.uncovered))))


def _adds_a_clause(gap: Gap) -> bool:
    """Tell whether what is not covered is a statement of its own after one that is."""
    enough = _count_content(gap.before) >= _A_STATEMENT
    return enough and _CLAUSE_BEGINS.search(gap.before) is not None


def _tell(
    claim: AnswerClaim,
    weighed: Weighed,
    verdict: Verdict,
    span: Span | None = None,
    *,
    reason: str,
    exceeds: str | None = None,
    conflicts: tuple[Span, ...] = (),
) -> ClaimVerdict:
    scores = weighed.scores
    confidence: float | None = {
        "supported": scores.supports,
        "stale": scores.supports,
        "contradicted": scores.contradicts,
    }.get(verdict, scores.neither)
    # Where what can be pointed at overrules the probability, the probability says nothing.
    if (verdict in ("supported", "stale")) != (scores.supports >= weighed.threshold):
        confidence = None
    return ClaimVerdict(
        claim=claim, verdict=verdict, confidence=confidence, scores=scores, span=span,
        reason=reason, exceeds=exceeds, conflicts=conflicts, instrument=weighed.tier,
    )  # fmt: skip


def _span(index: EvidenceIndex, positions: Sequence[int]) -> Span:
    first, last = index.sentences[positions[0]], index.sentences[positions[-1]]
    source = index.sources[first.source]
    return Span(
        source_id=source.source_id,
        start=first.start,
        end=last.end,
        text=source.source_text[first.start : last.end],
    )


def _describe_supported(
    weighed: Weighed, part: LinkedSentence, index: EvidenceIndex, positions: Sequence[int]
) -> str:
    """Return how many of a claim's words the span holds; where few, that it is a paraphrase."""
    content = part.reading.content
    held = _count_held(content, index, positions)
    if held == len(content):
        return "the span holds every content word of the claim"
    words = f"the span holds {held} of the claim's {len(content)} content words"
    if weighed.towards is not None and weighed.towards > 0 and held < len(content) / 2:
        return f"the sources say so in other words, as the encoder reads them; {words}"
    return words


def _describe_gap(gap: Gap) -> str:
    return f"the source covers “{gap.covered}”, but not “{gap.uncovered}”"


def _describe_closest(part: LinkedSentence, index: EvidenceIndex, best: int) -> str:
    """Return how much of a claim the closest sentence has, and what it lacks."""
    content, told = part.reading.content, index.sentences[best].stem_set
    if content <= told:
        return "the closest sentence has the claim's content words, but does not say this"
    lacking = _quote_words(part, [w for w in part.reading.words if w.stem in content - told])
    held = f"{len(content & told)} of the claim's {len(content)} content words"
    return f"the closest sentence has {held}, but not {lacking}"


def _describe_nothing_found(part: LinkedSentence, index: EvidenceIndex) -> str:
    absent = [
        word
        for word in part.reading.words
        if not is_common(word.stem) and not index.holds(word.stem)
    ]
    if not absent:
        return "no sentence of the sources says this"
    mentioned = _quote_words(part, absent)
    return f"no sentence of the sources comes close; they never mention {mentioned}"


def _quote_words(part: LinkedSentence, words: Sequence[Word]) -> str:
    """Return the first few different words of a claim as they stand there: “4K” is one."""
    places: list[tuple[int, int]] = []
    for word in words:
        if places and places[-1][1] == word.start:
            places[-1] = (places[-1][0], word.end)
        else:
            places.append((word.start, word.end))
    quoted = dict.fromkeys(f"“{part.text[start:end]}”" for start, end in places)
    return ", ".join(list(quoted)[:_QUOTED])


def is_for_model(claim: AnswerClaim) -> bool:
    """Tell whether a model is to be asked about a claim: one with words, and of no action."""
    makes_claim = claim.claim_type not in ("non_factual", "action") and claim.not_a_claim is None
    return makes_claim and has_words(claim.wording)


def decide_unasked(claim: AnswerClaim, request: CheckRequest) -> ClaimVerdict:
    """Return the verdict on a claim that no model is asked about."""
    if claim.claim_type == "non_factual" or claim.not_a_claim is not None:
        return ClaimVerdict(claim=claim)
    if claim.claim_type == "action":
        return decide_action(claim, request.actions)
    reason = "the claim has no word to look for"
    return ClaimVerdict(claim=claim, unscored=NO_WORDS, reason=reason)


def decide_action(claim: AnswerClaim, actions: Sequence[ActionEntry] | None) -> ClaimVerdict:
    """Return the verdict on a claim that something was done: only the log can support it."""
    if not actions:
        reason = "no action log was given" if actions is None else "the action log has no entry"
        return ClaimVerdict(
            claim=claim, verdict="unlinked", confidence=1.0, reason=reason, instrument="action log"
        )
    entries = [
        Source(source_id=e.entry_id, corpus_ver="-", source_text=e.entry_text) for e in actions
    ]
    index = EvidenceIndex(entries)
    part = weigh_part(claim.wording, index)
    found: ClaimVerdict | None = None
    for position in part.ranked[:_LOOKED_AT]:
        if _share_told(part, index, position) < _ENTRY_ALIKE:
            continue
        entry = entries[index.sentences[position].source]
        against = _find_objection(part, index, position, entry)
        verdict = ClaimVerdict(
            claim=claim,
            verdict="contradicted" if against else "supported",
            span=_entry_span(entry),
            reason=against or "the action log has this entry",
            instrument="action log",
        )
        if against is None:
            return verdict
        found = found or verdict
    return found or ClaimVerdict(
        claim=claim,
        verdict="unlinked",
        reason=f"none of the {len(entries)} entries of the action log says so",
        instrument="action log",
    )


def _share_told(part: LinkedSentence, index: EvidenceIndex, position: int) -> float:
    """Return the share of an action claim's content words in an entry.

    "I've" is none of them, nor are numbers, which may differ. It is 0 where the entry does not
    name what was done, or an act that comes to the same: the order was perhaps only looked up.
    """
    telling = set(list_content_stems(part.reading.stems))
    wanted = {stem for stem in telling if not stem[:1].isdigit()} or telling
    told = set(index.sentences[position].stem_set)
    for verb, same in _find_acts(part.text):
        if not same & told:
            return 0.0
        told.add(verb)
    return len(wanted & told) / len(wanted) if wanted else 0.0


def _find_acts(claim: str) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield the verbs of an action claim with those that come to the same, as stems.

    Only regular ones: "sent" and "made" have other forms in a log, and "processed" says nothing
    by itself.
    """
    for match in _ACT.finditer(claim):
        verb = find_stem(match["verb"].lower())
        if verb not in _EMPTY_ACTS:
            same = (acts for acts in _SAME_ACTS if verb in acts)
            yield verb, next(same, frozenset({verb}))


def _find_objection(
    part: LinkedSentence, index: EvidenceIndex, position: int, entry: Source
) -> str | None:
    """Return what an entry says against the claim: other figures, a denial, or that it failed."""
    for difference in find_differences(part, index, [position]):
        if difference.kind in ("number", "date", "denial"):
            return difference.words.replace("the source", "the log")
    failed = _FAILED.search(entry.source_text)
    if failed and not _FAILED.search(part.text):
        return f"the log says “{failed.group()}”"
    return None


def _entry_span(entry: Source) -> Span:
    text = entry.source_text
    return Span(source_id=entry.source_id, start=0, end=len(text), text=text)
