"""How many claims of its run a labelled claim stands for, when rounds drew what people label.

Every round is a sample of the run by a design of its own: a claim that was labelled in it stands
for its stratum's claims divided by its stratum's labels. Rounds of one run are samples of the same
claims, so their weights must not simply be put side by side: a later round leaves out what an
earlier one has labelled, or draws it once more, and either way claims that one of them was likely
to draw would count too little or too much. Instead each round estimates the run by itself (what
had been labelled before it, and was left out of it, stands for itself there), and the estimates
are averaged: a claim that was labelled in two rounds counts once, with the average of its weights.
That is unbiased whatever the designs are, as each estimate is, given what came before it. Shares
in the average depend on how many claims of each stratum were labelled, and not on what was said.

Reference: Hartley (1962), Multiple frame surveys; Kish (1965), Survey Sampling, section 11.7, on
how much a weighted sample is worth.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import Final

from claimwise.calibration.queries import Key, RoundSample

# A stratum of a few claims that everybody skips must not keep a round waiting for ever.
_NEGLIGIBLE: Final = 0.05


def weigh_samples(samples: Iterable[RoundSample]) -> dict[Key, float]:
    """Return the weight of every claim that rounds account for, by all rounds of its run.

    Rounds share in proportion to what their labels are worth (Kish). One that says nothing of over
    a twentieth of its claims, as nobody has labelled any of their strata, waits until somebody
    has, unless all are like that: what was labelled in it alone has the weight 0.
    """
    by_run: dict[str, list[RoundSample]] = defaultdict(list)
    for sample in samples:
        if sample.labelled:
            by_run[sample.run_id].append(sample)
    found: dict[Key, float] = defaultdict(float)
    for run_id, known in by_run.items():
        found |= {(run_id, *key): 0.0 for one in known for key in one.labelled}
        chosen = [_weigh(one) for one in known if is_whole(one)] or [_weigh(one) for one in known]
        worth = [_measure_worth(weights) for weights in chosen]
        for weights, size in zip(chosen, worth, strict=True):
            for (item_id, claim_id), weight in weights.items():
                found[run_id, item_id, claim_id] += weight * size / sum(worth)
    return dict(found)


def is_whole(sample: RoundSample) -> bool:
    """Tell whether nearly all claims of a round are in strata with a label: others wait."""
    labelled = set(sample.labelled.values())
    unknown = sum(claims for name, claims in sample.strata.items() if name not in labelled)
    return unknown <= _NEGLIGIBLE * (sum(sample.strata.values()) + len(sample.left_out))


def _weigh(sample: RoundSample) -> dict[tuple[str, str], float]:
    """Return the weights of one round: drawn claims by their strata, left-out ones 1 each."""
    counts = Counter(sample.labelled.values())
    return {
        **dict.fromkeys(sample.left_out, 1.0),
        **{key: sample.strata[name] / counts[name] for key, name in sample.labelled.items()},
    }


def _measure_worth(weights: Mapping[tuple[str, str], float]) -> float:
    """Return how many claims, drawn with equal chances, would say as much."""
    total = sum(weights.values())
    return total * total / sum(weight * weight for weight in weights.values())
