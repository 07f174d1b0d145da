"""Reads ``claimwise.toml`` once into an immutable object."""

from __future__ import annotations

import tomllib
from pathlib import Path

import msgspec

from claimwise.errors import ConfigError
from claimwise.types.results import Settings
from claimwise.types.rows import QUERY_TYPES

FILE_NAME = "claimwise.toml"
DEFAULT_STORE = "claimwise.db"


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


class VocabularySection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Words of the project beyond the built-in ones."""

    query_types: tuple[str, ...] = ()


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The settings of a project; without a file, the defaults."""

    store: StoreSection = StoreSection()
    metrics: MetricsSection = MetricsSection()
    vocabulary: VocabularySection = VocabularySection()


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
        )

    @property
    def query_types(self) -> tuple[str, ...]:
        """The query types that items may have."""
        return (*QUERY_TYPES, *self.config.vocabulary.query_types)


def find_project(start: Path) -> Project:
    """Return the project of a folder: the nearest ``claimwise.toml`` at or above it.

    Raises:
        ConfigError: the file is there but wrong.
    """
    for folder in (start, *start.resolve().parents):
        path = folder / FILE_NAME
        if path.is_file():
            return Project(folder, read_config(path))
    return Project(start)


def read_config(path: Path) -> Config:
    """Read the settings of a file.

    Raises:
        ConfigError: it is not TOML, or has a key or value that nobody knows.
    """
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
        config = msgspec.convert(found, Config)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{path}: {error}; mend or remove the file") from error
    except msgspec.ValidationError as error:
        raise ConfigError(f"{path}: {error}; `claimwise init` shows the known keys") from error
    if config.store.path and config.store.url:
        raise ConfigError(f"{path}: [store] has path and url; keep one")
    return config
