"""Draws the claims of a run that people are to label.

Claims are grouped into strata by an instrument's verdict and how sure it was of it. Four fifths of
the sample go where its verdicts are less certain (Neyman's allocation) and one fifth goes evenly
over all claims, with at least a few from every stratum. Each claim's chance of being drawn is
kept, so that estimates from the labels can be weighted back to the run. The order by which claims
are chosen comes from a hash of the seed and the claim: the same seed draws the same claims on every
machine.
"""

from __future__ import annotations

import hashlib
import math
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import accumulate
from typing import Final, NamedTuple

from claimwise.errors import ClaimwiseError, describe_unknown
from claimwise.labelling.rounds import (
    Candidate,
    NewTask,
    Stratum,
    check_texts_kept,
    create_round,
    list_candidates,
    list_run_judges,
)
from claimwise.labelling.rules import check_text
from claimwise.labelling.values import Round
from claimwise.store import Store
from claimwise.store.lookup import find_run
from claimwise.text import make_content_id
from claimwise.types.rows import Judgement

UNSCORED: Final = "unscored"
BANDS: Final = ("low", "middle", "high")
_GOOD: Final = ("supported", "true")
OTHERS: Final = "others"
DEFAULT_FLOOR: Final = 2
"""Two labels are the fewest of which one can see how they vary; more swamp the allocation."""
# A share is never taken to be nearer to 0 or 1 than this: instruments are too sure of themselves.
_MARGIN: Final = 0.02
_EVEN: Final = 0.2  # of the sample, whatever the instrument believes of itself
_LABELS_PER_STRATUM: Final = 10  # with fewer, verdicts other than the good one share their strata
_ROUND_ID: Final = 10  # characters: 50 bits
_LARGEST_SEED: Final = 2**31 - 1
_LONGEST_TITLE: Final = 200

Strata = dict[str, list[Candidate]]


class StratumAllocation(NamedTuple):
    """What an allocation knows of a stratum."""

    claims: int
    spread: float  # standard deviation of what is measured, as far as one can guess it


def draw_round(
    store: Store,
    run_id: str,
    judgement: Judgement,
    *,
    title: str | None,
    verifier: str | None = None,
    size: int | None = None,
    overlap: float = 0.1,
    overlap_labels: int = 2,
    floor: int = DEFAULT_FLOOR,
    seed: int = 0,
    created_by: str,
    guide_version: str,
    now: datetime,
    again: bool = False,
) -> Round:
    """Draw claims of a run into a new round, and store it.

    Args:
        store: where the run is; it must know the guide version.
        run_id: the run.
        judgement: grounded or closed_book.
        title: what people see; made from the run when None.
        verifier: the instrument whose verdicts make the strata, by name or an unambiguous part;
            None takes the one with most labels, and one stratum when there is none.
        size: how many claims; None is all.
        overlap: share of the claims that several people label.
        overlap_labels: how many people label those.
        floor: least number of claims of a stratum; smaller strata are taken whole.
        seed: draws the same claims again.
        created_by: who made the round.
        guide_version: the guide that people work by.
        now: UTC without a zone.
        again: draw claims that people have labelled before or that an open round has, too.

    Raises:
        ClaimwiseError: the run or instrument is unknown, a number is out of range, or no claim is
            left to label.
    """
    find_run(store, run_id)
    _check_numbers(size, overlap, overlap_labels, floor, seed)
    check_title(title)
    check_texts_kept(store, [run_id])
    labeler = _choose_verifier(store, run_id, judgement, verifier)
    claims = list_candidates(store, run_id, judgement, labeler)
    strata, shares = _stratify(claims, size, again=again)
    if not strata:
        raise ClaimwiseError(_describe_nothing_left(run_id, claims))
    chosen = allocate_sample(shares, size, floor)
    left_out = [] if again else [one for one in claims if not _is_free(one)]
    round_id = make_round_id(run_id, judgement, str(seed), created_by, title or "", now.isoformat())
    new = Round(
        round_id=round_id,
        run_id=run_id,
        judgement=judgement,
        title=title or _make_title(run_id, judgement),
        guide_version=guide_version,
        strata_by=labeler,
        overlap=overlap,
        overlap_labels=overlap_labels,
        seed=seed,
        created_by=created_by,
        created_at=now,
        asked=size or len(claims),
        shortfall=_describe_shortfall(size, sum(chosen.values()), len(claims), left_out),
    )
    tasks = _draw_tasks(strata, chosen, new)
    told = [Stratum(name, shares[name].claims, chosen[name]) for name in sorted(strata)]
    create_round(store, new, told, tasks, now)
    return new


def make_round_id(*parts: str) -> str:
    """Return the id of a round that is made of these."""
    return make_content_id("r1", *parts).partition(":")[2][:_ROUND_ID]


def _check_numbers(
    size: int | None, overlap: float, overlap_labels: int, floor: int, seed: int
) -> None:
    checks = (
        ("size", size, size is None or size >= 1, "at least 1"),
        ("overlap", overlap, 0 <= overlap <= 1, "a share from 0 to 1"),
        ("overlap_labels", overlap_labels, 2 <= overlap_labels <= 20, "2 to 20 people"),
        ("floor", floor, floor >= 1, "at least 1"),
        ("seed", seed, 0 <= seed <= _LARGEST_SEED, f"0 to {_LARGEST_SEED:,}"),
    )
    for name, found, holds, expected in checks:
        if not holds:
            raise ClaimwiseError(f"{name} must be {expected}, not {found}")


def check_title(title: str | None) -> None:
    """Refuse a title that nobody could read.

    Raises:
        ClaimwiseError: it is blank or too long.
    """
    if title is None:
        return
    check_text("title", title)
    if not title.strip() or len(title) > _LONGEST_TITLE:
        raise ClaimwiseError(
            f"title must have 1 to {_LONGEST_TITLE} characters, not all blank; this one has "
            f"{len(title)}"
        )


def _choose_verifier(
    store: Store, run_id: str, judgement: Judgement, wanted: str | None
) -> str | None:
    known = list_run_judges(store, run_id, judgement)
    if wanted is None:
        return known[0] if known else None
    found = [name for name in known if name == wanted] or [n for n in known if wanted in n]
    if len(found) == 1:
        return found[0]
    if found:
        raise ClaimwiseError(
            f"{len(found)} judges match {wanted!r}: {', '.join(found)}. Name one of them."
        )
    raise ClaimwiseError(describe_unknown("judge", wanted, known, where=f"run {run_id!r}"))


def _is_free(claim: Candidate) -> bool:
    """Tell whether nobody has labelled a claim, and no open round asks for it."""
    return claim.told is None and claim.open_round is None


def _describe_shortfall(
    size: int | None, drawn: int, claims: int, left_out: Sequence[Candidate]
) -> str | None:
    """Say in a sentence why a round has fewer claims than it was asked for, or None."""
    asked = size or claims
    if drawn >= asked:
        return None
    reasons = _list_reasons(left_out)
    if claims < asked:
        reasons.insert(0, f"the run has {claims:,}")
    return f"{drawn:,} of {asked:,} claims: {', '.join(reasons)}."


def _list_reasons(left_out: Sequence[Candidate]) -> list[str]:
    """Return what claims were left out for, each reason with their number."""
    rounds = Counter(one.open_round for one in left_out if one.open_round is not None)
    labelled = sum(one.open_round is None for one in left_out)
    reasons = [f"{count:,} in the open round “{title}”" for title, count in rounds.most_common()]
    return reasons + ([f"{labelled:,} labelled before"] if labelled else [])


def _describe_nothing_left(run_id: str, claims: Sequence[Candidate]) -> str:
    if claims:
        return (
            f"run {run_id}: no claim is left to draw: {', '.join(_list_reasons(claims))}; --again "
            "draws those too"
        )
    return f"run {run_id}: found no claims to label; `claimwise verify` splits answers into claims"


def _make_title(run_id: str, judgement: Judgement) -> str:
    return f"{run_id}, closed-book" if judgement == "closed_book" else run_id


def name_strata(claims: Sequence[Candidate], size: int | None = None) -> list[str]:
    """Return the stratum of every claim: verdict and band of confidence, or “unscored”.

    A verdict's claims are cut by confidence into three bands of equal doubt, so that the few
    doubtful ones don't share a band with many sure ones. Equal confidences are never parted, so
    bands may be unequal. A verdict whose claims are all equally sure, or without a confidence, has
    no bands. Where a sample of ``size`` has fewer than ten labels per stratum, verdicts other than
    supported (or true) are taken together, as “others”: they differ little in what people call
    supported, and a stratum of one or two labels says nothing.

    Reference: Dalenius & Hodges (1959), JASA 54, 88-101, on cutting strata by a cumulative measure.
    """
    names = _cut_bands([claim.verdict for claim in claims], claims)
    if size is not None and size < _LABELS_PER_STRATUM * len(set(names)):
        names = _cut_bands([_merge_verdict(claim.verdict) for claim in claims], claims)
    return names


def _merge_verdict(verdict: str | None) -> str | None:
    return verdict if verdict is None or verdict in _GOOD else OTHERS


def _cut_bands(groups: Sequence[str | None], claims: Sequence[Candidate]) -> list[str]:
    """Return groups' names with their bands of confidence; None is unscored."""
    known: dict[str, Counter[float]] = defaultdict(Counter)
    for group, claim in zip(groups, claims, strict=True):
        if group is not None and claim.confidence is not None:
            known[group][claim.confidence] += 1
    cuts = {group: find_cuts(counts) for group, counts in known.items()}
    return [
        _name_stratum(group, claim.confidence, cuts)
        for group, claim in zip(groups, claims, strict=True)
    ]


def find_cuts(counts: Mapping[float, int]) -> tuple[float, float] | None:
    """Return the confidences up to which about a third and two thirds of the doubt lie.

    ``counts`` says how many claims have each confidence. Where many claims are equally sure, both
    cuts may be the same, so that one band stays empty; None where all are.
    """
    ordered = sorted(counts)
    if len(ordered) < 2:
        return None
    doubts = list(accumulate(counts[value] * _doubt(value) for value in ordered))
    low, high = (
        min(range(len(ordered) - 1), key=lambda n: abs(doubts[n] - doubts[-1] * part / 3))
        for part in (1, 2)
    )
    return ordered[low], ordered[high]


def _doubt(share: float) -> float:
    """Return the standard deviation of a claim that is supported with such a chance."""
    share = min(max(share, _MARGIN), 1 - _MARGIN)
    return math.sqrt(share * (1 - share))


def _name_stratum(
    group: str | None,
    confidence: float | None,
    cuts: Mapping[str, tuple[float, float] | None],
) -> str:
    if group is None:
        return UNSCORED
    borders = cuts.get(group)
    if borders is None or confidence is None:
        return group
    return f"{group}/{BANDS[sum(confidence > border for border in borders)]}"


def _stratify(
    claims: Sequence[Candidate], size: int | None, *, again: bool
) -> tuple[Strata, dict[str, StratumAllocation]]:
    """Return the claims that may be drawn by stratum, and what is known of each stratum.

    What people have said before tells how much a stratum varies, also where it is left out.
    """
    everything: Strata = defaultdict(list)
    for claim, name in zip(claims, name_strata(claims, size), strict=True):
        everything[name].append(claim)
    strata: Strata = {}
    shares = {}
    for name, members in everything.items():
        free = [claim for claim in members if again or _is_free(claim)]
        if free:
            strata[name] = free
            shares[name] = StratumAllocation(len(free), guess_spread(members))
    return strata, shares


def guess_spread(claims: Sequence[Candidate]) -> float:
    """Return the standard deviation of a stratum's claims: people's labels tell it best.

    Else the mean doubt of the instrument, whichever its verdict is; else the most there can be.
    """
    told = [claim.told in _GOOD for claim in claims if claim.told is not None]
    sure = [claim.confidence for claim in claims if claim.confidence is not None]
    if told:
        return _doubt((sum(told) + 0.5) / (len(told) + 1))
    return sum(map(_doubt, sure)) / len(sure) if sure else _doubt(0.5)


def allocate_sample(
    shares: Mapping[str, StratumAllocation], size: int | None, floor: int
) -> dict[str, int]:
    """Return how many claims to draw from every stratum; together they are ``size``.

    A fifth of them in proportion to the strata's claims, the rest by Neyman's allocation: in
    proportion to claims times spread. At least ``floor`` claims of every stratum, and at most all
    of them. Where the floors alone are more than ``size``, they are lowered alike.

    Raises:
        ClaimwiseError: there are more strata than claims to draw, so that some would have no
            chance at all.
    """
    total = sum(share.claims for share in shares.values())
    if size is None or size >= total:
        return {name: share.claims for name, share in shares.items()}
    if size < len(shares):
        raise ClaimwiseError(
            f"size must be at least {len(shares)}, one claim per stratum "
            f"({', '.join(sorted(shares))}), not {size}"
        )
    floor = _lower_floor([share.claims for share in shares.values()], size, floor)
    return _round_shares(shares, _find_shares(shares, size, floor), size)


def _lower_floor(claims: Sequence[int], size: int, floor: int) -> int:
    """Return the highest floor, up to the one given, at which all strata fit into the size."""
    floors = range(1, min(floor, max(claims)) + 1)
    return bisect_right(floors, size, key=lambda least: sum(min(least, n) for n in claims))


def _find_shares(
    shares: Mapping[str, StratumAllocation], size: int, floor: int
) -> dict[str, float]:
    """Return shares of the size between floor and all, in proportion otherwise."""
    claims = sum(share.claims for share in shares.values())
    doubt = sum(share.claims * share.spread for share in shares.values())
    chances = {
        name: _EVEN / claims + (1 - _EVEN) * share.spread / doubt for name, share in shares.items()
    }

    def spread_out(factor: float) -> dict[str, float]:
        return {
            name: min(max(factor * s.claims * chances[name], min(floor, s.claims)), s.claims)
            for name, s in shares.items()
        }

    low, high = 0.0, 1 / min(chances.values())
    for _ in range(100):
        middle = (low + high) / 2
        if sum(spread_out(middle).values()) > size:
            high = middle
        else:
            low = middle
    return spread_out(low)


def _round_shares(
    shares: Mapping[str, StratumAllocation], wanted: Mapping[str, float], size: int
) -> dict[str, int]:
    """Return whole numbers that add up: the largest remainders are rounded up."""
    chosen = {name: math.floor(value + 1e-9) for name, value in wanted.items()}
    order = sorted(wanted, key=lambda name: (chosen[name] - wanted[name], name))
    while (left := size - sum(chosen.values())) > 0:
        open_strata = [name for name in order if chosen[name] < shares[name].claims]
        for name in open_strata[:left]:
            chosen[name] += 1
    return chosen


def _draw_tasks(strata: Strata, chosen: Mapping[str, int], new: Round) -> list[NewTask]:
    """Draw the claims, and those of them that several people label, and put them in order.

    Items come in random order, the claims of one item together and as its answer has them.
    """
    shared = _allocate_overlap(chosen, new.overlap)
    drawn = []
    for name, claims in strata.items():
        order = sorted(claims, key=lambda claim: _draw(new.seed, "claim", *_key(claim)))
        members = order[: chosen[name]]
        several = sorted(members, key=lambda claim: _draw(new.seed, "overlap", *_key(claim)))
        wanted = dict.fromkeys(map(_key, several[: shared[name]]), new.overlap_labels)
        chance = chosen[name] / len(claims)
        drawn += [(claim, name, chance, wanted.get(_key(claim), 1)) for claim in members]
    drawn.sort(key=lambda one: _place(new.seed, one[0]))
    return [
        NewTask(position, claim.item_id, claim.claim_id, name, chance, wanted)
        for position, (claim, name, chance, wanted) in enumerate(drawn)
    ]


def _place(seed: int, claim: Candidate) -> tuple[bytes, int, int, str]:
    item = _draw(seed, "item", claim.item_id)
    return item, claim.sample, claim.position, claim.claim_id


def _key(claim: Candidate) -> tuple[str, str]:
    return claim.item_id, claim.claim_id


def _allocate_overlap(chosen: Mapping[str, int], overlap: float) -> dict[str, int]:
    """Return how many claims of each stratum several people label: in proportion, rounded up."""
    total = sum(chosen.values())
    size = min(total, math.ceil(round(overlap * total, 9)))
    exact = {name: size * count / total for name, count in chosen.items()}
    return _round_shares(
        {name: StratumAllocation(count, 0.5) for name, count in chosen.items()}, exact, size
    )


def _draw(seed: int, what: str, *parts: str) -> bytes:
    """Return a number that is random to whoever doesn't know the seed, and always the same."""
    return hashlib.sha256("\x1f".join((str(seed), what, *parts)).encode()).digest()
