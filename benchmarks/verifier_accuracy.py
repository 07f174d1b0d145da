"""How far the embedded judge agrees with people on sets it has not seen, beside counting words.

Judged are the card's figures, for which each of its sets was left out of every fit before it was
measured. The verifier as shipped has learnt from some of those sets; on the others its figures are
those of unseen sets too, so they are measured again here, and must agree with the card's within the
noise of both. Rival: the word-overlap baseline on the same claims. Asked: macro balanced accuracy
0.70, 4 points above the rival with an interval above 0, on no set more than 1 point below it, macro
calibration error at most 0.08.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from pathlib import Path
from statistics import mean

from claimwise.bench.labelled import find_sets
from claimwise.bench.measure import bench_verifier
from claimwise.errors import InputError
from claimwise.judges.card import Card, load_card
from claimwise.report.format import show_points
from claimwise.types.accuracy import Accuracy, BenchResult, Bounds

VERIFIER = "embedded"
ROWS, QUICK_ROWS = 1500, 150  # the card's figures rest on as many rows a set
JOBS = 2
BALANCED_ACCURACY, DIFFERENCE, WORST_SET, ECE = 0.70, 0.04, -0.01, 0.08


def find_unseen(folder: Path, card: Card) -> list[str]:
    """Return the folder's sets of the card that the shipped numbers have not learnt from."""
    try:
        present = find_sets(folder)
    except InputError as error:
        sys.exit(str(error))
    known = card.verifiers[VERIFIER].sets
    unseen = [name for name in known if name in present and name not in card.fitted]
    if not unseen:
        wanted = ", ".join(name for name in known if name not in card.fitted)
        sys.exit(f"{folder}: found no set to measure, expected any of {wanted}")
    return unseen


def half_width(bounds: Bounds | None) -> float:
    assert bounds is not None
    return (bounds[1] - bounds[0]) / 2


def read_accuracy(accuracy: Accuracy) -> float:
    assert accuracy.balanced_accuracy is not None
    return accuracy.balanced_accuracy


def compare_with_card(card: Card, measured: BenchResult) -> dict[str, float]:
    """Return the mean over the sets measured again, the card's, and how far noise may part them."""
    macro = measured.verifier.macro
    names = list(measured.verifier.sets)
    carded = [card.verifiers[VERIFIER].sets[name] for name in names]
    widths = [half_width(accuracy.intervals["balanced_accuracy"]) for accuracy in carded]
    return {
        "measured": read_accuracy(macro),
        "card": mean(map(read_accuracy, carded)),
        "card_baseline": mean(read_accuracy(card.baseline.sets[name]) for name in names),
        "noise": math.hypot(
            half_width(macro.intervals["balanced_accuracy"]), math.hypot(*widths) / len(widths)
        ),
    }


def decide(card: Card, repeated: dict[str, float]) -> dict[str, bool]:
    accuracy = card.verifiers[VERIFIER]
    macro, lead = accuracy.macro, accuracy.macro.difference
    assert lead is not None
    assert lead.balanced_accuracy is not None
    assert lead.interval is not None
    assert macro.ece is not None
    return {
        "balanced_accuracy": read_accuracy(macro) >= BALANCED_ACCURACY,
        "difference": lead.balanced_accuracy >= DIFFERENCE,
        "difference_interval": lead.interval[0] > 0,
        "worst_set": find_worst(card)[1] >= WORST_SET,
        "ece": macro.ece <= ECE,
        "agrees_with_card": abs(repeated["measured"] - repeated["card"]) <= repeated["noise"],
    }


def find_worst(card: Card) -> tuple[str, float]:
    """Return the set with the smallest lead over the baseline, and that lead."""
    leads = {
        name: found.difference.balanced_accuracy
        for name, found in card.verifiers[VERIFIER].sets.items()
        if found.difference is not None and found.difference.balanced_accuracy is not None
    }
    name = min(leads, key=lambda name: leads[name])
    return name, leads[name]


def print_row(name: str, ours: Accuracy, rival: Accuracy) -> None:
    lead = ours.difference
    assert lead is not None
    assert lead.balanced_accuracy is not None
    assert lead.interval is not None
    low, high = lead.interval
    print(
        f"| {name} | {ours.n:,} | {ours.balanced_accuracy:.1%} | {rival.balanced_accuracy:.1%} "
        f"| {show_points(lead.balanced_accuracy)} ({show_points(low)} to {show_points(high)}) "
        f"| {ours.auc:.3f} | {ours.ece:.3f} |"
    )


def print_head(first: str) -> None:
    print(f"| {first} | claims | embedded judge | word overlap | difference, points | AUC | ECE |")
    print("| --- | ---: | ---: | ---: | --- | ---: | ---: |")


def print_tables(card: Card, measured: BenchResult, repeated: dict[str, float]) -> None:
    carded = card.verifiers[VERIFIER]
    print_head("card, left out of every fit")
    for name, accuracy in carded.sets.items():
        print_row(f"{name} *" if name in card.fitted else name, accuracy, card.baseline.sets[name])
    print_row("**macro**", carded.macro, card.baseline.macro)
    print("\nThe shipped numbers were fitted on sets with a star.\n")
    print_head("measured again, as shipped")
    for name, accuracy in measured.verifier.sets.items():
        print_row(name, accuracy, measured.baseline.sets[name])
    print_row("**macro**", measured.verifier.macro, measured.baseline.macro)
    ours, rival = repeated["card"], repeated["card_baseline"]
    print(f"| card, same sets | | {ours:.1%} | {rival:.1%} | {show_points(ours - rival)} | | |")


def points(difference: float) -> str:
    return f"{show_points(difference)} points"


def print_checks(card: Card, repeated: dict[str, float], checks: dict[str, bool]) -> None:
    macro, lead = card.verifiers[VERIFIER].macro, card.verifiers[VERIFIER].macro.difference
    assert lead is not None
    assert lead.balanced_accuracy is not None
    assert lead.interval is not None
    name, worst = find_worst(card)
    apart = repeated["measured"] - repeated["card"]
    rows = (
        ("balanced_accuracy", f"{read_accuracy(macro):.1%}", f"at least {BALANCED_ACCURACY:.0%}"),
        ("difference", points(lead.balanced_accuracy), f"at least {points(DIFFERENCE)}"),
        ("difference_interval", f"from {points(lead.interval[0])}", "above 0"),
        ("worst_set", f"{points(worst)} ({name})", f"at least {points(WORST_SET)}"),
        ("ece", f"{macro.ece:.3f}", f"at most {ECE}"),
        ("agrees_with_card", points(apart), f"within {points(repeated['noise'])[1:]}"),
    )
    print("\n| | measured | asked | reached |")
    print("| --- | --- | --- | --- |")
    for check, found, asked in rows:
        print(
            f"| {check.replace('_', ' ')} | {found} | {asked} "
            f"| {'yes' if checks[check] else '**no**'} |"
        )


def tidy(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="labelled sets, as in ../shared/data/dev")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_ROWS} rows a set")
    args = parser.parse_args()
    card = load_card()
    limit = QUICK_ROWS if args.quick else ROWS
    unseen = find_unseen(args.folder, card)
    measured = bench_verifier(args.folder, VERIFIER, sets=unseen, limit=limit, jobs=JOBS)
    repeated = compare_with_card(card, measured)
    checks = decide(card, repeated)
    print_tables(card, measured, repeated)
    print_checks(card, repeated, checks)
    macro = card.verifiers[VERIFIER].macro
    lead, again = macro.difference, measured.verifier.macro
    assert lead is not None
    assert again.difference is not None
    figures = {
        "card": {
            "sets": macro.sets,
            "balanced_accuracy": macro.balanced_accuracy,
            "baseline": card.baseline.macro.balanced_accuracy,
            "difference": lead.balanced_accuracy,
            "difference_interval": list(map(tidy, lead.interval or ())),
            "worst_set": find_worst(card),
            "ece": macro.ece,
        },
        "measured": {
            "sets": again.sets,
            "claims": again.n,
            "balanced_accuracy": tidy(again.balanced_accuracy),
            "baseline": tidy(measured.baseline.macro.balanced_accuracy),
            "difference": tidy(again.difference.balanced_accuracy),
            "difference_interval": list(map(tidy, again.difference.interval or ())),
            "ece": tidy(again.ece),
            "card_says": tidy(repeated["card"]),
            "card_says_baseline": tidy(repeated["card_baseline"]),
            "noise": tidy(repeated["noise"]),
        },
        "reached": checks,
        "holds": all(checks.values()),
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
