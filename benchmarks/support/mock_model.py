"""A model that knows the truth, behind a small fast server in the OpenAI format.

    with MockModel(latency=0.2) as model:
        model.url                       # base URL in the OpenAI format
        model.read_stats()              # requests by what became of them

It serves from a process of its own, so that its work is in nobody's CPU time. It replies to our
prompts claim by claim as ``judge_cases`` has it. To everybody else it replies with what their
JSON schema, tool or prompt asks for; of the truth there is nothing in that.

Faults come by share of the requests, seeded, in the order of arrival: ``malformed`` (a reply that
is no JSON), ``500``, ``429`` and ``hang``. With ``skew`` above 1 they hit bad answers that many
times as often as good ones, at the same share overall.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
import subprocess
import sys
import urllib.request
from collections import Counter
from pathlib import Path
from typing import Any, Self

if __name__ == "__main__":  # started as a file: the rest of the benchmarks is beside it
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from support.judge_cases import is_true, make_judge_cases, strip_figures

RETRY_AFTER = "0.05"
_FENCE = re.compile(r"⟦(?P<label>[cs]\d+) (?P<mark>\w+)⟧\n(?P<text>.*?)\n⟦end (?P=label) ", re.S)
_PIECE = re.compile(r'^\{"id": "[cs]\d+".*\}$', re.M)
_BAD_SHARE = 0.4  # of false claims: from here on an answer is bad
_REASON = {"reason": "by rule"}


class MockModel:
    """The server as a context. ``cases`` and ``seed`` are those of ``make_judge_cases``.

    Further options: ``latency``, ``faults``, ``fault_seed`` and ``skew``.
    """

    def __init__(self, **options: Any) -> None:
        self._options = options
        self.url = ""

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            [sys.executable, __file__, json.dumps(self._options)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        self.url = self._process.stdout.readline().strip()
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()

    def read_stats(self) -> dict[str, int]:
        """Return the number of requests, in all and by fault."""
        with urllib.request.urlopen(f"{self.url}/stats") as response:
            found: dict[str, int] = json.load(response)
        return found


# What it replies


def reply_to(body: dict[str, Any], facts: dict[str, str]) -> dict[str, Any]:
    """Return the message that answers a request."""
    said = "\n".join(_read_content(message) for message in body["messages"])
    tools = body.get("tools")
    if tools:
        function = tools[0]["function"]
        filled = json.dumps(fill_schema(function["parameters"], {}))
        call = {"name": function["name"], "arguments": filled}
        calls = [{"id": "call_1", "type": "function", "function": call}]
        return {"role": "assistant", "content": None, "tool_calls": calls}
    text = _reply_to_ours(said, facts)
    if text is None:
        schema = body.get("response_format", {}).get("json_schema", {}).get("schema")
        text = json.dumps(fill_schema(schema, schema.get("$defs", {}))) if schema else _guess(said)
    return {"role": "assistant", "content": text}


def _read_content(message: dict[str, Any]) -> str:
    content = message["content"]
    if isinstance(content, list):
        return "\n".join(part.get("text", "") for part in content)
    return content or ""


def _reply_to_ours(said: str, facts: dict[str, str]) -> str | None:
    fenced = [(found["label"], found["text"]) for found in _FENCE.finditer(said)]
    if fenced and fenced[0][0].startswith("c"):
        claims = [{"id": label, **_judge(text, facts)} for label, text in fenced]
        return json.dumps({"claims": claims}, ensure_ascii=False)
    if fenced:
        grounded = "⟦d1 " in said
        pieces = [
            {"id": label, "claims": [{"text": text, **_judge(text, facts)} if grounded else text]}
            for label, text in fenced
        ]
        return json.dumps({"pieces": pieces}, ensure_ascii=False)
    lines = [json.loads(line) for line in _PIECE.findall(said)]
    if not lines:
        return None
    labelled = [{"id": line["id"], "claims": [_label(line["text"], facts)]} for line in lines]
    summary = "Judged by rule."
    return json.dumps({"pieces": labelled, "summary_basis": summary}, ensure_ascii=False)


def _label(text: str, facts: dict[str, str]) -> dict[str, str]:
    label = {True: "true", False: "false", None: "unverifiable"}[is_true(text, facts)]
    return {"text": text, "label": label, "decision_basis": "The figure is known by rule."}


def _judge(text: str, facts: dict[str, str]) -> dict[str, str]:
    true = is_true(text, facts)
    verdict = {True: "supported", False: "contradicted", None: "unlinked"}[true]
    quote = facts.get(strip_figures(text), "")
    source = "d1" if quote else ""
    basis = "The figure is compared."
    return {"verdict": verdict, "quote": quote, "source": source, "exceeds": "", "basis": basis}


def fill_schema(schema: dict[str, Any], defs: dict[str, Any]) -> Any:
    """Return a value that follows a JSON schema: eight entries in a list, the first of choices."""
    defs = schema.get("$defs", defs)
    if "$ref" in schema:
        return fill_schema(defs[schema["$ref"].rsplit("/", 1)[-1]], defs)
    for key in ("anyOf", "allOf", "oneOf"):
        if key in schema:
            return fill_schema(schema[key][0], defs)
    if "enum" in schema:
        return schema["enum"][0]
    kind = schema.get("type", "object")
    if kind == "object":
        return {name: fill_schema(own, defs) for name, own in schema["properties"].items()}
    if kind == "array":
        return [fill_schema(schema["items"], defs)] * 8
    return {"string": "yes", "integer": 1, "number": 1.0, "boolean": True}.get(kind)


def _guess(said: str) -> str:
    """Return a text that all rivals without a schema can read: several answers in one object."""
    texts = [f"The town hall was rebuilt in 117{n}." for n in range(8)]
    verdicts = [{"verdict": "yes", "statement": t, **_REASON} for t in texts]
    if "Return each sentence on a new line" in said:
        return "\n".join(texts)
    if "IMPORTANT STATEMENTS" in said:
        return json.dumps(texts)
    if "GRADE:" in said:
        return "The figures agree.\n\nGRADE: C"
    if "Supporting Evidence" in said or "Score:" in said:
        return "Criteria: it is there\nSupporting Evidence: the source says so\nScore: 3"
    if '"verdict": 1' in said or "faithfulness of a series of statements" in said:
        judged = [{"statement": t, "verdict": 1, **_REASON} for t in texts]
        return json.dumps({"statements": judged})
    more = {"truths": texts, "claims": texts, "verdicts": verdicts, "score": 1, **_REASON}
    return json.dumps({"statements": texts, **more})


# How it serves


class Server:
    """Decides what becomes of requests; every connection asks it."""

    def __init__(self, options: dict[str, Any]) -> None:
        cases = make_judge_cases(options.get("cases", 200), seed=options.get("seed", 0))
        sentences = (s for case in cases for s in re.findall(r"[^.]+\.", case.source))
        self.facts = {strip_figures(s): s.strip() for s in sentences}
        self.latency: float = options.get("latency", 0.0)
        self.stats: Counter[str] = Counter(requests=0)
        self._faults: dict[str, float] = options.get("faults", {})
        self._skew: float = options.get("skew", 1.0)
        bad = sum(_is_bad(case.truth.count(False), len(case.truth)) for case in cases)
        self._usual: float = len(cases) / (self._skew * bad + len(cases) - bad)
        self._random = random.Random(options.get("fault_seed", 0))

    def answer(self, body: dict[str, Any]) -> bytes | None:
        """Return the whole response to a request; None is for ever."""
        self.stats["requests"] += 1
        message = reply_to(body, self.facts)
        fault = self._choose_fault(message)
        if fault != "good":
            self.stats[fault] += 1
        if fault == "hang":
            return None
        if fault in ("429", "500"):
            more = f"Retry-After: {RETRY_AFTER}\r\n" if fault == "429" else ""
            return make_response(int(fault), {"error": {"message": f"injected {fault}"}}, more)
        if fault == "malformed":
            message = {**message, "content": message["content"][:40] + " … and so on"}
        finish = "tool_calls" if "tool_calls" in message else "stop"
        choice = {"index": 0, "message": message, "finish_reason": finish, "logprobs": None}
        usage = {"prompt_tokens": 900, "completion_tokens": 300, "total_tokens": 1200}
        head = {"id": "r", "object": "chat.completion", "created": 1, "model": body["model"]}
        return make_response(200, {**head, "choices": [choice], "usage": usage})

    def answer_input(self, body: dict[str, Any]) -> bytes:
        """Return the response in OpenAI's newer format, which trulens speaks; without faults."""
        self.stats["requests"] += 1
        said = body["input"]
        messages = [{"content": said}] if isinstance(said, str) else said
        form = {"json_schema": body.get("text", {}).get("format", {})}
        text = reply_to({"messages": messages, "response_format": form}, self.facts)["content"]
        content = [{"type": "output_text", "text": text, "annotations": []}]
        message = {"type": "message", "id": "m", "role": "assistant", "status": "completed"}
        return make_response(
            200,
            {
                "id": "r",
                "object": "response",
                "created_at": 1,
                "status": "completed",
                "model": body["model"],
                "output": [{**message, "content": content}],
                "parallel_tool_calls": False,
                "tool_choice": "auto",
                "tools": [],
            },
        )

    def _choose_fault(self, message: dict[str, Any]) -> str:
        drawn = self._random.random()
        if self._faults and self._skew != 1.0:
            drawn /= self._weigh(message["content"] or "")
        for fault, share in self._faults.items():
            drawn -= share
            if drawn < 0:
                return fault
        return "good"

    def _weigh(self, text: str) -> float:
        """Return how many times the usual share of faults a reply gets; 1 over all answers."""
        false = text.count('"false"') + text.count('"contradicted"')
        true = text.count('"true"') + text.count('"supported"')
        return self._usual * (self._skew if _is_bad(false, true + false) else 1.0)


def _is_bad(false: int, claims: int) -> bool:
    return false >= _BAD_SHARE * claims


def make_response(status: int, content: dict[str, Any], more: str = "") -> bytes:
    """Return a response in one piece."""
    body = json.dumps(content).encode()
    head = f"HTTP/1.1 {status} X\r\nContent-Type: application/json\r\n{more}"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


async def serve(options: dict[str, Any]) -> None:
    """Serve until killed; print the address first."""
    server = Server(options)

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while head := await _read_head(reader):
            length = re.search(rb"content-length: *(\d+)", head, re.I)
            content = await reader.readexactly(int(length[1])) if length else b""
            path = head.split(b" ", 2)[1]
            if path.endswith(b"/stats"):
                response: bytes | None = make_response(200, dict(server.stats))
            else:
                answer = server.answer_input if path.endswith(b"/responses") else server.answer
                response = answer(json.loads(content))
                if server.latency:
                    await asyncio.sleep(server.latency)
            if response is None:
                await reader.read()  # until the client goes
                break
            writer.write(response)
        writer.close()

    listening = await asyncio.start_server(talk, "127.0.0.1", 0, backlog=512)
    port = listening.sockets[0].getsockname()[1]
    print(f"http://127.0.0.1:{port}/v1", flush=True)
    await listening.serve_forever()


async def _read_head(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, ConnectionError):
        return b""


if __name__ == "__main__":
    asyncio.run(serve(json.loads(sys.argv[1])))
