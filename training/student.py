"""The student: a small BERT that reads (evidence, claim) and imitates the teacher."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer
from torch import Tensor, nn
from transformers import BertConfig, BertModel

from network import write_network
from pairs import NOT_SUPPORTED
from teacher import bucket

MAX_CLAIM = 330  # characters: what the training data's oddest claims fit in with
MAX_TOKENS = 256


class Student(nn.Module):
    """A BERT body with a three-way head on its first token."""

    def __init__(self, body: BertModel) -> None:
        super().__init__()
        self.body = body
        size = body.config.hidden_size
        self.dense = nn.Linear(size, size)
        self.head = nn.Linear(size, 3)

    def forward(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> Tensor:
        """Return logits of (supports, contradicts, neither)."""
        hidden = self.body(
            input_ids=input_ids, attention_mask=attention_mask, token_type_ids=token_type_ids
        ).last_hidden_state[:, 0]
        return self.head(torch.tanh(self.dense(hidden)))


def load_student(folder: Path) -> Student:
    """Read the base weights from a folder with ``config.json`` and ``model.safetensors``."""
    body = BertModel.from_pretrained(folder, add_pooling_layer=False)
    return Student(body.float())


def read_student(path: Path) -> Student:
    """Return the student of a shipped ONNX file, its weights in 32 bits again."""
    state = read_weights(path)
    layers = {int(name.split(".")[3]) for name in state if ".layer." in name}
    words, size = state["body.embeddings.word_embeddings.weight"].shape
    config = BertConfig(
        vocab_size=words,
        hidden_size=size,
        num_hidden_layers=len(layers),
        num_attention_heads=12,
        intermediate_size=state["body.encoder.layer.0.intermediate.dense.bias"].shape[0],
    )
    student = Student(BertModel(config, add_pooling_layer=False))
    missing, unexpected = student.load_state_dict(state, strict=False)
    if unexpected or [name for name in missing if "position_ids" not in name]:
        raise SystemExit(f"{path}: weights do not fit: {missing} {unexpected}")
    return student


def read_weights(path: Path) -> dict[str, Tensor]:
    """Return the weights of a shipped ONNX file by their names in the student."""
    import onnx
    from onnx import numpy_helper

    graph = onnx.load(path).graph
    values = {t.name: torch.tensor(numpy_helper.to_array(t)) for t in graph.initializer}
    state = {n: v for n, v in values.items() if n.endswith((".weight", ".bias"))}
    for name in [n.removesuffix(".codes") for n in values if n.endswith(".codes")]:
        state[f"{name}.weight"] = values[f"{name}.codes"].float() * values[f"{name}.steps"]
    return state


def load_tokenizer(folder: Path) -> Tokenizer:
    """Read the word-piece tokenizer; evidence is cut to fit, the claim never."""
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(MAX_TOKENS, strategy="only_first")
    return tokenizer


def encode_pairs(
    tokenizer: Tokenizer, pairs: Sequence[tuple[str, str]]
) -> list[tuple[list[int], list[int]]]:
    """Return token ids and segment ids of each pair.

    Claims are cut too: the tokenizer refuses a pair whose claim alone is over the limit.
    """
    cut = [(e, " ".join(c.split()[:120])[:MAX_CLAIM]) for e, c in pairs]
    return [(e.ids, e.type_ids) for e in tokenizer.encode_batch(cut)]


def make_batch(
    rows: Sequence[tuple[list[int], list[int]]], device: torch.device
) -> tuple[Tensor, Tensor, Tensor]:
    """Pad rows on the right; return ids, mask and segments."""
    width = max(len(ids) for ids, _ in rows)
    ids = np.zeros((len(rows), width), dtype=np.int64)
    mask, segments = np.zeros_like(ids), np.zeros_like(ids)
    for i, (row, types) in enumerate(rows):
        ids[i, : len(row)] = row
        mask[i, : len(row)] = 1
        segments[i, : len(row)] = types
    return (
        torch.from_numpy(ids).to(device, non_blocking=True),
        torch.from_numpy(mask).to(device, non_blocking=True),
        torch.from_numpy(segments).to(device, non_blocking=True),
    )


def make_targets(
    labels: np.ndarray, soft: torch.Tensor, sure: np.ndarray | float = 0.5
) -> torch.Tensor:
    """Mix labels, as far as they are sure, with a model's probabilities; elsewhere those alone."""
    believed = np.broadcast_to(sure, labels.shape)
    targets = soft.clone()
    for i in np.flatnonzero(labels >= 0):
        hard = torch.zeros(3)
        if labels[i] == NOT_SUPPORTED:
            hard[1:] = soft[i, 1:] / soft[i, 1:].sum().clamp(min=1e-4)
        else:
            hard[labels[i]] = 1.0
        targets[i] = believed[i] * hard + (1 - believed[i]) * soft[i]
    return targets / targets.sum(-1, keepdim=True)


class Lessons:
    """All rows on the device at once: a batch is then picked there, in no time."""

    def __init__(
        self, rows: Sequence[tuple[list[int], list[int]]], targets: Tensor, device: torch.device
    ) -> None:
        self.lengths = [len(ids) for ids, _ in rows]
        table = np.zeros((len(rows), MAX_TOKENS), dtype=np.int32)
        for i, (ids, _) in enumerate(rows):
            table[i, : len(ids)] = ids
        self._table = torch.from_numpy(table).to(device)
        self._sizes = torch.tensor(self.lengths, device=device)
        self._firsts = torch.tensor([types.count(0) for _, types in rows], device=device)
        self._targets = targets.to(device)
        self._places = torch.arange(MAX_TOKENS, device=device)

    def pick(self, chosen: Sequence[int]) -> tuple[tuple[Tensor, Tensor, Tensor], Tensor]:
        """Return ids, mask and segments, and the targets; few widths, so kernels are reused."""
        width = min(MAX_TOKENS, -(-max(self.lengths[i] for i in chosen) // 16) * 16)
        index = torch.tensor(chosen, device=self._table.device)
        mask = self._places[:width] < self._sizes[index, None]
        segments = (self._places[:width] >= self._firsts[index, None]) & mask
        ids = self._table[index, :width].long()
        return (ids, mask.long(), segments.long()), self._targets[index]


def train_student(
    student: Student,
    tokenizer: Tokenizer,
    pairs: Sequence[tuple[str, str]],
    targets: Tensor,
    *,
    epochs: float,
    rate: float,
    batch_tokens: int = 48_000,
    seconds: float = 600.0,
    seed: int = 0,
) -> None:
    """Minimise cross-entropy against soft targets; the rate decays to zero as time or data end."""
    device = next(student.parameters()).device
    lessons = Lessons(encode_pairs(tokenizer, pairs), targets, device)
    rng = random.Random(seed)
    optimizer = torch.optim.AdamW(
        [p for p in student.parameters() if p.requires_grad],
        lr=rate,
        weight_decay=0.01,
        fused=device.type == "cuda",
    )
    plan: list[list[int]] = []
    for _ in range(math.ceil(epochs)):
        plan += bucket(lessons.lengths, batch_tokens, rng)
    plan = plan[: int(len(plan) * epochs / math.ceil(epochs))]
    warm_up = min(300, 1 + len(plan) // 20)
    started, running = time.time(), torch.zeros((), device=device)
    student.train()
    for step, chosen in enumerate(plan):
        done = max(step / len(plan), (time.time() - started) / seconds)
        if done >= 1:
            break
        scale = min(1.0, (step + 1) / warm_up) * (1 - done)
        for group in optimizer.param_groups:
            group["lr"] = rate * scale
        inputs, wanted = lessons.pick(chosen)
        with torch.autocast(device.type, dtype=torch.bfloat16):
            logits = student(*inputs)
        loss = -(wanted * logits.float().log_softmax(-1)).sum(-1).mean()
        loss.backward()
        nn.utils.clip_grad_norm_(student.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        running += (loss.detach() - running) / min(step + 1, 200)
        if step % 100 == 0:
            print(
                f"student {step}/{len(plan)} loss {running.item():.3f} "
                f"{time.time() - started:.0f} s",
                flush=True,
            )
    student.eval()


@torch.no_grad()
def judge_pairs(student: Student, tokenizer: Tokenizer, pairs: Sequence[tuple[str, str]]) -> Tensor:
    """Return the probabilities of (supports, contradicts, neither) for each pair."""
    device = next(student.parameters()).device
    rows = encode_pairs(tokenizer, pairs)
    result = torch.zeros(len(rows), 3)
    size = 60_000 if device.type == "cuda" else 4_000
    for chosen in bucket([len(ids) for ids, _ in rows], size, random.Random(0)):
        with torch.autocast(device.type, dtype=torch.bfloat16):
            logits = student(*make_batch([rows[i] for i in chosen], device))
        result[chosen] = logits.float().softmax(-1).cpu()
    return result


def export_student(student: Student, path: Path) -> None:
    """Write the ONNX file: the large matrices in 8 bits, arithmetic in 32.

    Rounding what flows between the layers too would be faster, but a network of 12 layers turns the
    last bit of a processor's sums into other roundings, and probabilities differed by up to 0.4
    between processors.
    """
    state = {name: value.float() for name, value in student.cpu().state_dict().items()}
    weights: dict[str, np.ndarray] = {}
    for name, value in state.items():
        if is_large(name):
            codes, steps = shrink(value)
            stem = name.removesuffix(".weight")
            weights |= {f"{stem}.codes": codes.numpy(), f"{stem}.steps": steps.numpy()}
        else:
            weights[name] = value.numpy()
    write_network(weights, path)


def is_large(name: str) -> bool:
    """Tell whether a weight is one of the matrices that are kept in 8 bits."""
    small = ("LayerNorm", "position_embeddings", "token_type_embeddings")
    return name.endswith(".weight") and not any(part in name for part in small)


def shrink(matrix: Tensor) -> tuple[Tensor, Tensor]:
    """Return a matrix in 8 bits, and a step for each of its rows."""
    steps = matrix.abs().amax(1, keepdim=True).clamp(min=1e-12) / 127
    return torch.round(matrix / steps).to(torch.int8), steps
