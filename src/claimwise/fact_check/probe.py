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
from claimwise.types.closed_book import (
    AnswerPiece,
    FactClaim,
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


class _Outcome(NamedTuple):
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
    scored are counted as hits there, so failures can't make a judge look better.

    Raises:
        ClaimwiseError: with so few sentences not even a perfect judge could pass.
    """
    _check_size(n, limit)
    batches = _cut_batches(make_probe(n, seed))
    outcomes: list[_Outcome] = []
    spent = Spent()
    with ThreadPoolExecutor(concurrency) as pool:
        for found, took in pool.map(lambda batch: _judge_batch(judge, batch), batches):
            outcomes += found
            spent += took
            if watch is not None:
                watch(len(outcomes), sum(map(len, batches)))
    return _sum_up(judge, outcomes, spent, limit=limit, seed=seed)


def plan_probe(judge: ClosedBookJudge, *, n: int = MADE_UP, seed: int = 0) -> list[LlmCall]:
    """Return the calls that a probe would make."""
    batches = _cut_batches(make_probe(n, seed))
    return [judge.make_call(_make_pieces(batch)) for batch in batches]


def _check_size(n: int, limit: float) -> None:
    """Refuse a probe that nobody could pass."""
    if _highest(0, n) <= limit:
        return
    least = next((size for size in range(n, _MOST) if _highest(0, size) <= limit), None)
    wanted = "a higher --limit" if least is None else f"--n {least} or a higher --limit"
    raise ClaimwiseError(
        f"--n {n}: a judge without a single hit could still call up to {_highest(0, n):.3f} true, "
        f"above the limit of {limit:g}, so that none could pass; choose {wanted}"
    )


def _cut_batches(claims: Sequence[ProbeClaim]) -> list[list[ProbeClaim]]:
    return [list(claims[n : n + _TOGETHER]) for n in range(0, len(claims), _TOGETHER)]


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


def _judge_batch(
    judge: ClosedBookJudge, batch: Sequence[ProbeClaim]
) -> tuple[list[_Outcome], Spent]:
    pieces = _make_pieces(batch)
    judged = judge.judge_pieces(pieces)
    own = group_claims(judged.claims)
    found = [
        _read_outcome(claim, own.get(piece.id, []))
        for claim, piece in zip(batch, pieces, strict=True)
    ]
    return found, judged.spent


def _read_outcome(claim: ProbeClaim, own: Sequence[FactClaim]) -> _Outcome:
    if claim.kind == "made_up" and any(part.label == "true" for part in own):
        return _Outcome(claim, "true", None)
    return _Outcome(claim, *label_piece(own))


def _sum_up(
    judge: ClosedBookJudge,
    outcomes: Sequence[_Outcome],
    spent: Spent,
    *,
    limit: float,
    seed: int,
) -> ProbeResult:
    made_up = _measure(outcomes, "made_up", "true")
    known_true = _measure(outcomes, "known_true", "true")
    known_false = _measure(outcomes, "known_false", "false")
    highest = _highest(made_up.hits + made_up.unscored, made_up.scored + made_up.unscored)
    fooled = [o.claim.text for o in outcomes if o.claim.kind == "made_up" and o.label == "true"]
    return ProbeResult(
        judge=judge.labeler,
        limit=limit,
        seed=seed,
        verdict=_decide(made_up.rate, highest, limit),
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


def _decide(
    rate: float | None, highest: float, limit: float
) -> Literal["trusted", "not_trusted", "inconclusive"]:
    if rate is not None and rate > limit:
        return "not_trusted"
    return "trusted" if highest <= limit else "inconclusive"


def _measure(outcomes: Iterable[_Outcome], kind: str, wanted: FactLabel) -> ProbeRate:
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
