"""The judges that come with claimwise, registered as those of any other package are."""

from __future__ import annotations

from collections.abc import Callable
from importlib.resources import files
from typing import TYPE_CHECKING

from claimwise.errors import VerifierError
from claimwise.registry import Plugin

if TYPE_CHECKING:
    from claimwise.judges.embedded import EmbeddedVerifier
    from claimwise.judges.open_models.pair_judge import PairJudge
    from claimwise.judges.open_models.served import ServedJudge
    from claimwise.judges.open_models.span_judge import SpanJudge
    from claimwise.judges.overlap import OverlapVerifier
    from claimwise.types.llm import Asker

INSTALL_OPEN = "pip install 'claimwise[open-judges]'"
INSTALL_ENCODER = "pip install 'claimwise[encoder]'"
_UNKNOWN = "not measured by us: claimwise bench-verifier"
_ENCODER_FILES = ("encoder.int8.onnx", "tokenizer.json")
_CARD_FILE = "card.json"


def _load_tier(name: str) -> Callable[[], EmbeddedVerifier]:
    def load() -> EmbeddedVerifier:
        from claimwise.judges.embedded import load_embedded

        return load_embedded(name)

    return load


def _load_overlap() -> OverlapVerifier:
    from claimwise.judges.overlap import OverlapVerifier

    return OverlapVerifier()


def _find_missing_encoder() -> str | None:
    from claimwise.judges import encoder

    return None if encoder.has_encoder() else INSTALL_ENCODER


def _measure_files(*left_out: str) -> int:
    folder = files("claimwise.judges") / "data"
    return sum(
        len(file.read_bytes())
        for file in folder.iterdir()
        if file.name not in (_CARD_FILE, *left_out)
    )


def _need_model(kind: str, example: str) -> Callable[[], PairJudge | SpanJudge]:
    def refuse() -> PairJudge | SpanJudge:
        raise VerifierError(
            f"the judge “{kind}” needs a model: name its folder, or its id on the Hugging Face "
            f"hub, as in {kind}:{example}"
        )

    return refuse


def _load_pair(kind: str) -> Callable[[str], PairJudge]:
    def load(model: str) -> PairJudge:
        from claimwise.judges.open_models.pair_judge import PairJudge
        from claimwise.judges.open_models.pair_models import LOADERS

        return PairJudge(LOADERS[kind](model))

    return load


def _load_lettucedetect(model: str) -> SpanJudge:
    from claimwise.judges.open_models import span_judge

    return span_judge.load_lettucedetect(model)


def _bring_served(kind: str, title: str, example: str) -> Plugin[ServedJudge]:
    """Return the entry of a judge that asks a model behind a server in a way of its own."""

    def refuse() -> ServedJudge:
        raise VerifierError(
            f"the judge “{kind}” asks a language model behind a server: name both, as in "
            f"--judge {kind}:{example}"
        )

    def make(asker: Asker, **settings: int) -> ServedJudge:
        from claimwise.judges.open_models.served import make_served_judge

        return make_served_judge(kind, asker, **settings)

    return Plugin(
        description=f"{title} behind a server: --judge {kind}:PROVIDER:MODEL",
        load=refuse,
        ask_with=make,
        card=_UNKNOWN,
    )


def _find_missing_torch() -> str | None:
    from importlib.util import find_spec

    if find_spec("torch") is not None and find_spec("transformers") is not None:
        return None
    return INSTALL_OPEN


def _find_missing_network() -> str | None:
    """Return what is missing where neither ONNX nor other weights can be run."""
    missing = _find_missing_torch()
    return missing and _find_missing_encoder() and missing


EMBEDDED = Plugin(
    description="finds the evidence and reads it with a small model (extra: encoder)",
    load=_load_tier("embedded"),
    find_missing=_find_missing_encoder,
    measure_size=_measure_files,
    card="claimwise verifiers embedded",
)
LEXICAL = Plugin(
    description="compares words, numbers, dates, names and negation; needs no extra",
    load=_load_tier("lexical"),
    measure_size=lambda: _measure_files(*_ENCODER_FILES),
    card="claimwise verifiers lexical",
)
OVERLAP = Plugin(
    description="the baseline: the share of the claim's words that the sources hold",
    load=_load_overlap,
    card="claimwise verifiers overlap",
)

NLI = Plugin(
    description="a cross-encoder for inference that you name: --judge nli:FOLDER|ID",
    load=_need_model("nli", "cross-encoder/nli-deberta-v3-small"),
    load_model=_load_pair("nli"),
    find_missing=_find_missing_network,
    card=_UNKNOWN,
)
HHEM = Plugin(
    description="HHEM-2.1-open, by its weights alone: --judge hhem:FOLDER|ID,foundation=FOLDER|ID",
    load=_need_model(
        "hhem", "vectara/hallucination_evaluation_model,foundation=google/flan-t5-base"
    ),
    load_model=_load_pair("hhem"),
    find_missing=_find_missing_torch,
    card=_UNKNOWN,
)
MINICHECK = Plugin(
    description="MiniCheck (RoBERTa, DeBERTa, Flan-T5): --judge minicheck:FOLDER|ID",
    load=_need_model("minicheck", "lytang/MiniCheck-RoBERTa-Large"),
    load_model=_load_pair("minicheck"),
    find_missing=_find_missing_network,
    card=_UNKNOWN,
)
LETTUCEDETECT = Plugin(
    description="LettuceDetect's unsupported spans: --judge lettucedetect:FOLDER|ID",
    load=_need_model("lettucedetect", "KRLabsOrg/lettucedect-base-modernbert-en-v1"),
    load_model=_load_lettucedetect,
    find_missing=_find_missing_network,
    card=_UNKNOWN,
)
BESPOKE_MINICHECK = _bring_served(
    "bespoke-minicheck", "Bespoke-MiniCheck", "vllm:bespokelabs/Bespoke-MiniCheck-7B"
)
GRANITE_GUARDIAN = _bring_served(
    "granite-guardian", "Granite Guardian", "vllm:ibm-granite/granite-guardian-3.3-8b"
)
LYNX = _bring_served("lynx", "Lynx", "vllm:PatronusAI/Llama-3-Patronus-Lynx-8B-Instruct")
