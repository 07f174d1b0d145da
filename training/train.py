"""Trains the embedded verifier's encoder: one command, minutes on one GPU.

    python training/train.py --data ../shared/data/train --models MODELS --work WORK

Steps, each of which keeps its result in WORK and is skipped when that is there:

1. the language model writes claims (true, distorted, going beyond) about passages, those of the
   training data and others that it invents first;
2. it is fine-tuned on the human-labelled pairs as a teacher;
3. it labels (evidence, claim) pairs made from what it wrote;
4. the small encoder learns from the teacher's probabilities and the human labels, in two courses
   from the same start, and their weights are averaged;
5. it goes on learning, from the same pairs and from swapped values (``bind.py``);
6. the encoder is exported to ONNX, its weights in 8 bits.

``training/fit.py`` then fits the few numbers that turn evidence into calibrated probabilities.
"""

from __future__ import annotations

import argparse
import json
import lzma
import random
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from tokenizers import Tokenizer

import student as students
import teacher as teachers
from bind import SWAPS, Row, prepare_swaps, read_part, read_pool, teach_values
from pairs import (
    CONTRADICTS,
    NEITHER,
    NOT_SUPPORTED,
    SUPPORTS,
    Pair,
    Passage,
    edit_claim,
    group_siblings,
    join_sentences,
    make_passage,
    make_windows,
    mix_pairs,
    rank_sentences,
    read_pairs,
    read_passages,
    thin_pairs,
)
from prompts import (
    GENRES,
    INVENT,
    INVENT_TOKENS,
    PLACES,
    STATE,
    STATE_TOKENS,
    WRITING,
    read_lines,
    read_text,
    read_topics,
)

SEED = 20_261_115
CHUNK = 2_048  # passages that are written about at a time
PARTS = ("read", "invented")  # of the pool: about which passages
OWN = ("stated", "swapped", "left_out")  # labelled pairs that are made, not read
UNTIL = ("swaps", "label", "learn", "bind", "export")
TOKENIZER = "qwen-tokenizer.json"  # beside the GGUF file
QUESTIONS = 6  # questions a passage that are turned into statements


class Course(NamedTuple):
    """One way to teach the student: which parts of the pool, and how fast."""

    name: str
    parts: tuple[str, ...]
    rate: float
    batch_tokens: int


# The mean of two students from one start judges unseen sets better than either of them.
COURSES = (
    Course("narrow", ("read",), 1.2e-4, 24_000),
    Course("wide", PARTS, 2e-4, 48_000),
)


def main() -> None:
    """Run the steps that are missing."""
    options = _parse_options()
    options.work.mkdir(parents=True, exist_ok=True)
    steps = [
        (SWAPS, write_swaps),
        (f"soft-{PARTS[-1]}.npy", label),
        ("student.pt", learn),
        ("bound.pt", bind),
        ("encoder.int8.onnx", export),
    ]
    for result, step in steps[: UNTIL.index(options.until) + 1]:
        if not (options.work / result).exists():
            step(options)
            torch.cuda.empty_cache()  # what the teacher held is the students' room


def _parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="shared/data/train")
    parser.add_argument("--models", type=Path, required=True, help="where get-models put them")
    parser.add_argument("--work", type=Path, required=True, help="where results go")
    parser.add_argument("--base", default="gte-small", help="base of the student")
    parser.add_argument("--small", action="store_true", help="a few rows, to try the code")
    parser.add_argument("--until", choices=UNTIL, default="export", help="the last step")
    parser.add_argument("--probe", type=Path, help="extra pairs to score, for measuring only")
    parser.add_argument("--write-seconds", type=float, default=240, help="for each part")
    parser.add_argument("--invent", type=int, default=12_000, help="passages to invent")
    parser.add_argument("--teach-seconds", type=float, default=230)
    parser.add_argument("--pool", type=int, default=300_000, help="most pairs to label, each part")
    parser.add_argument("--epochs", type=float, default=6)
    parser.add_argument("--learn-seconds", type=float, default=500, help="for each course")
    parser.add_argument("--bind-seconds", type=float, default=120)
    return parser.parse_args()


def write_swaps(options: argparse.Namespace) -> None:
    """Make the pairs about swapped values: on the processor, before the GPU is needed."""
    prepare_swaps(options.data, options.work, small=options.small)


def label(options: argparse.Namespace) -> None:
    """Write claims, teach the teacher, label pairs; keep each part's pairs and probabilities."""
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    clock = time.time()
    human = read_pairs(options.data)
    if options.small:
        human = random.Random(0).sample(human, 60)
    tokenizer = teachers.load_tokenizer(prepare_tokenizer(options.models))
    model = teachers.load_model(options.models / teachers.GGUF)
    print(f"{len(human)} labelled pairs, {time.time() - clock:.0f} s", flush=True)
    writer = model.to(device, torch.bfloat16)
    parts = {}
    for part in PARTS:
        if not (options.work / f"soft-{part}.npy").exists():
            parts[part] = write_part(part, writer, tokenizer, human, options)
            print(f"{part}: written, {time.time() - clock:.0f} s", flush=True)
    own = _choose_own(
        parts["read"] if "read" in parts else read_part(options.work / "pool-read.json.xz").rows
    )
    judge = teachers.Judge(model.float()).to(device)
    lessons = thin_pairs(human, random.Random(SEED)) + own
    teachers.train_judge(
        judge,
        tokenizer,
        lessons,
        seconds=options.teach_seconds,
        seed=SEED,
        batch_tokens=2_000 if options.small else 8_000,
    )
    judge.body.to(torch.bfloat16)
    print(f"taught on {len(lessons)} pairs, {time.time() - clock:.0f} s", flush=True)
    if options.probe:
        _score_probe(options, "teacher", lambda p: teachers.judge_pairs(judge, tokenizer, p))
    for part, rows in parts.items():
        soft = teachers.judge_pairs(judge, tokenizer, [(row[0], row[1]) for row in rows])
        with lzma.open(options.work / f"pool-{part}.json.xz", "wt", preset=1) as file:
            json.dump(rows, file)
        np.save(options.work / f"soft-{part}.npy", soft.half().numpy())
        print(f"{part}: labelled {len(rows)} pairs, {time.time() - clock:.0f} s", flush=True)


def write_part(
    part: str, writer: Any, tokenizer: Any, human: list[Pair], options: argparse.Namespace
) -> list[Row]:
    """Return one part's rows; those that people labelled belong to the part about read passages."""
    started = time.time()
    rng = random.Random(SEED)
    if part == "read":
        passages = read_passages(options.data)
        rng.shuffle(passages)
    else:
        asked = 4 if options.small else options.invent
        passages = invent_passages(writer, tokenizer, asked, rng, small=options.small)
        print(f"invented {len(passages)}, {time.time() - started:.0f} s", flush=True)
    if options.small:
        passages = passages[:4]
    left = options.write_seconds - (time.time() - started)
    stated, written = write_claims(writer, tokenizer, passages, seconds=left, small=options.small)
    print(f"{len(stated)} stated, {len(written)} written", flush=True)
    pool = make_pairs(passages, stated, written) + (
        mix_pairs(human, SEED + 2) if part == "read" else []
    )
    rng.shuffle(pool)
    given = human + make_lessons(passages, stated) if part == "read" else []
    rows = [(p.evidence, p.claim, p.label, p.origin) for p in given]
    return rows + [(e, c, -1, kind) for e, c, kind in pool[: options.pool]]


def _choose_own(rows: list[Row]) -> list[Pair]:
    """Return the pairs that were made together with a label."""
    return [Pair(*row) for row in rows if row[2] >= 0 and row[3] in OWN]


def invent_passages(
    model: Any, tokenizer: Any, number: int, rng: random.Random, *, small: bool
) -> list[Passage]:
    """Let the language model make up texts of many kinds; those on one subject are siblings."""
    topics = read_topics()
    wanted = [
        (topics[i % len(topics)], rng.choice(GENRES), rng.choice(PLACES)) for i in range(number)
    ]
    replies = teachers.write_texts(
        model,
        tokenizer,
        [INVENT.format(topic=t, genre=g, place=p) for t, g, p in wanted],
        max_new_tokens=40 if small else INVENT_TOKENS,
        batch=4 if small else CHUNK,
        seed=SEED,
        temperature=0.9,
    )
    found = [
        make_passage(read_text(reply), topic)
        for (topic, _, _), reply in zip(wanted, replies, strict=True)
    ]
    return [passage for passage in found if len(passage.sentences) >= 2]


def prepare_tokenizer(models: Path) -> Path:
    """Return the language model's tokenizer file; made from the GGUF file where it is missing."""
    path = models / TOKENIZER
    if not path.exists():
        from transformers import AutoTokenizer

        tokenizer = AutoTokenizer.from_pretrained(models, gguf_file=teachers.GGUF)
        tokenizer.backend_tokenizer.save(str(path))
    return path


def write_claims(
    model: Any, tokenizer: Any, passages: list[Passage], *, seconds: float, small: bool
) -> tuple[list[tuple[int, str, str]], list[tuple[int, str, str]]]:
    """Return statements of the answered questions, and free claims: (passage, text, kind).

    The second are written until the time is up: one kind after the other for some passages, then
    for the next ones.
    """
    started = time.time()
    asked = [(n, q, a) for n, p in enumerate(passages) for q, a in p.questions[:QUESTIONS]]
    replies = teachers.write_texts(
        model,
        tokenizer,
        [STATE.format(question=q, answer=a) for _, q, a in asked],
        max_new_tokens=STATE_TOKENS,
        batch=4 if small else 2048,
        seed=SEED,
    )
    stated = []
    for (number, _, answer), reply in zip(asked, replies, strict=True):
        text = reply.splitlines()[0].strip() if reply else ""
        if text.endswith(".") and answer.lower() in text.lower() and len(text.split()) <= 50:
            stated.append((number, text, answer))
    print(f"stated {len(stated)} of {len(asked)}, {time.time() - started:.0f} s", flush=True)
    written: list[tuple[int, str, str]] = []
    for first in range(0, len(passages), CHUNK):
        chunk = passages[first : first + CHUNK]
        for kind, (prompt, most) in WRITING.items():
            if time.time() - started > seconds:
                return stated, written
            replies = teachers.write_texts(
                model,
                tokenizer,
                [prompt.format(passage=_shorten(p)) for p in chunk],
                max_new_tokens=most,
                batch=4 if small else CHUNK,
                seed=SEED,
            )
            print(f"wrote {kind} from {first}, {time.time() - started:.0f} s", flush=True)
            for number, reply in enumerate(replies, first):
                written += [(number, text, kind) for text in read_lines(reply)]
    return stated, written


def _shorten(passage: Passage) -> str:
    """Return the passage's first sentences, about 140 words."""
    kept: list[str] = []
    size = 0
    for sentence in passage.sentences:
        size += len(sentence.split())
        if kept and size > 140:
            break
        kept.append(sentence)
    return " ".join(kept)


def make_lessons(passages: list[Passage], stated: list[tuple[int, str, str]]) -> list[Pair]:
    """Return labelled pairs from answered questions.

    The statement with its passage; the statement with another answer of the same kind; the
    statement with every sentence that holds the answer taken away.
    """
    rng = random.Random(SEED)
    siblings = group_siblings(passages)
    lessons: list[Pair] = []
    for number, text, answer in stated:
        passage = passages[number]
        holding = [i for i, s in enumerate(passage.sentences) if answer in s]
        order = rank_sentences(passage.sentences, text)
        if holding:
            chosen = list(dict.fromkeys([*holding[:2], *order]))[: rng.choice((2, 3, 4))]
            lessons.append(
                Pair(join_sentences(passage.sentences, chosen), text, SUPPORTS, "stated")
            )
        dice = rng.random()
        other = _other_answer(answer, siblings[passage.title], rng) if dice < 0.6 else None
        if other and answer in text:
            window = join_sentences(passage.sentences, order[: rng.choice((2, 3, 4))])
            wrong = text.replace(answer, other, 1)
            label = CONTRADICTS if answer in window else NOT_SUPPORTED
            lessons.append(Pair(window, wrong, label, "swapped"))
        rest = [i for i in order if answer not in passage.sentences[i]][:3]
        if dice > 0.5 and holding and rest:
            lessons.append(Pair(join_sentences(passage.sentences, rest), text, NEITHER, "left_out"))
    return lessons


def _other_answer(answer: str, siblings: list[Passage], rng: random.Random) -> str | None:
    """Return another answer from the same article that looks alike: a number for a number."""

    def shape(text: str) -> tuple[bool, bool, bool]:
        return any(map(str.isdigit, text)), text[:1].isupper(), len(text.split()) > 3

    options = {a for p in siblings for _, a in p.questions if shape(a) == shape(answer)}
    fitting = sorted(
        a for a in options if a.lower() not in answer.lower() and answer.lower() not in a.lower()
    )
    return rng.choice(fitting) if fitting else None


def make_pairs(
    passages: list[Passage],
    stated: list[tuple[int, str, str]],
    written: list[tuple[int, str, str]],
) -> list[tuple[str, str, str]]:
    """Return pairs from the passages for the teacher to label: (evidence, claim, recipe)."""
    rng = random.Random(SEED + 1)
    siblings = group_siblings(passages)
    copied = [
        (number, rng.choice(passage.sentences), "copied")
        for number, passage in enumerate(passages)
        for _ in range(2)
    ]
    pool: list[tuple[str, str, str]] = []
    for number, text, kind in [*((n, t, "stated") for n, t, _ in stated), *written, *copied]:
        passage = passages[number]
        others = [p for p in siblings[passage.title] if p is not passage]
        pool += [(w, text, kind) for w in make_windows(passage, text, rng, others)]
        if kind not in ("distort", "overstate") and rng.random() < 0.6:
            edited = edit_claim(text, passage.text, rng)
            if edited:
                pool.append((make_windows(passage, text, rng, [])[0], edited, "edited"))
    return pool


def learn(options: argparse.Namespace) -> None:
    """Train a student in each course that is missing, and keep the mean of their weights.

    The courses run side by side: a network this small leaves most of a GPU idle.
    """
    missing = [course for course in COURSES if not _place(course, options).exists()]
    with ProcessPoolExecutor(len(COURSES), mp_context=get_context("spawn")) as processes:
        list(processes.map(partial(take_course, options=options), missing))
    states = average_states([_place(course, options) for course in COURSES])
    torch.save(states, options.work / "student.pt")


def _place(course: Course, options: argparse.Namespace) -> Path:
    return Path(options.work / f"student-{course.name}.pt")


def average_states(paths: Sequence[Path]) -> dict[str, torch.Tensor]:
    """Return the mean of some students' weights, in 16 bits."""
    states = [torch.load(path, weights_only=True) for path in paths]
    return {
        name: torch.stack([state[name].float() for state in states]).mean(0).half()
        for name in states[0]
    }


def take_course(course: Course, options: argparse.Namespace) -> None:
    """Train one student on its parts of the pool; keep its weights in 16 bits."""
    parts = [read_part(options.work / f"pool-{part}.json.xz") for part in course.parts]
    rows = [row for part in parts for row in part.rows]
    torch.manual_seed(SEED)
    student, tokenizer = _load_student(options)
    students.train_student(
        student,
        tokenizer,
        [(row[0], row[1]) for row in rows],
        students.make_targets(
            np.array([row[2] for row in rows]), torch.cat([part.soft for part in parts])
        ),
        epochs=options.epochs,
        rate=course.rate,
        seconds=options.learn_seconds,
        seed=SEED,
        batch_tokens=2_000 if options.small else course.batch_tokens,
    )
    _keep_student(course.name, student, tokenizer, _place(course, options), options)


def bind(options: argparse.Namespace) -> None:
    """Teach the mean of the students whose value is whose."""
    student, tokenizer = _load_student(options)
    state = torch.load(options.work / "student.pt", weights_only=True)
    student.load_state_dict({name: value.float() for name, value in state.items()})
    teach_values(
        student,
        tokenizer,
        read_pool(options.work),
        prepare_swaps(options.data, options.work, small=options.small),
        epochs=1,
        rate=5e-5,
        seconds=options.bind_seconds,
        batch_tokens=2_000 if options.small else 24_000,
    )
    _keep_student("bound", student, tokenizer, options.work / "bound.pt", options)


def _load_student(options: argparse.Namespace) -> tuple[students.Student, Tokenizer]:
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    folder = options.models / options.base
    return students.load_student(folder).to(device), students.load_tokenizer(folder)


def _keep_student(
    name: str,
    student: students.Student,
    tokenizer: Tokenizer,
    path: Path,
    options: argparse.Namespace,
) -> None:
    torch.save({key: value.half().cpu() for key, value in student.state_dict().items()}, path)
    if options.probe:
        _score_probe(options, name, lambda p: students.judge_pairs(student, tokenizer, p))


def export(options: argparse.Namespace) -> None:
    """Write ``encoder.int8.onnx``."""
    student = students.load_student(options.models / options.base)
    state = torch.load(options.work / "bound.pt", weights_only=True)
    student.load_state_dict({k: v.float() for k, v in state.items()})
    students.export_student(student, options.work / "encoder.int8.onnx")


def _score_probe(options: argparse.Namespace, who: str, score: Any) -> None:
    """Score pairs that nothing is trained on, so that a run can be judged as it goes."""
    with lzma.open(options.probe, "rt", encoding="utf-8") as file:
        sets = json.load(file)
    pairs = [
        (window, part[0])
        for rows in sets.values()
        for row in rows
        for part in row["parts"]
        for window in part[1:]
    ]
    scores = score(pairs).numpy().astype(np.float16)
    np.save(options.work / f"probe-{who}.npy", scores)
    at, areas = 0, []
    for name, rows in sets.items():
        values, labels = [], []
        for row in rows:
            parts = scores[at : at + 3 * len(row["parts"])].reshape(-1, 3, 3)
            at += 3 * len(row["parts"])
            values.append(float(parts[:, 0, 0].min()))
            labels.append(int(row["label"]))
        areas.append(_area(np.array(values), np.array(labels)))
        print(f"probe {who} {name} {areas[-1]:.3f}", flush=True)
    print(f"probe {who} mean {np.mean(areas):.3f}", flush=True)


def _area(values: np.ndarray, labels: np.ndarray) -> float:
    order = values.argsort(kind="stable")
    ranks = np.empty(len(values))
    ranks[order] = np.arange(1, len(values) + 1)
    good = labels == 1
    return float(
        (ranks[good].sum() - good.sum() * (good.sum() + 1) / 2) / max(1, good.sum() * (~good).sum())
    )


if __name__ == "__main__":
    main()
