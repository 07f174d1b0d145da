"""Pairs per second of processor time of open models: in batches by length, and one by one.

The models are those of the tests: tiny, of the published architectures, with random weights. The
engine is measured, not a model: 64 claims about a page of 1,000 words, read in windows. Rival: the
same network and tokens, one pair at a time, as the models' own examples do it; both must give the
same scores. Asked: 3 times as many pairs, for every architecture that torch runs. For comparison,
without a demand: the same BERT as ONNX, whose single passes cost little, and a BERT of 11 million
weights (6 layers, 384 wide), which keeps one core busy with a single pair.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parent.parent
sys.path.append(str(ROOT / "tests"))  # for the models

from claimwise.judges.open_models import pair_models, span_judge  # noqa: E402
from claimwise.judges.open_models.windows import SourceWindows  # noqa: E402
from claimwise.types.rows import Source  # noqa: E402
from support.tiny_models import make_tiny_models, write_bert  # noqa: E402

RATIO = 3.0
MOST_DIFFERENCE = 1e-4
CLAIMS = 64
KINDS: dict[str, tuple[str, Callable[[str], Any]]] = {
    "nli, BERT, torch": ("nli-bert", pair_models.load_nli),
    "(nli, BERT, ONNX)": ("nli-onnx", pair_models.load_nli),
    "nli, DeBERTa": ("nli-deberta", pair_models.load_nli),
    "minicheck, RoBERTa": ("minicheck-roberta", pair_models.load_minicheck),
    "minicheck, Flan-T5": ("minicheck-t5", pair_models.load_minicheck),
    "hhem": ("hhem,foundation={}/flan-t5", pair_models.load_hhem),
    "lettucedetect": ("lettucedetect", lambda text: span_judge.load_lettucedetect(text)._model),
}
PAGE = " ".join(
    f"Room {n} of the tower was opened in {1900 + n} by {'the ' * (n % 7)}mayor of Ostrava."
    for n in range(80)
)


class Measured(NamedTuple):
    """Pairs per second both ways, and how far scores differ."""

    pairs: int
    together: float
    alone: float
    difference: float

    @property
    def ratio(self) -> float:
        """How many times as fast batches are."""
        return self.together / self.alone


def make_pairs(model: Any, pairs: int) -> list[Any]:
    """Return encoded pairs of windows and claims, of many lengths."""
    source = Source(source_id="page", corpus_ver="-", source_text=PAGE)
    windows = SourceWindows([source], model.measure)
    read = [windows.read(window) for window in windows.cut(60)]
    claims = [
        f"Room {n} was opened{' by the mayor' * (n % 4)} in {1900 + n}." for n in range(CLAIMS)
    ]
    chosen = [(read[n % len(read)], claims[n % CLAIMS]) for n in range(pairs)]
    if isinstance(model, span_judge.SpanModel):
        return [model.encode([text], None, claim) for text, claim in chosen]
    return [model.encode(text, claim) for text, claim in chosen]


def flatten(scored: Sequence[Any]) -> list[float]:
    """Return all probabilities of scores, or of marked tokens."""
    if scored and isinstance(scored[0], list):
        return [token.unsupported for tokens in scored for token in tokens]
    return [one.supports for one in scored]


def measure(model: Any, pairs: int, rounds: int) -> Measured:
    """Run pairs both ways, in turns; the best time of each counts."""
    encoded = make_pairs(model, pairs)
    run = model.mark if isinstance(model, span_judge.SpanModel) else model.score
    together = alone = float("inf")
    run(encoded[:2])
    for _ in range(rounds):
        begin = time.process_time()
        batched = flatten(run(encoded))
        middle = time.process_time()
        single = flatten([run([one])[0] for one in encoded])
        end = time.process_time()
        together, alone = min(together, middle - begin), min(alone, end - middle)
    difference = max(abs(a - b) for a, b in zip(batched, single, strict=True))
    return Measured(pairs, pairs / together, pairs / alone, difference)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    pairs, rounds = (128, 2) if quick else (256, 5)
    found: dict[str, Measured] = {}
    with tempfile.TemporaryDirectory() as folder:
        make_tiny_models(Path(folder))
        for kind, (place, load) in KINDS.items():
            name = f"{folder}/{place.format(folder)},threads=1"
            found[kind] = measure(load(name), pairs, rounds)
        if not quick:
            write_bert(Path(folder) / "larger", hidden_size=384, num_hidden_layers=6)
            larger = pair_models.load_nli(f"{folder}/larger,threads=1")
            found["(nli, 11M weights)"] = measure(larger, 64, 3)
    print(f"{'':22}{'in batches':>12}{'one by one':>12}{'ratio':>8}{'scores differ by':>18}")
    for kind, one in found.items():
        print(
            f"{kind:22}{one.together:>12,.0f}{one.alone:>12,.0f}{one.ratio:>8.1f}"
            f"{one.difference:>18.1e}"
        )
    asked = [one for kind, one in found.items() if not kind.startswith("(")]
    holds = all(one.ratio >= RATIO and one.difference <= MOST_DIFFERENCE for one in asked)
    figures = {kind: {**one._asdict(), "ratio": one.ratio} for kind, one in found.items()}
    print(json.dumps({"pairs_per_second": figures, "asked_ratio": RATIO, "holds": holds}))


if __name__ == "__main__":
    main()
