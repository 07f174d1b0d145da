"""Reads ``claimwise.toml`` once into an immutable object."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import msgspec

from claimwise.errors import ConfigError
from claimwise.types.llm import Price
from claimwise.types.results import CitationPolicy, Settings, Weights
from claimwise.types.rows import QUERY_TYPES
from claimwise.user_settings import find_home, read_project_file

FILE_NAME = "claimwise.toml"
DEFAULT_STORE = "claimwise.db"
PER_ITEM = "per_item"

_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]*")
_SECRET = re.compile(r"key|token|secret|password|authorization|bearer", re.IGNORECASE)


class StoreSection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where the rows are kept."""

    path: str | None = None
    url: str | None = None


class MetricsSection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How rates are estimated, and where the project's own metrics lie."""

    folder: str = "metrics"
    by: tuple[str, ...] = ("query_type", "stakes")
    labels: str = Settings().labels
    interval: str = Settings().method
    confidence: float = Settings().confidence
    resamples: int = Settings().resamples
    seed: int = Settings().seed
    cluster: str | None = Settings().cluster
    citations: CitationPolicy = "cited"


class VocabularySection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Words of the project beyond the built-in ones."""

    query_types: tuple[str, ...] = ()


class ProviderSection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where a provider of language models is; what is left out is as built in."""

    base_url: str | None = None
    key_env: str | None = None  # the environment variable that holds the key, never the key
    wire: Literal["openai", "anthropic"] | None = None
    api_version: str | None = None  # Azure's
    batches: Literal["openai", "anthropic"] | None = None  # the format in which it takes batches


class LlmSection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How language models are asked, where, and what they cost."""

    concurrency: int = 16  # calls under way at once, at most
    timeout: float = 120.0  # seconds for one request, from first to last byte
    attempts: int = 6
    providers: dict[str, ProviderSection] = {}
    prices: dict[str, Price] = {}  # by "provider:model"


class SampleRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Which answers of live traffic to keep, and how many of them."""

    name: str
    rate: float
    # By property (system, model, environment, prompt_ver…): a value or several, * for anything.
    where: dict[str, str | tuple[str, ...]] = {}


class RedactSection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is taken out of live traffic before anything of it is stored."""

    builtin: tuple[str, ...] | None = None  # None: all
    patterns: dict[str, str] = {}  # the user's own, by name
    function: str | None = None  # "module:function"
    drop: tuple[str, ...] = ()  # fields of an answer
    drop_attributes: tuple[str, ...] = ()  # attributes of spans, * for anything


class TrafficSection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How live traffic is taken in."""

    system: str | None = None  # the name of a system whose traces don't name it
    corpus: str | None = None  # the version in which documents given by id alone are looked up
    sample: tuple[SampleRule, ...] = ()
    redact: RedactSection = RedactSection()
    judge: str | None = None  # who judges what `claimwise serve` takes in; None: nobody does
    quiet_seconds: float = 5.0  # a trace is complete once its root span came and then nothing more
    longest_seconds: float = 600.0  # a trace without its root is taken as it is after so long
    inbox_spans: int = 200_000  # acknowledged and not yet an answer; beyond it, senders wait


class CheckSection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How ``POST /v1/check`` answers."""

    judge: str | None = None  # as of `claimwise verify --verifier`; None: the best one installed
    workers: int = 2  # answers judged at once
    waiting: int = 64  # answers that may wait; beyond it, the request is turned away
    deadline_ms: int = 2_000  # where a request names none
    requests_per_minute: int = 600  # of a key that has no limit of its own


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The settings of a project; without a file, the defaults."""

    store: StoreSection = StoreSection()
    metrics: MetricsSection = MetricsSection()
    vocabulary: VocabularySection = VocabularySection()
    llm: LlmSection = LlmSection()
    traffic: TrafficSection = TrafficSection()
    check: CheckSection = CheckSection()
    # One entry: a column and the traffic's shares of its values, or per_item and a column's name.
    weights: dict[str, dict[str, float] | str] = {}
    # As they stand, right or wrong: only `claimwise.gates.settings` reads them.
    gates: Any = ()


class Project(msgspec.Struct, frozen=True):
    """A folder and its settings; relative paths in the settings start there."""

    folder: Path
    config: Config = Config()

    @property
    def store_place(self) -> str:
        """The path or URL of the project's store."""
        section = self.config.store
        return section.url or str(self.folder / (section.path or DEFAULT_STORE))

    @property
    def metrics_folder(self) -> Path:
        """The folder with the project's own metrics; it need not exist."""
        return self.folder / self.config.metrics.folder

    @property
    def settings(self) -> Settings:
        """How rates are estimated."""
        section = self.config.metrics
        return Settings(
            confidence=section.confidence,
            method=section.interval,
            resamples=section.resamples,
            seed=section.seed,
            labels=section.labels,
            cluster=section.cluster,
            weights=_to_weights(self.config.weights),
        )

    @property
    def citations(self) -> CitationPolicy:
        """Which claims require a citation."""
        return self.config.metrics.citations

    @property
    def query_types(self) -> tuple[str, ...]:
        """The query types that items may have."""
        return (*QUERY_TYPES, *self.config.vocabulary.query_types)


def _to_weights(section: dict[str, dict[str, float] | str]) -> Weights | None:
    for name, value in section.items():
        if isinstance(value, str):
            return Weights(column=value)
        return Weights(column=name, shares=tuple(value.items()))
    return None


def find_project(start: Path) -> Project:
    """Return the project of a folder: the nearest ``claimwise.toml`` at or above it.

    The search ends at the root of a repository, at the user's home, and where another file system
    begins: what lies above belongs to others.

    Raises:
        ConfigError: the file is there but wrong, or someone else may have written it.
    """
    for folder in _list_folders(start):
        path = folder / FILE_NAME
        if path.is_file():
            return Project(folder, read_config(path))
    return Project(start)


def _list_folders(start: Path) -> Iterator[Path]:
    """Yield a folder and those above it, as far as settings are searched."""
    yield start
    folder, home = start.resolve(), find_home()
    while folder not in (home, folder.parent) and _find_device(folder / ".git") is None:
        above = folder.parent
        is_above_home = home is not None and above in home.parents
        if is_above_home or _find_device(above) != _find_device(folder):
            return
        yield above
        folder = above


def _find_device(path: Path) -> int | None:
    """Return the file system that a path is on; None when there is no such path."""
    try:
        return path.stat().st_dev
    except OSError:
        return None


def read_config(path: Path) -> Config:
    """Read the settings of a file.

    Raises:
        ConfigError: it is not TOML, has a key or value that nobody knows, or someone else may have
            written it.
    """
    try:
        found = tomllib.loads(read_project_file(path))
        _refuse_secrets(path, found)
        config = msgspec.convert(found, Config)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{path}: {error}; fix or delete the file") from error
    except msgspec.ValidationError as error:
        raise ConfigError(f"{path}: {error}; `claimwise init` shows the known keys") from error
    if config.store.path and config.store.url:
        raise ConfigError(f"{path}: [store] has both path and url; keep one")
    _check_llm(path, config.llm)
    _check_weights(path, config.weights)
    _check_traffic(path, config.traffic)
    return config


def _check_traffic(path: Path, section: TrafficSection) -> None:
    for rule in section.sample:
        if not 0 < rule.rate <= 1:
            raise ConfigError(
                f"{path}: [[traffic.sample]] “{rule.name}” has rate = {rule.rate:g}; give a share "
                "above 0 and up to 1, such as 0.1 for one answer in ten"
            )
    names = [rule.name for rule in section.sample]
    if len(set(names)) < len(names) or "" in names:
        raise ConfigError(f"{path}: [[traffic.sample]]: give each rule a name of its own")
    if section.quiet_seconds <= 0 or section.longest_seconds <= 0 or section.inbox_spans < 1:
        raise ConfigError(
            f"{path}: [traffic] quiet_seconds, longest_seconds and inbox_spans must be above 0"
        )


def _check_weights(path: Path, section: dict[str, dict[str, float] | str]) -> None:
    wrong = [
        name for name, value in section.items() if isinstance(value, str) != (name == PER_ITEM)
    ]
    if wrong or len(section) > 1:
        raise ConfigError(
            f"{path}: [weights] takes one line: a column with the traffic's shares, such as "
            f'query_type = {{ lookup = 0.7, multi_hop = 0.3 }}, or {PER_ITEM} = "COLUMN"'
        )


def _refuse_secrets(path: Path, found: dict[str, Any]) -> None:
    """Refuse a key in the file before anything of it can reach a message."""
    section = found.get("llm", {})
    providers = section.get("providers", {}) if isinstance(section, dict) else {}
    if not isinstance(providers, dict):
        return
    for name, provider in providers.items():
        for field in provider if isinstance(provider, dict) else ():
            if field != "key_env" and _SECRET.search(field):
                raise ConfigError(
                    f"{path}: [llm.providers.{name}] has {field}, but keys are only read "
                    "from the environment: remove it, and name the variable in key_env"
                )


def _check_llm(path: Path, section: LlmSection) -> None:
    for name, provider in section.providers.items():
        if provider.key_env is not None and not _VARIABLE.fullmatch(provider.key_env):
            # Not shown: it may be the key itself.
            raise ConfigError(
                f"{path}: [llm.providers.{name}] key_env must name an environment variable, "
                'such as key_env = "MY_API_KEY"'
            )
    if section.concurrency < 1 or section.attempts < 1 or section.timeout <= 0:
        raise ConfigError(f"{path}: [llm] concurrency, attempts and timeout must be above 0")
    if any(price.input < 0 or price.output < 0 for price in section.prices.values()):
        raise ConfigError(f"{path}: [llm.prices] has a negative price; give US$ per million tokens")
