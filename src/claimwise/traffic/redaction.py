"""Takes out of live traffic what must not be stored: personal data, secrets, fields.

What was found is replaced by its kind and a tag, such as “[e-mail 3fa]”. Within an answer the same
value always gets the same tag and another value another one (but for one pair in 4,096), so that a
judge still sees whether the answer's number is its source's. A tag keeps 12 bits of the value's
hash: millions of values share each.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fnmatch import fnmatchcase
from functools import partial
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from msgspec.structs import replace

from claimwise.config import RedactSection
from claimwise.errors import ClaimwiseError, describe_unknown
from claimwise.types.traces import Passage, ToolCall, Trace
from claimwise.user_settings import TRUST_VARIABLE, describe_settings_file, is_trusted_folder

FIELDS = ("question", "contexts", "actions", "conversation", "feedback", "attributes")
NO_QUESTION = "(unknown)"
_TAG = 3  # hexadecimal digits
_NOT_DIGITS = re.compile(r"\D")
# Every quantifier is bounded or can't be entered twice: time grows with the text alone. Each begins
# with a set of characters, which is searched for fast, and looks back from there.
_EMAIL = r"[\w.+-](?<![\w.+-]{2})[\w.+-]{0,63}@(?:[\w-]{1,63}\.){1,8}[A-Za-z]{2,24}(?![\w-])"
_PHONE = (
    r"[+(0](?<![\w.,:/-][+(0])(?:(?<=\+)\d{1,3}[ .\-/]?|(?<=\()0|(?<=0))"
    r"\(?\d{1,5}\)?(?:[ .\-/]?\d{2,5}){2,5}(?![\w-])"
)
_PHONE_US = r"[(2-9](?<![\w.,:/-][(2-9])(?:(?<=\()[2-9])?\d{2}\)?[ .-][2-9]\d{2}[ .-]\d{4}(?![\w-])"
_CARD = r"\d(?<![\w.-]\d)(?:[ -]?\d){12,18}(?![\w-])"
_IBAN = r"[A-Z](?<!\w[A-Z])[A-Z]\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?(?!\w)"
_SSN = r"[0-8]\d\d(?<![\w-]\d{3})(?<!000)(?<!666)-(?!00)\d{2}-(?!0000)\d{4}(?![\w-])"
_IP = r"\d(?<![\w.]\d)\d{0,2}(?:\.\d{1,3}){3}(?![\w.]\d|\w)"
_KEY = (
    r"(?<![\w-])(?:sk|pk|rk)[-_](?:[A-Za-z]{2,12}[-_]){0,3}[A-Za-z0-9_-]{16,200}"
    r"|(?<!\w)(?:AKIA|ASIA)[A-Z0-9]{16}(?!\w)"
    r"|(?<!\w)gh[oprsu]_[A-Za-z0-9]{30,255}|(?<!\w)github_pat_[A-Za-z0-9_]{22,255}"
    r"|(?<!\w)xox[abeoprs]-[A-Za-z0-9-]{10,255}|(?<!\w)AIza[A-Za-z0-9_-]{35}"
    r"|(?<!\w)glpat-[A-Za-z0-9_-]{20,255}|(?<!\w)hf_[A-Za-z0-9]{30,255}"
    r"|(?<!\w)eyJ[A-Za-z0-9_-]{8,4000}\.[A-Za-z0-9_-]{8,8000}\.[A-Za-z0-9_-]{8,2000}"
    r"|(?i:(?<=bearer )|(?<=api_key=)|(?<=apikey=)|(?<=password=)|(?<=token=))[^\s\"'&<>]{8,500}"
    r"|-----BEGIN [A-Z ]{0,20}PRIVATE KEY-----[A-Za-z0-9+/=\s\\]{0,20000}"
    r"(?:-----END [A-Z ]{0,20}PRIVATE KEY-----)?"
)


_KEY_SIGNS = ("sk-", "sk_", "pk-", "pk_", "rk-", "rk_", "akia", "asia", "gh", "xox", "aiza",
              "glpat-", "hf_", "eyj", "bearer ", "api_key=", "apikey=", "password=", "token=",
              "private key")  # fmt: skip
_HAS_DIGIT = re.compile(r"\d")


def _passes_luhn(text: str) -> bool:
    """Tell a card's number from another one by its last digit."""
    digits = [int(digit) for digit in reversed(_NOT_DIGITS.sub("", text))]
    doubled = [d if n % 2 == 0 else d * 2 - 9 * (d > 4) for n, d in enumerate(digits)]
    return sum(doubled) % 10 == 0 and len(set(digits)) > 1


def _is_address(text: str) -> bool:
    return all(int(part) < 256 for part in text.split("."))


class _Kind(NamedTuple):
    """What is looked for."""

    name: str
    pattern: re.Pattern[str]
    is_it: Callable[[str], bool] = bool
    # What makes two spellings one value.
    plain: Callable[[str], str] = str.casefold
    # Lower-case texts one of which it always holds: most texts have none, and are done at once.
    needs: tuple[str, ...] = ("",)
    is_number: bool = False  # it always holds a digit


def _strip_to_digits(text: str) -> str:
    return _NOT_DIGITS.sub("", text)


def _strip_spaces(text: str) -> str:
    return text.replace(" ", "")


# In the order in which they are looked for: what one has taken, the next can't see.
BUILTIN: dict[str, tuple[_Kind, ...]] = {
    "key": (_Kind("key", re.compile(_KEY), plain=str, needs=_KEY_SIGNS),),
    "email": (_Kind("e-mail", re.compile(_EMAIL), needs=("@",)),),
    "iban": (_Kind("iban", re.compile(_IBAN), plain=_strip_spaces, is_number=True),),
    "card": (_Kind("card", re.compile(_CARD), _passes_luhn, _strip_to_digits, is_number=True),),
    "ssn": (_Kind("ssn", re.compile(_SSN), needs=("-",), is_number=True),),
    "ip": (_Kind("ip", re.compile(_IP), _is_address, needs=(".",), is_number=True),),
    "phone": tuple(
        _Kind("phone", re.compile(pattern), plain=_strip_to_digits, needs=needs, is_number=True)
        for pattern, needs in ((_PHONE, ("+", "0")), (_PHONE_US, ("",)))
    ),
}


class RedactionError(Exception):
    """The project's own function failed: the text must not be stored."""


class Redactor:
    """Redacts texts, answers and spans as a project says.

    Raises:
        ClaimwiseError: a name, a pattern or the function is wrong.
    """

    def __init__(self, section: RedactSection, folder: Path | None = None) -> None:
        self._kinds = [*_list_builtin(section), *_list_own(section)]
        self._function = None if section.function is None else _load(section.function, folder)
        unknown = next((name for name in section.drop if name not in FIELDS), None)
        if unknown is not None:
            raise ClaimwiseError(
                "[traffic.redact] drop: " + describe_unknown("field", unknown, FIELDS)
            )
        self._drop = frozenset(section.drop)
        self._drop_attributes = section.drop_attributes

    def redact_text(self, text: str, salt: str) -> str:
        """Return a text without what must not be stored.

        Args:
            text: any text.
            salt: what tags are told apart by: the trace's id.

        Raises:
            RedactionError: the project's function failed.
        """
        lowered = text.lower()
        has_digit = _HAS_DIGIT.search(text) is not None
        for kind in self._kinds:
            if (has_digit or not kind.is_number) and any(n in lowered for n in kind.needs):
                text = kind.pattern.sub(partial(_replace, kind, salt), text)
        return text if self._function is None else self._call(text)

    def _call(self, text: str) -> str:
        assert self._function is not None
        try:
            found = self._function(text)
        except Exception as error:  # noqa: BLE001 - it is the user's code: whatever it raises
            raise RedactionError(f"the redaction function failed: {type(error).__name__}") from None
        if not isinstance(found, str):
            raise RedactionError(
                f"the redaction function returned {type(found).__name__}, expected text"
            )
        return found

    def redact_trace(self, trace: Trace, trace_id: str) -> Trace:
        """Return an answer without what must not be stored; a conversation keeps its identity.

        Raises:
            RedactionError: the project's function failed.
        """
        clean = partial(self.redact_text, salt=trace_id)
        name = partial(self.redact_text, salt="")  # what has to be the same in other traces
        passages = self._keep("contexts", trace.passages)
        attributes = self._keep("attributes", trace.attributes) or {}
        properties = self._keep("attributes", trace.properties) or {}
        return replace(
            trace,
            question=self._keep("question", clean(trace.question)) or NO_QUESTION,
            answer=clean(trace.answer),
            failure=_apply(clean, trace.failure),
            passages=None
            if passages is None
            else tuple(_redact_passage(clean, name, passage) for passage in passages),
            actions=tuple(
                _redact_call(clean, c) for c in self._keep("actions", trace.actions) or ()
            ),
            conversation_id=_apply(name, self._keep("conversation", trace.conversation_id)),
            feedback=_apply(clean, self._keep("feedback", trace.feedback)),
            attributes={key: clean(value) for key, value in attributes.items()},
            properties={key: name(value) for key, value in properties.items()},
        )

    def _keep(self, field: str, value: Any) -> Any:
        return None if field in self._drop else value

    def redact_attributes(self, value: Any, salt: str) -> Any:
        """Return attributes of a span, as JSON has them, redacted in every text.

        Raises:
            RedactionError: the project's function failed.
        """
        if isinstance(value, str):
            return self.redact_text(value, salt) if len(value) > _TAG else value
        if isinstance(value, list):
            return [
                self.redact_attributes(part, salt) for part in value if not self._is_dropped(part)
            ]
        if isinstance(value, dict):
            return {
                name: inner if name == "key" else self.redact_attributes(inner, salt)
                for name, inner in value.items()
                if not (self._drop_attributes and self._matches(name))
            }
        return value

    def _is_dropped(self, part: Any) -> bool:
        """Tell a key with its value, as OTLP writes attributes, that is not to be stored."""
        return isinstance(part, dict) and self._matches(part.get("key"))

    def _matches(self, name: Any) -> bool:
        patterns = self._drop_attributes
        return isinstance(name, str) and any(fnmatchcase(name, pattern) for pattern in patterns)


def _replace(kind: _Kind, salt: str, found: re.Match[str]) -> str:
    text = found[0]
    if not kind.is_it(text):
        return text
    value = f"{salt}\0{kind.plain(text)}".encode("utf-8", "surrogatepass")
    return f"[{kind.name} {sha256(value).hexdigest()[:_TAG]}]"


def _apply(clean: Callable[[str], str], text: str | None) -> str | None:
    return None if text is None else clean(text)


def _redact_passage(
    clean: Callable[[str], str], name: Callable[[str], str], passage: Passage
) -> Passage:
    return replace(
        passage,
        source_id=_apply(name, passage.source_id),
        text=_apply(clean, passage.text),
        title=_apply(clean, passage.title),
    )


def _redact_call(clean: Callable[[str], str], call: ToolCall) -> ToolCall:
    return replace(call, arguments=_apply(clean, call.arguments))


def _list_builtin(section: RedactSection) -> Iterator[_Kind]:
    wanted = tuple(BUILTIN) if section.builtin is None else section.builtin
    for name in wanted:
        if name not in BUILTIN:
            raise ClaimwiseError(
                "[traffic.redact] builtin: " + describe_unknown("pattern", name, list(BUILTIN))
            )
    for name, kinds in BUILTIN.items():
        if name in wanted:
            yield from kinds


def _list_own(section: RedactSection) -> Iterator[_Kind]:
    for name, pattern in section.patterns.items():
        try:
            yield _Kind(name, re.compile(pattern))
        except re.error as error:
            raise ClaimwiseError(
                f"[traffic.redact] patterns: “{name}” is not a regular expression: {error}"
            ) from error


def _load(name: str, folder: Path | None) -> Callable[[str], object]:
    """Return the project's function, from an installed package or a file beside the settings.

    A project's file comes with the project, so it needs the user's word to run code.
    """
    module, _, attribute = name.partition(":")
    wrong = f"[traffic.redact] function = “{name}”"
    if folder is not None and not is_trusted_folder(folder):
        raise ClaimwiseError(
            f"{wrong} would run code on the word of the project's file alone; if you trust the "
            f"project, set {TRUST_VARIABLE}={folder.resolve()}, or add the folder to "
            f"trusted_folders in {describe_settings_file()}"
        )
    if not module or not attribute:
        raise ClaimwiseError(f'{wrong}: write it as "module:function"')
    try:
        with _search_in(folder):
            found: Any = import_module(module)
        for step in attribute.split("."):
            found = getattr(found, step)
    except Exception as error:
        raise ClaimwiseError(f"{wrong} can't be loaded: {type(error).__name__}: {error}") from error
    if not callable(found):
        raise ClaimwiseError(f"{wrong} is not a function")
    return found  # type: ignore[no-any-return]


@contextmanager
def _search_in(folder: Path | None) -> Iterator[None]:
    """Let a module be found in the project's folder as well, after all that is installed."""
    if folder is None:
        yield
        return
    place = str(folder.resolve())
    sys.path.append(place)
    try:
        yield
    finally:
        sys.path.remove(place)
