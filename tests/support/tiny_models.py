"""Tiny models of published architectures, with random weights that are always the same.

Each is written to a folder as its authors publish it: configuration, tokenizer, weights. Their
scores mean nothing; that ours equal those of transformers is what tests look at.
"""

from __future__ import annotations

import json
import shutil
import warnings
from pathlib import Path
from typing import Any

_TEXTS = (
    "The Kestrel Tower is 139 m tall. It was opened in 1931 by the mayor of Ostrava.",
    "The tower's café sells cherry cake. Adults pay 5 euros, children 2, 0 or 1 of them free.",
    "Determine if the hypothesis is true given the premise? Premise: Hypothesis: predict:",
    "Summarize the following text: Briefly answer the following question: passage output:",
    "Bear in mind that your response should be strictly based on the following passages.",
)
_SIZES: dict[str, Any] = {
    "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64,
}  # fmt: skip
NLI_LABELS = {0: "contradiction", 1: "entailment", 2: "neutral"}
TWO_LABELS = {0: "not_entailment", 1: "entailment"}


def make_tiny_models(folder: Path) -> None:
    """Write every tiny model, each to a folder of its own."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of foreign packages, while they are first imported
        import torch
        from transformers import logging

        logging.disable_progress_bar()
        torch.set_num_threads(1)
        torch.manual_seed(18)
        _write_classifiers(folder)
        _write_t5(folder)
        _export_onnx(folder / "nli-bert", folder / "nli-onnx")


def _write_classifiers(folder: Path) -> None:
    import transformers as hf

    write_bert(folder / "nli-bert")
    roberta = _write_tokenizer(folder / "minicheck-roberta", "<s>", "</s>", "<pad>", pad_id=1)
    _save(folder / "minicheck-roberta", hf.RobertaForSequenceClassification(
        hf.RobertaConfig(vocab_size=roberta, max_position_embeddings=130, type_vocab_size=1,
                         pad_token_id=1, **_SIZES)
    ))  # fmt: skip
    for name, labels in (("nli-deberta", TWO_LABELS), ("minicheck-deberta", {0: "L0", 1: "L1"})):
        deberta = _write_tokenizer(folder / name, "[CLS]", "[SEP]", "[PAD]")
        _save(folder / name, hf.DebertaV2ForSequenceClassification(
            hf.DebertaV2Config(
                vocab_size=deberta, max_position_embeddings=128, type_vocab_size=0,
                relative_attention=True, position_buckets=32, pos_att_type=["p2c", "c2p"],
                norm_rel_ebd="layer_norm", share_att_key=True, position_biased_input=False,
                id2label=labels, **_SIZES)
        ))  # fmt: skip
    modern = _write_tokenizer(folder / "lettucedetect", "[CLS]", "[SEP]", "[PAD]")
    _save(folder / "lettucedetect", hf.ModernBertForTokenClassification(
        hf.ModernBertConfig(
            vocab_size=modern, max_position_embeddings=256, local_attention=32, pad_token_id=0,
            cls_token_id=2, sep_token_id=3, bos_token_id=2, eos_token_id=3, **_SIZES)
    ))  # fmt: skip


def write_bert(folder: Path, **sizes: int) -> None:
    """Write a BERT for inference; as tiny as the others unless its sizes are given."""
    import transformers as hf

    size = _write_tokenizer(folder, "[CLS]", "[SEP]", "[PAD]")
    shape = {**_SIZES, **sizes, "max_position_embeddings": 128, "vocab_size": size}
    if "hidden_size" in sizes:
        shape |= {"num_attention_heads": 12, "intermediate_size": 4 * sizes["hidden_size"]}
    _save(folder, hf.BertForSequenceClassification(hf.BertConfig(id2label=NLI_LABELS, **shape)))


def _write_t5(folder: Path) -> None:
    """Write HHEM as it is published, the T5 that it builds on, and a T5 that answers 0 or 1."""
    import transformers as hf
    from safetensors.torch import save_file

    size = _write_tokenizer(folder / "flan-t5", None, "</s>", "<pad>")
    shape: dict[str, Any] = {
        "vocab_size": size, "d_model": 32, "d_kv": 16, "d_ff": 64, "num_layers": 2, "num_heads": 2,
        "feed_forward_proj": "gated-gelu", "tie_word_embeddings": False, "pad_token_id": 0,
        "decoder_start_token_id": 0,
    }  # fmt: skip
    seq2seq = hf.T5ForConditionalGeneration(hf.T5Config(**shape))
    seq2seq.lm_head.weight.data *= 0.1  # else all probabilities are 0 or 1
    _write_tokenizer(folder / "minicheck-t5", None, "</s>", "<pad>")
    _save(folder / "minicheck-t5", seq2seq)
    seq2seq.config.save_pretrained(str(folder / "flan-t5"))
    hhem = hf.T5ForTokenClassification(hf.T5Config(**shape, num_labels=2))
    hhem.classifier.weight.data *= 0.2
    place = folder / "hhem"
    place.mkdir()
    weights = {f"t5.{name}": tensor.contiguous() for name, tensor in hhem.state_dict().items()}
    weights.pop("t5.transformer.encoder.embed_tokens.weight")  # tied, as in the published file
    save_file(weights, place / "model.safetensors")
    config = {
        "model_type": "HHEMv2Config", "foundation": "google/flan-t5-base",
        "architectures": ["HHEMv2ForSequenceClassification"],
        "auto_map": {"AutoModelForSequenceClassification": "modeling_hhem_v2.HHEMv2"},
    }  # fmt: skip
    (place / "config.json").write_text(json.dumps(config), encoding="utf-8")
    code = 'raise SystemExit("code that lies beside weights was run")\n'
    (place / "modeling_hhem_v2.py").write_text(code, encoding="utf-8")


def _save(folder: Path, model: Any) -> None:
    if model.config.model_type != "t5":  # whose weights begin larger
        _enlarge(model)
    model.eval().save_pretrained(str(folder))


def _enlarge(model: Any) -> None:
    """Make weights as large as trained ones: else all scores lie near 0.5, whatever is read."""
    for name, parameter in model.named_parameters():
        if parameter.dim() > 1 and "embed" not in name:
            parameter.data *= 10 if model.config.model_type != "modernbert" else 3


def _write_tokenizer(
    folder: Path, first: str | None, last: str, pad: str, *, pad_id: int = 0
) -> int:
    """Write a byte-level tokenizer, with the special tokens of a family; return its size."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    special = [pad, "<unk>"] if pad_id == 0 else ["<unk>", pad]
    special += [first, last] if first else [last]
    trainer = trainers.BpeTrainer(
        vocab_size=400, special_tokens=special, show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )  # fmt: skip
    tokenizer.train_from_iterator(_TEXTS, trainer)
    named = [(one, tokenizer.token_to_id(one)) for one in ([first, last] if first else [last])]
    begin = f"{first} " if first else ""
    between = f"{last} {last}" if first == "<s>" else last
    second = int(first == "[CLS]")
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{begin}$A {last}",
        pair=f"{begin}$A {between} $B:{second} {last}:{second}",
        special_tokens=named,
    )
    folder.mkdir()
    tokenizer.save(str(folder / "tokenizer.json"))
    said: dict[str, Any] = {
        "tokenizer_class": "PreTrainedTokenizerFast", "pad_token": pad, "unk_token": "<unk>",
        "eos_token": last, "model_max_length": 4096,
    }  # fmt: skip
    if first:
        said |= {"cls_token": first, "sep_token": last}
    if first == "[CLS]" and folder.name != "lettucedetect":
        said["model_input_names"] = ["input_ids", "token_type_ids", "attention_mask"]
    (folder / "tokenizer_config.json").write_text(json.dumps(said), encoding="utf-8")
    return int(tokenizer.get_vocab_size())


def _export_onnx(model: Path, place: Path) -> None:
    """Write a classifier as ONNX, beside its configuration and tokenizer."""
    import torch
    from transformers import AutoModelForSequenceClassification

    place.mkdir()
    for name in ("config.json", "tokenizer.json", "tokenizer_config.json"):
        shutil.copy(model / name, place / name)
    names = ["input_ids", "attention_mask", "token_type_ids"]
    one = torch.ones((2, 8), dtype=torch.long)
    loaded = AutoModelForSequenceClassification.from_pretrained(str(model)).eval()
    torch.onnx.export(
        loaded, (one, one, one), str(place / "model.onnx"), dynamo=False, input_names=names,
        output_names=["logits"], dynamic_axes={name: {0: "rows", 1: "tokens"} for name in names},
    )  # fmt: skip
