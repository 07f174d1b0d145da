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


def load_student(folder: Path, attention: str = "sdpa") -> Student:
    """Read the base weights from a folder with ``config.json`` and ``model.safetensors``."""
    body = BertModel.from_pretrained(folder, attn_implementation=attention, add_pooling_layer=False)
    return Student(body.float())


def read_student(path: Path, attention: str = "sdpa") -> Student:
    """Return the student of an 8-bit ONNX file, its weights in 32 bits again."""
    state = read_quantized(path)
    layers = {int(name.split(".")[3]) for name in state if ".layer." in name}
    words, size = state["body.embeddings.word_embeddings.weight"].shape
    config = BertConfig(
        vocab_size=words,
        hidden_size=size,
        num_hidden_layers=len(layers),
        num_attention_heads=12,
        intermediate_size=state["body.encoder.layer.0.intermediate.dense.bias"].shape[0],
        attn_implementation=attention,
    )
    student = Student(BertModel(config, add_pooling_layer=False))
    missing, unexpected = student.load_state_dict(state, strict=False)
    if unexpected or [name for name in missing if "position_ids" not in name]:
        raise SystemExit(f"{path}: weights do not fit: {missing} {unexpected}")
    return student


def read_quantized(path: Path) -> dict[str, Tensor]:
    """Return the weights of an 8-bit ONNX file by their names in the student.

    Matrices lost their names; the node that multiplies by one still says where it stands.
    """
    import onnx
    from onnx import numpy_helper

    graph = onnx.load(path).graph
    values = {t.name: torch.tensor(numpy_helper.to_array(t)) for t in graph.initializer}

    def widen(name: str) -> Tensor:
        codes, zero = values[f"{name}_quantized"].float(), values[f"{name}_zero_point"].float()
        return (codes - zero) * values[f"{name}_scale"].float()

    state = {n: v for n, v in values.items() if n.endswith((".weight", ".bias"))}
    for node in graph.node:
        if node.op_type == "Gather" and node.input[0].endswith(".weight_quantized"):
            name = node.input[0].removesuffix("_quantized")
            state[name] = widen(name)
        elif node.op_type == "MatMulInteger" and node.input[1] in values:
            name = node.input[1].removesuffix("_quantized")
            place = node.name.strip("/").removesuffix("/MatMul_quant").replace("/", ".")
            target = name if name.endswith(".weight") else f"{place}.weight"
            state[target] = widen(name).T.contiguous()
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


def imitate_8_bits(student: Student) -> None:
    """Have the student calculate as its 8-bit file will, so that learning makes up for it.

    Every linear layer rounds what it is given (255 steps between the pair's own extremes) and its
    weights (127 steps a column, both ways). Gradients pass as if nothing had been rounded. Word
    vectors keep their values: they were rounded already, all on one scale.
    """
    for name, values in student.named_parameters():
        if "embeddings" in name and "LayerNorm" not in name:
            values.requires_grad_(False)
    for module in student.modules():
        if type(module) is nn.Linear:
            module.__class__ = RoundedLinear


class RoundedLinear(nn.Linear):
    """A linear layer in imitated 8-bit arithmetic."""

    def forward(self, given: Tensor) -> Tensor:
        """Return what the 8-bit layer would, nearly."""
        return nn.functional.linear(_round_inputs(given), _round_weights(self.weight), self.bias)


def _round_inputs(given: Tensor) -> Tensor:
    values, inner = given.float(), tuple(range(1, given.dim()))
    low = values.amin(inner, keepdim=True).clamp(max=0)
    high = values.amax(inner, keepdim=True).clamp(min=0)
    step = ((high - low) / 255).clamp(min=1e-8)
    zero = torch.round(-low / step)
    rounded = ((torch.round(values / step) + zero).clamp(0, 255) - zero) * step
    return given + (rounded - values).to(given.dtype).detach()


def _round_weights(weights: Tensor) -> Tensor:
    step = weights.abs().amax(1, keepdim=True).clamp(min=1e-12) / 127
    return weights + (torch.round(weights / step) * step - weights).detach()


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
        student.parameters(), lr=rate, weight_decay=0.01, fused=device.type == "cuda"
    )
    plan: list[list[int]] = []
    for _ in range(math.ceil(epochs)):
        plan += bucket(lessons.lengths, batch_tokens, rng)
    plan = plan[: int(len(plan) * epochs / math.ceil(epochs))]
    started, running = time.time(), torch.zeros((), device=device)
    student.train()
    for step, chosen in enumerate(plan):
        done = max(step / len(plan), (time.time() - started) / seconds)
        if done >= 1:
            break
        scale = min(1.0, (step + 1) / 300) * (1 - done)
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
        if step % 500 == 0:
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
    for chosen in bucket([len(ids) for ids, _ in rows], 60_000, random.Random(0)):
        with torch.autocast(device.type, dtype=torch.bfloat16, enabled=device.type == "cuda"):
            logits = student(*make_batch([rows[i] for i in chosen], device))
        result[chosen] = logits.float().softmax(-1).cpu()
    return result


def export_student(student: Student, path: Path) -> None:
    """Write the 32-bit ONNX file.

    The example batch is padded: without padding the exporter takes the attention mask for a
    constant and drops it.
    """
    ids = torch.tensor([[101, 2023, 102, 2003, 102, 0, 0], [101, 7592, 2088, 102, 2003, 1037, 102]])
    mask = (ids > 0).long()
    segments = torch.tensor([[0, 0, 0, 1, 1, 0, 0], [0, 0, 0, 0, 1, 1, 1]])
    names = ("input_ids", "attention_mask", "token_type_ids")
    torch.onnx.export(
        student.cpu().float().eval(),
        (ids, mask, segments),
        str(path),
        input_names=list(names),
        output_names=["logits"],
        dynamic_axes={name: {0: "batch", 1: "tokens"} for name in names} | {"logits": {0: "batch"}},
        opset_version=17,
        dynamo=False,
    )


def quantize_student(path: Path, target: Path) -> None:
    """Turn the weights into 8-bit integers, one scale per channel; activations stay dynamic."""
    from onnxruntime.quantization import QuantType, quantize_dynamic

    quantize_dynamic(path, target, weight_type=QuantType.QInt8, per_channel=True)
