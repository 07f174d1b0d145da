from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from claimwise.llm.parsing import UnparsableError, ask_for, parse_reply
from claimwise.types.llm import LlmCall, LlmFailure, LlmReply


class Word(msgspec.Struct, forbid_unknown_fields=True):
    word: str
    count: int = 0


TEXT = st.characters(exclude_characters="\0", exclude_categories=["Cs"])
CALL = LlmCall(model="m:x", prompt="p@1", system="", user="")


@pytest.mark.parametrize(
    "text",
    [
        '{"word": "a"}',
        '  \n{"word": "a"}\n ',
        '```json\n{"word": "a"}\n```',
        '```\n{"word":\n"a"}\n```\n',
    ],
)
def test_whole_objects_are_read(text: str) -> None:
    assert parse_reply(text, Word) == Word(word="a")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "null",
        "[]",
        '"word"',
        '{"word": "a"} and so on',
        'Here it is: {"word": "a"}',
        '{"word": "a"}{"word": "b"}',
        '{"word": "a", "word": "b"}',
        '{"word": "a", "count": NaN}',
        '{"word": "a", "count": Infinity}',
        '{"word": "a", "count": "1"}',
        '{"word": "a", "more": 1}',
        '{"word": null}',
        "{}",
        '{"word": "a"',
        "{'word': 'a'}",
        '{"word": "a",}',
        '```json\n{"word": "a"}\n``` done',
        '```json\n{"word": "a"}',
        '````json\n{"word": "a"}\n````',
        '{"word": "a" /* why */}',
        "[" * 100_000,
        '{"word": "half of a pair: \\ud83d"}',
        '{"word": "\\u0000"}',
        '{"word": "\\\\\\u0000"}',
    ],
)
def test_nothing_is_mended(text: str) -> None:
    with pytest.raises(UnparsableError) as caught:
        parse_reply(text, Word)
    assert caught.value.code == "unparsable"
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) <= 200


def test_escapes_of_text_are_read() -> None:
    said = {"word": "😀 é \\u0000 is a NUL in C"}
    assert parse_reply(json.dumps(said), Word) == Word(word=said["word"])


def test_repeated_keys_are_found_at_any_depth() -> None:
    with pytest.raises(UnparsableError, match="a key twice"):
        parse_reply('{"a": [{"b": 1, "b": 2}]}', dict)


@given(st.text(max_size=30), st.text(max_size=30))
def test_text_around_the_object_is_never_skipped(before: str, after: str) -> None:
    whole = '{"word": "a"}'
    text = before + whole + after
    try:
        found = parse_reply(text, Word)
    except UnparsableError:
        assert before.strip() or after.strip() or not text.strip().startswith("{")
    else:
        assert found == Word(word="a")
        assert not before.strip(" \t\r\n`jsonJSON") or before.isspace()


@given(st.dictionaries(st.text(TEXT, max_size=5), st.integers(), max_size=4))
def test_json_comes_back_as_it_was(value: dict[str, int]) -> None:
    assert parse_reply(json.dumps(value), dict[str, int]) == value


class Scripted:
    """Says one thing after the other."""

    model = "m:x"

    def __init__(self, *replies: str | LlmFailure) -> None:
        self.replies = list(replies)
        self.asked = 0
        self.rejected: list[str] = []

    def ask(self, call: LlmCall) -> LlmReply | LlmFailure:
        self.asked += 1
        reply = self.replies.pop(0)
        return reply if isinstance(reply, LlmFailure) else LlmReply(text=reply)

    def reject(self, call: LlmCall, reply: LlmReply) -> None:
        self.rejected.append(reply.text)


def test_an_unparsable_reply_is_forgotten_and_asked_for_once_more() -> None:
    asker = Scripted("nonsense", '{"word": "a"}')
    found = ask_for(asker, CALL, Word)
    assert found == (Word(word="a"), LlmReply(text='{"word": "a"}'))
    assert asker.rejected == ["nonsense"]
    assert asker.asked == 2


def test_after_three_unparsable_replies_it_is_a_failure() -> None:
    asker = Scripted("nonsense", "more of it", "yes", '{"word": "never read"}')
    found = ask_for(asker, CALL, Word)
    assert isinstance(found, LlmFailure)
    assert found.code == "unparsable"
    assert asker.rejected == ["nonsense", "more of it", "yes"]
    assert asker.asked == 3


def test_failures_are_passed_on() -> None:
    failure = LlmFailure(code="timeout", detail="too late")
    assert ask_for(Scripted(failure), CALL, Word) is failure
