"""Models that read evidence and a claim together: what each is shown, and what its numbers mean.

Every kind follows its authors' own code for one window of evidence: the same text, the same tokens,
the same probability. What goes beyond one window is ours (``pair_judge.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from claimwise.judges.encoder import replace_half_characters
from claimwise.judges.open_models.batches import BatchRunner, Network
from claimwise.judges.open_models.model_files import ModelFiles, find_foundation, find_model
from claimwise.judges.open_models.model_name import ModelName, parse_model_name
from claimwise.judges.open_models.networks import load_network, require_torch, telling, wrap_model
from claimwise.judges.open_models.tokens import (
    count_tokens,
    find_max_tokens,
    find_padding,
    load_tokenizer,
)
from claimwise.judges.open_models.windows import Measure, count_words
from claimwise.types.verdicts import Scores

if TYPE_CHECKING:
    from tokenizers import Encoding

OPTIONS = ("device", "file", "foundation", "threads", "window", "windows")
Join = Callable[[str, str], tuple[str, ...]]
"""Returns what is read of evidence and claim: one text, or a pair."""
ReadLogits = Callable[[NDArray[np.float32]], Scores]
_LEAST_ROOM = 0.25  # share of what a model reads at once that a claim must leave to evidence


@dataclass(frozen=True, kw_only=True, slots=True)
class PairModel:
    """A loaded model with its way of reading."""

    name: ModelName
    fingerprint: str
    tokenizer: Any
    runner: BatchRunner
    max_tokens: int
    window: int  # the size of a window, as ``measure`` counts
    unit: str  # what it counts
    join: Join
    read_logits: ReadLogits

    def measure(self, texts: Sequence[str]) -> list[int]:
        """Return how long texts are, in the unit of windows."""
        how: Measure = count_words if self.unit == "words" else self._count
        return how(texts)

    def _count(self, texts: Sequence[str]) -> list[int]:
        return count_tokens(self.tokenizer, [replace_half_characters(one) for one in texts])

    def find_room(self, claim: str) -> int | None:
        """Return the size of windows beside a claim; None where the claim leaves too little."""
        left = self.max_tokens - len(self._encode("", claim).ids)
        if left < _LEAST_ROOM * self.max_tokens:
            return None
        return self.window if self.unit == "words" else min(self.window, left)

    def encode(self, evidence: str, claim: str) -> Encoding:
        """Return what the model reads. Evidence that is too long loses its end, a claim nothing."""
        encoded = self._encode(evidence, claim)
        while len(encoded.ids) > self.max_tokens:
            tokens = self.tokenizer.encode(evidence, add_special_tokens=False)
            left = len(tokens.ids) - (len(encoded.ids) - self.max_tokens)
            evidence = evidence[: tokens.offsets[left - 1][1]] if left > 0 else ""
            encoded = self._encode(evidence, claim)
        return encoded

    def _encode(self, evidence: str, claim: str) -> Encoding:
        encoded: Encoding = self.tokenizer.encode(
            *self.join(replace_half_characters(evidence), replace_half_characters(claim))
        )
        return encoded

    def score(self, encoded: Sequence[Encoding]) -> list[Scores]:
        """Return the model's probabilities for pairs."""
        return [self.read_logits(logits) for logits in self.runner.run(encoded)]


def load_nli(text: str) -> PairModel:
    """Load a cross-encoder for natural language inference; its configuration names its labels."""
    files = find_model(parse_model_name("nli", text, OPTIONS))
    read = _read_nli(find_labels(files))
    network, weights = load_network(files, "sequence")
    return _make_model(
        files, network, files.make_fingerprint(weights), read, load_tokenizer(files),
        join=lambda evidence, claim: (evidence, claim),
        max_tokens=find_max_tokens(files, 512),
    )  # fmt: skip


def load_minicheck(text: str) -> PairModel:
    """Load a MiniCheck model: an encoder (RoBERTa, DeBERTa) or Flan-T5, told by its type."""
    files = find_model(parse_model_name("minicheck", text, OPTIONS))
    tokenizer = load_tokenizer(files)
    if files.config.get("model_type") == "t5":
        return _load_minicheck_t5(files, tokenizer)
    labels = files.config.get("id2label") or {0: "", 1: ""}
    if len(labels) != 2:
        raise files.refuse(f"it has {len(labels)} labels, and MiniCheck two: is it an nli model?")
    network, weights = load_network(files, "sequence")
    end = _find_end(files, tokenizer)
    long = str(files.config.get("model_type")).startswith("deberta")
    return _make_model(
        files, network, files.make_fingerprint(weights), _read_two_classes, tokenizer,
        join=lambda evidence, claim: (f"{evidence}{end}{claim}",),
        # DeBERTa's positions are relative: its authors read on beyond those it was trained with.
        max_tokens=2048 if long else find_max_tokens(files, 512),
    )  # fmt: skip


def _load_minicheck_t5(files: ModelFiles, tokenizer: Any) -> PairModel:
    no, yes = (tokenizer.encode(digit, add_special_tokens=False).ids[:1] for digit in "01")
    if not no or not yes or no == yes:
        raise files.refuse("its tokenizer has no tokens of their own for 0 and 1")

    def decide(model: Any, inputs: dict[str, Any]) -> Any:
        """Return the logits of the two labels at the decoder's first step."""
        import torch

        begin = torch.zeros((len(inputs["input_ids"]), 1), dtype=torch.long)
        logits = model(**inputs, decoder_input_ids=begin.to(inputs["input_ids"].device)).logits
        return logits[:, 0, [no[0], yes[0]]]

    network, weights = load_network(files, "seq2seq", decide)
    end = _find_end(files, tokenizer)
    return _make_model(
        files, network, files.make_fingerprint(weights), _read_two_classes, tokenizer,
        join=lambda evidence, claim: (f"predict: {evidence}{end}{claim}",),
        max_tokens=2048, window=500, unit="words",
    )  # fmt: skip


HHEM_PROMPT = (
    "<pad> Determine if the hypothesis is true given the premise?\n\n"
    "Premise: {evidence}\n\nHypothesis: {claim}"
)


def load_hhem(text: str) -> PairModel:
    """Load HHEM-2.1-open: the encoder of a T5 with a head that classifies its first token.

    Its published folder has weights alone: how the T5 is built, and the tokenizer, come from the
    model it builds on (google/flan-t5-base), which the user names too.
    """
    files = find_model(parse_model_name("hhem", text, OPTIONS))
    base = files if files.config.get("model_type") == "t5" else find_foundation(files)
    if base is None:
        known = files.config.get("foundation", "google/flan-t5-base")
        raise files.refuse(
            f"it builds on {known}, whose tokenizer it uses: name that folder or id too, as in "
            f"hhem:{files.name.model},foundation={known}"
        )
    require_torch(files)
    weights = [one for one in files.list_weights() if one.suffix == ".safetensors"]
    with telling(files):
        network = wrap_model(files, _build_hhem(files, base, weights), _read_first_token)
    more = [] if base is files else [base.folder / "tokenizer.json", base.folder / "config.json"]
    return _make_model(
        files, network, files.make_fingerprint(weights, *more), _read_two_classes,
        load_tokenizer(base),
        join=lambda evidence, claim: (HHEM_PROMPT.format(evidence=evidence, claim=claim),),
        max_tokens=4096, window=2000,
    )  # fmt: skip


LOADERS: dict[str, Callable[[str], PairModel]] = {
    "hhem": load_hhem,
    "minicheck": load_minicheck,
    "nli": load_nli,
}


def _build_hhem(files: ModelFiles, base: ModelFiles, weights: Sequence[Any]) -> Any:
    if not weights:
        raise files.refuse("its folder holds no model.safetensors")
    from safetensors.torch import load_file
    from transformers import T5Config, T5ForTokenClassification

    model = T5ForTokenClassification(T5Config(**{**base.config, "num_labels": 2}))
    found = {
        name.removeprefix("t5."): tensor
        for place in weights
        for name, tensor in load_file(place).items()
    }
    # The encoder's own table of words is the shared one under a second name.
    words = found.get("transformer.shared.weight")
    if words is not None:
        found.setdefault("transformer.encoder.embed_tokens.weight", words)
    told = model.load_state_dict(found, strict=False)
    wrong = [*told.missing_keys, *told.unexpected_keys]
    if wrong:
        raise files.refuse(
            f"its weights are not those of an HHEM-2.1: {wrong[0]} is missing, or one too many"
        )
    return model


def _read_first_token(model: Any, inputs: dict[str, Any]) -> Any:
    return model(**inputs).logits[:, 0, :]


def _make_model(
    files: ModelFiles,
    network: Network,
    fingerprint: str,
    read: ReadLogits,
    tokenizer: Any,
    *,
    join: Join,
    max_tokens: int,
    window: int = 400,
    unit: str = "tokens",
) -> PairModel:
    return PairModel(
        name=files.name,
        fingerprint=fingerprint,
        tokenizer=tokenizer,
        runner=BatchRunner(network, find_padding(files)),
        max_tokens=max_tokens,
        window=files.name.read_number("window", window),
        unit=unit,
        join=join,
        read_logits=read,
    )


def _find_end(files: ModelFiles, tokenizer: Any) -> str:
    """Return the text of the token that MiniCheck puts between evidence and claim."""
    said = [files.read_json(one) for one in ("special_tokens_map.json", "tokenizer_config.json")]
    for found in (one.get("eos_token") or one.get("sep_token") for one in said):
        text = found.get("content") if isinstance(found, dict) else found
        if isinstance(text, str) and tokenizer.token_to_id(text) is not None:
            return text
    for usual in ("</s>", "[SEP]"):
        if tokenizer.token_to_id(usual) is not None:
            return usual
    raise files.refuse("its tokenizer has no token for the end of a text")


# What the labels of models for inference are called.
_LABELS = {
    "entailment": "supports", "entail": "supports", "entails": "supports",
    "contradiction": "contradicts", "contradict": "contradicts", "contradicts": "contradicts",
    "neutral": "neither", "not_entailment": "neither", "non_entailment": "neither",
}  # fmt: skip


def find_labels(files: ModelFiles) -> list[str]:
    """Return which part of the scores every output of a model for inference is, in their order.

    Raises:
        VerifierError: its configuration does not say so, or in words that are not known.
    """
    said = files.config.get("id2label")
    named = said if isinstance(said, dict) else {}
    order = [named.get(str(place)) for place in range(len(named))]
    read = [_LABELS.get(str(one).strip().lower().replace("-", "_").replace(" ", "_"), "")
            for one in order]  # fmt: skip
    kinds = sorted(read)
    if kinds in (["neither", "supports"], ["contradicts", "neither", "supports"]):
        return read
    shown = ", ".join(f"“{one}”" for one in order) or "none"
    raise files.refuse(
        f"its labels are unclear (config.json has {shown} in id2label); expected entailment, "
        "neutral and contradiction, or entailment and not_entailment"
    )


def _read_nli(labels: Sequence[str]) -> ReadLogits:
    def read(logits: NDArray[np.float32]) -> Scores:
        shares = dict(zip(labels, _softmax(logits), strict=True))
        return Scores(
            supports=shares["supports"],
            contradicts=shares.get("contradicts", 0.0),
            neither=shares["neither"],
        )

    return read


def _read_two_classes(logits: NDArray[np.float32]) -> Scores:
    """Read (not supported, supported), in the order that HHEM and MiniCheck have them."""
    _, supports = _softmax(logits)
    return Scores(supports=supports, contradicts=0.0, neither=1 - supports)


def _softmax(logits: NDArray[np.float32]) -> list[float]:
    powers = np.exp(logits.astype(np.float64) - logits.max())
    shares: list[float] = (powers / powers.sum()).tolist()
    return shares
