"""Open models as judges: the same scores as their authors' code, in few passes, like any judge.

The models are tiny ones of the same architectures, made by the tests (``support/tiny_models.py``).
"""

from __future__ import annotations

import hashlib
import json
import pickle
import shutil
from collections.abc import Callable
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from claimwise import check, measure
from claimwise.bench.measure import bench_verifier
from claimwise.checking.run import describe_verifier
from claimwise.cli.main import run
from claimwise.errors import VerifierError
from claimwise.judges.judge import Verifier, load_verifier
from claimwise.judges.open_models.batches import plan_batches
from claimwise.judges.open_models.model_files import ModelFiles
from claimwise.judges.open_models.model_name import parse_model_name
from claimwise.judges.open_models.pair_models import find_labels, load_nli
from claimwise.judges.open_models.span_judge import (
    MarkedToken,
    _quote_unsupported,
    load_lettucedetect,
    write_prompt,
)
from claimwise.judges.open_models.windows import SourceWindows, count_words
from claimwise.testing import check_judge
from claimwise.text.sentences import find_sentences
from claimwise.types.rows import Source
from claimwise.types.verdicts import AnswerClaim
from support.copies import StoreCopies, add_demo
from support.tiny_models import make_tiny_models

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")

TOWER = "The Kestrel Tower is 139 m tall. It was opened in 1931 by the mayor of Ostrava."
ANSWER = "The Kestrel Tower is 139 m tall."
CLAIMS = ("The Kestrel Tower is 200 m tall.", "Adults pay 5 euros.", "It was opened in 1931.")
# Longer than a window, in sentences of different length.
LONG = " ".join(
    f"Room {n} of the tower was opened in {1900 + n} by {'the ' * (n % 5)}mayor." for n in range(60)
)
JUDGES = {
    "nli-bert": "nli:{}/nli-bert,threads=1",
    "nli-onnx": "nli:{}/nli-onnx,threads=1",
    "nli-deberta": "nli:{}/nli-deberta,threads=1",
    "minicheck-roberta": "minicheck:{}/minicheck-roberta,threads=1",
    "minicheck-deberta": "minicheck:{}/minicheck-deberta,threads=1",
    "minicheck-t5": "minicheck:{}/minicheck-t5,threads=1",
    "hhem": "hhem:{0}/hhem,foundation={0}/flan-t5,threads=1",
    "lettucedetect": "lettucedetect:{}/lettucedetect,threads=1",
}
Reference = Callable[[Path, str, str], tuple[float, float]]
"""What transformers makes of evidence and a claim: support and contradiction."""


@cache
def load_pair(folder: Path, kind: str) -> tuple[Any, Any]:
    """Return tokenizer and model as transformers loads them."""
    import transformers

    loaded = getattr(transformers, f"AutoModelFor{kind}").from_pretrained(str(folder))
    return transformers.AutoTokenizer.from_pretrained(str(folder)), loaded.eval()


def classify(folder: Path, *texts: str) -> list[float]:
    import torch

    tokenizer, model = load_pair(folder, "SequenceClassification")
    with torch.no_grad():
        logits = model(**tokenizer(*texts, return_tensors="pt")).logits
    return [float(one) for one in torch.softmax(logits, dim=-1)[0]]


def refer_nli(folder: Path, evidence: str, claim: str) -> tuple[float, float]:
    contradiction, entailment, _ = classify(folder, evidence, claim)
    return entailment, contradiction


def refer_nli_two(folder: Path, evidence: str, claim: str) -> tuple[float, float]:
    return classify(folder, evidence, claim)[1], 0.0


def refer_minicheck(folder: Path, evidence: str, claim: str) -> tuple[float, float]:
    tokenizer, _ = load_pair(folder, "SequenceClassification")
    return classify(folder, tokenizer.eos_token.join([evidence, claim]))[1], 0.0


def refer_minicheck_t5(folder: Path, evidence: str, claim: str) -> tuple[float, float]:
    import torch

    tokenizer, model = load_pair(folder, "Seq2SeqLM")
    inputs = tokenizer(f"predict: {evidence}</s>{claim}", return_tensors="pt")
    inputs.pop("token_type_ids", None)
    labels = [tokenizer(digit, add_special_tokens=False).input_ids[0] for digit in "01"]
    with torch.no_grad():
        begin = torch.zeros((1, 1), dtype=torch.long)
        logits = model(**inputs, decoder_input_ids=begin).logits[0, 0, labels]
    return float(torch.softmax(logits, dim=-1)[1]), 0.0


def refer_hhem(folder: Path, evidence: str, claim: str) -> tuple[float, float]:
    import torch
    from safetensors.torch import load_file
    from transformers import AutoConfig, AutoTokenizer, T5ForTokenClassification

    base = str(folder.parent / "flan-t5")
    model = T5ForTokenClassification(AutoConfig.from_pretrained(base, num_labels=2)).eval()
    stored = load_file(folder / "model.safetensors")
    state = {name.removeprefix("t5."): tensor for name, tensor in stored.items()}
    model.load_state_dict(state, strict=False)
    model.transformer.encoder.embed_tokens.weight = model.transformer.shared.weight
    text = (
        "<pad> Determine if the hypothesis is true given the premise?\n\n"
        f"Premise: {evidence}\n\nHypothesis: {claim}"
    )
    inputs = AutoTokenizer.from_pretrained(base)(text, return_tensors="pt")
    with torch.no_grad():
        logits = model(inputs.input_ids, attention_mask=inputs.attention_mask).logits[:, 0, :]
    return float(torch.softmax(logits, dim=-1)[0, 1]), 0.0


def mark_unsupported(folder: Path, prompt: str, answer: str) -> list[tuple[int, int, float]]:
    """Return the answer's tokens as LettuceDetect marks them: (start, end, probability)."""
    import torch

    tokenizer, model = load_pair(folder, "TokenClassification")
    inputs = tokenizer(prompt, answer, return_offsets_mapping=True, return_tensors="pt")
    offsets = inputs.pop("offset_mapping")[0].tolist()
    inputs.pop("token_type_ids", None)
    with torch.no_grad():
        shares = torch.softmax(model(**inputs).logits, dim=-1)[0, :, 1].tolist()
    count = len(tokenizer(answer, add_special_tokens=False).input_ids)
    return [(*offsets[n], shares[n]) for n in range(len(shares) - count - 1, len(shares) - 1)]


def refer_lettucedetect(folder: Path, evidence: str, claim: str) -> tuple[float, float]:
    prompt = f"Summarize the following text:\npassage 1: {evidence}\noutput:"
    return 1 - max(share for *_, share in mark_unsupported(folder, prompt, claim)), 0.0


REFERENCES: dict[str, tuple[str, Reference]] = {
    "nli-bert": ("nli-bert", refer_nli),
    "nli-onnx": ("nli-bert", refer_nli),
    "nli-deberta": ("nli-deberta", refer_nli_two),
    "minicheck-roberta": ("minicheck-roberta", refer_minicheck),
    "minicheck-deberta": ("minicheck-deberta", refer_minicheck),
    "minicheck-t5": ("minicheck-t5", refer_minicheck_t5),
    "hhem": ("hhem", refer_hhem),
    "lettucedetect": ("lettucedetect", refer_lettucedetect),
}


@pytest.fixture(scope="module")
def tiny_models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    make_tiny_models(folder)
    return folder


@pytest.fixture(scope="module")
def load(tiny_models: Path) -> Callable[[str], Verifier]:
    """Load a judge by its name in ``JUDGES``, each once."""
    return cache(lambda which: load_verifier(JUDGES[which].format(tiny_models)))


@pytest.mark.parametrize("which", JUDGES)
def test_scores_are_those_of_the_reference(
    which: str, load: Callable[[str], Verifier], tiny_models: Path
) -> None:
    folder, refer = REFERENCES[which]
    expected = [refer(tiny_models / folder, TOWER, claim) for claim in CLAIMS]
    scores = load(which).score_claims(CLAIMS, TOWER)
    found = [(one.supports, one.contradicts) for one in scores if one is not None]
    assert found == [pytest.approx(pair, abs=1e-4) for pair in expected]
    spread = max(pair[0] for pair in expected) - min(pair[0] for pair in expected)
    assert spread > 1e-3, "claims that score alike would show nothing"


@pytest.mark.parametrize("which", JUDGES)
def test_keeps_the_contract_of_judges(which: str, load: Callable[[str], Verifier]) -> None:
    judge: Any = load(which)
    check_judge(judge)


def chunk_like_minicheck(document: str, size: int, tokenizer: Any) -> list[str]:
    """Cut a document as MiniCheck does: whole sentences, as many as have ``size`` tokens."""
    chunks: list[list[str]] = [[]]
    held = 0
    for start, end in find_sentences(document):
        sentence = document[start:end]
        tokens = len(tokenizer(sentence, add_special_tokens=False).input_ids)
        if held + tokens > size:
            chunks.append([])
            held = 0
        chunks[-1].append(sentence)
        held += tokens
    return [" ".join(chunk) for chunk in chunks if chunk]


def test_a_long_document_is_read_in_windows(tiny_models: Path) -> None:
    """As published: the best of all chunks decides."""
    folder = tiny_models / "minicheck-roberta"
    tokenizer, _ = load_pair(folder, "SequenceClassification")
    chunks = chunk_like_minicheck(LONG, 60, tokenizer)
    assert len(chunks) > 10
    expected = [max(refer_minicheck(folder, c, claim)[0] for c in chunks) for claim in CLAIMS]
    judge = load_verifier(f"minicheck:{folder},threads=1,window=60,windows=100")
    found = [one.supports for one in judge.score_claims(CLAIMS, LONG) if one is not None]
    assert found == pytest.approx(expected, abs=1e-4)


def test_windows_are_chosen_by_the_claim_where_there_are_many(tiny_models: Path) -> None:
    judge = load_verifier(f"nli:{tiny_models}/nli-bert,threads=1,window=40,windows=2")
    result = check("Room 57 was opened in 1957.", LONG, verifier=judge)
    assert "the 2 windows closest to it" in " ".join(result.warnings)
    sources = SourceWindows([Source(source_id="s", corpus_ver="-", source_text=LONG)], count_words)
    windows = sources.cut(40)
    chosen = sources.choose(windows, "Room 57 was opened in 1957.", 2)
    assert len(windows) > 10
    assert any("Room 57 " in sources.read(window) for window in chosen)


def test_a_sentence_longer_than_a_window_is_cut() -> None:
    text = "word " * 100 + "x" * 50
    sources = SourceWindows([Source(source_id="s", corpus_ver="-", source_text=text)], count_words)
    windows = sources.cut(7)
    assert max(count_words([sources.read(window) for window in windows])) <= 7
    assert "".join(sources.read(window) for window in windows) == text


def test_batches_do_the_work_in_few_passes(tiny_models: Path) -> None:
    """A third of the passes at most, of hardly more tokens, and the same scores."""
    judge = load_nli(f"{tiny_models}/nli-bert,threads=1")
    texts = [judge.encode(LONG[n : n + 60 + 9 * n], "Room 5 is old.") for n in range(40)]
    alone = [judge.score([text])[0] for text in texts]
    passes, tokens = judge.runner.passes, judge.runner.padded
    together = judge.score([*texts, *texts])
    assert judge.runner.passes - passes <= passes / 3
    assert judge.runner.padded - tokens <= 1.3 * tokens, "texts that come twice are run once"
    assert [one.supports for one in together] == pytest.approx(
        [one.supports for one in (*alone, *alone)], abs=1e-5
    )


def test_batches_hold_texts_of_like_length() -> None:
    lengths = [5, 400, 7, 390, 6, 5000]
    assert plan_batches(lengths, most_tokens=1000, most_rows=2) == [[5], [1, 3], [2, 4], [0]]
    assert plan_batches([], most_tokens=1000) == []


def test_quantized_networks_run_one_pair_at_a_time(tiny_models: Path, tmp_path: Path) -> None:
    """Their batches are scaled as one: scores would depend on the neighbours."""
    from onnxruntime.quantization import quantize_dynamic

    folder = tmp_path / "nli-int8"
    shutil.copytree(tiny_models / "nli-onnx", folder)
    quantize_dynamic(tiny_models / "nli-onnx" / "model.onnx", folder / "small.onnx")
    model = load_nli(f"{folder},threads=1,file=small.onnx")
    texts = [model.encode(TOWER, claim) for claim in (*CLAIMS, "x " * 50)]
    assert model.score(texts) == [model.score([text])[0] for text in texts]
    assert model.runner.passes == 8


def test_unsupported_words_of_an_answer_make_claims_unlinked(
    load: Callable[[str], Verifier], tiny_models: Path
) -> None:
    """The whole answer is read at once, with its question; each claim by the tokens it has."""
    answer = "The Kestrel Tower is 139 m tall. Adults pay 5 euros. It was opened by the mayor."
    prompt = write_prompt([TOWER], "How tall is it?")
    assert prompt.startswith(
        "Briefly answer the following question:\nHow tall is it?\nBear in mind"
    )
    marks = mark_unsupported(tiny_models / "lettucedetect", prompt, answer)
    result = check(answer, TOWER, question="How tall is it?", verifier=load("lettucedetect"))
    for judged in result.claims:
        start, end = judged.claim.start, judged.claim.end
        worst = max(share for a, b, share in marks if b > start and a < end)
        assert judged.scores is not None
        assert judged.scores.neither == pytest.approx(worst, abs=1e-4)
        assert (judged.verdict == "unlinked") == (worst > 0.5)
        assert judged.verdict == "supported" or "no support for “" in judged.reason


def test_unsupported_words_are_quoted_whole() -> None:
    claim = AnswerClaim(
        text="It reopened in 1931.", start=0, end=20, wording="It reopened in 1931."
    )
    pieces = [(0, 2, 0.1), (3, 5, 0.2), (5, 9, 0.9), (9, 11, 0.8), (12, 14, 0.7), (15, 19, 0.3)]
    tokens = [MarkedToken(*piece) for piece in pieces]
    assert _quote_unsupported(tokens, claim, claim.text) == "“reopened in”"
    assert _quote_unsupported(tokens[:2], claim, claim.text) == ""


def test_a_token_is_unsupported_if_no_window_supports_it(tiny_models: Path) -> None:
    judge = load_lettucedetect(f"{tiny_models}/lettucedetect,threads=1")
    claim = CLAIMS[0]
    windows = SourceWindows(
        [Source(source_id="s", corpus_ver="-", source_text=LONG)], judge._model.measure
    )
    prompts = judge._write_prompts(claim, windows, None)
    assert prompts is not None
    assert len(prompts) > 3
    assert all(len(one.ids) <= judge._model.max_tokens for one in prompts)
    marked = zip(*judge._model.mark(prompts), strict=True)
    least = [min(token.unsupported for token in same) for same in marked]
    (scores,) = judge.score_claims([claim], LONG)
    assert scores is not None
    assert scores.neither == pytest.approx(max(least), abs=1e-5)
    assert judge.score_claims(["tower " * 300], LONG) == [None], "it leaves no room for evidence"


def change_config(folder: Path, place: Path, **changed: Any) -> Path:
    shutil.copytree(folder, place)
    config = json.loads((place / "config.json").read_text())
    (place / "config.json").write_text(json.dumps({**config, **changed}))
    return place


@pytest.mark.parametrize(
    ("labels", "order"),
    [
        ({"0": "ENTAILMENT", "1": "NEUTRAL", "2": "CONTRADICTION"}, "supports neither contradicts"),
        ({"0": "entailment", "1": "not-entailment"}, "supports neither"),
        ({"0": "LABEL_0", "1": "LABEL_1", "2": "LABEL_2"}, None),
        ({"0": "entailment", "1": "contradiction"}, None),
        ({"0": "entailment", "1": "entailment", "2": "neutral"}, None),
        ({"0": "positive", "1": "negative"}, None),
        ({}, None),
    ],
)
def test_labels_are_read_from_the_configuration(
    labels: dict[str, str], order: str | None, tmp_path: Path
) -> None:
    name = parse_model_name("nli", str(tmp_path), ())
    files = ModelFiles(name=name, folder=tmp_path, config={"id2label": labels})
    if order is not None:
        assert find_labels(files) == order.split()
        return
    with pytest.raises(VerifierError, match=r"its labels are unclear \(config.json has "):
        find_labels(files)


def test_what_is_no_such_model_is_refused_in_one_line(tiny_models: Path, tmp_path: Path) -> None:
    other = change_config(
        tiny_models / "minicheck-roberta",
        tmp_path / "three",
        id2label={"0": "a", "1": "b", "2": "c"},
    )
    headless = tmp_path / "headless"
    _, model = load_pair(tiny_models / "nli-bert", "SequenceClassification")
    shutil.copytree(tiny_models / "nli-bert", headless)
    model.bert.save_pretrained(str(headless))
    shutil.copy(tiny_models / "nli-bert" / "config.json", headless)
    damaged = tmp_path / "damaged"
    shutil.copytree(tiny_models / "lettucedetect", damaged)
    (damaged / "model.safetensors").write_bytes(b"no weights")
    empty = tmp_path / "empty"
    empty.mkdir()
    refused = {
        f"minicheck:{other}": "it has 3 labels, and MiniCheck two",
        f"nli:{headless}": "its weights lack classifier.bias (2 missing in all)",
        f"nli:{empty}": "its folder has no config.json",
        f"hhem:{tiny_models}/hhem": "foundation=google/flan-t5-base",
        f"hhem:{tiny_models}/minicheck-t5": "its weights are not those of an HHEM-2.1",
        f"lettucedetect:{damaged}": "it can't be loaded",
        f"nli:{tiny_models}/nli-bert,widnow=3": "Unknown nli option",
        f"hhem:{tiny_models}/hhem,foundation={tiny_models}/flan-t5,device=tpu": "can't be loaded",
        f"nli:{tiny_models}/nli-bert,window=0": "expected a number from 1 on",
        f"nli:{tiny_models}/nli-onnx,file=../nli-bert/config.json": "there is no file",
        "nli:/no/such/folder": "there is no such folder",
        "nli": "needs a model",
        "lexical:some/model": "takes no model",
    }
    for name, why in refused.items():
        with pytest.raises(VerifierError) as told:
            load_verifier(name)
        assert why in str(told.value)
        assert "\n" not in str(told.value)


class Hostile:
    """What runs when it is read as a pickle."""

    def __reduce__(self) -> tuple[Any, ...]:
        return exec, ("raise SystemExit('code among the weights was run')",)


def test_weights_in_torchs_own_format_run_no_code(tiny_models: Path, tmp_path: Path) -> None:
    """As Flan-T5's MiniCheck is published."""
    import torch
    from safetensors.torch import load_file

    place = tmp_path / "minicheck-t5"
    shutil.copytree(tiny_models / "minicheck-t5", place)
    expected = load_verifier(f"minicheck:{place},threads=1").score_claims(CLAIMS, TOWER)
    torch.save(load_file(place / "model.safetensors"), place / "pytorch_model.bin")
    (place / "model.safetensors").unlink()
    assert load_verifier(f"minicheck:{place},threads=1").score_claims(CLAIMS, TOWER) == expected
    (place / "pytorch_model.bin").write_bytes(pickle.dumps(Hostile(), protocol=2))
    with pytest.raises(VerifierError, match="holds more than numbers, and was not read"):
        load_verifier(f"minicheck:{place},threads=1")


def test_other_weights_are_another_judge(tiny_models: Path, tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    place = tmp_path / "nli-bert"
    shutil.copytree(tiny_models / "nli-bert", place)
    first = load_verifier(f"nli:{place},threads=1").labeler
    assert first == load_verifier(f"nli:{tiny_models}/nli-bert,threads=1").labeler
    weights = load_file(place / "model.safetensors")
    weights["classifier.bias"] += 1e-3
    save_file(weights, place / "model.safetensors", {"format": "pt"})
    second = load_verifier(f"nli:{place},threads=1").labeler
    assert first != second
    assert str(tmp_path) not in second, "labels travel: no path of this machine"


def test_a_stored_run_is_judged_once_and_measured_like_any_other(
    tiny_models: Path,
    store_copies: StoreCopies,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """verify, verify again, calibrate: by the name with its model, all in one process."""
    place = store_copies.copy("sqlite", add_demo)
    monkeypatch.chdir(Path(place).parent)
    name = f"nli:{tiny_models}/nli-onnx,threads=1"
    verify = ["--store", place, "verify", "--run", "candidate", "--judge", name, "--format", "json"]
    assert run(verify) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["labeler"].startswith("verifier:nli:nli-onnx-")
    assert told["settings"] == "windows of up to 400 tokens, at most 16 per claim"
    assert told["agreement"].startswith("agrees with people on"), "by the labels of this store"
    assert told["judged"] > 100
    assert "against_rules" not in told["unscored"], "every verdict has the span that it needs"
    assert run(verify) == 0
    assert json.loads(capsys.readouterr().out)["judged"] == 0
    calibrate = ["--store", place, "calibrate", "--verifier", told["labeler"], "--format", "json"]
    assert run([*calibrate, "--dry-run"]) == 0
    assert told["labeler"] in capsys.readouterr().out


def test_it_is_measured_on_labelled_claims(load: Callable[[str], Verifier], tmp_path: Path) -> None:
    rows = [
        {"document": TOWER, "claim": claim, "label": n % 2, "group": str(n % 4)}
        for n, claim in enumerate((*CLAIMS, ANSWER, *CLAIMS[::-1], "The tower is old."))
    ]
    (tmp_path / "tower.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    result = bench_verifier(tmp_path, load("hhem"), resamples=20)
    assert result.verifier.labeler == load("hhem").labeler
    assert result.verifier.sets["tower"].n == len(rows)
    assert result.verifier.sets["tower"].unscored == 0


def test_measure_names_it_and_gives_no_range(tiny_models: Path) -> None:
    """Without a card, and without labels of people, nobody knows how far off it may be."""
    data = [{"question": "How tall?", "answer": ANSWER, "contexts": [TOWER]}]
    found = measure(data, judge=f"lettucedetect:{tiny_models}/lettucedetect,threads=1")
    headline = found.headline
    assert str(headline.judge).startswith("verifier:lettucedetect:lettucedetect-")
    assert (headline.claims, headline.low, headline.high) == (1, None, None)
    assert headline.why is not None


COMMIT = "18" * 20


class Hub(BaseHTTPRequestHandler):
    """A hub of our own with one repository, as far as huggingface_hub asks for it."""

    folder: Path
    asked: list[str]

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        self.asked.append(self.path)
        path = self.path.partition("?")[0]
        files = sorted(self.folder.iterdir())
        if "/tree/" in path:
            listed = [
                {"type": "file", "path": file.name, "size": file.stat().st_size, "oid": "0" * 40}
                for file in files
            ]
            self.reply(json.dumps(listed).encode())
        elif path.startswith("/api/models/acme/tiny"):
            named = [{"rfilename": file.name} for file in files]
            self.reply(json.dumps({"id": "acme/tiny", "sha": COMMIT, "siblings": named}).encode())
        else:
            self.reply((self.folder / path.rpartition("/")[2]).read_bytes())

    do_HEAD = do_GET

    def reply(self, content: bytes) -> None:
        self.send_response(200)
        self.send_header("X-Repo-Commit", COMMIT)
        self.send_header("ETag", f'"{hashlib.sha256(content).hexdigest()}"')
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(content)


def test_an_id_is_downloaded_without_code_and_kept(
    tiny_models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from huggingface_hub import constants

    place = tmp_path / "repository"
    shutil.copytree(tiny_models / "nli-bert", place)
    (place / "modeling_own.py").write_text("raise SystemExit")
    (place / "pytorch_model.bin").write_bytes(b"a second copy of the weights")
    Hub.folder, Hub.asked = place, []
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    thread = Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_address[1]}")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    name = "nli:acme/tiny@v1.0,threads=1"
    judge = load_verifier(name)
    assert judge.labeler.startswith("verifier:nli:acme/tiny-")
    assert describe_verifier(judge).model == "acme/tiny@v1.0"
    assert any("/v1.0" in path for path in Hub.asked), "the revision that was named"
    assert not any(path.endswith((".py", ".bin")) for path in Hub.asked)
    server.shutdown()
    server.server_close()
    thread.join()
    assert load_verifier(name).labeler == judge.labeler, "without a network, what was kept"
    with pytest.raises(VerifierError) as told:
        load_verifier("nli:acme/other")
    assert "nli:acme/other: there is no such folder, and it can't be downloaded" in str(told.value)
    assert "\n" not in str(told.value)
