"""Answers from the spans of a trace: question, final answer, evidence and actions of each turn.

What the outermost span says is what the user saw. Where it says nothing, the last generation has
the answer and the first one the question. A turn's evidence is what was retrieved and what tools
returned in it; what the user said is none.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import msgspec

from claimwise.readers.traces.documents import (
    DOCUMENT_FIELDS,
    list_passages,
    looks_like_documents,
)
from claimwise.readers.traces.messages import (
    ANSWERING_TOOLS,
    Message,
    ToolResult,
    find_final_call,
    read_messages,
    strip_thoughts,
    unwrap_result,
)
from claimwise.readers.traces.plain import find_answer_text, find_named_answer, find_question
from claimwise.readers.traces.spans import TraceSpan, Tree
from claimwise.readers.traces.values import decode_nested_json, to_json_text
from claimwise.types.traces import Passage, ToolCall

_FINAL = "Final Answer:"
# Some agents write “Action: …” and are told what came of it as if by the user.
_WRITTEN_ACTION = "that its text names"


class Turn(msgspec.Struct):
    """One question with what came of it, as far as messages or spans tell."""

    question: str = ""
    answer: str = ""
    calls: list[ToolCall] = []
    results: list[ToolResult] = []
    documents: list[Passage] | None = None
    # The tool whose call is the last thing that is known of the turn.
    waits_for: str | None = None
    reasoning: int = 0


class Understood(NamedTuple):
    """What the spans of a trace came to: turns that have an answer, or why there is none."""

    turns: list[Turn]
    problem: str | None
    question: str | None = None


class Exchange(NamedTuple):
    """What one span heard and said."""

    turns: list[Turn]
    question: str | None
    answer: str | None
    waits_for: str | None
    reasoning: int
    # What a step returned that is no text and has no name that says “answer”.
    perhaps: str | None = None


# Conversations.


def split_turns(messages: Iterable[Message]) -> list[Turn]:
    """Cut a conversation where the user speaks again after being answered.

    The question is the last thing that the user said before the assistant did anything. The
    answer is what the assistant said last, unless a tool call came with it or after it.
    """
    turns: list[Turn] = [Turn()]
    asked_for_final = False
    for message in messages:
        asked_for_final = asked_for_final or (
            message.role in ("system", "user") and _FINAL in message.text
        )
        turn = turns[-1]
        if message.role == "user" and message.text:
            if turn.waits_for == _WRITTEN_ACTION:
                turn.results.append(ToolResult(message.text))
                turn.waits_for = None
                continue
            if turn.answer or turn.calls or turn.results:
                turn = Turn()
                turns.append(turn)
            turn.question = message.text.strip()
        turn.results.extend(message.results)
        if message.role == "assistant":
            _hear(turn, message, asked_for_final)
        elif message.results:
            turn.answer = ""
    return turns


def _hear(turn: Turn, message: Message, asked_for_final: bool) -> None:
    turn.reasoning += message.reasoning
    turn.calls.extend(message.calls)
    handed = find_final_call(message.calls)
    if handed is not None:
        turn.answer, turn.waits_for = handed, None
    elif len(message.calls) > len(message.results):
        turn.answer, turn.waits_for = "", message.calls[-1].name
    elif message.text:
        said = strip_thoughts(message.text, asked_for_final=asked_for_final)
        turn.answer, turn.waits_for = said.text, None if said.text else _WRITTEN_ACTION
        turn.reasoning += said.reasoning


# One span.


def read_exchange(span: TraceSpan) -> Exchange:
    """Return what a span heard and said, from messages if there are any."""
    heard = _first(map(read_messages, span.inputs)) or []
    said = _first(map(read_messages, span.outputs)) or []
    whole = said if any(m.role == "user" and m.text for m in said) else [*heard, *said]
    turns = split_turns(whole)
    last = turns[-1]
    question = last.question or (None if heard else _first(map(find_question, span.inputs)))
    answer, reasoning = _find_spoken(span, said, last, heard)
    perhaps = (
        None if said or answer else _first(find_answer_text(v, sure=False) for v in span.outputs)
    )
    waits_for = last.waits_for if said else None
    return Exchange(turns, question, answer, waits_for, reasoning, perhaps)


def _find_spoken(
    span: TraceSpan, said: list[Message], last: Turn, heard: list[Message]
) -> tuple[str | None, int]:
    """Return the answer that a span gave, and the thoughts that were taken out of it."""
    named = _first(map(find_named_answer, span.outputs))
    if named is None and said:
        # Thoughts in what was heard are those of spans before this one.
        return last.answer or None, split_turns(said)[-1].reasoning
    # What a model writes is its answer, also where it is JSON.
    sure = span.kind != "generation"
    plain = named or _first(
        find_answer_text(v, sure=sure) for v in span.outputs if not read_messages(v)
    )
    if plain is None:
        return None, 0
    asked = any(_FINAL in m.text for m in heard if m.role in ("system", "user"))
    cleaned = strip_thoughts(plain, asked_for_final=asked)
    return cleaned.text or None, cleaned.reasoning


def _first(found: Iterable[Any]) -> Any:
    return next((value for value in found if value), None)


# A trace.


def understand(spans: Sequence[TraceSpan]) -> list[Understood]:
    """Return what the spans of one trace came to; several exchanges in it stand for themselves."""
    tree = Tree(spans)
    roots = _find_turn_roots(tree)
    if len(roots) < 2 and not any(tree.spans[root].turn for root in roots):
        return [_Trace(tree).understand()]
    # A voice agent records what the user said in a span of its own, before the answer's.
    spoken = [n for n, span in enumerate(tree.spans) if span.name == "user_turn" and span.inputs]
    found = []
    groups = tree.split(roots)
    for root in roots:
        before = bisect_left(spoken, root)
        said = tree.spans[spoken[before - 1]].inputs if before else []
        heard = _first(map(find_question, said))
        one = _Trace(Tree(groups[root])).understand()
        if one.question is None and heard and one.turns:
            one.turns[-1].question = heard
            one = Understood(one.turns, None, heard)
        found.append(one)
    return found


def _find_turn_roots(tree: Tree) -> list[int]:
    turns = [n for n, span in enumerate(tree.spans) if span.turn]
    if turns:
        return turns
    whole = any(span.whole_trace for span in tree.spans)
    talking = tree.find_above(n for n, s in enumerate(tree.spans) if s.kind == "generation")
    roots = [n for n, parent in enumerate(tree.parents)
             if parent is None and not tree.spans[n].parent_id]  # fmt: skip
    talks = [n for n in roots if n in talking or tree.spans[n].outputs]
    asks = [n for n in talks if tree.spans[n].kind != "skipped" and tree.spans[n].inputs]
    return [] if whole or len(asks) < len(talks) else asks


class _Trace:
    """Finds the answers of one trace; its spans are each read once."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.spans = tree.spans
        self._read: dict[int, Exchange] = {}
        self.generations = [n for n, s in enumerate(self.spans) if s.kind == "generation"]
        self.holders = self._find_holders()

    def _find_holders(self) -> list[int]:
        """Return the spans that may speak for the whole, the outermost first."""
        above = self.tree.find_above(self.generations)
        for number, span in enumerate(self.spans):
            inner = number not in above and self.tree.parents[number] is not None
            if inner and span.kind == "step" and span.outputs and "retriev" in span.name.lower():
                span.kind = "retrieval"  # tools without a kind for it leave the name
        chosen = [
            number
            for number, span in enumerate(self.spans)
            if span.kind == "step" and (number in above or not self.generations)
        ]
        roots = [n for n in self.generations if self.tree.parents[n] is None]
        return sorted([*chosen, *roots], key=lambda n: self.tree.depths[n])

    def read(self, number: int) -> Exchange:
        """Return what a span heard and said."""
        if number not in self._read:
            self._read[number] = read_exchange(self.spans[number])
        return self._read[number]

    def understand(self) -> Understood:
        """Return the turns of the trace, the last one with the evidence of its spans."""
        answer, speaker, waits_for = self._find_answer()
        question, turns = self._find_question(speaker)
        last = Turn((question or "").strip(), (answer or "").strip())
        last.reasoning = self._count_thoughts(speaker) if speaker is not None else 0
        if turns and (turns[-1].question == last.question or not last.question):
            last.calls, last.results = turns[-1].calls, turns[-1].results
        earlier = [t for t in turns[:-1] if t.question and t.answer]
        self._give_evidence(earlier, last)
        if not last.answer:
            why = None if earlier else self._explain(waits_for)
            return Understood(earlier, why, question)
        if not last.question and not earlier:
            fields = ", ".join(self.spans[0].fields) if self.spans else ""
            told = f" (it has {fields})" if fields else ""
            return Understood([last], f"no question in it{told}", None)
        return Understood([*earlier, last], None, question)

    def _find_question(self, speaker: int | None) -> tuple[str | None, list[Turn]]:
        """Return the question, and the conversation that it stands in, if there is one.

        Where no outer span has it, the generation that gave the answer has; what came before it
        in its prompt is a turn of this trace if a generation of this trace said it.
        """
        for number in self.holders:
            exchange = self.read(number)
            if exchange.question:
                return exchange.question, exchange.turns
        inner = speaker is not None and self.spans[speaker].kind == "generation"
        end = speaker if inner and speaker is not None else len(self.spans)
        for number in (n for n in reversed(self.generations) if n <= end):
            exchange = self.read(number)
            if exchange.question:
                said = {self.read(n).answer for n in self.generations}
                earlier = [turn for turn in exchange.turns[:-1] if turn.answer in said]
                return exchange.question, [*earlier, exchange.turns[-1]]
        given = (value for n in self.holders for value in self.spans[n].inputs)
        unsure = (find_question(value, sure=False) for value in given)
        searched = (find_question(v) for s in self.spans if s.kind == "retrieval" for v in s.inputs)
        return _first(unsure) or _first(searched), []

    def _find_answer(self) -> tuple[str | None, int | None, str | None]:
        """Return the answer and the span that gave it, or the tool that was called instead."""
        outer = sorted(self.holders, key=lambda n: (self.tree.depths[n], -n))
        last = [n for n in reversed(self.generations) if self._has_output(n)][:1]
        # A holder that ends with a call has said all it knows: inner steps don't answer for it.
        waiting = next((k for k, n in enumerate(outer) if self.read(n).waits_for), len(outer))
        for number in [*outer[: waiting + 1], *last]:
            if self.read(number).answer:
                return self.read(number).answer, number, None
        for number in outer[:waiting]:
            if self.read(number).perhaps:
                return self.read(number).perhaps, number, None
        return None, None, _first(self.read(n).waits_for for n in [*outer, *last])

    def _has_output(self, number: int) -> bool:
        exchange = self.read(number)
        return bool(exchange.answer or exchange.waits_for)

    def _count_thoughts(self, speaker: int) -> int:
        """Count the thoughts of the whole turn: generations record them, outer spans may not."""
        inner = sum(self.read(n).reasoning for n in self.generations if n != speaker)
        return max(self.read(speaker).reasoning, inner)

    def _explain(self, waits_for: str | None) -> str:
        """Return why there is no answer."""
        error = next((span.error for span in self.spans if span.error), None)
        if error:
            return f"the call failed and there is no answer: {error}"
        if waits_for:
            return f"it ends with a call of the tool {waits_for}: no answer was recorded"
        unrecorded = next((span.unrecorded for span in self.spans if span.unrecorded), None)
        if unrecorded:
            return f"no answer in it: {unrecorded}"
        kinds = Counter(span.kind for span in self.spans)
        if kinds["generation"]:
            return "the generation span has no output recorded (is the capture of content on?)"
        if kinds["skipped"] == len(self.spans) and self.spans:
            one, what = len(self.spans) == 1, self.spans[0].what
            article = "an" if what[:1] in "aeiou" else "a"
            single = f"{article} {what.removesuffix('s')}: no answer in it"
            return single if one else f"only {what}: no answer in them"
        if kinds["retrieval"] + kinds["tool"] == len(self.spans):
            what = "retrieval" if kinds["retrieval"] else "tool"
            return f"a {what} span without the span of its answer"
        fields = ", ".join(dict.fromkeys(f for span in self.spans for f in span.fields))
        return f"no answer in it (it has {fields[:300]})" if fields else "no answer in it"

    # Evidence.

    def _give_evidence(self, earlier: Sequence[Turn], last: Turn) -> None:
        """Hand what spans retrieved and returned to their turns; the last takes the rest."""
        ends = self._find_ends(earlier)
        gathered = [_Evidence(turn) for turn in [*earlier, last]]
        for number, span in enumerate(self.spans):
            gathered[bisect_left(ends, number)].take_span(span)
        for number in self.generations:
            # Tool messages of the turn, not of what came before it.
            gathered[bisect_left(ends, number)].take_turn(self.read(number).turns[-1])
        for one in gathered:
            one.give()

    def _find_ends(self, earlier: Sequence[Turn]) -> list[int]:
        """Return the generation that ended each earlier turn, where this trace has it."""
        said = {self.read(n).answer: n for n in reversed(self.generations)} if earlier else {}
        ends: list[int] = []
        for turn in earlier:
            ends.append(max(said.get(turn.answer, -1), ends[-1] if ends else -1))
        return ends


class _Evidence:
    """Gathers a turn's evidence and actions, each once, whoever recorded it again."""

    def __init__(self, turn: Turn) -> None:
        self.turn = turn
        self._passages: dict[Passage, None] = {}
        self._joined: dict[Passage, None] = {}
        self._recorded = False
        self._outputs: dict[str, ToolResult] = {}
        self._ids: set[str] = set()
        self._calls: dict[tuple[str, str], ToolCall] = {}
        self._call_ids: set[str] = set()

    def take_span(self, span: TraceSpan) -> None:
        """Take a span's documents, its tool's output, and its call."""
        if span.documents is not None:
            self._recorded = True
            self._passages.update(dict.fromkeys(list_passages(span.documents)))
        if span.kind == "retrieval" and span.documents is None:
            self._recorded = self._recorded or bool(span.outputs)
            self._passages.update(
                dict.fromkeys(list_passages(_first(map(decode_nested_json, span.outputs))))
            )
        elif span.kind == "tool" and span.tool is not None:
            self._take_call(span.tool)
            text = _first(map(unwrap_result, span.outputs))
            if text:
                self._take_result(ToolResult(text, span.tool.name, span.tool.call_id))
        else:
            self._take_fields(span)
        for call in span.calls:
            self._take_call(call)

    def _take_fields(self, span: TraceSpan) -> None:
        """Take documents that stand in a step's input or output."""
        for value in (decode_nested_json(v) for v in [*span.outputs, *span.inputs]):
            if looks_like_documents(value):
                self._recorded = True
                self._passages.update(dict.fromkeys(list_passages(value)))
            elif isinstance(value, dict):
                self._take_named(value)

    def _take_named(self, table: dict[str, Any]) -> None:
        for name in DOCUMENT_FIELDS:
            found = table.get(name)
            if looks_like_documents(found) or _is_texts(name, found):
                self._recorded = True
                self._passages.update(dict.fromkeys(list_passages(found)))
            elif name in ("context", "context_str") and isinstance(found, str) and found.strip():
                self._joined[Passage(text=found)] = None

    def take_turn(self, turn: Turn) -> None:
        """Take what messages say of calls and results."""
        for call in turn.calls:
            self._take_call(call)
        for result in turn.results:
            self._take_result(result)

    def _take_call(self, call: ToolCall) -> None:
        """Take a call once: a span and a message may both tell of it, maybe only one its id."""
        if call.name in ANSWERING_TOOLS or (call.call_id and call.call_id in self._call_ids):
            return
        key = (call.name, _canonical(call.arguments))
        known = self._calls.get(key)
        self._call_ids.add(call.call_id or "")
        if known is None or (known.call_id is None and call.call_id):
            self._calls[key] = call
        elif known.call_id and call.call_id:
            self._calls[call.name, call.call_id] = call  # the same again is another call

    def _take_result(self, result: ToolResult) -> None:
        told = result.call_id is not None and result.call_id in self._ids
        if not result.text.strip() or told or result.name in ANSWERING_TOOLS:
            return  # what an answering tool returns is the answer, no evidence for it
        if result.call_id:
            self._ids.add(result.call_id)
        self._outputs.setdefault(_canonical(result.text), result)

    def give(self) -> None:
        """Write what was gathered into the turn."""
        self.take_turn(Turn(calls=self.turn.calls, results=self.turn.results))
        names = {call.call_id: call.name for call in self._calls.values() if call.call_id}
        passages = list(self._passages) or list(self._joined)
        outputs = [
            Passage(text=r.text, title=r.name or names.get(r.call_id or ""), kind="tool_output")
            for r in self._outputs.values()
        ]
        recorded = self._recorded or passages or outputs
        self.turn.documents = [*passages, *outputs] if recorded else None
        self.turn.calls = list(self._calls.values())


def _is_texts(name: str, value: Any) -> bool:
    named = name not in ("results", "nodes", "matches", "sources", "docs")
    return (
        named and isinstance(value, list) and bool(value) and all(isinstance(p, str) for p in value)
    )


def _canonical(text: str | None) -> str:
    """Return a text as it is the same however JSON is spaced."""
    found = decode_nested_json(text)
    return (to_json_text(found) or "").strip()
