"""The teacher: a 1.5B language model that writes claims, learns to judge pairs, and labels them.

It reads Qwen2.5-Coder-1.5B-Instruct from its GGUF file. Only causal attention over right-padded
rows is used in training, so no row of the attention matrix is ever fully masked: that is what
turned a first attempt's loss into NaN.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS, sdpa_mask
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS
from transformers.models.qwen2.modeling_qwen2 import Qwen2RotaryEmbedding

from pairs import NOT_SUPPORTED, Pair

GGUF = "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf"
JUDGE_PROMPT = "Evidence: {evidence}\nClaim: {claim}\nIs the claim backed by the evidence? Verdict:"
MAX_TOKENS = 384

_NAMES = {
    "attn_norm.weight": "input_layernorm.weight",
    "attn_q.weight": "self_attn.q_proj.weight",
    "attn_q.bias": "self_attn.q_proj.bias",
    "attn_k.weight": "self_attn.k_proj.weight",
    "attn_k.bias": "self_attn.k_proj.bias",
    "attn_v.weight": "self_attn.v_proj.weight",
    "attn_v.bias": "self_attn.v_proj.bias",
    "attn_output.weight": "self_attn.o_proj.weight",
    "ffn_norm.weight": "post_attention_layernorm.weight",
    "ffn_gate.weight": "mlp.gate_proj.weight",
    "ffn_up.weight": "mlp.up_proj.weight",
    "ffn_down.weight": "mlp.down_proj.weight",
}


def load_model(path: Path) -> Qwen2ForCausalLM:
    """Read the GGUF file into a model with 32-bit weights."""
    from gguf import GGUFReader
    from gguf.quants import dequantize

    reader = GGUFReader(path)

    def setting(name: str) -> Any:
        return reader.fields[f"qwen2.{name}"].contents()

    def unpack(tensor: Any) -> tuple[str, Tensor]:
        values = dequantize(tensor.data, tensor.tensor_type)
        return _rename(tensor.name), torch.from_numpy(values.copy()).float()

    with ThreadPoolExecutor() as threads:
        state = dict(threads.map(unpack, reader.tensors))
    config = Qwen2Config(
        vocab_size=state["model.embed_tokens.weight"].shape[0],
        hidden_size=setting("embedding_length"),
        intermediate_size=setting("feed_forward_length"),
        num_hidden_layers=setting("block_count"),
        num_attention_heads=setting("attention.head_count"),
        num_key_value_heads=setting("attention.head_count_kv"),
        rms_norm_eps=float(setting("attention.layer_norm_rms_epsilon")),
        rope_parameters={"rope_type": "default", "rope_theta": float(setting("rope.freq_base"))},
        max_position_embeddings=4096,
        tie_word_embeddings="lm_head.weight" not in state,
    )
    with torch.device("meta"):  # no time is spent on random weights
        model = Qwen2ForCausalLM(config)
    missing, unexpected = model.load_state_dict(state, strict=False, assign=True)
    if unexpected or [name for name in missing if name != "lm_head.weight"]:
        raise SystemExit(f"{path}: tensors do not fit the model: {missing} {unexpected}")
    model.tie_weights()
    model.model.rotary_emb = Qwen2RotaryEmbedding(config)
    return model


def _rename(name: str) -> str:
    fixed = {
        "token_embd.weight": "model.embed_tokens.weight",
        "output_norm.weight": "model.norm.weight",
        "output.weight": "lm_head.weight",
    }
    if name in fixed:
        return fixed[name]
    _, layer, rest = name.split(".", 2)
    return f"model.layers.{layer}.{_NAMES[rest]}"


def load_tokenizer(path: Path) -> PreTrainedTokenizerFast:
    """Read the tokenizer that ``train.prepare_tokenizer`` saved beside the weights."""
    return PreTrainedTokenizerFast(
        tokenizer_file=str(path), eos_token="<|im_end|>", pad_token="<|endoftext|>"
    )


def attend_grouped(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float | None = None,
    **settings: Any,
) -> tuple[Tensor, None]:
    """Attend from one new token without copying the cache for every head that shares it.

    Heads of one group read the same keys; the usual way first writes a copy for each. Prompts,
    with many tokens at once, go the usual way.
    """
    if query.shape[2] > 1:
        usual: tuple[Tensor, None] = sdpa_attention_forward(
            module, query, key, value, attention_mask, scaling=scaling, **settings
        )
        return usual
    rows, heads, _, size = query.shape
    grouped = query.reshape(rows, key.shape[1], heads // key.shape[1], size)
    scores = (grouped @ key.transpose(-1, -2)).float() * (scaling or size**-0.5)
    if attention_mask is not None:
        scores = scores.masked_fill(~attention_mask[..., : key.shape[2]], float("-inf"))
    mixed = scores.softmax(-1).to(value.dtype) @ value
    return mixed.reshape(rows, 1, heads, size), None


ALL_ATTENTION_FUNCTIONS.register("grouped", attend_grouped)
ALL_MASK_ATTENTION_FUNCTIONS.register("grouped", sdpa_mask)


@torch.no_grad()
def write_texts(
    model: Qwen2ForCausalLM,
    tokenizer: PreTrainedTokenizerFast,
    prompts: Sequence[str],
    *,
    max_new_tokens: int,
    batch: int,
    seed: int,
    temperature: float = 0.5,
) -> list[str]:
    """Let the model answer each prompt once; similar lengths share a batch."""
    torch.manual_seed(seed)
    model.set_attn_implementation("grouped")
    device = next(model.parameters()).device
    chats = [
        "<|im_start|>system\nYou are a careful writer.<|im_end|>\n"
        f"<|im_start|>user\n{prompt}<|im_end|>\n<|im_start|>assistant\n"
        for prompt in prompts
    ]
    tokenizer.padding_side = "left"
    order = sorted(range(len(chats)), key=lambda i: len(chats[i]))
    texts = [""] * len(chats)
    for at in range(0, len(order), batch):
        chosen = order[at : at + batch]
        inputs = tokenizer(
            [chats[i] for i in chosen],
            return_tensors="pt",
            padding=True,
            truncation=True,
            max_length=600,
        ).to(device)
        output = model.generate(
            input_ids=inputs["input_ids"],
            attention_mask=inputs["attention_mask"],
            max_new_tokens=max_new_tokens,
            do_sample=True,
            temperature=temperature,
            top_k=0,
            top_p=1.0,
            pad_token_id=tokenizer.pad_token_id,
            eos_token_id=tokenizer.eos_token_id,
        )
        written = output[:, inputs["input_ids"].shape[1] :]
        for i, text in zip(
            chosen, tokenizer.batch_decode(written, skip_special_tokens=True), strict=True
        ):
            texts[i] = text.strip()
    tokenizer.padding_side = "right"
    model.set_attn_implementation("sdpa")
    return texts


class Judge(nn.Module):
    """The language model's body with a three-way head on the last token."""

    def __init__(self, model: Qwen2ForCausalLM) -> None:
        super().__init__()
        self.body = model.model
        self.head = nn.Linear(model.config.hidden_size, 3)
        nn.init.normal_(self.head.weight, std=0.01)
        nn.init.zeros_(self.head.bias)

    def forward(self, ids: Tensor, lengths: Tensor) -> Tensor:
        """Return logits of (supports, contradicts, neither); rows are padded on the right."""
        hidden = self.body(input_ids=ids, use_cache=False).last_hidden_state
        last = hidden[torch.arange(len(ids), device=ids.device), lengths - 1]
        with torch.autocast(ids.device.type, enabled=False):
            return self.head(last.float())


def encode_pairs(
    tokenizer: PreTrainedTokenizerFast, pairs: Sequence[tuple[str, str]]
) -> list[list[int]]:
    """Turn (evidence, claim) into token ids; too long evidence loses its end, never the claim."""
    prompts = [JUDGE_PROMPT.format(evidence=e, claim=c) for e, c in pairs]
    rows: list[list[int]] = tokenizer(prompts, add_special_tokens=False)["input_ids"]
    long = [i for i, row in enumerate(rows) if len(row) > MAX_TOKENS]
    for i in long:
        evidence, claim = pairs[i]
        keep = evidence.split()[: max(20, 230 - len(claim.split()))]
        short = JUDGE_PROMPT.format(evidence=" ".join(keep), claim=claim)
        rows[i] = tokenizer([short], add_special_tokens=False)["input_ids"][0][-MAX_TOKENS:]
    return rows


def make_batch(rows: Sequence[list[int]], pad: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """Pad rows on the right."""
    width = max(map(len, rows))
    ids = torch.full((len(rows), width), pad, dtype=torch.long)
    for i, row in enumerate(rows):
        ids[i, : len(row)] = torch.tensor(row)
    lengths = torch.tensor([len(row) for row in rows])
    return ids.to(device, non_blocking=True), lengths.to(device, non_blocking=True)


def pair_loss(logits: Tensor, labels: Tensor) -> Tensor:
    """Cross-entropy; where only "not supported" is known, the two other classes count as one."""
    logp = logits.log_softmax(-1)
    known = labels != NOT_SUPPORTED
    picked = logp.gather(1, labels.clamp(max=2).unsqueeze(1)).squeeze(1)
    either = torch.logsumexp(logp[:, 1:], -1)
    return -torch.where(known, picked, either).mean()


def bucket(lengths: Sequence[int], batch_tokens: int, rng: random.Random) -> list[list[int]]:
    """Return batches of similar lengths with about the same number of tokens, in random order."""
    order = sorted(range(len(lengths)), key=lambda i: lengths[i] + rng.random() * 8)
    batches: list[list[int]] = [[]]
    for i in order:
        if batches[-1] and (len(batches[-1]) + 1) * lengths[i] > batch_tokens:
            batches.append([])
        batches[-1].append(i)
    rng.shuffle(batches)
    return batches


def train_judge(
    judge: Judge,
    tokenizer: PreTrainedTokenizerFast,
    pairs: Sequence[Pair],
    *,
    rate: float = 1.5e-5,
    batch_tokens: int = 8_000,
    seconds: float = 400.0,
    seed: int = 0,
) -> None:
    """One pass over the pairs with AdamW, warm-up, cosine decay and clipping.

    A step whose loss or gradient is not finite is skipped and counted; it stops when the time is
    up, the decay being tied to time so that a slower machine ends as smoothly.
    """
    device = next(judge.parameters()).device
    rng = random.Random(seed)
    rows = encode_pairs(tokenizer, [(p.evidence, p.claim) for p in pairs])
    labels = torch.tensor([p.label for p in pairs])
    batches = bucket([len(r) for r in rows], batch_tokens, rng)
    optimizer = torch.optim.AdamW(
        judge.parameters(),
        lr=rate,
        weight_decay=0.01,
        betas=(0.9, 0.98),
        fused=device.type == "cuda",
    )
    started, skipped, running = time.time(), 0, 0.0
    for step, chosen in enumerate(batches):
        done = max(step / len(batches), (time.time() - started) / seconds)
        if done >= 1:
            break
        scale = min(1.0, (step + 1) / 40) * 0.5 * (1 + math.cos(math.pi * done))
        for group in optimizer.param_groups:
            group["lr"] = rate * max(scale, 0.01)
        ids, lengths = make_batch([rows[i] for i in chosen], tokenizer.pad_token_id, device)
        with torch.autocast(device.type, dtype=torch.bfloat16):
            logits = judge(ids, lengths)
        loss = pair_loss(logits, labels[chosen].to(device))
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(judge.parameters(), 1.0)
        if torch.isfinite(loss) and torch.isfinite(norm):
            optimizer.step()
        else:
            skipped += 1
        optimizer.zero_grad(set_to_none=True)
        running += (loss.item() - running) / min(step + 1, 100)
        if step % 100 == 0:
            print(
                f"teacher {step}/{len(batches)} loss {running:.3f} norm {norm.item():.2f} "
                f"skipped {skipped} {time.time() - started:.0f} s",
                flush=True,
            )
    print(f"teacher: {len(batches)} batches, {skipped} skipped", flush=True)


@torch.no_grad()
def judge_pairs(
    judge: Judge,
    tokenizer: PreTrainedTokenizerFast,
    pairs: Sequence[tuple[str, str]],
    *,
    batch_tokens: int = 60_000,
) -> Tensor:
    """Return the probabilities of (supports, contradicts, neither) for each pair."""
    device = next(judge.parameters()).device
    rows = encode_pairs(tokenizer, pairs)
    result = torch.zeros(len(rows), 3)
    batches = bucket([len(r) for r in rows], batch_tokens, random.Random(0))
    for chosen in batches:
        ids, lengths = make_batch([rows[i] for i in chosen], tokenizer.pad_token_id, device)
        with torch.autocast(device.type, dtype=torch.bfloat16):
            logits = judge(ids, lengths)
        result[chosen] = logits.float().softmax(-1).cpu()
    return result
