"""Providers of language models: ``provider:model`` names, addresses and keys.

A key is read from the environment when a client is opened, and lives in that client's headers
alone. :class:`Endpoint` is the only object that holds one; it does not show it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from importlib.metadata import entry_points
from typing import Literal
from urllib.parse import quote, urlsplit

import msgspec

from claimwise.config import LlmSection, ProviderSection
from claimwise.errors import LlmError
from claimwise.llm import wire_anthropic, wire_openai
from claimwise.llm.wire import Features, LimitName, Wire

ENTRY_POINTS = "claimwise.providers"

_WIRES: dict[str, Wire] = {"openai": wire_openai, "anthropic": wire_anthropic}
_PATHS = {"openai": "/chat/completions", "anthropic": "/v1/messages"}
_AZURE_VERSION = "2024-10-21"
_KEY = re.compile(r"[!-~]+")
_SHORTENED = 12  # characters of a key from which a server may show the first ones


class Provider(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a provider. Entry points bring one, or a function that returns one.

    The entry point's group is ``claimwise.providers``, its name the provider's. A server with a
    format of its own brings ``wire`` as an object with the methods of
    :class:`claimwise.llm.wire.Wire`; ``base_url`` is then the whole address.
    """

    name: str
    base_url: str | None = None
    base_env: str | None = None  # the variable that overrides it
    key_env: str | None = None
    key_needed: bool = True
    wire: Literal["openai", "anthropic"] | Wire = "openai"
    auth: Literal["bearer", "x-api-key", "api-key"] = "bearer"
    limit_name: LimitName = "max_tokens"
    local: bool = False  # on the user's own machines: costs nothing
    api_version: str | None = None  # Azure: deployments are addressed by path and version


def _make_local(name: str, port: int) -> Provider:
    stem = name.upper()
    return Provider(
        name=name,
        base_url=f"http://127.0.0.1:{port}/v1",
        base_env=f"{stem}_BASE_URL",
        key_env=f"{stem}_API_KEY",
        key_needed=False,
        local=True,
    )


PROVIDERS: dict[str, Provider] = {
    provider.name: provider
    for provider in (
        Provider(
            name="openai",
            base_url="https://api.openai.com/v1",
            base_env="OPENAI_BASE_URL",
            key_env="OPENAI_API_KEY",
            limit_name="max_completion_tokens",
        ),
        Provider(
            name="azure",
            base_env="AZURE_OPENAI_ENDPOINT",
            key_env="AZURE_OPENAI_API_KEY",
            auth="api-key",
            api_version=_AZURE_VERSION,
        ),
        Provider(
            name="anthropic",
            base_url="https://api.anthropic.com",
            base_env="ANTHROPIC_BASE_URL",
            key_env="ANTHROPIC_API_KEY",
            wire="anthropic",
            auth="x-api-key",
        ),
        Provider(
            name="openrouter",
            base_url="https://openrouter.ai/api/v1",
            base_env="OPENROUTER_BASE_URL",
            key_env="OPENROUTER_API_KEY",
        ),
        _make_local("ollama", 11434),
        _make_local("vllm", 8000),
        _make_local("llamacpp", 8080),
        _make_local("lmstudio", 1234),
        Provider(
            name="openai-compatible",
            base_env="CLAIMWISE_BASE_URL",
            key_env="CLAIMWISE_API_KEY",
            key_needed=False,
        ),
    )
}


class Endpoint:
    """Where one model is asked, and with which headers. Holds the key; never shows it."""

    def __init__(
        self, *, provider: Provider, model: str, url: str, usual: bool, key: str | None
    ) -> None:
        self.provider = provider
        self.model = model  # as the server knows it
        self.url = url
        # The address matters to what a model's name means, unless it is the provider's own.
        self.address = "" if usual else url
        self.wire = _WIRES[provider.wire] if isinstance(provider.wire, str) else provider.wire
        self.features = Features(limit_name=provider.limit_name)
        self._key = key

    def __repr__(self) -> str:
        return f"Endpoint({self.provider.name}:{self.model} at {self.url})"

    def make_headers(self) -> dict[str, str]:
        """Return the headers of every request, the key among them."""
        headers = {"content-type": "application/json"}
        if self.provider.wire == "anthropic":
            headers["anthropic-version"] = wire_anthropic.VERSION
        if self._key:
            name, value = ("authorization", f"Bearer {self._key}")
            if self.provider.auth != "bearer":
                name, value = (self.provider.auth, self._key)
            headers[name] = value
        return headers

    def drop_key(self, text: str) -> str:
        """Return a reply without the key; a short word may be both, as «local» is."""
        if not self._key or len(self._key) < _SHORTENED:
            return text
        return text.replace(self._key, "[key]")

    def hide_key(self, text: str) -> str:
        """Return text without the key, whole or as servers shorten it (``sk-abc…``)."""
        if not self._key:
            return text
        hidden = text.replace(self._key, "[key]")
        if len(self._key) < _SHORTENED:
            return hidden
        return re.sub(re.escape(self._key[:6]) + r"[^\s\"']*", "[key]", hidden)


def find_endpoint(
    model: str,
    section: LlmSection | None = None,
    environ: Mapping[str, str] | None = None,
    *,
    sending: bool = True,
) -> Endpoint:
    """Return where ``provider:model`` is asked.

    The address is the environment's, else the project's (``[llm.providers.NAME]``), else built in.

    Args:
        model: the name as users write it.
        section: the project's ``[llm]``.
        environ: the environment; the process's own by default.
        sending: False for a dry run, which needs no key.

    Raises:
        LlmError: the provider is unknown, or its address or key is missing; nothing was sent.
    """
    settings = LlmSection() if section is None else section
    variables = os.environ if environ is None else environ
    provider, name = find_provider(model, settings)
    base = variables.get(provider.base_env or "") or provider.base_url
    if not base:
        raise LlmError(_tell_missing_address(provider))
    version = variables.get("OPENAI_API_VERSION") if provider.name == "azure" else None
    return Endpoint(
        provider=provider,
        model=name,
        url=_make_url(provider, _check_base(base, provider), name, version),
        usual=provider.name in PROVIDERS and base == PROVIDERS[provider.name].base_url,
        key=_read_key(provider, variables) if sending else None,
    )


def find_provider(model: str, section: LlmSection) -> tuple[Provider, str]:
    """Return the provider of ``provider:model``, with what the project says of it, and the model.

    Raises:
        LlmError: the name has no provider, or one that nobody knows.
    """
    name, _, rest = model.partition(":")
    if not name or not rest.strip() or not model.isprintable():
        raise LlmError(f"found the model {model!r}, expected provider:model, as openai:gpt-4o")
    said = section.providers.get(name)
    provider = PROVIDERS.get(name) or _load_entry_point(name)
    if provider is None and said is None:
        known = ", ".join(sorted({*PROVIDERS, *section.providers, *_list_entry_points()}))
        raise LlmError(
            f"found the provider {name!r}, expected one of {known}; another one that speaks "
            f"OpenAI's format needs [llm.providers.{name}] with base_url in claimwise.toml"
        )
    if provider is None:
        provider = Provider(name=name, key_needed=said is not None and said.key_env is not None)
    return (provider if said is None else _change(provider, said)), rest


def _change(provider: Provider, said: ProviderSection) -> Provider:
    """Return a provider with what the project's file says of it."""
    wire = said.wire or provider.wire
    auth = provider.auth
    if said.wire and said.wire != provider.wire:
        auth = "x-api-key" if said.wire == "anthropic" else "bearer"
    return msgspec.structs.replace(
        provider,
        base_url=said.base_url or provider.base_url,
        key_env=said.key_env or provider.key_env,
        key_needed=provider.key_needed or said.key_env is not None,
        wire=wire,
        auth=auth,
        api_version=said.api_version or provider.api_version,
    )


def _list_entry_points() -> set[str]:
    return {entry.name for entry in entry_points(group=ENTRY_POINTS)}


def _load_entry_point(name: str) -> Provider | None:
    for entry in entry_points(group=ENTRY_POINTS, name=name):
        found = entry.load()
        provider = found if isinstance(found, Provider) else found()
        if not isinstance(provider, Provider):
            raise LlmError(
                f"the entry point {entry.value} brings {type(provider).__name__}, expected a "
                "claimwise.llm.providers.Provider"
            )
        return provider
    return None


def _check_base(base: str, provider: Provider) -> str:
    """Refuse what is no address, or carries a password; it is not shown, it may be a key."""
    try:
        parts = urlsplit(base)
        sound = parts.scheme in ("http", "https") and bool(parts.hostname)
        # Both raise what the library that sends would raise later, with a traceback.
        _ = parts.port, (parts.hostname or "").encode("idna")
        secret = parts.username is not None or parts.password is not None or bool(parts.query)
    except ValueError:
        sound, secret = False, False
    if not sound or secret:
        where = provider.base_env or "base_url"
        what = "a user, a password or a query in it" if secret else "no http:// or https:// address"
        raise LlmError(f"{provider.name}: the base URL ({where}) has {what}; give host and path")
    return base.rstrip("/")


def _make_url(provider: Provider, base: str, model: str, version: str | None) -> str:
    if not isinstance(provider.wire, str):
        return base
    if provider.api_version:
        asked = quote(version or provider.api_version, safe="")
        return (
            f"{base}/openai/deployments/{quote(model, safe='')}/chat/completions"
            f"?api-version={asked}"
        )
    path = _PATHS[provider.wire]
    if provider.wire == "anthropic" and base.endswith("/v1"):
        path = path.removeprefix("/v1")
    return base + path


def _read_key(provider: Provider, environ: Mapping[str, str]) -> str | None:
    """Return the key; what no header could carry is refused here, before it reaches a message."""
    key = environ.get(provider.key_env or "", "").strip()
    if key and not _KEY.fullmatch(key):
        raise LlmError(
            f"{provider.key_env} holds characters that no key has (a space, a line break, or "
            "beyond ASCII); set it again"
        )
    if not key and provider.key_needed:
        raise LlmError(
            f"{provider.name} needs a key: set the environment variable {provider.key_env}; "
            "nothing was sent"
        )
    return key or None


def _tell_missing_address(provider: Provider) -> str:
    places = [f"base_url under [llm.providers.{provider.name}] in claimwise.toml"]
    if provider.base_env:
        places.insert(0, f"the environment variable {provider.base_env}")
    return f"{provider.name} needs an address: set {' or '.join(places)}; nothing was sent"
