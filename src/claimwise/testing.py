"""Conformance suites that a plug-in's own tests call.

Each function takes what an entry point names, or what that loads, tries it as claimwise would, and
raises AssertionError with one line that says what is wrong::

    def test_my_judge():
        check_judge(my_package.JUDGE)

No suite says how good a judge is: for that, measure it with ``claimwise bench-verifier``.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import EntryPoint
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec

from claimwise.demo import write_demo
from claimwise.errors import ClaimwiseError, InputError, PluginError, Problem
from claimwise.judges.outside import Judge, OutsideVerifier
from claimwise.llm.addresses import is_loopback_origin, read_origin
from claimwise.llm.providers import Destination, Endpoint, Provider, make_url
from claimwise.llm.wire import Reading
from claimwise.metrics import estimate_metric
from claimwise.metrics.catalogue import parse_metric
from claimwise.readers.outside import OutsideReader, Reader
from claimwise.registry import Entry, Group, Plugin
from claimwise.store import open_store
from claimwise.types.llm import LlmCall
from claimwise.types.rows import Source
from claimwise.types.verdicts import AnswerClaim, CheckRequest, ClaimVerdict

__all__ = ["check_judge", "check_metric", "check_provider", "check_reader"]

_TOWER = "The Kestrel Tower is 139 m tall. It was opened in 1931 by the mayor of Ostrava."
_CLAIMS = (
    "The Kestrel Tower is 139 m tall.",
    "The Kestrel Tower is 200 m tall.",
    "The tower's café sells cherry cake.",
    "Die Türme sind grün. 塔高139米。 🙂",
    "?",
)
_SAMPLE_KEY = "sk-conformance-0123456789abcdef"
# Content that no special reader may take for its own.
_FOREIGN = {
    "empty": b"",
    "zeros": bytes(512),
    "prose": b"Dear all,\nthe tower is open again.\n",
    "our own sources": b'{"source_id": "s", "source_text": "t", "corpus_ver": "v1"}\n',
}
_HEAD_BYTES = 65_536


def check_judge(judge: Judge | Plugin[Judge]) -> None:
    """Check a judge: verdicts for every claim in order, sound scores and spans, no moods.

    Raises:
        AssertionError: it breaks its contract.
    """
    with _telling():
        verifier = OutsideVerifier(_make_entry("judges"), _load(judge))
        found = [_judge(verifier, sources) for sources in _list_sources()]
        again = [_judge(verifier, sources) for sources in reversed(_list_sources())]
        _require(found == again[::-1], "the judge gave other verdicts when it was asked again")
        scored = [one for verdicts in found for one in verdicts if one.verdict is not None]
        _require(bool(scored), "the judge left every claim unscored, even plain ones")
        _require(verifier.judge_answer([], _make_request(()))[0] == [], "no claims, no verdicts")
        for document in (_TOWER, ""):
            scores = verifier.score_claims(_CLAIMS, document)
            alone = [verifier.score_claims([claim], document)[0] for claim in _CLAIMS]
            _require(
                _round(scores) == _round(alone), "a claim's scores depend on the claims around it"
            )
        _require(verifier.score_claims([], _TOWER) == [], "no claims, no scores")


def _list_sources() -> list[tuple[Source, ...]]:
    one = Source(source_id="tower", source_text=_TOWER, corpus_ver="v1")
    blank = Source(source_id="blank", source_text=" \n", corpus_ver="v1")
    return [(one,), (one, blank), (blank,), ()]


def _make_request(sources: tuple[Source, ...]) -> CheckRequest:
    return CheckRequest(answer=" ".join(_CLAIMS), sources=sources, question="How tall is it?")


def _judge(verifier: OutsideVerifier, sources: tuple[Source, ...]) -> list[ClaimVerdict]:
    request = _make_request(sources)
    places = [request.answer.index(text) for text in _CLAIMS]
    claims = [
        AnswerClaim(text=text, start=start, end=start + len(text), wording=text)
        for text, start in zip(_CLAIMS, places, strict=True)
    ]
    return verifier.judge_answer(claims, request)[0]


def _round(scores: list[Any]) -> list[Any]:
    """Return scores with the digits that a sum's order may change cut off."""
    return [
        None
        if one is None
        else tuple(round(part, 4) for part in (one.supports, one.contradicts, one.neither))
        for one in scores
    ]


def check_reader(reader: Reader | Plugin[Reader], sample: Path) -> None:
    """Check a reader with a file of its format that has at least one record and no mistake.

    Raises:
        AssertionError: it breaks its contract.
    """
    with _telling():
        checked = OutsideReader(_make_entry("readers"), _load(reader))
        before = sample.read_bytes() if sample.is_file() else None
        _check_recognition(checked, sample, before)
        first = list(checked.read(sample, {}))
        _require(bool(first), f"read yielded nothing from {sample.name}")
        for line, record in first:
            _require(not isinstance(record, Problem), f"{sample.name}:{line}: {record}")
            _require(line >= 1, f"found the line {line}, expected 1 or more")
        _require(first == list(checked.read(sample, {})), "reading twice gave other records")
        if before is not None:
            _require(sample.read_bytes() == before, "the reader changed the file")
            _check_damaged(checked, sample, before)


def _check_recognition(reader: OutsideReader, sample: Path, data: bytes | None) -> None:
    head = b"" if data is None else data[:_HEAD_BYTES]
    _require(reader.recognise(sample, head) is not None, f"recognise does not know {sample.name}")
    for what, content in _FOREIGN.items():
        score = reader.recognise(Path("unknown.data"), content)
        _require(score is None, f"recognise takes other content ({what}) for its own: {score}")


def _check_damaged(reader: OutsideReader, sample: Path, data: bytes) -> None:
    """Read damaged files: whatever is wrong is a Problem or an InputError, never another error."""
    with TemporaryDirectory() as folder:
        for number, content in enumerate((b"", data[: len(data) // 2], b"\xff\xfe\x00" + data)):
            damaged = Path(folder) / f"{number}-{sample.name}"
            damaged.write_bytes(content)
            try:
                list(reader.read(damaged, {}))
            except InputError:
                continue


def check_provider(provider: Provider | Plugin[Provider], reply: bytes, text: str) -> None:
    """Check a provider with the body of a good response, and the text that the model says in it.

    Raises:
        AssertionError: it breaks its contract.
    """
    with _telling():
        entry = _make_entry("providers")
        checked = _load(provider)
        _require(isinstance(checked, Provider), f"found a {type(checked).__name__}, no Provider")
        base = _check_address(checked)
        endpoint = Endpoint(
            provider=checked,
            model="model-1",
            url=make_url(checked, base.rstrip("/"), "model-1", None, entry),
            usual=False,
            key=_SAMPLE_KEY,
            destination=Destination(
                provider=checked.name,
                origin=read_origin(base),
                named_by=None,
                key_variable=checked.key_env,
                needs_word=False,
            ),
            entry=entry,
        )
        _require(_SAMPLE_KEY not in endpoint.url, "the key must be in a header, not in the address")
        headers = endpoint.make_headers()
        carried = any(_SAMPLE_KEY in value for value in headers.values())
        _require(carried or not checked.key_needed, "no header carries the key")
        _check_wire(endpoint, reply, text)
        _check_batches(endpoint)


def _check_batches(endpoint: Endpoint) -> None:
    """Check what a provider says of batches without asking it: limits, price, and one request."""
    api = endpoint.batches
    if api is None:
        return
    _require(api.most_requests > 0 and api.most_bytes > 0, "a batch must take a request")
    _require(0 < api.price_share <= 1, f"price_share {api.price_share}: expected above 0, up to 1")
    line = api.write_request("name-1", b'{"model":"model-1"}')
    whole = b"name-1" in line and b"\n" not in line
    _require(whole, "write_request must return one line with the id in it")


def _check_address(provider: Provider) -> str:
    base = provider.base_url or "https://host.example/v1"
    try:
        origin = read_origin(base)
    except ValueError as error:
        raise AssertionError(f"base_url: {error}") from error
    safe = origin.startswith("https://") or is_loopback_origin(origin) or provider.local
    _require(safe, f"base_url {base}: prompts and keys need https")
    named = bool(provider.base_url or provider.base_env)
    _require(named, "a provider needs base_url, or base_env for the user to set")
    if provider.key_needed:
        _require(bool(provider.key_env), "a provider that needs a key must name key_env")
    return base


def _check_wire(endpoint: Endpoint, reply: bytes, text: str) -> None:
    call = LlmCall(model="p:model-1", prompt="p@1", system="Be “brief”.", user="How tall is it?")
    features = [
        endpoint.features,
        msgspec.structs.replace(endpoint.features, schema=False, temperature=False),
    ]
    for asked in (call, msgspec.structs.replace(call, schema={"type": "object"})):
        for one in features:
            body = msgspec.json.encode(endpoint.wire.build_body(asked, "model-1", one)).decode()
            for part in (asked.system, asked.user):
                _require(part in body, f"the request body lacks the prompt's text {part!r}")
            _require(_SAMPLE_KEY not in body, "the key must not be in the request body")
    good = endpoint.wire.read_body(reply)
    _require(good.code is None, f"read_body refused the good reply: {good.code} {good.detail}")
    _require(good.text == text, f"read_body found {good.text!r}, expected {text!r}")
    for content in (b"", b"{}", b"[]", b"null", b"\xff", b"<html>", reply[: len(reply) // 2]):
        _check_bad_reply(endpoint, content)


def _check_bad_reply(endpoint: Endpoint, content: bytes) -> None:
    reading: Reading = endpoint.wire.read_body(content)
    shown = repr(content[:20])
    _require(reading.code is not None, f"read_body took {shown} for a reply: {reading.text!r}")
    _require(
        "does not work" not in reading.detail, f"read_body failed on {shown}: {reading.detail}"
    )


def check_metric(file: Path) -> None:
    """Check a metric file: its header, and what it counts in the runs of the demo (SQLite).

    Raises:
        AssertionError: it breaks its contract.
    """
    with _telling(), TemporaryDirectory() as folder:
        metric = parse_metric(file.stem, file.read_text("utf-8"), file.name)
        place = write_demo(Path(folder) / "demo")
        with open_store(str(place)) as store:
            runs = [row[0] for row in store.query("select run_id from runs order by run_id")]
            tables = [estimate_metric(store, metric, run_id) for run_id in runs]
        counted = [row for table in tables for row in table.overall if row.micro is not None]
        _require(bool(counted), f"{file.name}: counts nothing in any run of the demo")
        for row in counted:
            _require(0 <= (row.micro or 0) <= 1, f"{file.name}: found a rate of {row.micro}")


def _make_entry(group: Group) -> Entry:
    point = EntryPoint(name="under-test", value="tests:tested", group=f"claimwise.{group}")
    return Entry(group=group, name=point.name, package="this package", version="", point=point)


def _load(given: Any) -> Any:
    """Return what a plug-in loads, after a look at what it says of itself."""
    if not isinstance(given, Plugin):
        return given
    line: Any = given.description
    _require(isinstance(line, str) and bool(line.strip()), "the plug-in has no description")
    _require("\n" not in line, "the description must be one line")
    missing = given.find_missing()
    _require(missing is None, f"the plug-in can't be tried here: {missing}")
    size: Any = given.measure_size()
    _require(isinstance(size, int) and size >= 0, f"found the size {size!r}, expected bytes")
    _require(isinstance(given.card, str), "the card must be a link or a text")
    return given.load()


@contextmanager
def _telling() -> Iterator[None]:
    """Turn our errors into failed assertions, with the fault that caused them."""
    try:
        yield
    except PluginError as error:
        why = str(error).partition(" does not work: ")[2] or str(error)
        raise AssertionError(why.removesuffix("; update or uninstall this package")) from error
    except ClaimwiseError as error:
        raise AssertionError(str(error)) from error


def _require(holds: bool, message: str) -> None:
    if not holds:
        raise AssertionError(message)
