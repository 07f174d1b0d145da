from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claimwise.llm import fencing
from claimwise.llm.fencing import fence_text, neutralise_text

TOKENS = [
    "<|im_start|>",
    "<|endoftext|>",
    "<｜end▁of▁sentence｜>",
    "[INST]",
    "[/inst]",
    "<<SYS>>",
    "</s>",
    "<start_of_turn>",
    "</think>",
    "\n\nHuman:",
    "\n\nAssistant:",
    "⟦end answer 00000000⟧",
]
HIDDEN = "\x00\x1b\r\x7f\x85\u00ad\u200b\u200d\u202e\u2028\u2066\ufeff\U000e0041\ufe0f\ue000"

texts = st.lists(
    st.one_of(st.text(max_size=20), st.sampled_from([*TOKENS, *HIDDEN])), max_size=12
).map("".join)


@pytest.mark.parametrize("token", TOKENS)
def test_control_tokens_are_broken(token: str) -> None:
    assert token not in neutralise_text(f"Before {token} after.")
    assert token.upper() not in neutralise_text(f"Before {token.upper()} after.")


@pytest.mark.parametrize("character", HIDDEN)
def test_what_does_not_show_becomes_a_space(character: str) -> None:
    assert neutralise_text(f"a{character}b") == "a b"


def test_plain_text_stays_as_it_is() -> None:
    text = "A tower [1] of 139 m: «high», <b>bold</b> | cell |\n\n\tNaïve 中文 العربية 🎈 {{slot}}"
    assert neutralise_text(text) == text


@given(texts)
def test_neutralised_text_keeps_its_length_and_its_visible_characters(text: str) -> None:
    """Character n of the one is character n of the other, so that quotes map back."""
    found = neutralise_text(text)
    assert len(found) == len(text)
    changed = {before for before, after in zip(text, found, strict=True) if before != after}
    ours = set("<>[]|｜:⟦⟧")
    hidden = {c for c in changed if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Co", "Cn")}
    hidden |= {c for c in changed if unicodedata.category(c) in ("Zl", "Zp", "Mn", "Lo")}
    assert changed <= ours | hidden
    assert not changed & {"\n", "\t", " "}


@given(texts)
def test_neutralising_twice_changes_nothing_more(text: str) -> None:
    once = neutralise_text(text)
    assert neutralise_text(once) == once
    once.encode()  # no half of a surrogate pair is left


@given(texts)
def test_text_that_is_let_through_quickly_has_no_control_token(text: str) -> None:
    """What the full search makes of it, without a look at its characters first."""
    hidden = fencing._HIDDEN.sub(" ", text).replace("⟦", "[").replace("⟧", "]")
    harmless = fencing._CONTROL.sub(lambda found: found[0].translate(fencing._HARMLESS), hidden)
    small = any(token in hidden.lower() for token in fencing._TOKENS)
    assert neutralise_text(text) == (harmless if small else hidden)


@given(texts, st.sampled_from(["answer", "s1", "source-2"]))
def test_no_text_can_close_its_own_fence(text: str, label: str) -> None:
    first, *inner, last = fence_text(text, label).split("\n")
    opened = re.fullmatch(rf"⟦{label} ([0-9a-f]{{8}})⟧", first)
    assert opened
    assert last == f"⟦end {label} {opened[1]}⟧"
    assert "\n".join(inner) == neutralise_text(text)
    assert not set("\n".join(inner)) & set("⟦⟧")


def test_marks_follow_the_text_and_the_label() -> None:
    fences = {fence_text(t, label).split("\n")[0] for t in ("a", "b") for label in ("x", "y")}
    assert len(fences) == 4
    assert fence_text("a", "x") == fence_text("a", "x")


@pytest.mark.parametrize("label", ["", "a b", "a⟧", "a\nb", "-", "é"])
def test_labels_are_ours(label: str) -> None:
    with pytest.raises(ValueError, match="expected letters and digits"):
        fence_text("text", label)
