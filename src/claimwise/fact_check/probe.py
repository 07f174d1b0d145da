"""Tries a closed-book judge on what does not exist, and remembers how it did.

A judge that calls made-up facts true guesses, and its “true” is worth nothing. Sentences go in a
few at a time, as an answer would, with the prompt that is used on answers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from claimwise.disk.output import replace_file
from claimwise.errors import ClaimwiseError, ConfigError
from claimwise.fact_check.answer import group_claims, label_piece
from claimwise.fact_check.probe_facts import make_probe
from claimwise.judges.closed_book import ClosedBookJudge
from claimwise.metrics.histogram import Histogram
from claimwise.metrics.intervals import Interval, wilson_interval
from claimwise.readers.json_keys import find_repeated_key
from claimwise.readers.problems import show
from claimwise.report.format import show_exact_percent, show_percent
from claimwise.types.closed_book import (
    AnswerPiece,
    FactClaim,
    Frame,
    ProbeClaim,
    ProbeRate,
    ProbeResult,
    Spent,
)
from claimwise.types.llm import LlmCall
from claimwise.types.rows import FactLabel
from claimwise.types.verdicts import AnswerClaim

FILE_NAME = "judge-probes.json"
# Enough that one hit in all still passes a limit of 5 %.
MADE_UP = 120
LIMIT = 0.05
_TOGETHER = 10
_WEAK = 0.8  # a judge that knows fewer of the plain facts is worth a warning
_MOST = 100_000

Watch = Callable[[int, int], None]  # sentences done, of how many


class ProbeBatch(NamedTuple):
    """Sentences that are sent together, and what is told with them."""

    claims: Sequence[ProbeClaim]
    frame: Frame = Frame()


class ProbeOutcome(NamedTuple):
    """What a judge made of one sentence; ``label`` is None when it is unscored."""

    claim: ProbeClaim
    label: FactLabel | None
    code: str | None


def probe_judge(
    judge: ClosedBookJudge,
    *,
    n: int = MADE_UP,
    limit: float = LIMIT,
    seed: int = 0,
    concurrency: int = 8,
    watch: Watch | None = None,
) -> ProbeResult:
    """Measure how often a judge calls made-up claims true, and whether it knows plain facts.

    A sentence about something made up is a hit when any part of it is called true. The judge is
    trusted when the upper end of Wilson's interval is within the limit; sentences that were not
    scored are counted as hits there, so failures can't make a judge look better. One that surely
    knows too few of the plain facts is not trusted either: it says the same to everything.

    Raises:
        ClaimwiseError: with so few sentences not even a perfect judge could pass.
    """
    _check_size(n, limit)
    outcomes, spent = run_batches(judge, _cut_batches(make_probe(n, seed)), concurrency, watch)
    return _sum_up(judge, outcomes, spent, limit=limit, seed=seed)


def run_batches(
    judge: ClosedBookJudge,
    batches: Sequence[ProbeBatch],
    concurrency: int,
    watch: Watch | None,
) -> tuple[list[ProbeOutcome], Spent]:
    """Ask a judge about all sentences; return what it made of each, and what that took."""
    outcomes: list[ProbeOutcome] = []
    spent, total = Spent(), sum(len(batch.claims) for batch in batches)
    with ThreadPoolExecutor(concurrency) as pool:
        for found, took in pool.map(lambda batch: _judge_batch(judge, batch), batches):
            outcomes += found
            spent += took
            if watch is not None:
                watch(len(outcomes), total)
    return outcomes, spent


def plan_probe(judge: ClosedBookJudge, *, n: int = MADE_UP, seed: int = 0) -> list[LlmCall]:
    """Return the calls that a probe would make."""
    return [make_batch_call(judge, batch) for batch in _cut_batches(make_probe(n, seed))]


def make_batch_call(judge: ClosedBookJudge, batch: ProbeBatch) -> LlmCall:
    """Return the call about some sentences."""
    return judge.make_call(_make_pieces(batch.claims), batch.frame)


def _check_size(n: int, limit: float) -> None:
    """Refuse a probe that nobody could pass."""
    if _highest(0, n) <= limit:
        return
    least = next((size for size in range(n, _MOST) if _highest(0, size) <= limit), None)
    wanted = "a higher --limit" if least is None else f"--n {least} or a higher --limit"
    raise ClaimwiseError(
        f"--n {n}: a judge without a single hit could still call up to "
        f"{show_percent(_highest(0, n))} true, above the limit of {show_exact_percent(limit)}, so "
        f"that none could pass; choose {wanted}"
    )


def _cut_batches(claims: Sequence[ProbeClaim]) -> list[ProbeBatch]:
    return [ProbeBatch(claims[n : n + _TOGETHER]) for n in range(0, len(claims), _TOGETHER)]


def _make_pieces(batch: Sequence[ProbeClaim]) -> list[AnswerPiece]:
    pieces, start = [], 0
    for number, claim in enumerate(batch, start=1):
        end = start + len(claim.text)
        own = AnswerClaim(text=claim.text, start=start, end=end, wording=claim.text)
        pieces.append(
            AnswerPiece(id=f"s{number}", text=claim.text, start=start, end=end, claims=(own,))
        )
        start = end + 1
    return pieces


def _judge_batch(judge: ClosedBookJudge, batch: ProbeBatch) -> tuple[list[ProbeOutcome], Spent]:
    pieces = _make_pieces(batch.claims)
    judged = judge.judge_pieces(pieces, batch.frame)
    own = group_claims(judged.claims)
    found = [
        _read_outcome(claim, own.get(piece.id, []))
        for claim, piece in zip(batch.claims, pieces, strict=True)
    ]
    return found, judged.spent


def _read_outcome(claim: ProbeClaim, own: Sequence[FactClaim]) -> ProbeOutcome:
    if claim.kind == "made_up" and any(part.label == "true" for part in own):
        return ProbeOutcome(claim, "true", None)
    return ProbeOutcome(claim, *label_piece(own))


def _sum_up(
    judge: ClosedBookJudge,
    outcomes: Sequence[ProbeOutcome],
    spent: Spent,
    *,
    limit: float,
    seed: int,
) -> ProbeResult:
    made_up = measure_outcomes(outcomes, "made_up", "true")
    known_true = measure_outcomes(outcomes, "known_true", "true")
    known_false = measure_outcomes(outcomes, "known_false", "false")
    highest = _find_highest(made_up)
    fooled = [o.claim.text for o in outcomes if o.claim.kind == "made_up" and o.label == "true"]
    return ProbeResult(
        judge=judge.labeler,
        limit=limit,
        seed=seed,
        verdict=decide_probe(made_up, limit, (known_true, known_false)),
        made_up_true=made_up,
        highest=highest,
        known_true=known_true,
        known_false=known_false,
        fooled=tuple(fooled),
        unscored=dict(sorted(Counter(o.code for o in outcomes if o.code is not None).items())),
        warnings=tuple(_warn(known_true, known_false)),
        probed_at=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        spent=spent,
    )


def decide_probe(
    believed: ProbeRate, limit: float, controls: Sequence[ProbeRate] = ()
) -> Literal["trusted", "not_trusted", "inconclusive"]:
    """Decide by what a judge should not have called true, and by the plain facts that it knows."""
    rate = believed.rate
    if (rate is not None and rate > limit) or any(is_ignorant(known) for known in controls):
        return "not_trusted"
    scored = all(known.scored for known in controls)
    return "trusted" if _find_highest(believed) <= limit and scored else "inconclusive"


def _find_highest(believed: ProbeRate) -> float:
    """Return the upper end of the interval, with everything unscored counted as a hit."""
    return _highest(believed.hits + believed.unscored, believed.scored + believed.unscored)


def is_ignorant(known: ProbeRate) -> bool:
    """Tell whether a judge surely knows too few plain facts, even if it knew all unscored ones."""
    return _highest(known.hits + known.unscored, known.scored + known.unscored) < _WEAK


def measure_outcomes(outcomes: Iterable[ProbeOutcome], kind: str, wanted: FactLabel) -> ProbeRate:
    """Return how often sentences of a kind got a label, with Wilson's interval."""
    labels = [outcome.label for outcome in outcomes if outcome.claim.kind == kind]
    unscored = labels.count(None)
    hits, scored = labels.count(wanted), len(labels) - unscored
    interval = _wilson(hits, scored)
    return ProbeRate(
        hits=hits,
        scored=scored,
        unscored=unscored,
        low=None if interval is None else interval.low,
        high=None if interval is None else interval.high,
    )


def _wilson(hits: int, units: int) -> Interval | None:
    return wilson_interval(Histogram.from_pairs([(1, 1, hits), (0, 1, units - hits)]))


def _highest(hits: int, units: int) -> float:
    interval = _wilson(hits, units)
    return 1.0 if interval is None else interval.high


def _warn(known_true: ProbeRate, known_false: ProbeRate) -> list[str]:
    told = []
    for rate, what in ((known_true, "true"), (known_false, "false")):
        if rate.rate is not None and rate.rate < _WEAK:
            told.append(
                f"of plainly {what} facts it called only {rate.hits} of {rate.scored} {what}: "
                "a judge that knows so little labels almost nothing, or the wrong things"
            )
    return told


def store_probe(folder: Path, result: ProbeResult) -> Path:
    """Keep a probe in a project's folder, the latest of each judge; whole or not at all."""
    path = folder / FILE_NAME
    known = {**_read_probes(path), result.judge: result}
    content = msgspec.json.format(msgspec.json.encode(dict(sorted(known.items()))), indent=2)
    replace_file(path, content + b"\n")
    return path


def find_probe(folder: Path, judge: str) -> ProbeResult | None:
    """Return the latest probe of exactly this judge: model, prompt and version."""
    return _read_probes(folder / FILE_NAME).get(judge)


def _read_probes(path: Path) -> dict[str, ProbeResult]:
    if not path.is_file():
        return {}
    advice = "remove the file and run `claimwise probe-judge` again"
    try:
        data = path.read_bytes()
        probes = msgspec.json.decode(data, type=dict[str, ProbeResult])
    except (msgspec.DecodeError, OSError) as error:
        raise ConfigError(f"{path}: {error}; {advice}") from error
    repeated = find_repeated_key(data)
    if repeated is not None:
        place, name = f"{path}:{repeated.line}", show(repeated.name)
        raise ConfigError(f"{place}: found the key {name} twice, expected each key once; {advice}")
    return probes
