"""The files of a model: where they are, what they say of it, and their fingerprint.

Nothing of a model is ever run but its weights: configurations are read as JSON, and code that lies
beside the weights is neither loaded nor downloaded.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec

from claimwise.errors import VerifierError, make_printable
from claimwise.judges.open_models.model_name import ModelName, parse_model_name

CONFIG = "config.json"
TOKENIZER = "tokenizer.json"
_ONNX = ("model.onnx", "onnx/model.onnx")
_INDEX = "model.safetensors.index.json"
# What a tokenizer is made of where there is no tokenizer.json.
_VOCABULARY = (
    "spiece.model", "spm.model", "sentencepiece.bpe.model", "vocab.txt", "vocab.json", "merges.txt",
)  # fmt: skip
_SMALL = (
    CONFIG, TOKENIZER, "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json",
)  # fmt: skip
_DIGITS = 12  # of the fingerprint, in hexadecimal
_MOST_CONFIG = 16 << 20
_PATIENCE = 20  # seconds for the hub to say what a repository holds


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelFiles:
    """A model's folder on this machine."""

    name: ModelName
    folder: Path
    config: dict[str, Any]

    def refuse(self, why: str) -> VerifierError:
        """Return an error that names the judge and the model."""
        return self.name.refuse(why)

    def find_onnx(self) -> Path | None:
        """Return the ONNX file to use: the one that the user names, or the usual one."""
        given = self.name.options.get("file")
        if given is None:
            return next((p for f in _ONNX if (p := self.folder / f).is_file()), None)
        place = self.folder / given
        if not place.is_file() or not place.resolve().is_relative_to(self.folder.resolve()):
            raise self.refuse(f"there is no file {given} in its folder")
        return place if place.suffix == ".onnx" else None

    def list_weights(self) -> list[Path]:
        """Return the files that hold its weights as torch reads them."""
        for pattern in ("*.safetensors", "pytorch_model*.bin"):
            found = sorted(self.folder.glob(pattern))
            if found:
                return found
        raise self.refuse("its folder holds no weights (model.safetensors or model.onnx)")

    def read_json(self, name: str) -> dict[str, Any]:
        """Return one of its small JSON files; {} where there is none."""
        return _read_json(self.folder / name, self.name)

    def make_fingerprint(self, weights: Iterable[Path], *more: Path) -> str:
        """Return the first digits of SHA-256 over all that decides scores.

        Labels carry them: other weights under the same name are another judge.
        """
        small = [self.folder / name for name in (*_SMALL, *_VOCABULARY)]
        total = hashlib.sha256()
        for place in [p for p in (*small, *more) if p.is_file()] + sorted(weights):
            with place.open("rb") as file:
                total.update(place.name.encode() + hashlib.file_digest(file, "sha256").digest())
        return total.hexdigest()[:_DIGITS]


def find_model(name: ModelName) -> ModelFiles:
    """Return a model's files; an id of the hub is downloaded, or found in the hub's own cache.

    Raises:
        VerifierError: it can't be had, or its configuration can't be read.
    """
    folder = name.folder or _download(name)
    config = _read_json(folder / CONFIG, name)
    if not config:
        raise name.refuse(f"its folder has no {CONFIG}")
    return ModelFiles(name=name, folder=folder, config=config)


def find_foundation(files: ModelFiles) -> ModelFiles | None:
    """Return the model that another one builds on, where the user names it; None: nobody does."""
    given = files.name.options.get("foundation")
    if given is None:
        return None
    return find_model(parse_model_name(files.name.kind, given, ()))


def _read_json(place: Path, name: ModelName) -> dict[str, Any]:
    if not place.is_file():
        return {}
    if place.stat().st_size > _MOST_CONFIG:
        raise name.refuse(f"{place.name} is too large for a configuration")
    try:
        return msgspec.json.decode(place.read_bytes(), type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise name.refuse(f"{place.name} is no JSON object: {error}") from error


def _download(name: ModelName) -> Path:
    if find_spec("huggingface_hub") is None:
        raise name.refuse(
            "there is no such folder, and downloading needs huggingface_hub: pip install "
            "'claimwise[open-judges]', or download it yourself and name the folder"
        )
    try:
        return _fetch(name)
    except Exception as error:
        reason = str(error).strip().partition("\n")[0] or type(error).__name__
        raise name.refuse(
            make_printable(
                f"there is no such folder, and it can't be downloaded ({reason}); download it "
                "where there is a network, and name its folder"
            )
        ) from error


def _fetch(name: ModelName) -> Path:
    """Download what is needed; where that fails, return what was downloaded before."""
    from huggingface_hub import HfApi, snapshot_download

    where = {"revision": name.revision, "endpoint": os.environ.get("HF_ENDPOINT")}
    try:
        hub = HfApi(endpoint=where["endpoint"])
        told = hub.model_info(name.model, revision=name.revision, timeout=_PATIENCE)
        chosen = choose_files([one.rfilename for one in told.siblings or ()])
        return Path(snapshot_download(name.model, **where, allow_patterns=chosen))
    except Exception:
        kept = _find_kept(name)
        if kept is None:
            raise
        return kept


def _find_kept(name: ModelName) -> Path | None:
    """Return what an earlier download left in the hub's cache."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import LocalEntryNotFoundError

    try:
        found = snapshot_download(
            name.model, revision=name.revision, local_files_only=True, allow_patterns=[CONFIG]
        )
    except (LocalEntryNotFoundError, OSError, ValueError):
        return None
    return Path(found)


def choose_files(listed: Sequence[str]) -> list[str]:
    """Return which of a repository's files to download: weights once, and no code.

    Safetensors where torch is installed, else ONNX; torch's own format where there is nothing else.
    """
    small = [one for one in listed if one in (*_SMALL, *_VOCABULARY, _INDEX)]
    onnx = [one for one in listed if one in _ONNX or one.startswith("onnx/model.onnx_data")][:2]
    tensors = [one for one in listed if "/" not in one and one.endswith(".safetensors")]
    torch = [one for one in listed if "/" not in one and one.startswith("pytorch_model")]
    if find_spec("torch") is not None:
        return small + (tensors or torch or onnx)
    return small + (onnx or tensors or torch)
