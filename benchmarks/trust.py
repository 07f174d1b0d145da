"""How often is an instrument called trusted that is not worth it?

    python benchmarks/trust.py            # about five minutes
    python benchmarks/trust.py --quick    # below 30 seconds

Simulated calibrations. Claims are supported or not, two people label the overlap, one the rest,
and an instrument judges all of them. Each of them is right with a chance of its own that varies
from item to item (beta, intraclass correlation 0.2), four claims to an item. How often the
instrument is right is solved for, so that its true balanced accuracy against people's labels, or
its true distance to people's kappa, is exactly what the table says.

One limit is tested at a time, and the other is kept far off: for the balanced accuracy people
agree little (kappa 0.5), so that the instrument keeps up with them; for the kappa they agree much
(0.8), so that its balanced accuracy is high. “Short of it” is 0.03 on the wrong side of a limit; a
good instrument reaches a balanced accuracy of 0.83, or agrees with people as they do.

Rule: `claimwise.calibration.trust.decide_trust` with its defaults. Rival, in the same samples: the
point estimates are within both limits. Instruments at a limit or short of it must be called
trusted at most 5 times in 100, three standard errors of the simulation allowed. The last line
printed is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from typing import Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from claimwise.calibration.measure import ClaimArrays, compare_with_people, measure_balanced
from claimwise.calibration.trust import decide_trust
from claimwise.calibration.values import TrustRule
from claimwise.types.verdicts import CHOICES

Flags = NDArray[np.bool_]
Generator = np.random.Generator
Limit = Literal["balanced accuracy", "kappa"]
RULE: Final = TrustRule()
ALLOWED: Final = 0.05
CLAIMS: Final = 4  # of an item
ICC: Final = 0.2
PEOPLE: Final[dict[Limit, float]] = {"balanced accuracy": 0.5, "kappa": 0.8}
PLACES: Final[dict[Limit, dict[str, float]]] = {
    "balanced accuracy": {"short of it": -0.03, "at it": 0.0, "beyond it": 0.04, "good": 0.08},
    "kappa": {"short of it": -0.03, "at it": 0.0, "beyond it": 0.05, "good": 0.15},
}
PREVALENCES: Final[dict[Limit, tuple[float, float]]] = {
    "balanced accuracy": (0.5, 0.7), "kappa": (0.5, 0.9)
}  # fmt: skip
SIZES: Final = ((100, 100), (400, 100), (400, 400), (1_600, 400))  # claims, labelled twice
GOOD, BAD = (CHOICES["grounded"].index(name) for name in ("supported", "unlinked"))


class Setting(NamedTuple):
    """An instrument by its distance to a limit, and what it is measured on."""

    limit: Limit
    place: str
    prevalence: float
    claims: int
    twice: int

    @property
    def is_bad(self) -> bool:
        """Whether it must not be trusted."""
        return self.distance <= 0

    @property
    def distance(self) -> float:
        """How far it lies on the right side of the limit."""
        return PLACES[self.limit][self.place]


class Truth(NamedTuple):
    """What the samples are drawn with: how often each is right."""

    prevalence: float
    person: float
    instrument: float

    def pair(self, one: float, other: float) -> tuple[float, float, float]:
        """Return how often both say supported, the one does, and the other does."""
        p = self.prevalence
        both = p * one * other + (1 - p) * (1 - one) * (1 - other)
        first, second = (p * right + (1 - p) * (1 - right) for right in (one, other))
        return both, first, second

    def kappa(self, one: float, other: float) -> float:
        """Return the kappa of two who are right so often."""
        both, first, second = self.pair(one, other)
        agree = 1 - first - second + 2 * both
        chance = first * second + (1 - first) * (1 - second)
        return (agree - chance) / (1 - chance)

    @property
    def balanced(self) -> float:
        """The instrument's balanced accuracy against one person's labels."""
        both, says, told = self.pair(self.instrument, self.person)
        return (both / told + (1 - says - told + both) / (1 - told)) / 2

    @property
    def gap(self) -> float:
        """How far the instrument's kappa with people is below theirs."""
        people = self.kappa(self.person, self.person)
        return people - self.kappa(self.instrument, self.person)


def find_truth(limit: Limit, prevalence: float, distance: float) -> Truth:
    """Return a truth in which the instrument lies at a distance from a limit."""
    base = Truth(prevalence, 0.0, 0.0)
    person = optimize.brentq(lambda a: base.kappa(a, a) - PEOPLE[limit], 0.55, 0.999)

    def miss(right: float) -> float:
        found = Truth(prevalence, person, right)
        if limit == "kappa":
            return RULE.margin - distance - found.gap
        return found.balanced - RULE.level - distance

    return Truth(prevalence, person, optimize.brentq(miss, 0.5, 0.9999))


def draw_judged(truth: Truth, setting: Setting, generator: Generator) -> ClaimArrays:
    """Draw a sample as `read_claims` would return it."""
    count = setting.claims
    items = np.arange(count) // CLAIMS
    supported = generator.random(count) < truth.prevalence

    def tell(right: float) -> Flags:
        strength = (1 - ICC) / ICC
        chances = generator.beta(right * strength, (1 - right) * strength, items[-1] + 1)
        found: Flags = supported == (generator.random(count) < chances[items])
        return found

    first, second, says = tell(truth.person), tell(truth.person), tell(truth.instrument)
    told = np.where(first, GOOD, BAD)
    counts = np.zeros((count, len(CHOICES["grounded"])), dtype=np.intp)
    twice = np.arange(setting.twice)
    counts[twice, told[: setting.twice]] += 1
    counts[twice, np.where(second, GOOD, BAD)[: setting.twice]] += 1
    return ClaimArrays(
        said=np.where(says, GOOD, BAD),
        told=told,
        items=items,
        weights=np.ones(count),
        confidences=np.full(count, np.nan),
        counts=counts,
        weighted=False,
        judgement="grounded",
        confidence=RULE.confidence,
    )


class Shares(NamedTuple):
    """How often an instrument was called trusted."""

    rule: float
    rival: float


def measure_setting(setting: Setting, samples: int, seed: int) -> Shares:
    """Return how often rule and rival trust an instrument."""
    generator = np.random.Generator(np.random.PCG64(seed))
    truth = find_truth(setting.limit, setting.prevalence, setting.distance)
    trusted = []
    for _ in range(samples):
        judged = draw_judged(truth, setting, generator)
        balanced, people = measure_balanced(judged), compare_with_people(judged)
        status, _ = decide_trust(RULE, setting.claims, balanced, people)
        accurate = balanced.value is not None and balanced.value >= RULE.level
        within = accurate and people.gap.value is not None and people.gap.value <= RULE.margin
        trusted.append((status == "trusted", within))
    return Shares(*map(float, np.mean(trusted, axis=0)))


def list_settings() -> list[Setting]:
    return [
        Setting(limit, place, prevalence, claims, twice)
        for limit in PEOPLE
        for prevalence in PREVALENCES[limit]
        for place in PLACES[limit]
        for claims, twice in SIZES
    ]


def print_table(limit: Limit, found: dict[Setting, Shares]) -> None:
    print(f"\n## Distance to the limit of {limit}; people's kappa {PEOPLE[limit]}\n")
    heads = " | ".join(f"{claims:,} claims, {twice} twice" for claims, twice in SIZES)
    print(f"| supported | judge | true balanced accuracy | true gap | {heads} |")
    print("|---:|---|---:|---:|" + "---:|" * len(SIZES))
    for prevalence in PREVALENCES[limit]:
        for place, distance in PLACES[limit].items():
            truth = find_truth(limit, prevalence, distance)
            cells = []
            for claims, twice in SIZES:
                one = found[Setting(limit, place, prevalence, claims, twice)]
                cells.append(f"{one.rule:.1%} ({one.rival:.1%})")
            print(
                f"| {prevalence:.0%} | {place} | {truth.balanced:.1%} "
                f"| {round(truth.gap, 3) + 0.0:.3f} | {' | '.join(cells)} |"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="fewer samples, below 30 seconds")
    parser.add_argument("--seed", type=int, default=71_500)
    options = parser.parse_args()
    samples = 40 if options.quick else 1_000
    started = time.perf_counter()
    found = {}
    settings = list_settings()
    for number, setting in enumerate(settings):
        print(f"{number + 1}/{len(settings)} {setting}", file=sys.stderr)
        found[setting] = measure_setting(setting, samples, options.seed + number)
    print(f"# Share called trusted, by the rule (by point estimates), {samples:,} samples each")
    for limit in PEOPLE:
        print_table(limit, found)
    print(f"\n{time.perf_counter() - started:.0f} s in total.\n")
    bad = [shares for setting, shares in found.items() if setting.is_bad]
    most = ALLOWED + 3 * math.sqrt(ALLOWED * (1 - ALLOWED) / samples)
    sure = [
        shares.rule
        for setting, shares in found.items()
        if setting.place == "good" and (setting.claims, setting.twice) == SIZES[-1]
    ]
    checks = {
        "bad_ones_are_not_trusted": max(one.rule for one in bad) <= most,
        "point_estimates_trust_bad_ones": max(one.rival for one in bad) > most,
        "good_ones_can_be_trusted": min(sure) > 0.5,
    }
    answer = {
        "benchmark": "trust",
        "quick": options.quick,
        "samples": samples,
        "allowed": round(most, 3),
        "most_often": round(max(one.rule for one in bad), 3),
        "rival_most_often": round(max(one.rival for one in bad), 3),
        "good_with_most_labels": round(min(sure), 3),
        "checks": checks,
        "holds": all(checks.values()),
    }
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
