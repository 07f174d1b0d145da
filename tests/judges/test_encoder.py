"""The encoder reads as it was trained to, one pair at a time, whatever it is given."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from claimwise.errors import MissingExtraError
from claimwise.judges.encoder import LONGEST_CLAIM, load_encoder

PARITY = json.loads(Path(__file__).with_name("parity.json").read_text(encoding="utf-8"))
PAIRS = [(row["evidence"], row["claim"]) for row in PARITY]


def score(*pairs: tuple[str, str]) -> NDArray[np.float64]:
    logits = load_encoder().score_pairs(pairs).astype(np.float64)
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    shares: NDArray[np.float64] = powers / powers.sum(axis=1, keepdims=True)
    return shares


def test_probabilities_are_those_of_another_implementation() -> None:
    """Recorded from PyTorch: the same on every processor, but for the last bits of its sums."""
    assert len(PARITY) >= 10
    recorded = np.array([row["probabilities"] for row in PARITY])
    assert np.abs(score(*PAIRS) - recorded).max() <= 0.001


def test_a_pair_does_not_depend_on_its_neighbours() -> None:
    together = load_encoder().score_pairs(PAIRS)
    alone = np.vstack([load_encoder().score_pairs([pair]) for pair in PAIRS])
    mixed = load_encoder().score_pairs([*reversed(PAIRS), ("long words " * 300, "A short claim.")])
    assert np.array_equal(together, alone)
    assert np.array_equal(mixed[: len(PAIRS)][::-1], alone)


def test_swapping_claim_and_source_changes_the_answer() -> None:
    forth, back = score(
        ("A dog sleeps.", "An animal is resting."), ("An animal is resting.", "A dog sleeps.")
    )
    assert forth.argmax() == 0
    assert back.argmax() != 0
    assert forth[0] - back[0] > 0.3


def test_long_evidence_never_pushes_the_claim_out() -> None:
    evidence = "The harbour is old and its walls are red. " * 2000
    same, other, short = score(
        (evidence, "The harbour is old."),
        (evidence, "The harbour was built by pirates in 1999."),
        ("The harbour is old and its walls are red.", "The harbour is old."),
    )
    assert same.argmax() == short.argmax() == 0
    assert other[0] < 0.5 < same[0]


@pytest.mark.parametrize(
    "claim",
    [
        "word " * 5000,
        "字" * 10_000,
        "a" * 50_000,
        "e\u0301" * 3000,
        "#" * 9999,
        "\x00" * 500,
        "\ud800 half a character",
        "",
        " ",
        "\n",
    ],
    ids=[
        "words",
        "chinese",
        "one token",
        "accents",
        "signs",
        "nulls",
        "half",
        "empty",
        "space",
        "nl",
    ],
)
def test_any_claim_and_any_evidence_is_scored(claim: str) -> None:
    found = score(("The harbour is old.", claim), (claim, "The harbour is old."), (claim, claim))
    assert found.shape == (3, 3)
    assert np.isfinite(found).all()


def test_a_claim_that_is_too_long_loses_its_end_alone() -> None:
    start = "The harbour is old. " + "The walls are red. " * 100
    first, second = score(
        ("The harbour is old.", start + "Pirates."), ("The harbour is old.", start)
    )
    assert np.array_equal(first, second)
    assert len(start.split()) > LONGEST_CLAIM


def test_no_pairs() -> None:
    assert load_encoder().score_pairs([]).shape == (0, 3)


def test_nothing_is_downloaded(monkeypatch: pytest.MonkeyPatch) -> None:
    from claimwise.judges.encoder import Encoder

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("the network was asked for")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    assert Encoder(threads=1).score_pairs(PAIRS[:1]).shape == (1, 3)


@pytest.mark.parametrize("module", ["onnxruntime", "tokenizers"])
def test_without_its_packages_the_lexical_tier_stands_in(module: str) -> None:
    code = (
        f"import sys; sys.modules[{module!r}] = None\n"
        "from claimwise.errors import MissingExtraError\n"
        "from claimwise.judges.judge import load_verifier\n"
        "print(load_verifier('auto').name, load_verifier('lexical').labeler)\n"
        "try: load_verifier('embedded')\n"
        "except MissingExtraError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    first, second = done.stdout.splitlines()
    assert first.startswith("lexical verifier:lexical-")
    assert "pip install 'claimwise[encoder]'" in second


def test_a_missing_extra_is_an_error_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("claimwise.judges.encoder.has_encoder", lambda: False)
    load_encoder.cache_clear()
    try:
        with pytest.raises(MissingExtraError, match="encoder"):
            load_encoder()
    finally:
        load_encoder.cache_clear()
