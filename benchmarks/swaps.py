"""Are swapped values told from true ones, in prose, lists, tables, CSV and JSON?

400 pairs from passages of our own (`support/swap_cases.py`): the true claim gives an owner's value,
its twin the value of another owner in the same source. Rivals: the same judge with the rule that
binds values to their owners switched off, and counting words. Asked of the embedded judge: at least
90% of the swapped claims not supported, at least 93% of the true ones supported. Whoever wrote the
rule wrote the passages too: read the figures as what it does where values stand as plainly as here.
With ``--data`` the same is measured on claims and texts of other people (`support/real_swaps.py`),
which nothing is asked of.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from claimwise.judges.embedded import EmbeddedVerifier
from claimwise.judges.encoder import load_encoder
from claimwise.judges.judge import Verifier, load_verifier
from claimwise.types.rows import Source
from claimwise.types.verdicts import AnswerClaim, CheckRequest
from support.real_swaps import SETS, make_real_pairs
from support.swap_cases import SHAPES, Pair, make_pairs

PAIRS, QUICK_PAIRS = 400, 100
REAL_PAIRS = 60  # of each set
REJECTED, KEPT = 0.90, 0.93

Counts = dict[str, list[int]]
"""By shape: pairs, swapped claims that were not supported, true ones that were."""


def judge_pairs(judge: Verifier, pairs: Sequence[Pair], *, show: bool) -> Counts:
    counts: Counts = defaultdict(lambda: [0, 0, 0])
    for pair in pairs:
        sources = (Source(source_id="s", corpus_ver="-", source_text=pair.source),)
        claims = [
            AnswerClaim(text=text, start=0, end=len(text), wording=text)
            for text in (pair.swapped, pair.true)
        ]
        request = CheckRequest(answer=f"{pair.swapped} {pair.true}", sources=sources)
        (swapped, true), _ = judge.judge_answer(claims, request)
        rejected, kept = swapped.verdict != "supported", true.verdict == "supported"
        for shape in (pair.shape, "all"):
            for place, one in enumerate((1, rejected, kept)):
                counts[shape][place] += one
        if show and not (rejected and kept):
            print(f"{pair.shape}: {pair.source[:300]!r}")
            print(
                f"   swapped {swapped.verdict}: {pair.swapped}\n   true {true.verdict}: {pair.true}"
            )
    return counts


def share(counts: Counts, shape: str, place: int) -> float:
    return counts[shape][place] / counts[shape][0]


def show_table(found: dict[str, Counts], shapes: Sequence[str]) -> None:
    print(f"| swapped rejected / true kept, % | pairs | {' | '.join(found)} |")
    print("| --- | ---: |" + " ---: |" * len(found))
    for shape in (*shapes, "all"):
        cells = [
            f"{100 * share(one, shape, 1):.0f} / {100 * share(one, shape, 2):.0f}"
            for one in found.values()
        ]
        print(f"| {shape} | {found['embedded'][shape][0]} | {' | '.join(cells)} |")


def sum_up(found: dict[str, Counts]) -> dict[str, dict[str, float]]:
    return {
        name: {
            "swapped_rejected": round(share(counts, "all", 1), 4),
            "true_kept": round(share(counts, "all", 2), 4),
        }
        for name, counts in found.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_PAIRS} pairs")
    parser.add_argument(
        "--show", action="store_true", help="print what the embedded judge gets wrong"
    )
    parser.add_argument("--data", type=Path, help="shared/data/dev: texts of other people as well")
    args = parser.parse_args()
    encoder = load_encoder()
    judges: dict[str, Verifier] = {
        "embedded": EmbeddedVerifier(encoder),
        "lexical": EmbeddedVerifier(None),
        "embedded, rule off": EmbeddedVerifier(encoder, binds_values=False),
        "word overlap": load_verifier("overlap"),
    }

    def judge_all(pairs: Sequence[Pair]) -> dict[str, Counts]:
        return {
            name: judge_pairs(judge, pairs, show=args.show and name == "embedded")
            for name, judge in judges.items()
        }

    pairs = make_pairs(QUICK_PAIRS if args.quick else PAIRS)
    found = judge_all(pairs)
    show_table(found, SHAPES)
    figures: dict[str, object] = {"pairs": len(pairs), **sum_up(found)}
    if args.data:
        real = judge_all(make_real_pairs(args.data, REAL_PAIRS))
        print()
        show_table(real, SETS)
        figures["real"] = sum_up(real)
    holds = share(found["embedded"], "all", 1) >= REJECTED
    holds = holds and share(found["embedded"], "all", 2) >= KEPT
    print(json.dumps(figures | {"holds": holds}))


if __name__ == "__main__":
    main()
