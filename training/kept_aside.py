"""Measures swaps in the articles that ``bind.py`` keeps aside: one sentence of 500 passages.

python training/kept_aside.py --data ../shared/data/train

Prints how many true sentences count as supported and how many swapped ones don't, by the combiner
alone: as shipped, but without the rule that binds values to their owners.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator, Sequence
from pathlib import Path

from bind import is_kept_aside
from claimwise.judges.embedded import EmbeddedVerifier
from claimwise.judges.encoder import Encoder
from claimwise.types.rows import Source
from claimwise.types.verdicts import AnswerClaim, CheckRequest
from pairs import Passage, group_siblings, read_passages
from value_swaps import swap_value

SEED, PAIRS, OTHERS = 5, 500, 4  # others: passages of the same article that are read as well


def main() -> None:
    """Judge and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="shared/data/train")
    parser.add_argument("--weights", help="other encoder weights, under the shipped combiner")
    options = parser.parse_args()
    judge = EmbeddedVerifier(Encoder(options.weights), binds_values=False)
    kept = rejected = 0
    pairs = list(make_pairs(read_passages(options.data)))
    for source, true, swapped in pairs:
        kept += is_supported(judge, source, true)
        rejected += not is_supported(judge, source, swapped)
    print(f"{len(pairs)} pairs: {kept / len(pairs):.1%} of true ones kept, ", end="")
    print(f"{rejected / len(pairs):.1%} of swapped ones rejected")


def make_pairs(passages: Sequence[Passage]) -> Iterator[tuple[str, str, str]]:
    """Yield source, sentence and swapped sentence: the first of a passage that can be swapped."""
    rng = random.Random(SEED)
    kept = [passage for passage in passages if is_kept_aside(passage)]
    rng.shuffle(kept)
    siblings = group_siblings(kept)
    made = 0
    for passage in kept:
        others = [other for other in siblings[passage.title] if other is not passage][:OTHERS]
        source = "\n\n".join(other.text for other in (passage, *others))
        for sentence in passage.sentences:
            swapped = (
                swap_value(sentence, source, rng) if 6 <= len(sentence.split()) <= 45 else None
            )
            if swapped:
                made += 1
                yield source, sentence, swapped
                break
        if made == PAIRS:
            return


def is_supported(judge: EmbeddedVerifier, source: str, text: str) -> bool:
    """Tell whether the judge calls a sentence supported."""
    sources = (Source(source_id="s", corpus_ver="-", source_text=source),)
    claim = AnswerClaim(text=text, start=0, end=len(text), wording=text)
    (found,), _ = judge.judge_answer([claim], CheckRequest(answer=text, sources=sources))
    return found.verdict == "supported"


if __name__ == "__main__":
    main()
