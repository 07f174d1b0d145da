from __future__ import annotations

import json
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claimwise.errors import PromptError
from claimwise.llm.fencing import fence_text
from claimwise.llm.prompts import Prompt, list_prompts, load_prompt, name_judge

HEAD = '+++\nname = "mine"\nversion = 3\ninputs = ["a", "b"]\nchangelog = ["3: mine"]\n+++\n'
FILE = HEAD + "## system\nBe strict.\n\n## user\nA: {{a}}\nB: {{b}} {{a}}\n"
BUILT_IN = [
    f"{name}@{version}" for name, versions in list_prompts().items() for version in versions
]
# The texts that released versions stand for: labels carry their names, so they never change.
RELEASED = {
    "closed-book-split/1.md": "e5123ee5797d",
    "closed-book/1.md": "6e9b27f01814",
    "grounded-split/1.md": "8964883a5530",
    "grounded/1.md": "ff71eba437ad",
    "ping/1.md": "15e76c085cdd",
    "split/1.md": "e63ee94ebe45",
}


def write(tmp_path: Path, text: str, schema: object = None) -> Path:
    path = tmp_path / "mine.md"
    path.write_text(text, encoding="utf-8")
    if schema is not None:
        (tmp_path / "mine.schema.json").write_text(json.dumps(schema), encoding="utf-8")
    return path


def test_newest_version_is_the_default() -> None:
    assert load_prompt("ping") == load_prompt("ping@1")
    assert load_prompt("ping").label == "ping@1"
    assert name_judge(load_prompt("ping"), "openai:m") == "judge:ping@1:openai:m"


@pytest.mark.parametrize("name", RELEASED)
def test_released_prompts_never_change(name: str) -> None:
    text = files("claimwise.llm").joinpath("prompts", name).read_bytes()
    assert sha256(text).hexdigest()[:12] == RELEASED[name]


@pytest.mark.parametrize("name", [name for name, found in list_prompts().items() if 2 in found])
def test_second_versions_ask_for_the_same(name: str) -> None:
    """Only the English is new: inputs, form of the reply, labels and the guard stay."""
    first, second = load_prompt(f"{name}@1"), load_prompt(f"{name}@2")
    assert load_prompt(name) == second
    assert (first.inputs, first.schema) == (second.inputs, second.schema)
    example = [line for line in first.system.splitlines() if line.startswith("{")]
    assert example == [line for line in second.system.splitlines() if line.startswith("{")]
    terms = [line.partition(":")[0] for line in first.system.splitlines() if line.startswith("- ")]
    for term in (term for term in terms if " " not in term):
        assert f"{term}:" in second.system
    assert "continue" in second.system
    assert "task described here" in " ".join(second.system.split())


def check_strict(schema: dict[str, Any], place: str) -> None:
    """Providers take a schema strictly only when it leaves nothing open."""
    unknown = {"minLength", "maxLength", "minimum", "maximum", "minItems", "maxItems", "pattern"}
    assert not unknown & set(schema), place
    if schema.get("type") == "object":
        assert schema["additionalProperties"] is False, place
        assert sorted(schema["required"]) == sorted(schema["properties"]), place
    for part in [*schema.get("properties", {}).values(), schema.get("items")]:
        if part:
            check_strict(part, place)


@pytest.mark.parametrize("which", BUILT_IN)
def test_built_in_prompts_are_sound(which: str) -> None:
    prompt = load_prompt(which)
    assert prompt.label == which
    assert prompt.changelog[-1].startswith(f"{prompt.version}:")
    assert prompt.schema is not None
    check_strict(prompt.schema, which)
    system, user = prompt.render(**dict.fromkeys(prompt.inputs, "TEXT"))
    assert (system + user).count("⟦end ") >= len(prompt.inputs)


def test_prompt_of_ones_own(tmp_path: Path) -> None:
    schema = {"type": "object"}
    prompt = load_prompt(write(tmp_path, FILE, schema))
    assert prompt == Prompt(
        name="mine",
        version=3,
        inputs=("a", "b"),
        changelog=("3: mine",),
        system="Be strict.",
        user="A: {{a}}\nB: {{b}} {{a}}",
        schema=schema,
        digest=prompt.digest,
    )
    assert prompt.edition == f"mine@3 ({prompt.digest})"
    assert load_prompt("ping").edition == load_prompt("ping").label
    assert name_judge(prompt, "vllm:x:y") == "judge:mine@3:vllm:x:y"
    call = prompt.make_call("vllm:x:y", max_tokens=7, a="1", b=2)
    assert (call.prompt, call.schema, call.schema_name, call.max_tokens) == (
        "mine@3", schema, "mine", 7,
    )  # fmt: skip
    assert call.user.endswith("⟧")
    assert "B: 2 ⟦a " in call.user


@given(st.text(), st.text())
def test_values_are_never_read_as_templates(a: str, b: str) -> None:
    prompt = Prompt(
        name="x", version=1, inputs=("a", "b"), changelog=(), system="", user="{{a}}|{{b}}"
    )
    _, user = prompt.render(a=a + "{{b}}", b=b + "{{a}}")
    assert user.count("{{b}}") == 1 + a.count("{{b}}") + b.count("{{b}}")
    assert user.count("⟦a ") == user.count("⟦b ") == 1


def test_fenced_values_go_in_as_they_are() -> None:
    fenced = fence_text("One.", "s1")
    _, user = load_prompt("ping").render(word=fenced)
    assert user.endswith(fenced)
    assert "⟦word" not in user


@pytest.mark.parametrize(
    ("inputs", "expected"),
    [({}, "none"), ({"word": "a", "more": "b"}, "more, word"), ({"wrod": "a"}, "wrod")],
)
def test_inputs_must_be_exactly_those_of_the_head(inputs: dict[str, str], expected: str) -> None:
    """What is found is the prompt's; what is expected is what the command can fill in."""
    told = rf"prompt ping@1: found the inputs word, expected {expected}: correct the inputs"
    with pytest.raises(PromptError, match=told):
        load_prompt("ping").render(**inputs)
    with pytest.raises(PromptError, match="found the inputs word, expected only other, some: "):
        load_prompt("ping").select_inputs(some="", other="")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("no head", "a prompt has a head between"),
        (HEAD + "## user\n{{a}}{{b}}\n", "then ## system and ## user"),
        (FILE.replace('"b"]', '"c"]'), "the head lists the inputs a, c, but the text uses a, b"),
        (FILE.replace("version = 3", "version = 0"), "a version of 1 or more"),
        (FILE.replace('"mine"', '"My Prompt"'), "lower-case letters, digits and hyphens"),
        (FILE.replace("version", "verison"), "verison"),
        (FILE.replace('"mine"', '"ping"'), "'ping' is the name of a built-in prompt"),
        (FILE.replace("version = 3", "version = "), "Invalid value"),
    ],
)
def test_wrong_files_are_refused_with_their_place(tmp_path: Path, text: str, told: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(PromptError) as caught:
        load_prompt(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)


def test_wrong_schema_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PromptError, match="found list, expected a JSON schema"):
        load_prompt(write(tmp_path, FILE, []))


@pytest.mark.parametrize(
    ("which", "told"),
    [
        ("nonsense", "Unknown prompt 'nonsense'"),
        ("ping@99", "Unknown prompt 'ping@99'"),
        ("ping@x", "Known prompts: ping@1"),
        (Path("/nowhere/x.md"), "/nowhere/x.md: "),
    ],
)
def test_unknown_prompts_are_told(which: str | Path, told: str) -> None:
    with pytest.raises(PromptError) as caught:
        load_prompt(which)
    assert told in str(caught.value)
