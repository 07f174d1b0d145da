"""Loads a model's network: by onnxruntime (extra “encoder”) or torch (extra “open-judges”)."""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from claimwise.errors import MissingExtraError, VerifierError
from claimwise.judges.encoder import count_cores, open_session
from claimwise.judges.open_models.batches import (
    MOST_TOKENS_CPU,
    MOST_TOKENS_GPU,
    Inputs,
    Network,
)
from claimwise.judges.open_models.model_files import ModelFiles

Head = Literal["sequence", "token", "seq2seq"]
_AUTO_CLASSES: dict[Head, str] = {
    "sequence": "AutoModelForSequenceClassification",
    "token": "AutoModelForTokenClassification",
    "seq2seq": "AutoModelForSeq2SeqLM",
}
# The operation that scales a whole batch by its largest value, which makes rows depend on others.
_QUANTIZED = b"DynamicQuantizeLinear"
Forward = Callable[[Any, dict[str, Any]], Any]
"""Returns a model's logits for its inputs, both as tensors."""


class OnnxNetwork:
    """A network that onnxruntime runs on the processor."""

    most_tokens = MOST_TOKENS_CPU

    def __init__(self, weights: Path, threads: int) -> None:
        self.batches = not _holds(weights, _QUANTIZED)
        self.threads = threads
        self._session = open_session(str(weights), threads=threads if self.batches else 1)
        self._inputs = {one.name for one in self._session.get_inputs()}

    def run(self, ids: Inputs, mask: Inputs, types: Inputs) -> NDArray[np.float32]:
        """Return the first output."""
        given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": types}
        fed = {name: value for name, value in given.items() if name in self._inputs}
        logits: NDArray[np.float32] = self._session.run(None, fed)[0]
        return logits


class TorchNetwork:
    """A network that torch runs, on the processor or a graphics card."""

    batches = True

    def __init__(self, model: Any, forward: Forward, device: str, threads: int) -> None:
        self.threads = threads
        self.most_tokens = MOST_TOKENS_CPU if device == "cpu" else MOST_TOKENS_GPU
        self._model = model.train(False).to(device)
        self._forward = forward
        self._device = device
        self._typed = getattr(model.config, "type_vocab_size", 0) > 1

    def run(self, ids: Inputs, mask: Inputs, types: Inputs) -> NDArray[np.float32]:
        """Return the model's logits."""
        import torch

        given = {"input_ids": ids, "attention_mask": mask}
        if self._typed:
            given["token_type_ids"] = types
        tensors = {name: torch.from_numpy(v).to(self._device) for name, v in given.items()}
        with torch.inference_mode():
            logits = self._forward(self._model, tensors)
        found: NDArray[np.float32] = logits.float().cpu().numpy()
        return found


def _read_logits(model: Any, inputs: dict[str, Any]) -> Any:
    return model(**inputs).logits


def load_network(
    files: ModelFiles, head: Head, forward: Forward = _read_logits
) -> tuple[Network, Sequence[Path]]:
    """Return a model's network, and the files of its weights: ONNX where its folder has it.

    Raises:
        MissingExtraError: the package that runs it is not installed.
        VerifierError: the model can't be read, or has no head of that kind.
    """
    threads = files.name.read_number("threads", count_cores())
    onnx = None if head == "seq2seq" else files.find_onnx()
    if onnx is not None:
        if find_spec("onnxruntime") is None:
            raise MissingExtraError(f"the judge “{files.name.kind}” with {onnx.name}", "encoder")
        with telling(files):
            return OnnxNetwork(onnx, threads), sorted(onnx.parent.glob(f"{onnx.name}*"))
    weights = files.list_weights()
    require_torch(files)
    with telling(files):
        return wrap_model(files, _load_auto(files, head), forward), weights


def require_torch(files: ModelFiles) -> None:
    """See to it that torch is there.

    Raises:
        MissingExtraError: it is not installed.
    """
    if find_spec("torch") is None or find_spec("transformers") is None:
        raise MissingExtraError(f"the judge “{files.name.kind}” with these weights", "open-judges")


def wrap_model(files: ModelFiles, model: Any, forward: Forward = _read_logits) -> TorchNetwork:
    """Return a loaded model as a network, on the device that the user names."""
    import torch

    usual = "cuda" if torch.cuda.is_available() else "cpu"
    threads = files.name.read_number("threads", count_cores())
    torch.set_num_threads(threads)
    return TorchNetwork(model, forward, files.name.options.get("device", usual), threads)


def _load_auto(files: ModelFiles, head: Head) -> Any:
    import torch
    import transformers

    kind = getattr(transformers, _AUTO_CLASSES[head])
    with _quietly():
        model, told = kind.from_pretrained(
            str(files.folder),
            local_files_only=True,
            trust_remote_code=False,
            dtype=torch.float32,
            output_loading_info=True,
        )
    missing = sorted(told["missing_keys"])
    if missing:
        # transformers would fill them with random numbers.
        raise files.refuse(
            f"its weights lack {missing[0]} ({len(missing)} missing in all): it is not a model of "
            f"this kind, or not the whole of it"
        )
    return model


@contextmanager
def _quietly() -> Iterator[None]:
    """Keep transformers from showing bars and warnings while a model is loaded."""
    from transformers.utils import logging

    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()


@contextmanager
def telling(files: ModelFiles) -> Iterator[None]:
    """Tell in one line whatever goes wrong while a model is loaded."""
    try:
        yield
    except VerifierError:
        raise
    except Exception as error:
        reason = str(error).strip().partition("\n")[0] or type(error).__name__
        if "weights_only" in str(error):  # torch goes on to advise against its own safeguard
            reason = "the file of its weights holds more than numbers, and was not read"
        raise files.refuse(f"it can't be loaded: {reason}") from error


def _holds(place: Path, needle: bytes) -> bool:
    with place.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        return data.find(needle) >= 0
