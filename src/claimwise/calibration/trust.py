"""The rule by which an instrument is trusted, in one place and in words.

First people: an instrument can't be measured against people who don't agree with each other. Then
the instrument: whether it tells supported claims from others, and whether it falls behind people.
"""

from __future__ import annotations

from claimwise.agreement.values import Figure
from claimwise.calibration.correction_text import show_coefficient, show_share
from claimwise.calibration.values import PeopleAgreement, Status, TrustRule
from claimwise.report.format import show_percent


def decide_trust(
    rule: TrustRule, claims: int, balanced: Figure, people: PeopleAgreement
) -> tuple[Status, str]:
    """Return the status of an instrument in a slice, and why.

    Not trusted: the interval of its balanced accuracy lies below the level, or its kappa is below
    people's by clearly more than the margin. Trusted: that interval lies above the level, people
    agree with each other, and the interval of the gap lies within the margin. Unknown: whatever
    is neither, and whatever too few claims, one kind of claims or no overlap leave open.

    An instrument at a limit is therefore called trusted at most 5 times in 100
    (benchmarks/trust.py); the observed gap alone would do so every other time.
    """
    unknown = _find_unknown(rule, claims, balanced)
    if unknown:
        return "unknown", unknown
    level = show_percent(rule.level)
    told = f"balanced accuracy {show_share(balanced)}"
    if (balanced.high or 0.0) < rule.level:
        return "not trusted", f"{told} is below {level}"
    if people.gap.low is not None and people.gap.low > rule.margin:
        return "not trusted", (
            f"its kappa with people is {show_coefficient(people.gap)} below theirs with each "
            f"other; {rule.margin:g} is allowed"
        )
    doubt = _doubt_people(rule, people)
    if doubt:
        return "unknown", doubt
    if (balanced.low or 0.0) < rule.level:
        return "unknown", f"{told} could be above or below {level}: label more claims"
    if people.gap.high is None or people.gap.high > rule.margin:
        behind = "unknown" if people.gap.value is None else show_coefficient(people.gap)
        return "unknown", (
            f"how far its kappa with people lies below theirs with each other is too uncertain, "
            f"{behind} with {rule.margin:g} allowed: have two people label more of the same claims"
        )
    return "trusted", (
        f"{told} is above {level}, and its kappa with people is at most {rule.margin:g} below "
        "theirs with each other"
    )


def _find_unknown(rule: TrustRule, claims: int, balanced: Figure) -> str | None:
    if claims < rule.min_claims:
        return f"{claims:,} claims labelled by people; {rule.min_claims:,} are needed"
    if balanced.value is None:
        return f"no balanced accuracy: {balanced.why}"
    return None


def _doubt_people(rule: TrustRule, people: PeopleAgreement) -> str | None:
    """Say why people's labels can't carry a calibration; None when they can."""
    kappa = people.kappa
    if not people.claims:
        return "no claim has labels of two people, so nobody knows if people agree"
    if kappa.value is None or kappa.high is None:
        return f"nobody knows if people agree: {kappa.why}"
    if kappa.high < rule.people_floor:
        return (
            f"people don't agree with each other: their kappa {show_coefficient(kappa)} is below "
            f"{rule.people_floor:g}; clarify the guide first"
        )
    return None
