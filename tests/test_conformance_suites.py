"""claimwise.testing: what is sound passes, and what is broken is told in a line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from claimwise.judges import built_in as judges
from claimwise.llm import built_in as providers
from claimwise.llm.batch_openai import OpenAIBatches
from claimwise.llm.wire import Reading
from claimwise.plugins import ClaimVerdict, Plugin, Problem, Provider, Scores, Source, Span
from claimwise.readers import built_in as readers
from claimwise.testing import check_judge, check_metric, check_provider, check_reader

ROOT = Path(__file__).parent.parent
METRICS = ROOT / "src/claimwise/metrics/sql"


@pytest.mark.parametrize("name", ["EMBEDDED", "LEXICAL", "OVERLAP"])
def test_built_in_judges_conform(name: str) -> None:
    check_judge(getattr(judges, name))


class Judge:
    """A judge that does everything right; subclasses do one thing wrong."""

    version: Any = "1"
    threshold: Any = 0.5

    def score_claims(self, claims: Sequence[str], document: str) -> Any:
        return [Scores(supports=0.0, contradicts=0.0, neither=1.0) for _ in claims]

    def judge_answer(self, claims: Sequence[Any], request: Any) -> Any:
        return [ClaimVerdict(claim=claim, verdict="unlinked") for claim in claims], []


class Moody(Judge):
    asked = 0

    def judge_answer(self, claims: Sequence[Any], request: Any) -> Any:
        self.asked += 1
        verdict = "unlinked" if self.asked % 2 else "supported"
        return [ClaimVerdict(claim=claim, verdict=verdict) for claim in claims], []  # type: ignore[arg-type]


class Silent(Judge):
    def judge_answer(self, claims: Sequence[Any], request: Any) -> Any:
        return [ClaimVerdict(claim=claim, unscored="no_idea") for claim in claims], []


class Crowded(Judge):
    def score_claims(self, claims: Sequence[str], document: str) -> Any:
        share = 1 / max(1, len(claims))
        return [Scores(supports=share, contradicts=0.0, neither=1 - share) for _ in claims]


class Reversed(Judge):
    def judge_answer(self, claims: Sequence[Any], request: Any) -> Any:
        return [ClaimVerdict(claim=claim, verdict="unlinked") for claim in claims[::-1]], []


class Inventing(Judge):
    def judge_answer(self, claims: Sequence[Any], request: Any) -> Any:
        span = Span(source_id="tower", start=0, end=3, text="Big")
        return [ClaimVerdict(claim=c, verdict="supported", span=span) for c in claims], []


class Unversioned(Judge):
    version = None


class Failing(Judge):
    def score_claims(self, claims: Sequence[str], document: str) -> Any:
        return [document.split()[0] for _ in claims]


@pytest.mark.parametrize(
    ("judge", "told"),
    [
        (Moody(), "gave other verdicts when it was asked again"),
        (Silent(), "left every claim unscored"),
        (Crowded(), "scores depend on the claims around it"),
        (Reversed(), "one verdict per claim, in order"),
        (Inventing(), "a span of 'tower' is not what the source has there"),
        (Unversioned(), "found the judge's version None"),
        (Failing(), "AttributeError"),
        (object(), "the judge has no method score_claims"),
        (Plugin(description=" ", load=Judge), "no description"),
        (Plugin(description="two\nlines", load=Judge), "must be one line"),
        (Plugin(description="d", load=Judge, find_missing=lambda: "set X"), "here: set X"),
        (Plugin(description="d", load=Judge, measure_size=lambda: -1), "the size -1"),
    ],
)
def test_broken_judges_are_told(judge: Any, told: str) -> None:
    check_judge(Judge())
    with pytest.raises(AssertionError) as caught:
        check_judge(judge)
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)


class Reader:
    """A reader that does everything right; subclasses do one thing wrong."""

    yields: Any = "rows"

    def recognise(self, path: Path, head: bytes) -> Any:
        return 0.9 if head.startswith(b"#own") else None

    def read(self, path: Path, options: Mapping[str, str]) -> Iterator[Any]:
        lines = path.read_text("utf-8", errors="replace").splitlines()
        for number, text in enumerate(lines[1:], start=2):
            yield number, Source(source_id=f"s{number}", source_text=text, corpus_ver="v1")


class Greedy(Reader):
    def recognise(self, path: Path, head: bytes) -> Any:
        return 1.0


class Blind(Reader):
    def recognise(self, path: Path, head: bytes) -> Any:
        return None


class Fragile(Reader):
    def read(self, path: Path, options: Mapping[str, str]) -> Iterator[Any]:
        path.read_text("ascii")
        return super().read(path, options)


class Complaining(Reader):
    def read(self, path: Path, options: Mapping[str, str]) -> Iterator[Any]:
        yield 1, Problem(path=str(path), line=1, field=None, found="a", expected="b")


class Writing(Reader):
    def read(self, path: Path, options: Mapping[str, str]) -> Iterator[Any]:
        found = list(super().read(path, options))
        path.write_text("#own\n", encoding="utf-8")
        return iter(found)


class Lineless(Reader):
    def read(self, path: Path, options: Mapping[str, str]) -> Iterator[Any]:
        return (row for _, row in super().read(path, options))


class Empty(Reader):
    def read(self, path: Path, options: Mapping[str, str]) -> Iterator[Any]:
        return iter(())


@pytest.mark.parametrize(
    ("reader", "told"),
    [
        (Greedy(), "takes other content (empty) for its own: 1.0"),
        (Blind(), "recognise does not know own.txt"),
        (Fragile(), "UnicodeDecodeError"),
        (Complaining(), "own.txt:1: "),
        (Writing(), "reading twice gave other records"),
        (Lineless(), "expected a line and a record"),
        (Empty(), "read yielded nothing from own.txt"),
        (object(), "the reader has no method recognise"),
    ],
)
def test_broken_readers_are_told(reader: Any, told: str, tmp_path: Path) -> None:
    sample = tmp_path / "own.txt"
    sample.write_text("#own\none\ntwo\n", encoding="utf-8")
    check_reader(Reader(), sample)
    with pytest.raises(AssertionError) as caught:
        check_reader(reader, sample)
    assert told in str(caught.value)


def test_built_in_trace_reader_reads_its_sample(tmp_path: Path) -> None:
    """It takes any JSON: a conforming reader of one format is choosier."""
    sample = tmp_path / "trace.json"
    sample.write_text('{"question": "q", "answer": "a"}', encoding="utf-8")
    with pytest.raises(AssertionError, match="takes other content"):
        check_reader(readers.TRACE, sample)


CHAT = msgspec.json.encode(
    {"choices": [{"message": {"content": "139 m"}, "finish_reason": "stop"}], "model": "m"}
)


class Wire:
    """A wire that does everything right; subclasses do one thing wrong."""

    def build_body(self, call: Any, model: str, features: Any) -> dict[str, Any]:
        return {"system": call.system, "user": call.user}

    def read_body(self, content: bytes) -> Any:
        try:
            return Reading(text=msgspec.json.decode(content)["choices"][0]["message"]["content"])
        except (msgspec.DecodeError, UnicodeDecodeError, LookupError, TypeError) as error:
            return Reading(code="bad_reply", detail=str(error))


class Forgetful(Wire):
    def build_body(self, call: Any, model: str, features: Any) -> dict[str, Any]:
        return {"user": call.user}


class Trusting(Wire):
    def read_body(self, content: bytes) -> Any:
        return Reading(text=msgspec.json.decode(content)["choices"][0]["message"]["content"])


class Lenient(Wire):
    def read_body(self, content: bytes) -> Any:
        return Reading(text="139 m")


class Gratis(OpenAIBatches):
    """Batches that would cost nothing."""

    price_share = 0.0

    def __init__(self) -> None:
        super().__init__("/v1/chat/completions")


def make_provider(**given: Any) -> Provider:
    usual: dict[str, Any] = {
        "name": "own",
        "base_url": "https://own.example/v1",
        "key_env": "OWN_KEY",
    }
    return Provider(**{**usual, "wire": Wire(), **given})


@pytest.mark.parametrize("name", ["OPENAI", "AZURE", "OPENROUTER", "OLLAMA", "OPENAI_COMPATIBLE"])
def test_built_in_providers_conform(name: str) -> None:
    check_provider(getattr(providers, name), CHAT, "139 m")


def test_the_anthropic_provider_conforms() -> None:
    reply = {"content": [{"type": "text", "text": "139 m"}], "stop_reason": "end_turn"}
    check_provider(providers.ANTHROPIC, msgspec.json.encode(reply), "139 m")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"wire": Forgetful()}, "the request body lacks the prompt's text 'Be “brief”.'"),
        ({"wire": Trusting()}, "read_body failed on b''"),
        ({"wire": Lenient()}, "read_body took b'' for a reply"),
        ({"base_url": "http://own.example"}, "prompts and keys need https"),
        ({"base_url": "own.example"}, "base_url: "),
        ({"base_url": None}, "a provider needs base_url"),
        ({"key_env": None}, "must name key_env"),
        ({"make_headers": lambda key: {}}, "no header carries the key"),
        ({"batches": Gratis()}, "price_share 0.0: expected above 0, up to 1"),
        ({"make_url": lambda base, model: "https://evil.example"}, "make_url left the host"),
    ],
)
def test_broken_providers_are_told(given: dict[str, Any], told: str) -> None:
    check_provider(make_provider(), CHAT, "139 m")
    with pytest.raises(AssertionError) as caught:
        check_provider(make_provider(**given), CHAT, "139 m")
    assert told in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("-- title: Faithfulness", "-- nonsense: x", "expected -- KEY: … out of"),
        ("join eval_items", "join no_such_table", "no_such_table"),
        (" as cluster_id", "", "cluster_id"),
        ("where run_id = :run_id", "where run_id = 'no such run'", "counts nothing in any run"),
    ],
)
def test_broken_metrics_are_told(tmp_path: Path, old: str, new: str, told: str) -> None:
    text = (METRICS / "faithfulness.sql").read_text("utf-8")
    assert old in text
    file = tmp_path / "own.sql"
    file.write_text(text, encoding="utf-8")
    check_metric(file)
    file.write_text(text.replace(old, new), encoding="utf-8")
    with pytest.raises(AssertionError) as caught:
        check_metric(file)
    assert told in str(caught.value)
