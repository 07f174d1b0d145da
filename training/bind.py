"""Teaches the shipped encoder whose value is whose: minutes on one GPU.

    python training/bind.py --data ../shared/data/train --work WORK

The shipped encoder goes on learning from its own opinion of many pairs, mixed with people's labels
where there are some, so that it forgets nothing; and from swapped values with their true twins
(``value_swaps.py``), whose labels are certain. It does so in three courses, in imitated 8-bit
arithmetic; the mean of their weights is then mixed with those it started from.
Writes ``student-COURSE.pt`` (kept as soon as it exists, and not trained again), ``bound.onnx``,
``bound.int8.onnx`` and the mixture, ``encoder.int8.onnx``.
Combiner and threshold must be fitted again after it: ``features.py``, ``fit.py``.
"""

from __future__ import annotations

import argparse
import random
import time
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

import student as students
from mix import mix_files
from pairs import Pair, Passage, make_windows, read_pairs, read_passages
from train import average_states, make_targets, mix_pairs
from value_swaps import make_claim_swaps, make_prose_swaps, make_record_swaps

SEED = 20_261_116
DATA = Path(__file__).parent.parent / "src/claimwise/judges/data"
SURE = 0.9  # how far a rule's label is believed; the rest is the encoder's own opinion
COPIED = 6  # sentences a passage that are asked about as they stand


class Course(NamedTuple):
    """One way of going on."""

    name: str
    swaps: int  # at most
    rate: float
    believed: float  # how far people's labels are; the rest is the encoder's own opinion


COURSES = (
    Course("even", 120_000, 4e-5, 0.5),
    Course("few-swaps", 60_000, 4e-5, 0.5),
    Course("fast", 90_000, 8e-5, 0.3),
)


def main() -> None:
    """Make pairs, go on learning, take the mean, export, mix."""
    options = parse_options()
    options.work.mkdir(parents=True, exist_ok=True)
    paths = [options.work / f"student-{course.name}.pt" for course in COURSES]
    for number, (course, path) in enumerate(zip(COURSES, paths, strict=True)):
        if not path.exists():
            torch.save(take_course(course, SEED + number, options), path)
    export(average_states(paths), options.weights, options.work)
    bound, mixed = options.work / "bound.int8.onnx", options.work / "encoder.int8.onnx"
    mix_files(options.weights, bound, options.share, mixed)


def parse_options() -> argparse.Namespace:
    """Return what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="shared/data/train")
    parser.add_argument("--work", type=Path, required=True, help="where results go")
    parser.add_argument("--weights", type=Path, default=DATA / "encoder.int8.onnx")
    parser.add_argument("--small", action="store_true", help="a few rows, to try the code")
    parser.add_argument("--records", type=int, default=8_000, help="made-up sets of records")
    parser.add_argument("--epochs", type=float, default=2)
    parser.add_argument("--seconds", type=float, default=400, help="for each course")
    parser.add_argument("--share", type=float, default=0.5, help="of the new weights in the mix")
    return parser.parse_args()


def is_kept_aside(passage: Passage) -> bool:
    """Tell whether a passage is left for measuring: one article in ten."""
    return zlib.crc32(passage.title.encode()) % 10 == 0


def make_lessons(
    course: Course, seed: int, options: argparse.Namespace
) -> tuple[list[Pair], list[Pair]]:
    """Return the pairs that the encoder labels itself, and the swaps."""
    rng = random.Random(seed)
    human = read_pairs(options.data)
    passages = [p for p in read_passages(options.data) if not is_kept_aside(p)]
    if options.small:
        human, passages = rng.sample(human, 200), passages[:20]
    pairs = human + [Pair(e, c, -1, origin) for e, c, origin in mix_pairs(human)]
    pairs += copy_sentences(passages, rng)
    swaps = list(make_prose_swaps(passages, rng)) + list(make_claim_swaps(human, rng))
    swaps += make_record_swaps(20 if options.small else options.records, rng)
    rng.shuffle(swaps)
    return pairs, swaps[: course.swaps]


def copy_sentences(passages: Sequence[Passage], rng: random.Random) -> list[Pair]:
    """Return sentences of passages with stretches that do and do not hold them."""
    return [
        Pair(window, sentence, -1, "copied")
        for passage in passages
        for sentence in rng.sample(passage.sentences, min(COPIED, len(passage.sentences)))
        for window in make_windows(passage, sentence, rng, [])
    ]


def take_course(course: Course, seed: int, options: argparse.Namespace) -> dict[str, torch.Tensor]:
    """Train on the encoder's own opinion and the swaps; return the weights in 16 bits."""
    clock = time.time()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    student = students.read_student(options.weights).to(device)
    tokenizer = students.load_tokenizer(options.weights.parent)
    pairs, swaps = make_lessons(course, seed, options)
    asked = [(p.evidence, p.claim) for p in (*pairs, *swaps)]
    soft = students.judge_pairs(student.eval(), tokenizer, asked)
    print(f"{len(pairs)} pairs, {len(swaps)} of swaps, {time.time() - clock:.0f} s", flush=True)
    labels = np.array([p.label for p in (*pairs, *swaps)])
    believed = np.array([course.believed] * len(pairs) + [SURE] * len(swaps))
    students.imitate_8_bits(student)
    students.train_student(
        student,
        tokenizer,
        asked,
        make_targets(labels, soft, believed),
        epochs=options.epochs,
        rate=course.rate,
        seconds=options.seconds,
        seed=seed,
        batch_tokens=2_000 if options.small else 32_000,
    )
    return {name: value.half().cpu() for name, value in student.state_dict().items()}


def export(state: dict[str, torch.Tensor], weights: Path, work: Path) -> None:
    """Write the ONNX files of a state."""
    student = students.read_student(weights, "eager")
    student.load_state_dict({name: value.float() for name, value in state.items()})
    students.export_student(student, work / "bound.onnx")
    students.quantize_student(work / "bound.onnx", work / "bound.int8.onnx")


if __name__ == "__main__":
    main()
