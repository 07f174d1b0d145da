"""Teaches the shipped encoder whose value is whose: minutes on a GPU, hours on two cores.

    python training/bind.py --data ../shared/data/train --work WORK

The shipped encoder goes on learning from its own opinion of many pairs, mixed with people's labels
where there are some, so that it forgets nothing; and from true claims with their swapped twins
(``value_swaps.py``), whose labels are certain. The new weights are then mixed with those it started
from. Writes ``lessons.pt`` (its own opinion), ``student.pt`` (kept now and then, and not trained
again when complete) and the mixture, ``encoder.int8.onnx``.
Combiner and threshold must be fitted again after it: ``features.py``, ``fit.py``.
"""

from __future__ import annotations

import argparse
import random
import time
import zlib
from pathlib import Path

import numpy as np
import torch

import student as students
from pairs import NLI_SETS, Pair, Passage, group_siblings, read_pairs, read_passages
from train import make_targets, mix_pairs
from value_swaps import make_claim_swaps, make_prose_swaps, make_record_swaps

SEED = 20_261_118
DATA = Path(__file__).parent.parent / "src/claimwise/judges/data"
SURE = 0.9  # how far a rule's label is believed; the rest is the encoder's own opinion
BELIEVED = 0.4  # how far people's labels are
LABELLED, MIXED = 14_000, 7_000  # pairs that it has an opinion of: people's, and made from them
CLAIM_SWAPS, RECORDS = 4_000, 500  # people's claims with a swap; made-up sets of records


def main() -> None:
    """Make pairs, go on learning, mix, export."""
    options = parse_options()
    options.work.mkdir(parents=True, exist_ok=True)
    path = options.work / "student.pt"
    if not path.exists():
        torch.save(learn(options), path)
    old = students.read_weights(options.weights)
    new = torch.load(path, weights_only=True)
    mixed = {n: options.share * new[n].float() + (1 - options.share) * old[n] for n in old}
    student = students.read_student(options.weights, "eager")
    student.load_state_dict(mixed, strict=False)
    students.export_student(student, options.work / "encoder.int8.onnx")


def parse_options() -> argparse.Namespace:
    """Return what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="shared/data/train")
    parser.add_argument("--work", type=Path, required=True, help="where results go")
    parser.add_argument("--weights", type=Path, default=DATA / "encoder.int8.onnx")
    parser.add_argument("--small", action="store_true", help="a few rows, to try the code")
    parser.add_argument("--epochs", type=float, default=1)
    parser.add_argument("--rate", type=float, default=2.5e-5)
    parser.add_argument("--batch-tokens", type=int, default=4_000)
    parser.add_argument("--threads", type=int, help="of the processor; all without it")
    parser.add_argument("--share", type=float, default=1.0, help="of the new weights in the mix")
    return parser.parse_args()


def is_kept_aside(passage: Passage) -> bool:
    """Tell whether a passage is left for measuring: one article in ten."""
    return zlib.crc32(passage.title.encode()) % 10 == 0


def make_lessons(options: argparse.Namespace) -> tuple[list[Pair], list[Pair]]:
    """Return the pairs that the encoder labels itself, and the swaps with their true twins."""
    rng = random.Random(SEED)
    human = read_pairs(options.data)
    passages = read_passages(options.data)
    siblings = group_siblings(passages)
    passages = [p for p in passages if not is_kept_aside(p)]
    rng.shuffle(passages)
    long = [pair for pair in human if pair.origin not in (*NLI_SETS, "boolq")]
    rng.shuffle(long)
    if options.small:
        human, passages, long = rng.sample(human, 400), passages[:20], long[:40]
    swaps = list(make_prose_swaps(passages, siblings, rng))
    swaps += list(make_claim_swaps(long, rng))[: 2 * CLAIM_SWAPS]
    swaps += make_record_swaps(20 if options.small else RECORDS, rng)
    # Captions are all of one kind: a fifth of them is enough.
    kept = [p for p in human if p.origin not in ("snli", "cad_nli") or rng.random() < 0.2]
    mixed = [Pair(e, c, -1, origin) for e, c, origin in mix_pairs(human)]
    pairs = rng.sample(kept, min(LABELLED, len(kept))) + rng.sample(mixed, min(MIXED, len(mixed)))
    return pairs, swaps


def learn(options: argparse.Namespace) -> dict[str, torch.Tensor]:
    """Train on the encoder's own opinion and the swaps; return the weights in 16 bits."""
    clock = time.time()
    if options.threads:
        torch.set_num_threads(options.threads)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    student = students.read_student(options.weights).to(device)
    tokenizer = students.load_tokenizer(options.weights.parent)
    pairs, swaps = make_lessons(options)
    asked = [(p.evidence, p.claim) for p in (*pairs, *swaps)]
    kept = options.work / "lessons.pt"
    if kept.exists():
        soft = torch.load(kept, weights_only=True)
    else:
        soft = students.judge_pairs(student.eval(), tokenizer, asked)
        torch.save(soft, kept)
    print(f"{len(pairs)} pairs, {len(swaps)} of swaps, {time.time() - clock:.0f} s", flush=True)
    labels = np.array([p.label for p in (*pairs, *swaps)])
    believed = np.array([BELIEVED] * len(pairs) + [SURE] * len(swaps))
    # Words stay where they are: too few of them are met here.
    student.body.embeddings.requires_grad_(False)
    students.train_student(
        student,
        tokenizer,
        asked,
        make_targets(labels, soft, believed),
        epochs=options.epochs,
        rate=options.rate,
        seconds=float("inf"),
        seed=SEED,
        batch_tokens=options.batch_tokens,
    )
    return {name: value.half().cpu() for name, value in student.state_dict().items()}


if __name__ == "__main__":
    main()
