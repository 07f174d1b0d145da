"""Providers of language models: ``provider:model`` names, addresses and keys.

A key is read from the environment when a client is opened, and lives in that client's headers
alone. :class:`Endpoint` is the only object that holds one; it does not show it.

Where a key goes is the user's decision. A project's file comes with the project: it may name an
address and a key's variable, but nothing is sent there unless the user allows the host.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from typing import Any, Literal, cast
from urllib.parse import quote, urlsplit

import msgspec

from claimwise.config import FILE_NAME, LlmSection, ProviderSection
from claimwise.errors import LlmError, PluginError, describe_unknown
from claimwise.llm import wire_anthropic, wire_openai
from claimwise.llm.addresses import is_loopback_origin, read_origin
from claimwise.llm.batch_anthropic import AnthropicBatches
from claimwise.llm.batch_api import BatchApi, BatchResult, BatchStatus
from claimwise.llm.batch_openai import OpenAIBatches
from claimwise.llm.batch_web import BatchWeb
from claimwise.llm.wire import Features, LimitName, Reading, Wire
from claimwise.registry import Entry, Plugin, find_entry, list_usable
from claimwise.types.llm import LlmCall
from claimwise.user_settings import KEYS_VARIABLE, describe_settings_file, read_user_settings

_WIRES: dict[str, Wire] = {"openai": wire_openai, "anthropic": wire_anthropic}
_BATCHES: dict[str, BatchApi] = {
    "openai": OpenAIBatches("/v1/chat/completions"),
    "azure": OpenAIBatches("/chat/completions"),
    "anthropic": AnthropicBatches(),
}
_PATHS = {"openai": "/chat/completions", "anthropic": "/v1/messages"}
_KEY = re.compile(r"[!-~]+")
_HEADER_NAME = re.compile(r"[A-Za-z0-9-]+")
_HEADER_VALUE = re.compile(r"[ -~]*")
_SHORTENED = 12  # characters of a key from which a server may show the first ones


class Provider(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a provider (group ``claimwise.providers``).

    An entry point brings one, a function that returns one, or a :class:`Plugin` that loads one; the
    entry point's name is the provider's. Its own host and key variable need nobody's word: whoever
    installs the package wants them.

    A server with a format of its own brings ``wire`` as an object with the methods of
    :class:`claimwise.llm.wire.Wire`. ``base_url`` is then the whole address, unless ``make_url``
    returns it from the base and the model's name; it must stay on the base's host. ``make_headers``
    returns the headers from the key, in place of what ``auth`` says.

    ``batches`` says how the provider takes many requests at once for less money: in the format of
    another one, or by an object with the methods of :class:`claimwise.llm.batch_api.BatchApi`.
    Their paths are added to the base address. None: it does not.
    """

    name: str
    description: str = ""
    card: str = ""
    base_url: str | None = None
    base_env: str | None = None  # the variable that overrides it
    key_env: str | None = None
    key_needed: bool = True
    wire: Literal["openai", "anthropic"] | Wire = "openai"
    auth: str = "bearer"  # or the name of the header that holds the key
    limit_name: LimitName = "max_tokens"
    local: bool = False  # on the user's own machines: costs nothing
    api_version: str | None = None  # Azure: deployments are addressed by path and version
    version_env: str | None = None  # the variable that overrides it
    make_url: Callable[[str, str], str] | None = None
    make_headers: Callable[[str | None], Mapping[str, str]] | None = None
    batches: Literal["openai", "azure", "anthropic"] | BatchApi | None = None


class Destination(msgspec.Struct, frozen=True, kw_only=True):
    """Where prompts go, with which key, and who says so."""

    provider: str
    origin: str
    named_by: str | None  # a variable or the project's file; None: it is the provider's own
    key_variable: str | None  # None: no key goes along
    needs_word: bool  # the user's: the project's file decided something of it

    def __str__(self) -> str:
        key = "" if self.key_variable is None else f" and the key {self.key_variable}"
        return f"the prompts{key} to {self.origin}"

    def is_allowed(self, hosts: Collection[str]) -> bool:
        """Return whether it may be sent to, where the user allows the project these hosts."""
        return not self.needs_word or self.origin in hosts


class Endpoint:
    """Where one model is asked, and with which headers. Holds the key; never shows it."""

    def __init__(
        self,
        *,
        provider: Provider,
        model: str,
        url: str,
        usual: bool,
        key: str | None,
        destination: Destination,
        entry: Entry | None = None,
        base: str = "",
        version: str | None = None,
    ) -> None:
        self.provider = provider
        self._entry = entry
        self.destination = destination
        self.model = model  # as the server knows it
        self.url = url
        # The address matters to what a model's name means, unless it is the provider's own.
        self.address = "" if usual else url
        self.wire = _find_wire(provider, entry)
        self.features = Features(limit_name=provider.limit_name)
        self._key = key
        self._base = base
        self._version = version

    def __repr__(self) -> str:
        return f"Endpoint({self.provider.name}:{self.model} at {self.url})"

    @property
    def batches(self) -> BatchApi | None:
        """How the provider takes batches; None: it does not."""
        found = self.provider.batches
        if isinstance(found, str):
            return _BATCHES[found]
        if found is None or self._entry is None:
            return found
        return cast("BatchApi", _ForeignBatches(self._entry, found))

    def make_batch_url(self, path: str) -> str:
        """Return the address of a path of the provider's batches."""
        if self.provider.api_version:
            version = quote(self._version or self.provider.api_version, safe="")
            mark = "&" if "?" in path else "?"
            return f"{self._base}/openai{path}{mark}api-version={version}"
        if self.provider.wire == "anthropic" and self._base.endswith("/v1"):
            path = path.removeprefix("/v1")
        return self._base + path

    def make_headers(self) -> dict[str, str]:
        """Return the headers of every request, the key among them."""
        headers = {"content-type": "application/json"}
        if self.provider.make_headers is not None and self._entry is not None:
            return headers | _ask_headers(self._entry, self.provider.make_headers, self._key)
        if self.provider.wire == "anthropic":
            headers["anthropic-version"] = wire_anthropic.VERSION
        if self._key:
            name, value = ("authorization", f"Bearer {self._key}")
            if self.provider.auth != "bearer":
                name, value = (self.provider.auth, self._key)
            headers[name] = value
        return headers

    def drop_key(self, text: str) -> str:
        """Return a reply without the key; a short word may be both, as “local” is."""
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
    allowed_hosts: Collection[str] = (),
    sending: bool = True,
) -> Endpoint:
    """Return where ``provider:model`` is asked.

    The address is the environment's, else the project's (``[llm.providers.NAME]``), else built in.

    Args:
        model: the name as users write it.
        section: the project's ``[llm]``.
        environ: the environment; the process's own by default.
        allowed_hosts: origins that the user allows the project's file to send to.
        sending: False for a dry run, which needs no key and nobody's word.

    Raises:
        LlmError: the provider is unknown, its address or key is missing, or the project's file
            sends them where the user has not allowed it; nothing was sent.
    """
    settings = LlmSection() if section is None else section
    variables = os.environ if environ is None else environ
    provider, name = find_provider(model, settings)
    base, named_by = _choose_base(provider, settings, variables)
    key = _read_key(provider, variables) if sending else None
    destination = _make_destination(provider, base, named_by, key)
    if sending and not destination.is_allowed(allowed_hosts):
        raise LlmError(
            f"{provider.name}: {FILE_NAME} sends {destination}, which you have not allowed; if you "
            f'trust it, pass allowed_hosts=["{destination.origin}"]; nothing was sent'
        )
    entry = find_entry("providers", provider.name)
    own = None if entry is None or not entry.built_in else load_provider(entry)
    version = variables.get(provider.version_env or "")
    return Endpoint(
        provider=provider,
        model=name,
        url=make_url(provider, base.rstrip("/"), name, version, entry),
        usual=own is not None and base == own.base_url,
        key=key,
        destination=destination,
        entry=entry,
        base=base.rstrip("/"),
        version=version,
    )


def find_destination(
    model: str, section: LlmSection, environ: Mapping[str, str] | None = None
) -> Destination:
    """Return where a call would go, with which key, and whether the user must allow it.

    Raises:
        LlmError: the provider is unknown, its address or key is missing, or the project's file
            names a variable that is no key's.
    """
    variables = os.environ if environ is None else environ
    provider, _ = find_provider(model, section)
    base, named_by = _choose_base(provider, section, variables)
    return _make_destination(provider, base, named_by, _read_key(provider, variables))


def _choose_base(
    provider: Provider, section: LlmSection, environ: Mapping[str, str]
) -> tuple[str, str | None]:
    """Return the address and who named it: a variable, the project's file, or (None) nobody."""
    said = section.providers.get(provider.name)
    for named_by, base in (
        (provider.base_env, environ.get(provider.base_env or "")),
        (FILE_NAME, None if said is None else said.base_url),
        (None, provider.base_url),
    ):
        if base:
            _check_base(base, provider.name, named_by)
            return base, named_by
    raise LlmError(_describe_missing_address(provider))


def _make_destination(
    provider: Provider, base: str, named_by: str | None, key: str | None
) -> Destination:
    """Say where a provider's calls go, and whether the user must allow it.

    Nobody needs to allow what the user or the provider says: the provider's own host, an address
    from the environment, the provider's own key or one that the user's settings name. Everything
    else is the project's word: another address, or the key of another provider. What runs on this
    machine and gets no key needs no word.
    """
    own = _find_known(provider.name)
    origin = read_origin(base)
    is_own_host = own is not None and _has_origin(own, origin)
    by_project = named_by == FILE_NAME and not is_own_host
    key_variable = None if key is None else provider.key_env
    is_own_key = key is None or (own is not None and key_variable == own.key_env)
    return Destination(
        provider=provider.name,
        origin=origin,
        named_by=None if is_own_host else named_by,
        key_variable=key_variable,
        needs_word=(by_project and not (key is None and is_loopback_origin(origin)))
        or not (is_own_key or key_variable in read_user_settings().key_variables),
    )


def _has_origin(provider: Provider, origin: str) -> bool:
    try:
        return provider.base_url is not None and read_origin(provider.base_url) == origin
    except ValueError:
        return False


def find_provider(model: str, section: LlmSection) -> tuple[Provider, str]:
    """Return the provider of ``provider:model``, with what the project says of it, and the model.

    Raises:
        LlmError: the name has no provider, or one that nobody knows.
    """
    name, _, rest = model.partition(":")
    if not name or not rest.strip() or not model.isprintable():
        raise LlmError(f"{model!r} names no provider; write PROVIDER:MODEL, such as openai:gpt-4o")
    said = section.providers.get(name)
    provider = _find_known(name)
    if provider is None and said is None:
        installed = {entry.name for entry in list_usable("providers")}
        advice = (
            "To use another one that speaks OpenAI's format, add "
            f"[llm.providers.{name}] with base_url to claimwise.toml."
        )
        known = sorted({*installed, *section.providers})
        raise LlmError(describe_unknown("provider", name, known, advice=advice))
    if provider is None:
        provider = Provider(name=name, key_needed=said is not None and said.key_env is not None)
    return (provider if said is None else _change(provider, said)), rest


def _change(provider: Provider, said: ProviderSection) -> Provider:
    """Return a provider with what the project's file says of it."""
    wire = said.wire or provider.wire
    auth = provider.auth
    if said.wire and said.wire != provider.wire:
        auth = "x-api-key" if said.wire == "anthropic" else "bearer"
        provider = msgspec.structs.replace(provider, make_url=None, make_headers=None, batches=None)
    return msgspec.structs.replace(
        provider,
        base_url=said.base_url or provider.base_url,
        key_env=said.key_env or provider.key_env,
        key_needed=provider.key_needed or said.key_env is not None,
        wire=wire,
        auth=auth,
        api_version=said.api_version or provider.api_version,
        batches=said.batches or provider.batches,
    )


def _find_known(name: str) -> Provider | None:
    """Return a provider as it is built in or installed, whatever a project says of it.

    Raises:
        PluginError: the package that brings it does not work.
    """
    entry = find_entry("providers", name)
    return None if entry is None else load_provider(entry)


def load_provider(entry: Entry) -> Provider:
    """Return the provider of an entry, by the entry's name.

    Raises:
        PluginError: its package does not work, or brings something else.
    """
    provider = entry.call(load_provider_plugin(entry).load)
    if not isinstance(provider, Provider):
        raise entry.fail(f"it loads a {type(provider).__name__}, expected a Provider")
    return msgspec.structs.replace(provider, name=entry.name)


def load_provider_plugin(entry: Entry) -> Plugin[Any]:
    """Return what is registered for a provider: a plug-in, or one made of the provider itself.

    Raises:
        PluginError: its package does not work, or brings something else.
    """
    found = entry.load()
    if isinstance(found, Plugin):
        return found
    provider = entry.call(found) if callable(found) else found
    if not isinstance(provider, Provider):
        raise entry.fail(
            f"its entry point brings {type(provider).__name__}, expected a claimwise.plugins."
            "Provider, or a Plugin that loads one"
        )
    return Plugin(
        description=provider.description,
        load=lambda: provider,
        find_missing=lambda: _find_missing(provider),
        card=provider.card,
    )


def _find_missing(provider: Provider) -> str | None:
    if not provider.base_url and not os.environ.get(provider.base_env or ""):
        return f"set {provider.base_env}" if provider.base_env else "an address in claimwise.toml"
    if provider.key_needed and not os.environ.get(provider.key_env or ""):
        return f"set {provider.key_env}"
    return None


class _ForeignWire:
    """A wire of another package, whose faults are told as that package's."""

    def __init__(self, entry: Entry, wire: Wire) -> None:
        self._entry = entry
        self._wire = wire

    def build_body(self, call: LlmCall, model: str, features: Features) -> dict[str, Any]:
        return self._entry.call(self._wire.build_body, call, model, features)

    def read_body(self, content: bytes) -> Reading:
        """Return what the wire reads; a fault in it costs this reply alone."""
        try:
            found: Any = self._entry.call(self._wire.read_body, content)
        except PluginError as error:
            return Reading(code="bad_reply", detail=str(error))
        if not isinstance(found, Reading):
            told = f"the {self._entry} read a {type(found).__name__}, expected a Reading"
            return Reading(code="bad_reply", detail=told)
        return found


class _ForeignBatches:
    """A batch format of another package, whose faults are told as that package's."""

    def __init__(self, entry: Entry, api: BatchApi) -> None:
        self._entry = entry
        self._api = api

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._api, name)
        return partial(self._entry.call, found) if callable(found) else found

    def read_results(self, web: BatchWeb, status: BatchStatus) -> Iterator[BatchResult]:
        """Yield the results; each is asked for in foreign code."""
        results = iter(self._entry.call(self._api.read_results, web, status))
        while (result := self._entry.call(next, results, None)) is not None:
            yield result


def _find_wire(provider: Provider, entry: Entry | None) -> Wire:
    if isinstance(provider.wire, str):
        return _WIRES[provider.wire]
    return provider.wire if entry is None else _ForeignWire(entry, provider.wire)


def _ask_headers(
    entry: Entry, make: Callable[[str | None], Mapping[str, str]], key: str | None
) -> dict[str, str]:
    """Return a provider's own headers. No message shows what they hold: a key may be in it."""
    try:
        headers = {str(name).lower(): str(value) for name, value in make(key).items()}
    except Exception as error:  # noqa: BLE001  # foreign code may raise anything
        raise entry.fail(f"make_headers raised {type(error).__name__}") from None
    for name, value in headers.items():
        if not (_HEADER_NAME.fullmatch(name) and _HEADER_VALUE.fullmatch(value)):
            raise entry.fail("make_headers returned a header that no request can carry")
    return headers


def _check_base(base: str, name: str, named_by: str | None) -> None:
    """Refuse what is no address, or carries a password; it is not shown, it may be a key."""
    try:
        read_origin(base)
        parts = urlsplit(base)
        what = "a user, a password, a query or a fragment in it"
        sound = parts.username is None and not parts.query and not parts.fragment
    except ValueError:
        sound, what = False, "no http:// or https:// address in ASCII"
    if not sound:
        raise LlmError(
            f"{name}: the base URL ({named_by or 'built in'}) has {what}; give host and path"
        )


def make_url(
    provider: Provider, base: str, model: str, version: str | None, entry: Entry | None
) -> str:
    """Return the address that a model is asked at.

    Args:
        provider: the provider.
        base: its base address, without a slash at the end.
        model: the model, as the server knows it.
        version: of the interface, where a variable names another than the provider's.
        entry: who brings the provider; None where a project's file does.

    Raises:
        PluginError: the provider's own ``make_url`` fails, or leaves the host.
    """
    if provider.make_url is not None and entry is not None:
        return _ask_url(entry, provider.make_url, base, model)
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


def _ask_url(entry: Entry, make: Callable[[str, str], str], base: str, model: str) -> str:
    """Return a provider's own address; one on another host than the user was told of is refused."""
    url = entry.call(make, base, model)
    try:
        origin = read_origin(url)
    except (ValueError, AttributeError, TypeError):
        origin = ""
    if origin != read_origin(base):
        raise entry.fail(f"make_url left the host {read_origin(base)}")
    return url


def _read_key(provider: Provider, environ: Mapping[str, str]) -> str | None:
    """Return the key; what no header could carry is refused here, before it reaches a message."""
    variable = provider.key_env or ""
    if variable and not _is_key_variable(variable):
        raise LlmError(
            f"{provider.name}: {FILE_NAME} names the key variable {variable}, which no known "
            f'provider uses; if it is meant, write key_variables = ["{variable}"] into '
            f"{describe_settings_file()}, or set {KEYS_VARIABLE}={variable}; nothing was sent"
        )
    key = environ.get(variable, "").strip()
    if key and not _KEY.fullmatch(key):
        raise LlmError(
            f"{variable} holds characters that no key has (a space, a line break, or "
            "beyond ASCII); set it again"
        )
    if not key and provider.key_needed:
        raise LlmError(
            f"{provider.name} needs a key: set the environment variable {variable}; "
            "nothing was sent"
        )
    return key or None


def _is_key_variable(variable: str) -> bool:
    """Return whether a variable holds a key: a known provider's, or one that the user names."""
    if variable in read_user_settings().key_variables:
        return True
    return any(provider.key_env == variable for provider in _list_known())


def _list_known() -> Iterator[Provider]:
    """Yield the providers that work; those of broken packages are left out."""
    for entry in list_usable("providers"):
        try:
            yield load_provider(entry)
        except PluginError:
            continue


def list_batching() -> list[str]:
    """Return the names of the providers that take batches."""
    return sorted(provider.name for provider in _list_known() if provider.batches is not None)


def _describe_missing_address(provider: Provider) -> str:
    places = [f"base_url under [llm.providers.{provider.name}] in claimwise.toml"]
    if provider.base_env:
        places.insert(0, f"the environment variable {provider.base_env}")
    return f"{provider.name} needs an address: set {' or '.join(places)}; nothing was sent"
