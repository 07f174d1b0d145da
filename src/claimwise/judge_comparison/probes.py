"""Bias probes: changes to a question that must not change the verdict.

A probe says what is asked before and after the change. What was asked anyway, in the main pass, is
not asked again. Each probe costs about as many calls as the main pass over the same claims.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from msgspec.structs import replace as change

from claimwise.bench.measure import map_in_threads
from claimwise.judge_comparison.restate import restate_case
from claimwise.judge_comparison.values import Case, ProbeName
from claimwise.judges.grounded import GroundedJudge
from claimwise.judges.judge import Verifier
from claimwise.llm.prompts import list_prompts
from claimwise.text.sentences import find_sentences
from claimwise.types.llm import Asker
from claimwise.types.rows import Source

# Says nothing about any subject, so it makes no claim.
PADDING = (
    "Thank you for your question, and for your patience. I have looked at it with care, and I have "
    "tried to be as clear and as complete as I can. Please read all of it before you decide. If "
    "anything is unclear, or if you would like more detail on any point, please let me know at any "
    "time. I will be glad to go through it again, step by step. I hope that this is helpful."
)

NO_MODEL = "language models only"
_OWN_PROMPT = "its prompt has no other version"
_NOT_RESTATED = "it restated no claim faithfully"
_ONE_SOURCE = "all sources are single sentences"


@dataclass(frozen=True, kw_only=True, slots=True)
class Variation:
    """What a probe asks. ``before`` holds only what the main pass did not ask."""

    after: list[Case]
    judge: Verifier | None = None  # None: the same judge
    before: list[Case] | None = None  # None: all of it is in the main pass
    rejected: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class ProbedJudge:
    """A judge, and the model behind it, if there is one."""

    verifier: Verifier
    asker: Asker | None = None
    threads: int = 1  # questions at once: for a judge that waits for a server


Vary = Callable[[ProbedJudge, Sequence[Case]], Variation | str]
"""Returns what a probe asks, or why it can't be asked."""


def ask_again(judged: ProbedJudge, cases: Sequence[Case]) -> Variation:
    """Ask the same question again; a language model gives a new reply."""
    verifier = judged.verifier
    again = verifier.repeat_as(2) if isinstance(verifier, GroundedJudge) else verifier
    return Variation(after=list(cases), judge=again)


def reverse_sources(judged: ProbedJudge, cases: Sequence[Case]) -> Variation | str:
    """Give the sources in reverse order; a single source is cut in two for it, in both orders."""
    before, after = [], []
    for case in cases:
        sources = case.job.request.sources
        if len(sources) == 1:
            sources = _cut_source(sources[0])
            if len(sources) > 1:
                before.append(_give_sources(case, sources))
        if len(sources) > 1:
            after.append(_give_sources(case, sources[::-1]))
    return Variation(after=after, before=before) if after else _ONE_SOURCE


def _cut_source(source: Source) -> tuple[Source, ...]:
    """Return a source in two halves, cut between sentences; as it is where it has only one."""
    text = source.source_text
    starts = [start for start, _ in find_sentences(text)][1:]
    if not starts:
        return (source,)
    middle = min(starts, key=lambda start: abs(start - len(text) / 2))
    return (
        change(source, source_id=f"{source.source_id}-1", source_text=text[:middle]),
        change(source, source_id=f"{source.source_id}-2", source_text=text[middle:]),
    )


def _give_sources(case: Case, sources: tuple[Source, ...]) -> Case:
    return case._replace(job=replace(case.job, request=change(case.job.request, sources=sources)))


def lengthen_answer(judged: ProbedJudge, cases: Sequence[Case]) -> Variation:
    """Pad the answer with polite sentences that claim nothing, to twice its length or more.

    Where there is no answer, as in labelled sets, the claims are one.
    """
    return Variation(after=[_pad(case) for case in cases])


def _pad(case: Case) -> Case:
    request = case.job.request
    answer = request.answer or " ".join(claim.wording for claim in case.job.claims or ())
    times = len(answer) // len(PADDING) + 1
    padded = "\n\n".join([answer, *[PADDING] * times])
    return case._replace(job=replace(case.job, request=change(request, answer=padded)))


def change_template(judged: ProbedJudge, cases: Sequence[Case]) -> Variation | str:
    """Ask by another version of the prompt, which says the same in other words."""
    verifier = judged.verifier
    if not isinstance(verifier, GroundedJudge) or judged.asker is None:
        return NO_MODEL
    if type(verifier) is not GroundedJudge:
        return _OWN_PROMPT  # asks in a way of its own
    prompt = verifier.claims_prompt
    others = [
        version for version in list_prompts().get(prompt.name, ()) if version != prompt.version
    ]
    if prompt.digest or not others:
        return _OWN_PROMPT
    other = GroundedJudge(judged.asker, verifier.settings, prompt=f"{prompt.name}@{others[-1]}")
    return Variation(after=list(cases), judge=other)


def use_own_wording(judged: ProbedJudge, cases: Sequence[Case]) -> Variation | str:
    """Let the model say the claims in its own words, then judge those."""
    if judged.asker is None:
        return NO_MODEL
    restate = partial(restate_case, asker=judged.asker)
    made = list(map_in_threads(restate, cases, judged.threads))
    kept = [case for case, _ in made if any(row is not None for row in case.rows)]
    rejected = sum(rejected for _, rejected in made)
    return Variation(after=kept, rejected=rejected) if kept else _NOT_RESTATED


PROBE_QUESTIONS: dict[ProbeName, Vary] = {
    "repeat": ask_again,
    "order": reverse_sources,
    "length": lengthen_answer,
    "template": change_template,
    "wording": use_own_wording,
}
