from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from claimwise.config import LlmSection, ProviderSection, read_config
from claimwise.errors import ConfigError, LlmError, PluginError
from claimwise.llm.client import open_client
from claimwise.llm.pricing import estimate_tokens, find_price, parse_price
from claimwise.llm.providers import Endpoint, find_destination, find_endpoint, load_provider
from claimwise.registry import list_entries
from claimwise.types.llm import LlmCall, Price
from support.packages import install_package

PROVIDERS = {one.name: load_provider(one) for one in list_entries("providers") if one.built_in}

KEY = "sk-proj-Very_Secret-0123456789"


@pytest.mark.parametrize(
    ("model", "environ", "url", "header"),
    [
        (
            "openai:gpt-4o",
            {"OPENAI_API_KEY": KEY},
            "https://api.openai.com/v1/chat/completions",
            ("authorization", f"Bearer {KEY}"),
        ),
        (
            "openai:gpt-4o",
            {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": "https://proxy.example/v1/"},
            "https://proxy.example/v1/chat/completions",
            ("authorization", f"Bearer {KEY}"),
        ),
        (
            "azure:my deployment",
            {"AZURE_OPENAI_API_KEY": KEY, "AZURE_OPENAI_ENDPOINT": "https://x.openai.azure.com/"},
            "https://x.openai.azure.com/openai/deployments/my%20deployment/chat/completions"
            "?api-version=2024-10-21",
            ("api-key", KEY),
        ),
        (
            "anthropic:claude-x",
            {"ANTHROPIC_API_KEY": KEY},
            "https://api.anthropic.com/v1/messages",
            ("x-api-key", KEY),
        ),
        (
            "anthropic:claude-x",
            {"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": "https://y.example/v1"},
            "https://y.example/v1/messages",
            ("anthropic-version", "2023-06-01"),
        ),
        (
            "openrouter:vendor/model:free",
            {"OPENROUTER_API_KEY": KEY},
            "https://openrouter.ai/api/v1/chat/completions",
            ("authorization", f"Bearer {KEY}"),
        ),
        ("ollama:llama3:8b", {}, "http://127.0.0.1:11434/v1/chat/completions", None),
        ("vllm:m", {"VLLM_API_KEY": KEY}, "http://127.0.0.1:8000/v1/chat/completions",
         ("authorization", f"Bearer {KEY}")),
        ("llamacpp:m", {}, "http://127.0.0.1:8080/v1/chat/completions", None),
        ("lmstudio:m", {}, "http://127.0.0.1:1234/v1/chat/completions", None),
        (
            "openai-compatible:m",
            {"CLAIMWISE_BASE_URL": "http://h:1/v1"},
            "http://h:1/v1/chat/completions",
            None,
        ),
    ],
)  # fmt: skip
def test_built_in_providers(
    model: str, environ: dict[str, str], url: str, header: tuple[str, str] | None
) -> None:
    endpoint = find_endpoint(model, environ=environ)
    assert endpoint.url == url
    assert endpoint.model == model.partition(":")[2]
    headers = endpoint.make_headers()
    if header is None:
        assert set(headers) == {"content-type"}
    else:
        assert headers[header[0]] == header[1]


@pytest.mark.parametrize("name", [p.name for p in PROVIDERS.values() if p.key_needed])
def test_missing_key_is_one_line_before_anything_is_sent(name: str) -> None:
    provider = PROVIDERS[name]
    environ = {provider.base_env or "": "http://127.0.0.1:9", provider.key_env or "": "  "}
    with pytest.raises(LlmError) as caught:
        open_client(f"{name}:m", environ=environ)
    assert str(caught.value) == (
        f"{name} needs a key: set the environment variable {provider.key_env}; nothing was sent"
    )
    assert open_client(f"{name}:m", environ=environ, sending=False).concurrency == 16


@pytest.mark.parametrize(
    ("model", "environ", "told"),
    [
        ("gpt-4o", {}, "'gpt-4o' names no provider; write PROVIDER:MODEL, such as openai:gpt-4o"),
        ("openai:", {}, "write PROVIDER:MODEL"),
        (":m", {}, "write PROVIDER:MODEL"),
        ("nonsense:m", {}, "Unknown provider 'nonsense'. Known providers: anthropic, azure, "),
        ("azure:m", {"AZURE_OPENAI_API_KEY": KEY}, "set the environment variable AZURE_OPENAI_END"),
        ("openai-compatible:m", {}, "CLAIMWISE_BASE_URL or base_url under [llm.providers.openai-c"),
        ("ollama:m", {"OLLAMA_BASE_URL": "localhost:11434"}, "no http:// or https:// address"),
        ("ollama:m", {"OLLAMA_BASE_URL": f"http://u:{KEY}@h"}, "a user, a password, a query or"),
        ("ollama:m", {"OLLAMA_BASE_URL": f"http://h/?key={KEY}"}, "a user, a password, a query or"),
        ("ollama:m", {"OLLAMA_BASE_URL": "http://h/v1#x"}, "a user, a password, a query or"),
        ("ollama:m", {"OLLAMA_BASE_URL": "http://faß.example/v1"}, "address in ASCII"),
        ("ollama:m", {"OLLAMA_BASE_URL": "http://h\\x.example/v1"}, "no http:// or https://"),
        ("ollama:m", {"OLLAMA_BASE_URL": "http://[h"}, "no http:// or https:// address"),
        ("ollama:m", {"OLLAMA_BASE_URL": "http://h:99999"}, "no http:// or https:// address"),
        ("ollama:m", {"OLLAMA_BASE_URL": "http://h:port"}, "no http:// or https:// address"),
        ("ollama:m", {"OLLAMA_BASE_URL": "http://a..b/v1"}, "no http:// or https:// address"),
        ("ollama:m\udcff", {}, "write PROVIDER:MODEL"),
        ("ollama:m\nm", {}, "write PROVIDER:MODEL"),
        ("openai:m", {"OPENAI_API_KEY": f"{KEY}\n{KEY}"}, "OPENAI_API_KEY holds characters that"),
        ("openai:m", {"OPENAI_API_KEY": KEY + "é"}, "OPENAI_API_KEY holds characters that"),
    ],
)
def test_what_is_wrong_is_told_in_one_line_without_the_key(
    model: str, environ: dict[str, str], told: str
) -> None:
    with pytest.raises(LlmError) as caught:
        find_endpoint(model, environ=environ)
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)
    assert KEY not in str(caught.value)


def test_project_names_further_providers_and_changes_known_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CLAIMWISE_KEY_VARIABLES", "MY_KEY, EU_KEY")
    section = LlmSection(
        providers={
            "mine": ProviderSection(base_url="https://mine.example/api", key_env="MY_KEY"),
            "claudish": ProviderSection(base_url="https://c.example", wire="anthropic"),
            "openai": ProviderSection(base_url="https://eu.example/v1", key_env="EU_KEY"),
            "azure": ProviderSection(base_url="https://a.example", api_version="2030-01-01"),
        }
    )
    hosts = ["https://mine.example", "https://c.example", "https://eu.example", "https://a.example"]

    def find(model: str, environ: dict[str, str]) -> Endpoint:
        return find_endpoint(model, section, environ, allowed_hosts=hosts)

    with pytest.raises(LlmError, match="mine needs a key: set the environment variable MY_KEY"):
        find("mine:m", {})
    mine = find("mine:m", {"MY_KEY": KEY})
    assert mine.url == "https://mine.example/api/chat/completions"
    assert mine.make_headers()["authorization"] == f"Bearer {KEY}"
    claudish = find("claudish:m", {})
    assert claudish.url == "https://c.example/v1/messages"
    assert "anthropic-version" in claudish.make_headers()
    openai = find("openai:m", {"EU_KEY": KEY})
    assert openai.url == "https://eu.example/v1/chat/completions"
    environ = {"OPENAI_BASE_URL": "https://env.example/v1", "EU_KEY": KEY}
    assert find("openai:m", environ).url.startswith("https://env.example/v1")
    azure = find("azure:d", {"AZURE_OPENAI_API_KEY": KEY})
    assert azure.url.endswith("?api-version=2030-01-01")


def test_a_project_gets_no_variable_that_is_not_a_key(user_folder: Path) -> None:
    """The whole of the attack: any variable to any host, by a file that comes with a project."""
    said = ProviderSection(base_url="https://evil.example/v1", key_env="AWS_SECRET_ACCESS_KEY")
    section = LlmSection(providers={"openai": said})
    environ = {"AWS_SECRET_ACCESS_KEY": KEY, "OPENAI_API_KEY": KEY}
    with pytest.raises(LlmError) as caught:
        find_endpoint("openai:m", section, environ, allowed_hosts=["https://evil.example"])
    assert str(caught.value) == (
        "openai: claimwise.toml names the key variable AWS_SECRET_ACCESS_KEY, which no known "
        'provider uses; if it is meant, write key_variables = ["AWS_SECRET_ACCESS_KEY"] into '
        f"{user_folder / 'settings.toml'}, or set CLAIMWISE_KEY_VARIABLES=AWS_SECRET_ACCESS_KEY; "
        "nothing was sent"
    )


def test_the_users_own_settings_name_further_key_variables(user_folder: Path) -> None:
    section = LlmSection(
        providers={"house": ProviderSection(base_url="https://house.example", key_env="HOUSE_KEY")}
    )
    user_folder.mkdir()
    (user_folder / "settings.toml").write_text('key_variables = ["HOUSE_KEY"]\n')
    hosts = ["https://house.example"]
    endpoint = find_endpoint("house:m", section, {"HOUSE_KEY": KEY}, allowed_hosts=hosts)
    assert endpoint.make_headers()["authorization"] == f"Bearer {KEY}"


PROJECT = "https://models.example/v1"


@pytest.mark.parametrize(
    ("model", "said", "environ", "needs_word"),
    [
        # What the provider or the user says.
        ("openai:m", {}, {"OPENAI_API_KEY": KEY}, False),
        ("openai:m", {"base_url": "https://API.openai.com:443/v2"}, {"OPENAI_API_KEY": KEY}, False),
        ("openai:m", {"base_url": PROJECT},
         {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": "https://mine.example"}, False),
        ("openai:m", {"key_env": "TEAM_KEY"}, {"TEAM_KEY": KEY}, False),
        ("own:m", {}, {"OWN_KEY": KEY}, False),
        # This machine, without a key.
        ("vllm:m", {"base_url": "http://localhost:9000/v1"}, {}, False),
        ("house:m", {"base_url": "http://[::1]:9000/v1"}, {"OPENAI_API_KEY": KEY}, False),
        # What the project says.
        ("openai:m", {"base_url": PROJECT}, {"OPENAI_API_KEY": KEY}, True),
        ("openai:m", {"base_url": "http://api.openai.com/v1"}, {"OPENAI_API_KEY": KEY}, True),
        ("openai:m", {"base_url": "https://api.openai.com:444"}, {"OPENAI_API_KEY": KEY}, True),
        ("openai:m", {"base_url": "http://127.0.0.1:8000/v1"}, {"OPENAI_API_KEY": KEY}, True),
        ("openai:m", {"key_env": "ANTHROPIC_API_KEY"}, {"ANTHROPIC_API_KEY": KEY}, True),
        ("openai:m", {"key_env": "OWN_KEY"}, {"OWN_KEY": KEY}, True),
        ("vllm:m", {"base_url": "http://127.0.0.1:9000/v1"}, {"VLLM_API_KEY": KEY}, True),
        ("vllm:m", {"base_url": PROJECT}, {}, True),
        ("azure:d", {"base_url": PROJECT}, {"AZURE_OPENAI_API_KEY": KEY}, True),
        ("openai-compatible:m", {"base_url": PROJECT}, {}, True),
        ("house:m", {"base_url": PROJECT}, {}, True),
        ("own:m", {"base_url": PROJECT}, {"OWN_KEY": KEY}, True),
    ],
)  # fmt: skip
def test_what_the_project_decides_needs_the_users_word(
    monkeypatch: pytest.MonkeyPatch,
    install: Callable[..., None],
    model: str,
    said: dict[str, Any],
    environ: dict[str, str],
    needs_word: bool,
) -> None:
    monkeypatch.setenv("CLAIMWISE_KEY_VARIABLES", "TEAM_KEY")
    install("KEYED")
    name = model.partition(":")[0]
    section = LlmSection(providers={name: ProviderSection(**said)} if said else {})
    destination = find_destination(model, section, environ)
    assert destination.needs_word == needs_word
    if not needs_word:
        find_endpoint(model, section, environ)
        return
    with pytest.raises(LlmError) as caught:
        find_endpoint(model, section, environ)
    assert str(caught.value).endswith(
        f'pass allowed_hosts=["{destination.origin}"]; nothing was sent'
    )
    assert (destination.key_variable or "the prompts to") in str(caught.value)
    allowed = find_endpoint(model, section, environ, allowed_hosts=[destination.origin])
    assert allowed.destination.origin == destination.origin
    with pytest.raises(LlmError, match="not allowed"):
        find_endpoint(model, section, environ, allowed_hosts=["https://other.example"])
    silent = find_endpoint(model, section, environ, sending=False)  # sends nothing
    assert silent.destination.origin == destination.origin


OWN = """
from claimwise.llm.providers import Provider
from claimwise.llm.wire import Reading
from claimwise.registry import Plugin

class OwnWire:
    def build_body(self, call, model, features):
        return {"q": call.user, "m": model}

    def read_body(self, content):
        return Reading(text=content.decode("ascii"))

OWN = Provider(name="own", base_url="http://own.example/ask", key_needed=False, wire=OwnWire())
KEYED = Provider(name="own", base_url="https://own.example/v1", key_env="OWN_KEY")
LOADED = Plugin(description="d", load=lambda: OWN)
NOTHING = dict
GEMINI = Provider(
    name="own",
    base_url="https://own.example/v1beta",
    key_env="OWN_KEY",
    wire=OwnWire(),
    make_url=lambda base, model: f"{base}/models/{model}:generate",
    make_headers=lambda key: {"x-goog-api-key": key, "x-client": "claimwise"},
)

def make_own():
    return OWN
"""


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., None]:
    """Install a package that brings the provider ``own``."""

    def add(value: str, code: str = OWN, package: str = "acme", name: str = "own") -> None:
        install_package(monkeypatch, tmp_path, package, code, providers={name: value})

    return add


@pytest.mark.parametrize("value", ["OWN", "make_own", "LOADED"])
def test_entry_points_bring_providers(install: Callable[..., None], value: str) -> None:
    install(value)
    endpoint = find_endpoint("own:m", environ={})
    assert endpoint.url == "http://own.example/ask"
    call = LlmCall(model="own:m", prompt="p@1", system="s", user="u")
    assert endpoint.wire.build_body(call, "m", endpoint.features) == {"q": "u", "m": "m"}
    with pytest.raises(LlmError, match="openrouter, own, vllm"):
        find_endpoint("other:m", environ={})


def test_a_provider_owns_its_address_and_headers(install: Callable[..., None]) -> None:
    install("GEMINI")
    endpoint = find_endpoint("own:flash", environ={"OWN_KEY": KEY})
    assert endpoint.url == "https://own.example/v1beta/models/flash:generate"
    assert endpoint.make_headers() == {
        "content-type": "application/json",
        "x-goog-api-key": KEY,
        "x-client": "claimwise",
    }
    assert not endpoint.destination.needs_word
    moved = LlmSection(providers={"own": ProviderSection(base_url="https://evil.example")})
    with pytest.raises(LlmError, match=r"sends the prompts and the key OWN_KEY to https://evil\."):
        find_endpoint("own:flash", moved, {"OWN_KEY": KEY})


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('f"{base}/models', 'f"https://evil.example/models', "left the host https://own.example"),
        ('{"x-goog-api-key": key,', '{"x-goog-api-key": key + "\\n",', "no request can carry"),
        ('{"x-goog-api-key": key,', '{"x-goog-api-key": 1 / 0,', "raised ZeroDivisionError"),
        ('{"x-goog-api-key": key,', '{"x": int(key),', "make_headers raised ValueError;"),
    ],
)
def test_a_provider_that_does_wrong_is_told_without_the_key(
    install: Callable[..., None], old: str, new: str, told: str
) -> None:
    assert old in OWN
    install("GEMINI", OWN.replace(old, new))
    with pytest.raises(PluginError) as caught:
        find_endpoint("own:flash", environ={"OWN_KEY": KEY}).make_headers()
    assert told in str(caught.value)
    assert "the provider “own” of acme 1.0 does not work" in str(caught.value)
    assert KEY not in str(caught.value)


def test_a_wire_that_fails_costs_one_reply(install: Callable[..., None]) -> None:
    install("OWN")
    endpoint = find_endpoint("own:m", environ={})
    assert endpoint.wire.read_body(b"fine").text == "fine"
    reading = endpoint.wire.read_body(b"\xff")
    assert reading.code == "bad_reply"
    assert "“own” of acme 1.0 does not work: UnicodeDecodeError" in reading.detail


def test_a_broken_package_does_not_touch_other_providers(install: Callable[..., None]) -> None:
    install("OWN", "raise ImportError('no')", name="aaa-broken")
    install("KEYED", package="other")
    said = LlmSection(providers={"openai": ProviderSection(key_env="OWN_KEY")})
    assert find_destination("openai:m", said, {"OWN_KEY": KEY}).needs_word
    with pytest.raises(PluginError, match=r"“aaa-broken” of acme 1\.0 does not work: ImportError"):
        find_endpoint("aaa-broken:m", environ={})


def test_a_built_in_provider_is_not_replaced(install: Callable[..., None]) -> None:
    install("KEYED", name="openai")
    endpoint = find_endpoint("openai:m", environ={"OPENAI_API_KEY": KEY})
    assert endpoint.url == "https://api.openai.com/v1/chat/completions"


def test_entry_point_that_brings_something_else_is_told(install: Callable[..., None]) -> None:
    install("NOTHING")
    with pytest.raises(PluginError, match="brings dict, expected a claimwise"):
        find_endpoint("own:m", environ={})


def test_endpoint_does_not_show_its_key() -> None:
    endpoint = find_endpoint("openai:m", environ={"OPENAI_API_KEY": KEY})
    assert isinstance(endpoint, Endpoint)
    assert KEY not in repr(endpoint)
    assert KEY not in str(endpoint)
    told = endpoint.hide_key(f"Incorrect API key provided: {KEY[:10]}***{KEY[-4:]}. See {KEY}!")
    assert KEY[:6] not in told
    assert "[key]" in told


def write_config(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "claimwise.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_settings_are_read(tmp_path: Path) -> None:
    path = write_config(
        tmp_path,
        '[llm]\nconcurrency = 4\n[llm.providers.mine]\nbase_url = "https://h/v1"\n'
        '[llm.prices."mine:m"]\ninput = 2.5\noutput = 10\n',
    )
    section = read_config(path).llm
    assert section.concurrency == 4
    assert section.providers["mine"].base_url == "https://h/v1"
    assert find_price("mine:m", section) == Price(input=2.5, output=10.0)
    assert find_price("mine:other", section) is None
    assert find_price("ollama:any", section) == Price(input=0.0, output=0.0)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (f'[llm.providers.openai]\napi_key = "{KEY}"\n', "keys are only read from the environment"),
        (f'[llm.providers.openai]\nkey = "{KEY}"\n', "keys are only read from the environment"),
        (f'[llm.providers.x]\nauth_token = "{KEY}"\n', "keys are only read from the environment"),
        (f'[llm.providers.openai]\nkey_env = "{KEY}"\n', "must name an environment variable"),
        ('[llm.providers.x]\nwire = "grpc"\n', "claimwise init"),
        ("[llm]\nproviders = 3\n", "claimwise init"),
        ("llm = 3\n", "claimwise init"),
        ("[llm]\nconcurrency = 0\n", "must be above 0"),
        ('[llm.prices."a:b"]\ninput = -1\noutput = 2\n', "a negative price"),
        ('[llm.prices."a:b"]\ninput = 1\n', "output"),
    ],
)
def test_wrong_settings_are_refused_in_one_line(tmp_path: Path, text: str, told: str) -> None:
    path = write_config(tmp_path, text)
    with pytest.raises(ConfigError) as caught:
        read_config(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert told in str(caught.value)
    assert KEY not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_prices_are_read_as_two_numbers() -> None:
    assert parse_price("2.5,10") == Price(input=2.5, output=10.0)
    for text in ("", "1", "1,2,3", "a,b", "-1,2", "nan,1", "1,inf"):
        with pytest.raises(LlmError, match=r"as 2\.5,10"):
            parse_price(text)


def test_tokens_are_estimated_on_the_high_side() -> None:
    """Compared with what real tokenizers make of such text: about 4 letters, or 1 character."""
    english = "The tower was built in 1889 and is 330 metres tall, says the guide. " * 50
    chinese = "这座塔建于一八八九年，高三百三十米。" * 50
    make = LlmCall
    plain = estimate_tokens(make(model="m", prompt="p", system="", user=english))
    assert len(english) / 4 < plain < len(english) / 2
    foreign = estimate_tokens(make(model="m", prompt="p", system="", user=chinese))
    assert len(chinese) < foreign < 2 * len(chinese)
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    with_schema = make(model="m", prompt="p", system="", user=english, schema=schema)
    assert estimate_tokens(with_schema) > plain
